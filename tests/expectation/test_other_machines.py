"""Random losses by other machines: compiled ones, composed here state by state, and merged ones."""

import math
from collections import defaultdict

import numpy as np
import pytest
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


def total_weight(z, machine, model):
    """The summed weight of the paths that read z in a machine and then are read by a model."""
    masses = {(machine.start, model.start): 1.0}
    for label in z:
        after = defaultdict(float)
        for (state, place), mass in masses.items():
            for arc in np.flatnonzero((machine.source == state) & (machine.ilabel == label)):
                read = (model.source == place) & (model.ilabel == machine.olabel[arc])
                for other in np.flatnonzero(read):
                    weight = mass * math.exp(-machine.weight[arc] - model.weight[other])
                    after[machine.target[arc], model.target[other]] += weight
        masses = after
    ends = masses.items()
    return sum(mass * math.exp(-machine.final[s] - model.final[m]) for (s, m), mass in ends)


@settings(max_examples=40, deadline=None)
@given(questions(most=4))
def test_random_losses(asked):
    loss, model = asked.case.load(), asked.model.model
    compiled = loss.compile(len(asked.z))
    z = [list(loss.alphabet.labels).index(label) + 1 for label in asked.z]
    machines = table_from_fst(compiled.fst), table_from_layered(model.layered())
    found = total_weight(z, *machines) - compiled.shift
    ours = fsmeu.expect(loss, asked.z, model).value
    assert found == close(ours, 1 + scale_of(asked.pairs))


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
