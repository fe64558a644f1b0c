"""The command as a program: pipes, signals, terminals, closed streams, hostile names."""

import json
import os
import pty
import re
import signal
import subprocess
import sys
import time
from contextlib import suppress

import pytest

from fsmeu import limits
from fsmeu.cli.failures import INTERRUPTED, NO_READER
from tests.cli.commands import PROGRAM, fsmeu, write


def shell(command, *args, **environment):
    """Runs a shell command in which "$@" stands for the program with its arguments."""
    return subprocess.run(
        ["bash", "-c", f"set -o pipefail; {command}", "bash", *PROGRAM, *args],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=120,
        env={**os.environ, **environment},
        check=False,
    )


def test_a_bare_start_imports_no_numpy():
    script = (
        "import sys; from fsmeu.cli.main import app; app(['--help'], standalone_mode=False); "
        "assert 'numpy' not in sys.modules and 'pynini' not in sys.modules"
    )
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, check=False)
    assert ran.returncode == 0, ran.stderr
    assert b"--install-completion" in ran.stdout


@pytest.mark.nightly
def test_pipes_carry_losses():
    """What `losses` prints, `expect` reads: Hamming loss is the mean of what z says is not so."""
    ran = shell('"$@" losses hamming 2>/dev/null | "$@" expect - 01 --probs .25,.25')
    assert float(ran.stdout) == pytest.approx((0.25 + 0.75) / 2, rel=1e-12)
    assert ran.stderr == b""


START = (  # children inherit that interruptions are ignored in the background
    "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); "
    "import fsmeu.cli.main as m; m.main()"
)


def test_an_interrupted_corpus_says_how_to_go_on(tmp_path):
    out = tmp_path / "out.jsonl"
    ask = ("decode", "fscore", "--corpus", "-", "-o", str(out))
    pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    process = subprocess.Popen([sys.executable, "-c", START, *ask], **pipes)
    process.stdin.write(b'{"probs": [0.5, 0.25]}\n' * (limits.RECORDS_AT_ONCE + 40))
    process.stdin.flush()
    patience = time.monotonic() + 100
    while not (out.exists() and out.stat().st_size) and time.monotonic() < patience:
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    _, told = process.communicate(timeout=60)
    assert process.returncode == INTERRUPTED
    written = out.read_bytes().count(b"\n")
    assert written == limits.RECORDS_AT_ONCE
    assert told.decode() == (
        f"fsmeu: interrupted; {written} results are in {out}. Run the same command with --resume "
        "to go on after them.\n"
    )
    corpus = write(tmp_path / "c.jsonl", [{"probs": [0.5, 0.25]}] * (written + 40))
    go_on = fsmeu("decode", "fscore", "--corpus", corpus, "-o", out, "--resume")
    assert (go_on.code, out.read_bytes().count(b"\n")) == (0, written + 40)


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("command", "words", "code", "said"),
    [
        ('"$@" | true', ["losses"], NO_READER, ""),  # a pipe that closes early
        ('"$@" <&-', ["check", "-"], 2, "standard input: the file cannot be read (it is closed)."),
        ('"$@" >&-', ["losses"], 2, "standard output: it must be open."),
        ('PYTHONUNBUFFERED=1 "$@" >/dev/full', ["losses"], 2, "No space left on device"),
    ],
)
def test_streams_that_cannot_be_used(command, words, code, said):
    """One sentence, whether it is written at once or at the end; a reader may just go away."""
    ran = shell(command, *words)
    told = ran.stderr.decode()
    assert (ran.returncode, told.count("\n"), said in told) == (code, bool(said), True)
    assert told.startswith("fsmeu: ") or not said


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("command", "code", "there"),
    [
        ("losses pk", 0, ["\x1b[1mcount\x1b[0m", '\x1b[32m"share of', "\x1b[2m# Pk"]),
        ("draw hamming --z 01 --y 00", 0, ["\x1b[1;31m"]),
        ("draw -f fst fscore --n 2 -o -", 2, ["terminal"]),
    ],
)
def test_terminals(command, code, there):
    """What the program shows on a terminal of 80 columns, and its exit code."""
    ours, theirs = pty.openpty()
    settings = {"TERM": "xterm-256color", "COLUMNS": "80", "PYTHONIOENCODING": "utf-8"}
    streams = dict.fromkeys(("stdin", "stdout", "stderr"), theirs)
    words = [*PROGRAM, *command.split()]
    process = subprocess.Popen(words, env={**os.environ, **settings}, **streams)
    os.close(theirs)
    shown = b""
    with suppress(OSError):  # Linux says so when the other end is closed
        while part := os.read(ours, 4096):
            shown += part
    os.close(ours)
    assert process.wait(timeout=120) == code
    assert [part for part in there if part not in shown.decode()] == []
    assert "log64" not in shown.decode()


# -- names that would move a cursor ----------------------------------------------------------------

HOSTILE = "<b>\x1b]0;owned\x07\u202e\x9b31m"
LABELS = [f"a{HOSTILE}", f"b{HOSTILE}"]
MODEL = {"model": "independent", "probabilities": [[0.5, 0.5], [0.25, 0.75]], "labels": LABELS}
RAW = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
SPOKEN = f"""# {HOSTILE}
utility spoken "text {HOSTILE}"
labels 0 1
count tp when z == 1 and y == 1
value tp
reference "text {HOSTILE}"
example 01 01 = 1
"""
FILES = {
    "any.loss": "loss any\nlabels any\ncount bad when z != y\nvalue bad / n\n",
    "spoken.loss": SPOKEN,
    f"bad{HOSTILE}.loss": "utility bad\nlabels 0 1\nvalue q\n",
    "m.json": MODEL,
    "c.jsonl": f"{json.dumps(MODEL)}\n{json.dumps({'model': HOSTILE})}\n",
}


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, content in FILES.items():
        write(tmp_path / name, content)


@pytest.mark.parametrize(
    "words",
    [
        f"evaluate --steps any.loss {LABELS[0]} {LABELS[1]}",
        "decode any.loss -m m.json --method all",
        "decode any.loss --corpus c.jsonl --on-error skip -o out",
        "draw --model m.json",
        "draw spoken.loss --n 2 -f html",
        f"draw spoken.loss --n 2 -o {HOSTILE}.html",
        f"check bad{HOSTILE}.loss",
        f"losses spoken.loss {HOSTILE}",
    ],
)
def test_commands_print_what_is_visible(place, words):
    ran = fsmeu(*words.split(" "))
    assert ran.code in (0, 2), ran.exception
    assert RAW.search(ran.out + ran.err) is None
