"""`fsmeu draw -o x.html`: one file, written where it is wanted."""

import json
import re

import pytest

import fsmeu as package
from fsmeu import constraints


def data_of(page):
    """The tables that a page carries."""
    return json.loads(re.search(r'id="data">(.*?)</script>', page, re.DOTALL).group(1))


def test_page_is_written(fsmeu, tmp_path, monkeypatch):
    """It is named after the loss, and its name is printed."""
    monkeypatch.chdir(tmp_path)
    ran = fsmeu("draw", "--explore", "fscore", "--n", "3")
    assert (ran.code, ran.out) == (0, "fscore.html\n")
    data = data_of((tmp_path / "fscore.html").read_text())
    assert [machine["n"] for machine in data["machines"]] == [1, 2, 3]
    assert [len(machine["values"]) for machine in data["machines"]] == [4, 10, 20]


def test_page_goes_to_a_file_or_to_standard_output(fsmeu, tmp_path):
    """-o FILE and -o - give the same page."""
    path = tmp_path / "page.html"
    assert fsmeu("draw", "--explore", "pk", "-p", "k=2", "-n", "2", "-o", path).code == 0
    assert (
        fsmeu("draw", "--explore", "pk", "-p", "k=2", "-n", "2", "-o", "-").out == path.read_text()
    )


def test_tables_hold_the_values(fsmeu):
    """Walking the tables by hand gives the F-score of the pair."""
    page = fsmeu("draw", "--explore", "fscore", "-n", "3", "-o", "-").out
    machine = data_of(page)["machines"][-1]
    state = machine["start"]
    for z, y in ((1, 1), (1, 0), (0, 1)):
        state = machine["next"][(state * 2 + z) * 2 + y]
    assert machine["values"][state] == 0.5
    assert machine["held"][state] == ["1", "2", "2"]


def test_probabilities_to_begin_with(fsmeu):
    """--probs sets the sliders."""
    page = fsmeu("draw", "--explore", "fscore", "-n", "2", "--probs", "0.25,0.75", "-o", "-").out
    assert data_of(page)["weights"] == [[0.25], [0.75]]


@pytest.mark.parametrize(
    ("words", "allowed"),
    [
        (["hamming", "--labels", "O,B-NP,I-NP"], constraints.bio),
        (["hamming", "--labels", "I-A,B-A,O,B-B,I-B"], constraints.bio),
        (["hamming", "--labels", "B-X,O"], constraints.bio),
        (["hamming", "--labels", "O,S-X,B-X,I-X,E-X"], constraints.iobes),
        (["chunk_recall", "--types", "NP,VP"], constraints.bio),
    ],
)
def test_first_pair_of_tags_is_well_formed(fsmeu, words, allowed):
    """At every length it is a sequence that the constraint of the scheme allows, with a chunk."""
    data = data_of(fsmeu("draw", "--explore", *words, "-n", "3", "-o", "-").out)
    labels = data["labels"]
    for machine in data["machines"]:
        n = machine["n"]
        even = package.models.Independent([[1 / len(labels)] * len(labels)] * n, labels)
        for tape in ("z", "y"):
            tags = [labels[k] for k in machine["first"][tape]]
            assert even.given(allowed()).probability(tags) > 0
            assert n == 1 or set(tags) != {"O"}


def test_labels_can_be_chosen(fsmeu):
    """A loss that leaves its labels open takes those that are given."""
    page = fsmeu("draw", "--explore", "hamming", "--labels", "A,B,C", "-n", "1", "-o", "-").out
    assert data_of(page)["labels"] == ["A", "B", "C"]
    assert data_of(page)["machines"][0]["first"] == {"z": [2], "y": [2]}
    assert all(sum(row) == pytest.approx(1) for row in data_of(page)["weights"])


@pytest.mark.parametrize(
    ("words", "part"),
    [
        (["fscore", "-n", "40"], "at most 150 states"),
        (["fscore", "-n", "3", "--limit", "10"], "at most 10 states"),
        (["hamming", "--labels", "A,B,C", "--probs", "0.5"], "for two labels"),
        (["fscore", "--probs", "1.5"], "0"),
        (["fscore", "-o", "/dev/null/x.html"], "cannot be used"),
        (["pk"], "--param k=VALUE"),
    ],
)
def test_bad_input_is_refused(fsmeu, words, part):
    """One sentence, exit code 2."""
    fsmeu("draw", "--explore", *words).is_refused(part)
