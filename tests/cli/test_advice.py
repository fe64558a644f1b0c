"""What commands advise: in terms of the command line, and only what is true."""

import json

import pytest

import fsmeu as package

TAGS = {"model": "independent", "labels": ["I-X", "B-X", "O"]}
ROWS = [[0.2, 0.5, 0.3], [0.6, 0.1, 0.3]]


@pytest.fixture
def tags(tmp_path):
    file = tmp_path / "tags.json"
    file.write_text(json.dumps({**TAGS, "probabilities": ROWS}))
    return file


def test_other_labels_are_told_with_options(fsmeu, tags):
    ran = fsmeu("decode", "fscore", "--model", tags)
    ran.is_refused("must have the same labels", "Give --labels")
    assert "labels=" not in ran.err


def test_a_chart_in_place_of_the_machine_is_told(fsmeu, tmp_path):
    ran = fsmeu("draw", "fscore", "--n", 12, "-o", tmp_path / "large.svg")
    assert "The picture is a bar chart" in ran.err
    assert "455 states, and --limit is 100" in ran.err
    assert "limit=" not in ran.err
    ran = fsmeu("draw", "fscore", "--n", 2, "-o", tmp_path / "small.svg")
    assert "bar chart" not in ran.err
    ran = fsmeu("draw", "fscore", "--n", 12, "--format", "svg")
    assert "The picture is a bar chart" in ran.err


def test_plots_promise_no_other_format(fsmeu, tmp_path, monkeypatch):
    """Without matplotlib a plot of levels is no .svg either."""
    monkeypatch.setattr("fsmeu.errors.is_installed", lambda name: False)
    plot = ("--plot", tmp_path / "x.svg")
    ran = fsmeu("expect", "--levels", "fscore", "110", "--probs", "0.9,0.5,0.3", *plot)
    ran.is_refused("matplotlib must be installed", "pip install")
    assert "work without it" not in ran.err


def test_probabilities_of_the_page_are_checked(fsmeu, tmp_path):
    page = tmp_path / "x.html"
    fsmeu("draw", "--explore", "fscore", "--n", 2, "--probs", "1.7", "-o", page).is_refused("1.7")
    assert fsmeu("draw", "--explore", "fscore", "--n", 2, "-o", page).code == 0
    assert "must be a number from 0 to 1; it stays" in page.read_text()


# -- check ----------------------------------------------------------------------------------------


def check(fsmeu, tmp_path, text):
    file = tmp_path / "some.loss"
    file.write_text(text)
    return fsmeu("check", file)


def test_labels_that_do_not_fit_are_a_fault(fsmeu, tmp_path):
    ran = check(fsmeu, tmp_path, 'loss f\nlabels A B\ncount c when z == "C"\nvalue c')
    assert ran.code == 1
    assert "is a text, not a label" in ran.out
    ran = check(fsmeu, tmp_path, "loss f(k: int)\ncount c when z == y\nvalue c + k")
    assert ran.code == 0  # nothing is wrong with the file: a number is needed to measure it
    assert "Not measured" in ran.out


LAST = "loss f\nlabels 0 1\nregister fin in 0..1 start 0 next (z != y)\nvalue fin"
AGES = "loss f\nlabels 0 1\nage a since z == 1 up to 3\nage b since y == 1 up to 3\nvalue (a != b)"
COUNTED = {
    LAST: "loss f\nlabels 0 1\ncount c when i == n and z != y\nvalue c",
    AGES: AGES.replace("value (a != b)", "count c when i == n and a != b\nvalue c"),
}


@pytest.mark.parametrize("text", COUNTED)
def test_counting_at_the_end_is_advised(fsmeu, tmp_path, text):
    told = " ".join(check(fsmeu, tmp_path, text).out.split())
    assert "count c by VALUE when i == n, then value c; additive decides" in told
    assert "advice" not in check(fsmeu, tmp_path, COUNTED[text]).out
    one, other = package.loads(text), package.loads(COUNTED[text])
    p = [0.3, 0.6, 0.2, 0.45, 0.7]
    decided = package.decode(other, p)
    assert (decided.method, decided.exact) == ("additive", True)
    assert decided.value == pytest.approx(package.decode(one, p, method="exhaustive").value)


@pytest.mark.parametrize("name", ["mcc", "kappa", "hamming", "run_length"])
def test_nothing_is_advised_where_it_would_not_help(fsmeu, name):
    assert "i == n" not in fsmeu("check", name, "--n", 4).out
