"""The command as a program: pipes, signals, terminals, closed streams."""

import os
import signal
import subprocess
import sys
import time
from importlib import metadata

import pytest

from fsmeu import fst as versions
from fsmeu.cli.failures import INTERRUPTED, NO_READER
from tests.cli.conftest import on_terminal

PROGRAM = [sys.executable, "-m", "fsmeu.cli.main"]


def shell(command, *args, env=None):
    """Runs a shell command in which "$@" stands for the program with its arguments."""
    return subprocess.run(
        ["bash", "-c", f"set -o pipefail; {command}", "bash", *PROGRAM, *args],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=120,
        env={**os.environ, **(env or {})},
        check=False,
    )


def test_a_machine_through_a_pipe(fsmeu, tmp_path):
    """Standard output gets the same bytes as a file, and nothing else."""
    file = tmp_path / "f.fst"
    fsmeu("draw", "--format", "fst", "fscore", "--n", 3, "-o", file)
    piped = shell('"$@"', "draw", "--format", "fst", "fscore", "--n", "3", "-o", "-")
    assert piped.returncode == 0
    assert piped.stdout == file.read_bytes()
    assert b"20 states" in piped.stderr


def test_a_shown_loss_is_a_loss():
    """What `show` prints, `expect` reads: Hamming loss is the mean of what z says is not so."""
    ran = shell('"$@" losses hamming 2>/dev/null | "$@" expect - 01 --probs .25,.25')
    assert float(ran.stdout) == pytest.approx((0.25 + 0.75) / 2, rel=1e-12)
    assert ran.stderr == b""


def test_a_reader_that_goes_away():
    """A pipe that closes early ends the program without a word."""
    ran = shell('"$@" | true', "losses")
    assert ran.returncode == NO_READER
    assert ran.stderr == b""


def test_a_closed_input():
    """There is nothing to read from."""
    ran = shell('"$@" <&-', "check", "-")
    says = b"fsmeu: standard input: the file cannot be read (it is closed).\n"
    assert (ran.returncode, ran.stderr) == (2, says)


def test_a_closed_output():
    """There is nothing to write to."""
    ran = shell('"$@" >&-', "losses")
    assert (ran.returncode, ran.stderr) == (2, b"fsmeu: standard output: it must be open.\n")


def test_an_interruption_is_quiet():
    """Ctrl-C while the program waits for its input."""
    # Where the tests run in the background, interruptions are ignored, and children inherit that.
    start = (
        "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); "
        "import fsmeu.cli.main as m; print('ready', flush=True); m.main()"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", start, "check", "-"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == b"ready\n"
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out, err) == (INTERRUPTED, b"", b"")


def test_words_are_set_apart_on_a_terminal():
    """Words of the language are bold, texts coloured, comments dim."""
    shown, code = on_terminal("losses", "pk")
    assert code == 0
    assert "\x1b[1mcount\x1b[0m" in shown
    assert '\x1b[32m"share of' in shown
    assert "\x1b[2m# Pk" in shown


def test_no_colour_when_it_is_not_wanted():
    """NO_COLOR keeps colours off a terminal."""
    shown, code = on_terminal("losses", "pk", NO_COLOR="1")
    assert code == 0
    assert '"share of' in shown
    assert "\x1b[3" not in shown


def test_a_machine_is_kept_from_the_terminal():
    """Binary output would spoil the screen."""
    shown, code = on_terminal("draw", "--format", "fst", "fscore", "--n", "2", "-o", "-")
    assert code == 2
    assert "terminal" in shown
    assert "log64" not in shown


def test_terminals_that_know_ascii_only():
    """Tables are drawn with what there is; labels are escaped."""
    ran = shell(
        '"$@"', "evaluate", "--steps", "hamming", "é a", "a a", env={"PYTHONIOENCODING": "ascii"}
    )
    assert ran.returncode == 0
    assert ran.stdout.isascii()
    assert b"\\xe9" in ran.stdout
    assert ran.stdout.splitlines()[1].startswith(b"--")


@pytest.mark.parametrize("args", [("expect", "fscore", "1", "--probs", "0.5"), ("demo",)])
def test_without_pynini_it_is_said_how_to_get_it(args):
    script = (
        "import sys; sys.modules['pynini'] = None; sys.argv[0] = 'fsmeu'; "
        "from fsmeu.cli.main import main; main()"
    )
    run = [sys.executable, "-c", script, *args]
    told = subprocess.run(run, capture_output=True, text=True, timeout=120, check=False)
    assert told.returncode == 2
    assert told.stderr.startswith("fsmeu: pynini: it must be installed")
    assert "pip install pynini" in told.stderr
    assert "fault in fsmeu" not in told.stderr


def test_the_version_without_pynini(monkeypatch):
    def missing(name):
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "version", missing)
    assert versions.pynini_version() == "missing"
    assert versions.openfst_version() == "unknown"
