"""`fsmeu check`: examples are run, what follows from a definition is said, sizes are counted."""

from itertools import product
from math import comb

import pytest

from tests.cli.oracle import WINDOWS, f_score

TAGS = """
utility kinds "share of positions whose chunk kinds agree, less half for other types"
labels bio
count same when kind(z) == kind(y)
count bad by -1/2 when type(z) != type(y)
value (same + bad) / n or 1 when n == 0
example "O B-NP" "O B-VP" = 3/4
example O B-NP = -0.5
example OOO OOO = 1
"""
COSTS = """
loss costs(cost: table, w = 1)
labels any
count total by w * cost[z, y]
value total
example ABA AAB = 3
example ABA AAB = 6 with w = 2
"""
WRONG = """
loss wrong(k: int = 2)
labels 0 1
count bad when z != y
value bad / (bad + k - 1)
example 01 00 = 1/2
example 01 00 = 1 with k = 3
example 01 00 = 1/3 with k = 3
example 01 002 = 1
example 01 0 = 1
example 01 01 = 0 with k = 1
"""


def test_failing_examples_are_told_one_by_one(fsmeu):
    """The exit code is 1; a value that differs and a pair without value are told apart."""
    ran = fsmeu("check", "-", stdin=WRONG)
    assert ran.code == 1
    assert "ok    line 6: 01 00 = 0.5" in ran.out
    assert f"FAILS line 7: 01 00 = {1 / 3!r} with k = 3; the file says 1.0" in ran.out
    assert "ok    line 8" in ran.out
    assert "FAILS line 9: 01 002 has no value" in ran.out
    assert "label 3 must be one of 0, 1" in ran.out
    assert "same length" in ran.out
    assert "division by zero" in ran.out
    assert "2 of 6 examples hold." in ran.out
    assert ran.err == ""


def test_the_same_as_data(fsmeu):
    """What programs get of the same file."""
    ran = fsmeu("check", "-", "--json", stdin=WRONG)
    data = ran.json
    assert ran.code == 1
    assert not data["holds"]
    assert [example["holds"] for example in data["examples"]] == [True, False, True, *[False] * 3]
    assert data["examples"][1]["value"] == pytest.approx(1 / 3, rel=1e-15)
    assert data["examples"][1]["expected"] == 1.0
    assert data["examples"][1]["with"] == {"k": 3}
    assert data["examples"][3]["value"] is None


def test_tags_are_taken_from_the_examples(fsmeu):
    """A loss over chunk tags is checked without saying which tags there are."""
    ran = fsmeu("check", "-", stdin=TAGS)
    assert (ran.code, "3 of 3" in ran.out) == (0, True)


def test_parameters_may_be_given_to_examples(fsmeu):
    """A table has no place in an example, so it comes from outside; examples bind the rest."""
    assert fsmeu("check", "-", stdin=COSTS).code == 1
    ran = fsmeu("check", "-", "-p", "cost=[[0, 1], [2, 0]]", stdin=COSTS)
    assert (ran.code, "2 of 2" in ran.out) == (0, True)


def test_labels_may_be_given_to_examples(fsmeu):
    """The order of the labels is the order of the rows of a table."""
    options = ["-p", "cost=[[0, 1], [2, 0]]", "--labels", "B,A", "--json"]
    data = fsmeu("check", "-", *options, stdin=COSTS).json
    # z = ABA, y = AAB: one B for A, cost[B, A] = 1, and one A for B, cost[A, B] = 2.
    assert [example["value"] for example in data["examples"]] == [3, 6]
    lone = COSTS.replace("ABA AAB", "ABA ABB")
    data = fsmeu("check", "-", *options, stdin=lone).json
    assert [example["value"] for example in data["examples"]] == [2, 4]


def test_a_file_without_examples_says_so(fsmeu):
    """Nothing was run, and nothing is wrong."""
    ran = fsmeu("check", "-", stdin="loss one value 1")
    assert ran.code == 0
    assert "no examples" in ran.out


def test_derived_properties_of_the_f_score(fsmeu):
    """The value is linear in tp alone; hyp reads z only, ref y only (Jansche 2007, section 3)."""
    rows = {row["name"]: row for row in fsmeu("check", "fscore", "--json").json["registers"]}
    assert {name: row["tapes"] for name, row in rows.items()} == {
        "tp": ["z", "y"],
        "hyp": ["z"],
        "ref": ["y"],
    }
    assert {name: row["given"] for name, row in rows.items()} == {
        "tp": "weight",
        "hyp": "constant",
        "ref": "state",
    }
    assert {name: row["free"] for name, row in rows.items()} == {
        "tp": "weight",
        "hyp": "state",
        "ref": "state",
    }


def test_overflow_is_reported_and_not_warned_of(fsmeu, recwarn):
    """Values that doubles cannot hold: the report says so, numpy does not."""
    ran = fsmeu("check", "cost_matrix", "--n", "4", "-p", "cost=1e308")
    assert "not a finite number" in " ".join(ran.out.split())
    fsmeu("check", "cost_matrix", "-n", "4", "-p", "cost=[[1e308,-1e308],[-1e308,1e308]]")
    assert [str(w.message) for w in recwarn if issubclass(w.category, RuntimeWarning)] == []


@pytest.mark.parametrize("n", [0, 1, 5, 8])
def test_f_score_has_as_many_states_as_counts(fsmeu, n):
    """States are triples of counts that fit into n positions; values are counted by enumeration."""
    data = fsmeu("check", "--sizes", "fscore", "--n", n, "--json").json
    assert data["states"] == comb(n + 3, 3)
    assert data["arcs"] == 4 * comb(n + 2, 3)
    assert data["final"] == comb(n + 3, 3)
    half = min(n, 5)
    pairs = product(product((0, 1), repeat=half), repeat=2)
    if half == n:
        assert data["values"] == len({f_score(z, y) for z, y in pairs})


def test_growth_is_shown_for_a_quarter_and_a_half(fsmeu):
    """Hamming distance counts to n."""
    data = fsmeu("check", "--sizes", "hamming", "-n", 20, "--labels", "A,B,C", "--json").json
    assert [size["n"] for size in data["growth"]] == [5, 10, 20]
    assert [size["states"] for size in data["growth"]] == [6, 11, 21]
    assert [size["arcs"] for size in data["growth"]] == [45, 90, 180]
    assert [size["values"] for size in data["growth"]] == [6, 11, 21]
    assert data["labels"] == ["A", "B", "C"]


def test_the_table_for_people(fsmeu):
    """The same numbers, the registers, at most 80 columns."""
    ran = fsmeu("check", "--sizes", "-", "-p", "k=2", "--n", 4, stdin=WINDOWS)
    assert ran.code == 0
    assert max(map(len, ran.out.splitlines())) <= 80
    assert ran.rows()[0] == ["loss", "windows(k:", "int", "in", "1..)"]
    assert ["bad", "count", "z", "y", "i", "weight", "weight"] in ran.rows()
    # One window at n = 2, so values 0 and 1; three at n = 4, so four values; none at n = 1.
    assert {row[0]: row[-1] for row in ran.rows()[-3:]} == {"1": "1", "2": "2", "4": "4"}


def test_tags_make_labels(fsmeu):
    """Two chunk types make five tags."""
    data = fsmeu("check", "--sizes", "zero_one", "--types", "NP,VP", "-n", 3, "--json").json
    assert data["labels"] == ["O", "B-NP", "I-NP", "B-VP", "I-VP"]
    assert (data["states"], data["arcs"], data["values"]) == (2, 50, 2)
