"""`fsmeu check --sizes`: sizes of machines, against counting."""

from itertools import product
from math import comb

import pytest

from tests.cli.oracle import WINDOWS, f_score


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
