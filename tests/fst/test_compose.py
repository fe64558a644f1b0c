"""Composition: the algebra of weights, size guards, and errors that name the operands."""

import itertools

import numpy as np
import pynini
import pytest

from fsmeu.errors import FstError, SizeLimitError
from fsmeu.fst.alphabet import Alphabet
from fsmeu.fst.compose import compose, guard_arcs, guard_size, max_states
from fsmeu.fst.distance import total_weight
from fsmeu.fst.image import fst_from_table, symbol_table, table_from_fst
from tests.fst.machines import table

NAMES = ("hypothesis z", "loss")


def one_step(weights, symbols=None):
    """A machine that reads one pair, with the weight of each."""
    rows = [
        (0, a + 1, b + 1, -np.log(weights[a][b]), 1)
        for a, b in itertools.product(range(2), range(2))
    ]
    return fst_from_table(table(0, rows, [np.inf, 0.0]), symbols, symbols)


def test_composition_multiplies_and_adds():
    left, right = np.array([[0.1, 0.2], [0.3, 0.4]]), np.array([[0.5, 0.25], [2.0, 4.0]])
    whole = table_from_fst(compose(one_step(left), one_step(right), NAMES))
    assert total_weight(whole) == pytest.approx((left @ right).sum(), rel=1e-14)


def test_states_that_lead_nowhere_are_kept():
    dead = fst_from_table(table(0, [(0, 1, 1, 0.0, 1), (0, 2, 2, 0.0, 2)], [np.inf, 0.0, np.inf]))
    assert compose(dead, one_step(np.ones((2, 2))), NAMES).num_states() == 3


def test_arc_types_must_agree():
    log = pynini.arcmap(one_step(np.ones((2, 2))), map_type="to_log")
    with pytest.raises(FstError, match=r"compose hypothesis z with loss: .*hypothesis z has log\)"):
        compose(log, one_step(np.ones((2, 2))), NAMES)


def test_symbols_must_agree():
    ours, theirs = (symbol_table(Alphabet(labels)) for labels in (("a", "b"), ("a", "c")))
    left, right = one_step(np.ones((2, 2)), ours), one_step(np.ones((2, 2)), theirs)
    with pytest.raises(FstError, match="compose hypothesis z with loss: the output symbols"):
        compose(left, right, NAMES)


def test_guard_names_limit_and_variable():
    with pytest.raises(SizeLimitError) as caught:
        guard_size("composition", 1001, 1000)
    text = str(caught.value)
    for part in ("composition: ", "1,000 states", "1,001", "FSMEU_MAX_STATES", "max_states"):
        assert part in text
    guard_size("composition", 1000, 1000)


def test_environment_sets_the_limit(monkeypatch):
    monkeypatch.setenv("FSMEU_MAX_STATES", "17")
    assert max_states() == 17
    assert max_states(5) == 5
    with pytest.raises(SizeLimitError, match="at most 17 states"):
        guard_size("x", 18)
    monkeypatch.delenv("FSMEU_MAX_STATES")
    assert max_states() > 10**6


def test_arcs_are_guarded_too(monkeypatch):
    """A greater limit on states raises that on arcs; a smaller one does not lower it."""
    monkeypatch.setenv("FSMEU_MAX_STATES", "1000")
    with pytest.raises(SizeLimitError, match=r"x: a machine may have at most 4,000 arcs.*4,001"):
        guard_arcs("x", 4001)
    guard_arcs("x", 4000, 10)
    guard_arcs("x", 8000, 2000)
