"""Layered acceptors as OpenFst machines and back, and their composition."""

import itertools
from itertools import pairwise

import numpy as np
import pynini
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fsmeu.errors import FstError, InputError, SizeLimitError
from fsmeu.fst.alphabet import BINARY, Alphabet
from fsmeu.fst.compose import compose, guard_arcs, guard_size, max_states
from fsmeu.fst.distance import backward, forward, total_weight
from fsmeu.fst.image import fst_from_table, symbol_table, table_from_fst
from fsmeu.fst.layers import (
    Layer,
    Layered,
    from_logs,
    fst_from_layered,
    log_layers_from_fst,
    string_layers,
    table_from_layered,
)
from tests.fst.machines import summed_backward, summed_forward, table


def layered_from_fst(fst, alphabet, where="acceptor"):
    return from_logs(log_layers_from_fst(fst, alphabet, where))


def weights_of_layers(layered):
    """The weight of every sequence, path by path."""
    found = {}

    def walk(state, weight, labels):
        if len(labels) == layered.n:
            found[labels] = found.get(labels, 0.0) + weight * float(layered.final[state])
            return
        layer = layered.layers[len(labels)]
        for k in np.flatnonzero(layer.source == state):
            further = (*labels, int(layer.label[k]))
            walk(int(layer.target[k]), weight * float(layer.weight[k]), further)

    for state, weight in enumerate(layered.start.tolist()):
        walk(state, weight, ())
    return {labels: weight for labels, weight in found.items() if weight > 0}


def weights_of_table(machine):
    """The weight of every accepted sequence of tape numbers, path by path."""
    found = {}

    def walk(state, weight, labels):
        if np.isfinite(machine.final[state]):
            end = weight * float(np.exp(-machine.final[state]))
            found[labels] = found.get(labels, 0.0) + end
        for k in np.flatnonzero(machine.source == state):
            further = (*labels, int(machine.ilabel[k]) - 1)
            walk(int(machine.target[k]), weight * float(np.exp(-machine.weight[k])), further)

    if machine.start >= 0:
        walk(machine.start, 1.0, ())
    return {labels: weight for labels, weight in found.items() if weight > 0}


@st.composite
def layered_machines(draw):
    """Several starts, parallel arcs, zero weights, dead ends; n from 0."""
    random = np.random.default_rng(draw(st.integers(0, 2**32)))
    n, size = draw(st.integers(0, 3)), draw(st.integers(1, 3))
    widths = random.integers(1, 4, n + 1).tolist()
    layers = []
    for before, after in pairwise(widths):
        arcs = int(random.integers(1, 7))
        weight = random.random(arcs) * (random.random(arcs) < 0.8)
        source, target = random.integers(0, before, arcs), random.integers(0, after, arcs)
        layers.append(Layer(source, random.integers(0, size, arcs), target, weight, after))
    start = random.random(widths[0]) * (random.random(widths[0]) < 0.8)
    final = random.random(widths[-1]) * (random.random(widths[-1]) < 0.8)
    return Layered(Alphabet(tuple("abc"[:size])), start, tuple(layers), final, False)


@settings(max_examples=120, deadline=None)
@given(layered_machines())
def test_every_sequence_keeps_its_weight(layered):
    machine = table_from_layered(layered)
    assert weights_of_table(machine) == pytest.approx(weights_of_layers(layered), rel=1e-12)
    assert (np.diff(machine.source) >= 0).all()
    assert np.isfinite(machine.weight).all()


@settings(max_examples=80, deadline=None)
@given(layered_machines(), st.integers(0, 2**32))
def test_distances_are_sums_over_paths(layered, seed):
    """OpenFst's distances, against paths one by one and against sums over layers in numpy."""
    machine = table_from_layered(layered)
    wanted = sum(weights_of_layers(layered).values())
    assert total_weight(machine) == pytest.approx(wanted, rel=1e-12, abs=1e-300)
    behind = backward(machine, np.exp(-machine.final))
    assert behind[machine.start] == pytest.approx(wanted, rel=1e-12, abs=1e-300)
    masses = summed_forward(machine)
    assert forward(machine) == pytest.approx(masses, rel=1e-12, abs=1e-300)
    worths = np.random.default_rng(seed).normal(size=machine.states)
    sizes = summed_backward(machine, np.abs(worths))
    off = backward(machine, worths) - summed_backward(machine, worths)
    reached = machine.depths[0] >= 0
    assert (np.abs(off) <= 1e-12 * sizes)[reached].all()
    ends = masses * np.exp(-machine.final)
    room = 1e-12 * float(ends @ np.abs(worths)) + 1e-300
    assert total_weight(machine, worths) == pytest.approx(float(ends @ worths), abs=room)


def test_no_digit_is_lost_in_a_long_chain():
    """Ten thousand steps of mass 1 in all; texts of nine digits gave .99999999902 after ten."""
    rows = [(i, 1, 1, -np.log(p), i + 1) for i in range(10_000) for p in (0.3, 0.7)]
    chain = table(0, rows, [np.inf] * 10_000 + [0.0])
    assert total_weight(chain) == pytest.approx(1.0, abs=1e-11)


def test_label_called_epsilon_survives():
    alphabet = Alphabet(("<eps>", "x"))
    layered = string_layers(alphabet, np.array([0, 1], np.int64))
    back = layered_from_fst(fst_from_layered(layered), alphabet)
    assert weights_of_layers(back) == {(0, 1): 1.0}


# -- machines that are no layers -----------------------------------------------------------------


def acceptor(arcs, final, states=3, symbols=None):
    fst = pynini.Fst("log64")
    fst.add_states(states)
    fst.set_start(0)
    for source, label, target in arcs:
        fst.add_arc(source, pynini.Arc(label, label, pynini.Weight("log64", 0.0), target))
    for state in final:
        fst.set_final(state)
    if symbols is not None:
        fst.set_input_symbols(symbols)
        fst.set_output_symbols(symbols)
    return fst


def symbols_of(**numbers):
    symbols = pynini.SymbolTable()
    symbols.add_symbol("<eps>", 0)
    for name, number in numbers.items():
        symbols.add_symbol(name, number)
    return symbols


def test_unknown_symbol_is_named():
    fst = acceptor([(0, 7, 1)], [1], symbols=symbols_of(maybe=7))
    with pytest.raises(InputError, match=r"must be one of 0, 1\. Got maybe"):
        layered_from_fst(fst, BINARY)


def test_symbols_outrank_numbers():
    alphabet = Alphabet(("a", "b"))
    fst = acceptor([(0, 9, 1), (1, 4, 2)], [2], symbols=symbols_of(b=9, a=4))
    assert weights_of_layers(layered_from_fst(fst, alphabet)) == {(1, 0): 1.0}


def test_transducer_is_no_acceptor():
    fst = acceptor([(0, 1, 1)], [1])
    fst.add_arc(0, pynini.Arc(1, 2, pynini.Weight("log64", 0.0), 1))
    with pytest.raises(InputError, match="both tapes"):
        layered_from_fst(fst, BINARY)


# -- composition: the algebra of weights, size guards, and errors that name the operands -----------


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
