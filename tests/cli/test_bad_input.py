"""Bad input to every command: one sentence, exit code 2, never a traceback."""

import json
import os

import pytest

import fsmeu.cli.losses as fsmeu_losses
from fsmeu.cli.failures import INTERRUPTED, OUR_FAULT
from tests.support.nightly import mostly_nightly

LOSS_COMMANDS = {
    "losses": lambda loss: ["losses", loss],
    "check": lambda loss: ["check", loss],
    "sizes": lambda loss: ["check", "--sizes", loss],
    "evaluate": lambda loss: ["evaluate", "--steps", loss, "01", "01"],
    "draw": lambda loss: ["draw", "--format", "fst", loss, "--n", "2", "-o", os.devnull],
    "expect": lambda loss: ["expect", loss, "01", "--probs", ".5,.5"],
}
MALFORMED = "loss f\nlabels 0 1\ncount bad whn z != y\nvalue bad\n"


@pytest.fixture(params=LOSS_COMMANDS)
def with_loss(request):
    """A command line for a loss, for each command that takes one."""
    return LOSS_COMMANDS[request.param]


def test_unknown_loss(fsmeu, with_loss):
    """The nearest name is offered; without one, all are."""
    fsmeu(*with_loss("fscor")).is_refused("'fscor'", "'fscore'")
    fsmeu(*with_loss("qqqq")).is_refused("hamming", "zero_one")


def test_malformed_file(fsmeu, with_loss, tmp_path):
    """File, line, column, a caret and the word that was meant."""
    file = tmp_path / "f.loss"
    file.write_text(MALFORMED)
    ran = fsmeu(*with_loss(file))
    ran.is_refused(f"{file}:3:11: ", "'when'")
    *_, line, caret = ran.err.splitlines()
    assert line.strip() == "count bad whn z != y"
    assert line[len(caret) - 1 :].startswith("whn")


def test_malformed_text_from_standard_input(fsmeu, with_loss):
    """A pipe has no name, but lines."""
    fsmeu(*with_loss("-"), stdin=MALFORMED).is_refused("<stdin>:3:11: ")
    fsmeu(*with_loss("-"), stdin="").is_refused("<stdin>:1:1: ")


def test_files_that_are_no_losses(fsmeu, with_loss, tmp_path):
    """A folder, a binary file, a file that is too long, and none at all."""
    binary = tmp_path / "b.loss"
    binary.write_bytes(bytes(range(256)))
    long = tmp_path / "long.loss"
    long.write_text("# " + "x" * 300_000)
    fsmeu(*with_loss(tmp_path)).is_refused(str(tmp_path), "folder")
    fsmeu(*with_loss(binary)).is_refused(str(binary), "UTF-8")
    fsmeu(*with_loss(long)).is_refused(str(long), "at most")
    fsmeu(*with_loss(tmp_path / "none.loss")).is_refused("none.loss")
    fsmeu(*with_loss("~nobody-of-this-name/f.loss")).is_refused("home folder")
    fsmeu(*with_loss("a" * 5000)).is_refused("too long")
    fsmeu(*with_loss("-"), stdin=bytes(range(256))).is_refused("UTF-8")
    fsmeu(*with_loss("-"), stdin=b"#" * 300_000).is_refused("at most")


@pytest.mark.parametrize("command", ["sizes", "evaluate", "draw", "expect"])
@pytest.mark.parametrize(
    ("options", "parts"),
    [
        ([], ["loss pk", "'k'", "--param k=VALUE"]),
        (["-p", "k"], ["NAME=VALUE", "--param k=2"]),
        (["-p", "=2"], ["NAME=VALUE"]),
        (["-p", "k=two"], ["--param k", "number", "two"]),
        (["-p", "k="], ["--param k", "nothing"]),
        (["-p", "k=1.5"], ["parameter k", "whole number"]),
        (["-p", "k=0"], ["parameter k", "1..", "0.0"]),
        (["-p", "k=1e999"], ["parameter k", "finite"]),
        (["-p", "k=[1, 2]"], ["parameter k", "number"]),
        (["-p", "k=[[1], [2, 3]]"], ["--param k", "rectangular"]),
        (["-p", "k=" + "[" * 100_000], ["--param k", "table"]),
        (["-p", "k=1", "-p", "k=2"], ["'k'", "once"]),
        (["-p", "k=1", "-p", "kk=2"], ["'kk'", "'k'"]),
        (["-p", "k=1", "--labels", "A,B,C"], ["2 labels", "3 labels"]),
        (["-p", "k=1", "--labels", "A,A"], ["'A'", "twice"]),
        (["-p", "k=1", "--labels", " , "], ["--labels"]),
        (["-p", "k=1", "--types", ""], ["--types"]),
        (["-p", "k=1", "--labels", "A,B", "--types", "NP"], ["--labels", "--types"]),
    ],
)
def test_parameters_and_labels(fsmeu, command, options, parts):
    """What is wrong with -p, --labels and --types is said in the same words everywhere."""
    fsmeu(*LOSS_COMMANDS[command]("pk"), *options).is_refused(*parts)


@pytest.mark.parametrize(
    ("options", "parts"),
    [
        ([], ["--probs", "--model", "neither"]),
        (["--probs", ".5,.5", "--model", "m.json"], ["both"]),
        (["--probs", ".5"], ["same length", "2 and 1"]),
        (["--probs", ".5,1.5"], ["0 to 1", "1.5"]),
        (["--probs", ".5,-.5"], ["0 to 1", "-0.5"]),
        (["--probs", ".5,nan"], ["0 to 1", "nan"]),
        (["--probs", ".5;.5"], ["--probs", "commas", ".5;.5"]),
        (["--probs", ".5,.5", "--engine", "steam"], ["lattice, openfst", "steam"]),
        (["--probs", ".5,.5", "--labels", "A,B"], ["same labels", "A', 'B", "Give --labels"]),
        (["--model", "none.json"], ["none.json", "No such file"]),
        (["--model", "/"], ["model file /", "directory"]),
    ],
)
def test_models(fsmeu, options, parts):
    """What is wrong with a model is said."""
    fsmeu("expect", "fscore", "01", *options).is_refused(*parts)


@pytest.mark.parametrize(
    ("content", "parts"),
    [
        ("", ["JSON", "nothing"]),
        ("rubbish", ["JSON", "rubbish"]),
        ("/etc/passwd", ["JSON object", "/etc/passwd"]),
        ('{"probs": [0.5', ["JSON", "line 1"]),
        ('{"probs": ' + "[" * 100_000, ["JSON"]),
        (b"\xff\xfe\x00", ["UTF-8"]),
    ],
)
def test_model_text(fsmeu, content, parts):
    """A text on standard input is never taken for the name of a file."""
    fsmeu("expect", "fscore", "01", "--model", "-", stdin=content).is_refused(*parts)


def test_only_one_thing_comes_from_standard_input(fsmeu):
    """The loss or the model."""
    fsmeu("expect", "-", "01", "-m", "-", stdin=MALFORMED).is_refused("not both", "a file")


@pytest.mark.parametrize(
    ("args", "parts"),
    [
        (["evaluate", "--steps", "fscore", "012", "011"], ["hypothesis z", "label 3", "0, 1", "2"]),
        (["evaluate", "--steps", "fscore", "011", "01x"], ["reference y", "label 3", "x"]),
        (["evaluate", "--steps", "fscore", "011", "01"], ["same length", "3 and 2"]),
        (["evaluate", "--steps", "hamming", "B-VP", "O", "--types", "NP"], ["B-VP", "'B-NP'"]),
        (["expect", "fscore", "0A", "--probs", ".5,.5"], ["hypothesis z", "label 2", "A"]),
        (
            ["draw", "--format", "fst", "fscore", "--z", "0A", "-o", os.devnull],
            ["hypothesis z", "label 2"],
        ),
        (
            ["draw", "--format", "fst", "fscore", "--n", "3", "--z", "01", "-o", os.devnull],
            ["n = 3", "length 2"],
        ),
        (["draw", "--format", "fst", "fscore", "-o", os.devnull], ["--n N", "--z Z"]),
        (["draw", "--format", "fst", "fscore", "--n", "1", "-o", "/"], ["/", "directory"]),
        (
            ["draw", "--format", "fst", "fscore", "--n", "1", "-o", "/dev/null/x.fst"],
            ["/dev/null", "it cannot be used"],
        ),
        (["evaluate", "--steps", "fscore", "1", "1", "-p", "beta=1e200"], ["not a finite number"]),
    ],
)
def test_sequences_and_files(fsmeu, args, parts):
    """Which sequence, which label, which file."""
    fsmeu(*args).is_refused(*parts)


def test_tags_must_be_known_before_a_machine_is_built(fsmeu):
    """A loss over chunk tags says which options name them."""
    text = "loss f labels bio count bad when z != y value bad"
    for command in (
        ["check", "--sizes", "-"],
        ["draw", "--format", "fst", "-", "--n", "2", "-o", os.devnull],
    ):
        fsmeu(*command, stdin=text).is_refused("--types NP", "--labels O,B-NP")


@pytest.mark.parametrize("n", mostly_nightly([10**30, 10**6], quick=1))
def test_huge_lengths(fsmeu, n, monkeypatch):
    """A length past all limits is refused when that many states are there."""
    monkeypatch.setenv("FSMEU_MAX_STATES", "100000")
    fsmeu("check", "--sizes", "fscore", "--n", n).is_refused("at most 100,000 states")
    fsmeu("draw", "--format", "fst", "hamming", "--n", n, "-o", os.devnull).is_refused(
        "at most 2,000 layers"
    )


def test_machines_past_the_limit(fsmeu, monkeypatch):
    """The sentence names the limit and how to raise it."""
    monkeypatch.setenv("FSMEU_MAX_STATES", "1000")
    says = ["at most 1,000 states", "FSMEU_MAX_STATES"]
    fsmeu("check", "--sizes", "fscore", "--n", 40).is_refused(*says)
    fsmeu("draw", "--format", "fst", "fscore", "--n", 40, "-o", os.devnull).is_refused(*says)
    probs = ",".join(["0.5"] * 40)
    command = ["expect", "fscore", "01" * 20, "--probs", probs, "--engine", "openfst"]
    fsmeu(*command).is_refused(*says)


@pytest.mark.parametrize(
    "args",
    [
        ["evaluat", "fscore"],
        ["evaluate", "--steps", "fscore", "01"],
        ["evaluate", "--steps", "fscore", "01", "01", "01"],
        ["evaluate", "--steps", "fscore", "01", "01", "--jsn"],
        ["check", "--sizes", "fscore", "--n", "-1"],
        ["check", "--sizes", "fscore", "--n", "many"],
        ["draw", "--format", "fst", "fscore", "--n", "2"],
        ["expect", "fscore", "01", "--probs", ".5,.5", "--beam", "0"],
        ["expect", "fscore", "01", "--probs"],
        ["losses", "fscore", "pk"],
        ["searn", "train"],
    ],
)
def test_usage(fsmeu, args):
    """A command line that makes no sense ends in the same form."""
    fsmeu(*args).is_refused()


def test_debug_shows_where_an_error_comes_from(fsmeu):
    """Wherever --debug stands, the exception itself comes out."""
    for args in (["--debug", "losses", "fscor"], ["losses", "fscor", "--debug"]):
        ran = fsmeu(*args)
        assert ran.code != 0
        assert type(ran.exception).__name__ == "InputError"


def test_debug_after_a_bare_double_dash_is_a_sequence(fsmeu):
    """What stands behind -- is not an option."""
    fsmeu("evaluate", "--steps", "fscore", "--", "01", "--debug").is_refused(
        "reference y", "label 1"
    )


@pytest.mark.parametrize(
    ("error", "code", "says"),
    [
        (MemoryError(), 2, "memory"),
        (OSError(5, "Input/output error"), 2, "Input/output error"),
        (KeyError("lost"), OUR_FAULT, "KeyError: 'lost'"),
        (KeyboardInterrupt(), INTERRUPTED, ""),
    ],
)
def test_what_cannot_be_foreseen(fsmeu, monkeypatch, error, code, says):
    """Even a fault of our own ends in a sentence; an interruption in none."""

    def fail(name):
        raise error

    monkeypatch.setattr(fsmeu_losses, "read_loss_file", fail)
    ran = fsmeu("losses", "fscore")
    assert (ran.code, ran.out) == (code, "")
    assert says in ran.err
    assert "Traceback" not in ran.err
    assert ran.err.count("\n") == (1 if says else 0)


def test_json_errors_are_sentences_too(fsmeu):
    """--json does not change how errors are told."""
    ran = fsmeu("expect", "fscor", "01", "--probs", ".5,.5", "--json")
    ran.is_refused("'fscore'")
    with pytest.raises(json.JSONDecodeError):
        json.loads(ran.err)
