"""Very many labels: a sentence before anything is built, or work that does not grow with pairs."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import fsmeu
from fsmeu.errors import SizeLimitError
from fsmeu.fst.distinct import group


def over(name, labels):
    return fsmeu.load(name, labels=list(range(labels)))


@pytest.mark.parametrize("build", [lambda loss: loss.compile(3), lambda loss: compile_summed(loss)])
@pytest.mark.parametrize("name", ["hamming", "accuracy"])
def test_too_many_pairs_are_refused_before_a_step(cells, name, build):
    with pytest.raises(SizeLimitError, match=r"5,000 labels make 25,000,000.*FSMEU_MAX_STATES"):
        build(over(name, 5000))
    assert cells == []


def compile_summed(loss):
    return fsmeu.compile_summed(loss, 25)


def test_arcs_are_counted_before_there_is_room_for_them(cells):
    """The first state has a target for each pair, and all of those arcs are too many."""
    text = "loss f labels any register a in 0..9999 start 0 next z * 100 + y value a"
    with pytest.raises(SizeLimitError, match="arcs"):
        fsmeu.loads(text, labels=list(range(100))).compile(2)
    assert sum(cells) == 100 * 100


def test_what_counts_gain_is_asked_for_all_pairs_at_once(cells):
    """300 labels make 90,000 pairs, but a few calls are enough."""
    machine = compile_summed(over("hamming", 300))
    assert machine.states == 2
    assert machine.arcs == 2 * 300 * 300 + 300 * 299
    assert len(cells) < 10


@given(
    arrays(np.int64, st.tuples(st.integers(0, 5), st.integers(0, 9)), elements=st.integers(-1, 2))
)
def test_equal_rows_are_grouped(rows):
    """Wide and tall arrays: the same number for rows that are equal, and for no others."""
    numbers = group(rows)
    same = (rows[:, None] == rows[None]).all(axis=2)
    assert ((numbers[:, None] == numbers[None]) == same).all()
