"""What reaches a terminal moves no cursor and reverses no text, whatever files and names hold."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import fsmeu as package
from fsmeu.errors import FsmeuError, InputError, shorten, visible
from fsmeu.models import Independent
from tests.cli.conftest import on_terminal
from tests.support.python_losses import Constant

TITLE, TURN = "\x1b]0;owned\x07", "\u202e"
HOSTILE = f"{TITLE}{TURN}\x9b31m"
LABELS = [f"a{HOSTILE}", f"b{HOSTILE}"]
RAW = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
COLOURS = re.compile(r"\x1b\[[0-9;]*m|\r(?=\n)")
ANY = "loss any\nlabels any\ncount bad when z != y\nvalue bad / n\n"
SPOKEN = f"""# {HOSTILE}
utility spoken "text {HOSTILE}"
labels 0 1
count tp when z == 1 and y == 1
value tp
reference "text {HOSTILE}"
example 01 01 = 1
"""
TWO = f"""loss two
labels "a{HOSTILE}" "b{HOSTILE}"
memory m of z last 1
count bad when z != y and old m[0] != y
value bad
"""


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A folder with losses and models of strange names."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "any.loss").write_text(ANY)
    (tmp_path / "spoken.loss").write_text(SPOKEN)
    (tmp_path / "two.loss").write_text(TWO)
    (tmp_path / f"bad{HOSTILE}.loss").write_text("utility bad\nlabels 0 1\nvalue q\n")
    model = {"model": "independent", "probabilities": [[0.5, 0.5], [0.25, 0.75]], "labels": LABELS}
    (tmp_path / "m.json").write_text(json.dumps(model))
    (tmp_path / "c.jsonl").write_text(f"{json.dumps(model)}\n{json.dumps({'model': HOSTILE})}\n")
    return tmp_path


def test_messages_are_visible():
    """Of every error, however it was worded; lines stay lines."""
    error = InputError(f"x{HOSTILE}\ny")
    assert isinstance(error, FsmeuError)
    assert str(error) == r"x\x1b]0;owned\x07\u202e\x9b31m" + "\ny"
    assert shorten(HOSTILE) == visible(HOSTILE) == str(InputError(HOSTILE))
    assert visible("a\tb\nc", keep="\n\t") == "a\tb\nc"


@pytest.mark.parametrize(
    "words",
    [
        ["check", "spoken.loss"],
        ["check", "two.loss", "--n", "4"],
        ["check", "--sizes", "any.loss", "--labels", ",".join(LABELS)],
        ["evaluate", "--steps", "any.loss", " ".join(LABELS), " ".join(LABELS)],
        ["decode", "any.loss", "-m", "m.json", "--compare"],
        ["decode", "any.loss", "-m", "m.json", "--json"],
        ["decode", "any.loss", "--corpus", "c.jsonl", "--on-error", "skip", "-o", "out"],
        ["draw", "--model", "m.json"],
        ["draw", "--model", "m.json", "-f", "svg"],
        ["draw", "spoken.loss", "--n", "2", "-f", "html"],
        ["draw", "--explore", "spoken.loss", "--n", "2", "-o", "-"],
        ["draw", "--explore", "spoken.loss", "--n", "2", "-o", f"{HOSTILE}.html"],
        ["draw", "--format", "fst", "spoken.loss", "--n", "2", "-o", f"{HOSTILE}.fst"],
        ["check", f"bad{HOSTILE}.loss"],
        ["losses", f"missing{HOSTILE}.loss"],
        ["expect", "any.loss", "q", "-m", "m.json"],
        ["losses", "spoken.loss", HOSTILE],
    ],
)
def test_commands_print_what_is_visible(fsmeu, place, words):
    ran = fsmeu(*words)
    assert ran.code in (0, 2), ran.exception
    assert RAW.search(ran.out) is None
    assert RAW.search(ran.err) is None


def test_cards_are_visible(place):
    model = Independent([[0.5, 0.5], [0.25, 0.75]], LABELS)
    open_loss = package.load("any.loss", labels=LABELS)
    python = package.function_loss(Constant(), labels=LABELS, name=HOSTILE)
    things = [
        package.load("spoken.loss"),
        python,
        python.compile(1),
        model,
        package.decode(open_loss, model),
        package.expect(open_loss, LABELS, model),
        package.compose(open_loss, LABELS, model),
        package.draw(open_loss, n=1),
    ]
    for thing in things:
        for text in (repr(thing), str(thing), thing._repr_html_()):
            assert RAW.search(text) is None, repr(text)


def plain(*words):
    """What the program shows on a terminal, without colours."""
    shown, code = on_terminal(*words)
    assert code == 0
    return COLOURS.sub("", shown)


def test_terminals_show_escapes_and_pipes_carry_what_is_there(fsmeu, place):
    """A text or labels: as they are for programs, visible for people."""
    assert fsmeu("losses", "spoken.loss").out == SPOKEN
    words = ["decode", "any.loss", "-m", "m.json"]
    assert fsmeu(*words).out.split("\n")[0] == f"{LABELS[0]} {LABELS[1]}"
    assert RAW.search(plain("losses", "spoken.loss")) is None
    shown = plain(*words)
    assert RAW.search(shown) is None
    assert visible(LABELS[1]) in shown


@pytest.mark.parametrize(("words", "unbuffered"), [(["--help"], ""), (["losses"], "1")])
def test_help_on_a_full_disk(words, unbuffered):
    """One sentence, whether it is written at once or at the end."""
    environment = {**os.environ, "PYTHONUNBUFFERED": unbuffered}
    with Path("/dev/full").open("wb") as full:
        command = [sys.executable, "-m", "fsmeu.cli.main", *words]
        ran = subprocess.run(
            command, stdout=full, stderr=subprocess.PIPE, env=environment, check=False
        )
    assert ran.returncode == 2
    assert ran.stderr.startswith(b"fsmeu: ")
    assert b"No space left on device" in ran.stderr
    assert ran.stderr.count(b"\n") == 1
