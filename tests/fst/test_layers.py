"""Layered acceptors as OpenFst machines and back, and their composition."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from fsmeu.errors import FstError, InputError, SizeLimitError
from fsmeu.fst import layers
from fsmeu.fst.alphabet import BINARY, Alphabet
from fsmeu.fst.compose import compose, guard_arcs
from fsmeu.fst.distance import total_weight
from fsmeu.fst.image import fst_from_table, symbol_table
from tests import brute_force
from tests.fst.machines import table
from tests.label_models import random_layers
from tests.support.missing import openfst

pynini = openfst()


def layered_from_fst(fst, alphabet):
    return layers.from_logs(layers.log_layers_from_fst(fst, alphabet, "acceptor"))


def read(layered):
    """The sequences of positive weight, each with its weight."""
    return {y: w for y, w in brute_force.path_distribution(layered).items() if w > 0}


def test_no_digit_is_lost_in_a_long_chain():
    """Ten thousand steps of mass 1 in all; texts of nine digits gave .99999999902 after ten."""
    rows = [(i, 1, 1, -np.log(p), i + 1) for i in range(10_000) for p in (0.3, 0.7)]
    chain = table(0, rows, [np.inf] * 10_000 + [0.0])
    assert total_weight(chain) == pytest.approx(1.0, abs=1e-11)


def test_label_called_epsilon_survives():
    alphabet = Alphabet(("<eps>", "x"))
    layered = layers.string_layers(alphabet, np.array([0, 1], np.int64))
    back = layered_from_fst(layers.fst_from_layered(layered), alphabet)
    assert read(back) == {("<eps>", "x"): 1.0}


def acceptor(*arcs, **numbers):
    """A machine of arcs (source, label of z, label of y, target); the last leads to the end."""
    symbols = pynini.SymbolTable() if numbers else None
    for name, number in {"<eps>": 0, **numbers}.items() if numbers else ():
        symbols.add_symbol(name, number)
    final = [0.0 if state == arcs[-1][-1] else np.inf for state in range(3)]
    rows = [(source, one, other, 0.0, target) for source, one, other, target in arcs]
    return fst_from_table(table(0, rows, final), symbols, symbols)


def test_symbols_outrank_numbers_and_transducers_are_no_acceptors():
    fst = acceptor((0, 9, 9, 1), (1, 4, 4, 2), b=9, a=4)
    assert read(layered_from_fst(fst, Alphabet(("a", "b")))) == {("b", "a"): 1.0}
    with pytest.raises(InputError, match=r"must be one of 0, 1\. Got maybe"):
        layered_from_fst(acceptor((0, 7, 7, 1), maybe=7), BINARY)
    with pytest.raises(InputError, match="both tapes"):
        layered_from_fst(acceptor((0, 1, 1, 1), (0, 1, 2, 1)), BINARY)


NAMES = ("hypothesis z", "loss")


def one_step(weights, symbols=None):
    """A machine that reads one pair, with the weight of each."""
    rows = [(0, a + 1, b + 1, -np.log(weights[a][b]), 1) for a in range(2) for b in range(2)]
    return fst_from_table(table(0, rows, [np.inf, 0.0]), symbols, symbols)


def test_states_that_lead_nowhere_are_kept():
    dead = fst_from_table(table(0, [(0, 1, 1, 0.0, 1), (0, 2, 2, 0.0, 2)], [np.inf, 0.0, np.inf]))
    assert compose(dead, one_step(np.ones((2, 2))), NAMES).num_states() == 3


def test_operands_must_agree():
    """In their arc types and their symbols."""
    ones = np.ones((2, 2))
    ours, theirs = (one_step(ones, symbol_table(Alphabet(pair))) for pair in ("ab", "ac"))
    log = pynini.arcmap(one_step(ones), map_type="to_log")
    for left, right, why in (
        (log, one_step(ones), r".*hypothesis z has log\)"),
        (ours, theirs, "the output symbols"),
    ):
        with pytest.raises(FstError, match=f"compose hypothesis z with loss: {why}"):
            compose(left, right, NAMES)


def test_arcs_are_guarded_too(monkeypatch):
    """A greater limit on states raises that on arcs; a smaller one does not lower it."""
    monkeypatch.setenv("FSMEU_MAX_STATES", "1000")
    with pytest.raises(SizeLimitError, match=r"x: a machine may have at most 4,000 arcs.*4,001"):
        guard_arcs("x", 4001)
    guard_arcs("x", 4000, 10)
    guard_arcs("x", 8000, 2000)


def paths_by_labels(layered):
    """How many paths of positive weight read each sequence, by following every path."""
    ways = [((), int(state)) for state in np.flatnonzero(layered.start > 0)]
    for layer in layered.layers:
        arcs = list(zip(layer.source, layer.label, layer.target, layer.weight, strict=True))
        ways = [((*y, int(b)), t) for y, at in ways for s, b, t, w in arcs if s == at and w > 0]
    return Counter(y for y, state in ways if layered.final[state] > 0)


def test_ambiguity_is_that_of_the_paths():
    rng = np.random.default_rng(5)
    found = Counter()
    for _ in range(300):
        drawn = random_layers(rng, "abcd", int(rng.integers(0, 5)))
        drawn = replace(drawn, final=drawn.final * (rng.random(len(drawn.final)) < 0.6))
        truth = max(paths_by_labels(drawn).values(), default=0) <= 1
        assert drawn.unambiguous == layers.in_logs(drawn).unambiguous == truth
        found[truth, (drawn.start > 0).sum() > 1] += 1
    assert len(found) == 4
    assert min(found.values()) > 10
