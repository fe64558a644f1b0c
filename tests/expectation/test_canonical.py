"""Merging what nothing can tell apart once z is known changes no number."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fsmeu
from fsmeu.losses.machine import view as canonical
from fsmeu.trellis import walk
from tests import brute_force
from tests.expectation.checks import assert_same
from tests.strategies import questions


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
