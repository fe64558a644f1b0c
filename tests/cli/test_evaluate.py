"""`fsmeu evaluate --steps`: registers step by step, and values against other libraries."""

from itertools import accumulate

import pytest

MEMORIES = """
loss changes(k: int = 2)
labels any
memory mz of z last k
memory eq of (z == y) last 2
state even odd
arc even -> odd when z == y
arc even -> even otherwise
arc odd -> even when z == y
arc odd -> odd otherwise
count cost by 1/2 when z != y
value cost
"""


def test_counts_of_the_f_score(fsmeu):
    """Every row holds the counts up to its position."""
    z, y = "10110", "11010"
    steps = fsmeu("evaluate", "--steps", "fscore", z, y, "--json").json["steps"]
    pairs = [(int(a), int(b)) for a, b in zip(z, y, strict=True)]
    counts = {
        "tp": [a * b for a, b in pairs],
        "hyp": [a for a, _ in pairs],
        "ref": [b for _, b in pairs],
    }
    for name, added in counts.items():
        assert [step["registers"][name] for step in steps] == list(accumulate(added, initial=0))
    assert [step["i"] for step in steps] == list(range(6))
    assert [step["z"] for step in steps] == [None, 1, 0, 1, 1, 0]


def test_states_and_memories_are_shown_by_name(fsmeu):
    """A state by its name, a memory newest first with dots before the start."""
    ran = fsmeu("evaluate", "--steps", "-", "NN VB NN", "NN DT NN", "-p", "k=2", stdin=MEMORIES)
    assert ran.rows() == [
        ["i", "z", "y", "mz", "eq", "state", "cost"],
        ran.rows()[1],
        ["0", ".", ".", ".", ".", "even", "0"],
        ["1", "NN", "NN", "NN", ".", "1", ".", "odd", "0"],
        ["2", "VB", "DT", "VB", "NN", "0", "1", "odd", "0.5"],
        ["3", "NN", "NN", "NN", "VB", "1", "0", "even", "0.5"],
        [],
        ["value", "0.5"],
    ]


def test_the_same_as_data(fsmeu):
    """Entries are labels, null before the start; whole numbers are whole."""
    steps = fsmeu("evaluate", "--steps", "-", "2,1", "2,0", "--json", stdin=MEMORIES).json["steps"]
    assert steps[1]["registers"] == {"mz": [2, None], "eq": [1, None], "state": "odd", "cost": 0}
    assert steps[2]["registers"] == {"mz": [1, 2], "eq": [0, 1], "state": "odd", "cost": 0.5}


@pytest.mark.parametrize("written", ["A B A", "A,B,A", "ABA", "A, B, A"])
def test_a_sequence_may_be_written_in_several_ways(fsmeu, written):
    """Spaces, commas or nothing between the labels; labels are found in the pair."""
    value = fsmeu("evaluate", "--steps", "hamming", written, "ABC", "--json").json["value"]
    assert value == pytest.approx(1 / 3, rel=1e-12)


def test_an_empty_pair_has_a_value(fsmeu):
    """There is one row, the start."""
    data = fsmeu("evaluate", "--steps", "accuracy", "", "", "--json").json
    assert (data["n"], len(data["steps"]), data["value"]) == (0, 1, 1.0)


def test_labels_may_be_renamed(fsmeu):
    """The second name stands for label 1."""
    ran = fsmeu("evaluate", "--steps", "recall", "NYN", "YYN", "--labels", "N,Y", "--json")
    assert ran.json["value"] == 0.5


def test_a_sequence_may_begin_with_a_minus(fsmeu):
    """After a bare -- nothing is an option."""
    ran = fsmeu("evaluate", "--steps", "--json", "hamming", "--", "-1 1", "1 1")
    assert ran.json["value"] == 0.5


def test_signs_in_labels_are_not_markup(fsmeu):
    """What a terminal library reads as style or emoji is printed as it is."""
    ran = fsmeu("evaluate", "--steps", "hamming", "[red] [/] :smile:", "[red] [/] [/]")
    assert ran.code == 0
    assert ran.rows()[3][1:3] == ["[red]", "[red]"]
    assert ran.rows()[5][1:3] == [":smile:", "[/]"]


def test_a_long_pair_is_refused_before_it_is_followed(fsmeu, monkeypatch):
    monkeypatch.setattr("fsmeu.losses.describe.trace_pairs", lambda *given: 1 / 0)
    fsmeu("evaluate", "--steps", "fscore", "0" * 100_000, "1" * 100_000).is_refused(
        "10,000 labels", "100,000"
    )
