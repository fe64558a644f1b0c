"""`fsmeu draw`: pictures in the terminal and in files, plots of levels."""

import xml.etree.ElementTree as ET

import pytest

from fsmeu.fst.compose import max_states
from tests.cli.conftest import on_terminal


def test_small_machine_is_drawn_in_the_terminal(fsmeu):
    """Three states side by side, their values below, the labels on the lines."""
    ran = fsmeu("draw", "hamming", "--n", "2")
    assert ran.code == 0
    row = next(line for line in ran.out.splitlines() if "((bad=0))" in line)
    assert row.index("((bad=0))") < row.index("((bad=1))") < row.index("((bad=2))")
    assert row.count("0:1, 1:0") == 2
    assert "= 0.5" in ran.out
    assert max(map(len, ran.out.splitlines())) <= 80


def test_larger_machine_is_listed(fsmeu):
    """What does not fit into the columns is listed layer by layer."""
    ran = fsmeu("draw", "fscore", "--n", "3")
    assert [line for line in ran.out.splitlines() if line.startswith("depth")] == [
        f"depth {d}" for d in range(4)
    ]
    assert ran.out.count("◎ tp=") == 20


def test_path_is_marked(fsmeu):
    """With z and y, the path is starred."""
    ran = fsmeu("draw", "fscore", "--z", "110", "--y", "101")
    starred = [line.split() for line in ran.out.splitlines() if line.startswith("*")]
    assert len(starred) == 4 + 3


def test_composition_shows_probabilities(fsmeu, tmp_path):
    """With a model, states tell how probable they are."""
    ran = fsmeu("draw", "fscore", "--z", "11", "--probs", "0.9,0.5")
    assert "= 1 p 0.45" in ran.out
    model = tmp_path / "model.json"
    model.write_text('{"probs": [0.9, 0.5]}')
    assert fsmeu("draw", "fscore", "--z", "11", "--model", model).out == ran.out


def test_models_are_drawn_without_a_loss(fsmeu, tmp_path):
    """A JSON file by itself, or --model, or --probs; y colours its path."""
    model = tmp_path / "model.json"
    model.write_text(
        '{"model": "hmm", "initial": [1, 0], "transition": [[0.5, 0.5], [0, 1]], '
        '"emission": [[1, 0], [0.5, 0.5]], "observations": [0, 0], "labels": ["A", "B"]}'
    )
    ran = fsmeu("draw", model, "-f", "txt")
    assert ran.out.startswith("hidden Markov model, given its observations, n = 2: ")
    assert fsmeu("draw", "--model", model, "-f", "txt").out == ran.out
    assert "independent labels" in fsmeu("draw", "--probs", "0.2,0.4").out
    starred = fsmeu("draw", model, "--y", "A B", "-f", "txt").out
    assert sum(line.startswith("*") for line in starred.splitlines()) == 3 + 2


def test_merged_machine_is_drawn(fsmeu):
    ran = fsmeu("draw", "fscore", "--n", "3", "--minimize", "-f", "txt")
    assert ran.out.startswith("utility fscore, n = 3, merged from 20 states: 8 states")


def test_figure_of_the_paper(fsmeu):
    """Registers that follow z alone can be left out, and the machine cut off."""
    words = ["--n", "4", "--given-z", "--depth", "3", "--labels", "n,Y", "--short", "-f", "dot"]
    ran = fsmeu("draw", "fscore", *words)
    assert ran.out.count("peripheries=2") == 10
    assert 'label="n:n, Y:n"' in ran.out
    assert 'label="3,3"' in ran.out


@pytest.mark.parametrize("kind", ["svg", "png", "html"])
def test_files(fsmeu, tmp_path, kind):
    """The ending says the kind; where it went is said on stderr."""
    path = tmp_path / f"picture.{kind}"
    ran = fsmeu("draw", "zero_one", "--n", "2", "-o", path)
    assert (ran.code, ran.out) == (0, "")
    assert str(path) in ran.err
    assert path.stat().st_size > 100


def test_standard_output_can_be_piped(fsmeu):
    """A format without a file goes to standard output."""
    ran = fsmeu("draw", "hamming", "--n", "1", "--format", "svg")
    assert ET.fromstring(ran.out).tag.endswith("svg")
    assert fsmeu("draw", "hamming", "--n", "1", "-f", "svg", "-o", "-").out == ran.out


def test_open_labels_are_those_of_the_pair(fsmeu):
    """Labels that the loss leaves open are the ones that are used."""
    ran = fsmeu("draw", "hamming", "--z", "B A", "--y", "B C", "-f", "dot")
    assert "A:C" in ran.out


def test_large_machine_is_summed_up(fsmeu):
    """Layers and widths, with the limit named."""
    ran = fsmeu("draw", "fscore", "--n", "12")
    assert "At most 100 states" in ran.out
    assert ran.rows()[-1][:3] == ["depth", "12", "91"]


@pytest.mark.parametrize(
    ("words", "part"),
    [
        (["fscore"], "Add --n N"),
        (["fscore", "--n", "2", "-o", "x.gif"], "the format must be one of"),
        (["fscore", "--n", "2", "-o", "-"], "--format"),
        (["fscore", "--z", "12"], "must be one of 0, 1"),
        (["fscore", "--z", "11", "--y", "1"], "the same length"),
        (["fscore", "--probs", "0.5"], "hypothesis z must be given"),
        (["fscore", "--z", "11", "--probs", "0.5"], "the same length"),
        (["fscore", "--n", "400"], "50,000 states"),
        (["fscore", "--n", "2", "-o", "/dev/null/x.svg"], "cannot be used"),
        (["nothing_like_this", "--n", "2"], "nothing_like_this"),
        ([], "a loss or a model must be given"),
        (["nothing.json"], "cannot be read"),
        (["nothing.json", "--probs", "0.5"], "drawn by itself"),
        (["--probs", "0.5", "--n", "1"], "--n goes with a loss"),
        (["--probs", "0.5", "--minimize"], "--minimize goes with a loss"),
        (["--probs", "0.5", "--y", "2"], "must be one of 0, 1"),
        (["fscore", "--z", "1", "--probs", "0.5", "--minimize"], "drawn as it is"),
        (["fscore", "--n", "2", "--minimize", "--summed"], "--n alone"),
    ],
)
def test_bad_input_is_refused(fsmeu, words, part):
    """One sentence, exit code 2, no file."""
    assert max_states() > 50_000
    fsmeu("draw", *words).is_refused(part)


def test_a_terminal_gets_colours():
    """In a terminal the path is coloured."""
    printed, code = on_terminal(
        "draw", "hamming", "--z", "01", "--y", "00", PYTHONIOENCODING="utf-8"
    )
    assert code == 0
    assert "\x1b[1;31m" in printed


@pytest.mark.parametrize("kind", ["png", "svg"])
def test_levels_are_plotted(fsmeu, tmp_path, kind):
    """The table is printed as always, the plot goes into a file."""
    path = tmp_path / f"levels.{kind}"
    words = ["expect", "--levels", "fscore", "110", "--probs", "0.9,0.5,0.3"]
    ran = fsmeu(*words, "--plot", path)
    assert ran.code == 0
    assert ran.out == fsmeu(*words).out
    head = {"png": b"\x89PNG", "svg": b"<?xml"}[kind]
    assert path.read_bytes().startswith(head)


def test_plot_of_unknown_kind_is_refused(fsmeu):
    """The ending must be one that can be painted."""
    words = ["expect", "--levels", "fscore", "110", "--probs", "0.9,0.5,0.3", "--plot", "x.gif"]
    fsmeu(*words).is_refused("the format of a plot must be one of png, pdf, svg")


def test_a_summed_machine_is_drawn(fsmeu):
    """Hamming: one state that waits for a mistake, one after it was paid for."""
    ran = fsmeu("draw", "hamming", "--n", 3, "--summed")
    assert ran.code == 0
    assert "loss hamming, n = 3, summed" in ran.out
    assert "= 0.3333" in ran.out


@pytest.mark.parametrize(
    "more", [("--z", "010"), ("--n", 3, "--given-z"), ("--n", 2, "--probs", "0.5,0.5")]
)
def test_a_summed_machine_has_no_sequence(fsmeu, more):
    ran = fsmeu("draw", "fscore", "--summed", *more)
    assert (ran.code, ran.out) == (2, "")
    assert "--summed goes with --n alone" in ran.err
