"""Random losses by other machines: those of genlm-grammar, in pure Python, and merged ones."""

import math

import pytest
from genlm.grammar import FST, WFSA, Float
from hypothesis import given, settings
from hypothesis import strategies as st

import fsmeu
from fsmeu.fst.image import table_from_fst
from fsmeu.fst.layers import table_from_layered
from fsmeu.losses.machine import view as canonical
from fsmeu.trellis import walk
from tests import brute_force
from tests.expectation.checks import assert_same, close, scale_of
from tests.strategies import questions


def transducer(table):
    """An arc table as a transducer of genlm-grammar, full doubles on every arc."""
    machine = FST(Float)
    machine.add_I(table.start, 1.0)
    for arc in range(table.arcs):
        labels = (int(table.ilabel[arc]), int(table.olabel[arc]))
        weight = math.exp(-float(table.weight[arc]))
        machine.add_arc(int(table.source[arc]), labels, int(table.target[arc]), weight)
    for state, weight in enumerate(table.final.tolist()):
        if math.isfinite(weight):
            machine.add_F(state, math.exp(-weight))
    return machine


def acceptor_of_string(labels, z):
    machine = WFSA.from_string(tuple(labels.index(x) + 1 for x in z), Float)
    assert machine.total_weight() == 1.0
    return FST.diag(machine)


def compare(loss, z, model):
    """(their total, our expectation), the shift of negative values taken off theirs."""
    machine = loss.compile(len(z))
    arcs = table_from_fst(machine.fst)
    left = acceptor_of_string(list(loss.alphabet.labels), z) @ transducer(arcs)
    whole = left @ transducer(table_from_layered(model.layered()))
    return whole.total_weight() - machine.shift, fsmeu.expect(loss, z, model).value


@settings(max_examples=40, deadline=None)
@given(questions(most=4))
def test_random_losses(asked):
    theirs, ours = compare(asked.case.load(), asked.z, asked.model.model)
    assert theirs == close(ours, 1 + scale_of(asked.pairs))


# -- merging what nothing can tell apart once z is known changes no number -------------------------


@pytest.fixture
def always(monkeypatch):
    """Merging wherever it can be done, and a list of what came of it."""
    monkeypatch.setattr(canonical, "_SMALL_CORE", 0)
    monkeypatch.setattr(canonical, "_WORTH_MERGING", 0.0)
    made = []

    def noted(view, copies):
        made.append(canonical.quotient_given_z(view, copies))
        return made[-1]

    monkeypatch.setattr(walk, "quotient_given_z", noted)
    return made


def test_merged_states_equal_enumeration(always):
    """Random losses, hypotheses and models."""

    @settings(max_examples=150, deadline=None)
    @given(questions(), st.integers(1, 9))
    def law(asked, keep):
        pairs, loss = asked.pairs, asked.case.load()
        assert_same(fsmeu.expect(loss, asked.z, asked.model.model), pairs)
        some = fsmeu.expect(loss, asked.z, asked.model.model, keep=keep)
        assert some.lower <= brute_force.mean(pairs) <= some.upper

    law()
    assert sum(view is not None for view in always) > 50
