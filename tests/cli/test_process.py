"""The command as a program: pipes, signals, terminals, closed streams, hostile names."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import fsmeu as package
from fsmeu.cli.failures import INTERRUPTED, NO_READER
from fsmeu.errors import InputError, shorten, visible
from tests.cli.conftest import PROGRAM, on_terminal
from tests.support.python_losses import Constant


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


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("command", "words", "code", "said"),
    [
        ('"$@" | true', ["losses"], NO_READER, ""),  # a pipe that closes early
        ('"$@" <&-', ["check", "-"], 2, "standard input: the file cannot be read (it is closed)."),
        ('"$@" >&-', ["losses"], 2, "standard output: it must be open."),
        ('"$@" >/dev/full', ["--help"], 2, "No space left on device"),
        ('PYTHONUNBUFFERED=1 "$@" >/dev/full', ["losses"], 2, "No space left on device"),
    ],
)
@pytest.mark.thirds
def test_streams_that_cannot_be_used(command, words, code, said):
    """One sentence, whether it is written at once or at the end; a reader may just go away."""
    ran = shell(command, *words)
    told = ran.stderr.decode()
    assert (ran.returncode, told.count("\n"), said in told) == (code, bool(said), True)
    assert told.startswith("fsmeu: ") or not said


def test_pipes_carry_machines_and_losses():
    """What `losses` prints, `expect` reads: Hamming loss is the mean of what z says is not so."""
    piped = shell('"$@"', "draw", "--format", "fst", "fscore", "--n", "3", "-o", "-")
    machine = package.load("fscore").compile(3).fst.write_to_string()
    assert (piped.returncode, piped.stdout, b"35 states" in piped.stderr) == (0, machine, True)
    ran = shell('"$@" losses hamming 2>/dev/null | "$@" expect - 01 --probs .25,.25')
    assert float(ran.stdout) == pytest.approx((0.25 + 0.75) / 2, rel=1e-12)
    assert ran.stderr == b""
    assert shell('"$@" evaluate <("$@" losses hamming 2>/dev/null) 01 11').stdout == b"0.5\n"


def test_an_interruption_is_quiet():
    start = (  # children inherit that interruptions are ignored in the background
        "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); "
        "import fsmeu.cli.main as m; print('ready', flush=True); m.main()"
    )
    pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    process = subprocess.Popen([sys.executable, "-c", start, "check", "-"], **pipes)
    assert process.stdout.readline() == b"ready\n"
    time.sleep(2)  # so that it waits for its input, and does not import modules
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out, err) == (INTERRUPTED, b"", b"")


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("command", "environment", "code", "there", "not_there"),
    [
        ("losses pk", {}, 0, ["\x1b[1mcount\x1b[0m", '\x1b[32m"share of', "\x1b[2m# Pk"], "…"),
        ("losses pk", {"NO_COLOR": "1"}, 0, ['"share of'], "\x1b[3"),
        ("draw hamming --z 01 --y 00", {"PYTHONIOENCODING": "utf-8"}, 0, ["\x1b[1;31m"], "…"),
        ("draw -f fst fscore --n 2 -o -", {}, 2, ["terminal"], "log64"),
    ],
)
@pytest.mark.thirds
def test_terminals(command, environment, code, there, not_there):
    shown, ended = on_terminal(*command.split(), **environment)
    assert ended == code
    assert [part for part in there if part not in shown] == []
    assert not_there not in shown


def test_terminals_that_know_ascii_only():
    words = ("evaluate", "--steps", "hamming", "é a", "a a")
    ran = shell('"$@"', *words, PYTHONIOENCODING="ascii")
    assert (ran.returncode, ran.stdout.isascii(), b"\\xe9" in ran.stdout) == (0, True, True)
    assert ran.stdout.splitlines()[1].startswith(b"--")


def without_pynini(*args):
    """What the command line does where pynini is not installed."""
    script = (
        "import sys; sys.modules['pynini'] = None; sys.argv[0] = 'fsmeu'; "
        "from fsmeu.cli.main import main; main()"
    )
    run = [sys.executable, "-c", script, *args]
    return subprocess.run(run, capture_output=True, text=True, timeout=120, check=False)


@pytest.mark.nightly
@pytest.mark.parametrize("args", [("expect", "fscore", "1", "--probs", "0.5"), ("demo",)])
def test_pynini_is_not_needed(args):
    told = without_pynini(*args)
    assert told.returncode == 0
    assert told.stdout
    assert "pynini" not in told.stderr


def test_without_pynini_it_is_said_how_to_get_it():
    told = without_pynini("expect", "fscore", "1", "--probs", "0.5", "--engine", "openfst")
    assert told.returncode == 2
    assert told.stderr.startswith("fsmeu: pynini: it must be installed")
    assert "pip install pynini" in told.stderr
    assert "fault in fsmeu" not in told.stderr


HOSTILE = "<b>\x1b]0;owned\x07\u202e\x9b31m"
LABELS = [f"a{HOSTILE}", f"b{HOSTILE}"]
MODEL = {"model": "independent", "probabilities": [[0.5, 0.5], [0.25, 0.75]], "labels": LABELS}
RAW = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
COLOURS = re.compile(r"\x1b\[[0-9;]*m|\r(?=\n)")
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
    "two.loss": f'loss two\nlabels "{LABELS[0]}" "{LABELS[1]}"\nmemory m of z last 1\n'
    "count bad when z != y and old m[0] != y\nvalue bad\n",
    f"bad{HOSTILE}.loss": "utility bad\nlabels 0 1\nvalue q\n",
    "m.json": json.dumps(MODEL),
    "c.jsonl": f"{json.dumps(MODEL)}\n{json.dumps({'model': HOSTILE})}\n",
}


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, content in FILES.items():
        Path(name).write_text(content)


def test_messages_are_visible():
    shown = r"x<b>\x1b]0;owned\x07\u202e\x9b31m" + "\ny"
    assert str(InputError("a", f"x{HOSTILE}\ny")) == f"a: {shown}."
    assert shorten(HOSTILE) == visible(HOSTILE)
    assert str(InputError(HOSTILE, "b")) == f"{visible(HOSTILE)}: b."
    assert visible("a\tb\nc", keep="\n\t") == "a\tb\nc"


@pytest.mark.parametrize(
    "words",
    [
        "check spoken.loss",
        "check two.loss --n 4",
        f"check --sizes any.loss --labels {','.join(LABELS)}",
        f"evaluate --steps any.loss {LABELS[0]} {LABELS[1]}",
        "decode any.loss -m m.json --method all",
        "decode any.loss -m m.json --json",
        "decode any.loss --corpus c.jsonl --on-error skip -o out",
        "draw --model m.json",
        "draw --model m.json -f svg",
        "draw spoken.loss --n 2 -f html",
        "draw -f html spoken.loss --n 2",
        f"draw spoken.loss --n 2 -o {HOSTILE}.html",
        f"draw --format fst spoken.loss --n 2 -o {HOSTILE}.fst",
        f"check bad{HOSTILE}.loss",
        f"losses missing{HOSTILE}.loss",
        "expect any.loss q -m m.json",
        f"losses spoken.loss {HOSTILE}",
    ],
)
def test_commands_print_what_is_visible(fsmeu, place, words):
    ran = fsmeu(*words.split(" "))
    assert ran.code in (0, 2), ran.exception
    assert RAW.search(ran.out + ran.err) is None


def test_cards_are_visible(place):
    model = package.models.from_json(MODEL)
    loss = package.load("any.loss", labels=LABELS)
    python = package.function_loss(Constant(), labels=LABELS, name=HOSTILE)
    asked = (package.expect(loss, LABELS, model), package.compose(loss, LABELS, model))
    decided, drawn = package.decode(loss, model), package.draw(loss, n=1)
    spoken = package.load("spoken.loss")
    for thing in (spoken, python, python.compile(1), model, decided, *asked, drawn):
        assert "<b>" not in thing._repr_html_()
        for text in (repr(thing), str(thing), thing._repr_html_()):
            assert RAW.search(text) is None, repr(text)


@pytest.mark.nightly
def test_terminals_show_escapes_and_pipes_carry_what_is_there(fsmeu, place):
    words = ["decode", "any.loss", "-m", "m.json"]
    assert fsmeu("losses", "spoken.loss").out == SPOKEN
    assert fsmeu(*words).out.split("\n")[0] == " ".join(LABELS)
    for command, said in ((["losses", "spoken.loss"], "spoken"), (words, visible(LABELS[1]))):
        shown, code = on_terminal(*command)
        assert (code, RAW.search(COLOURS.sub("", shown))) == (0, None)
        assert said in shown
