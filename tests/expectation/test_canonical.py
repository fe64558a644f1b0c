"""Merging what nothing can tell apart once z is known changes no number."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fsmeu
from fsmeu.losses.machine import quotient_given_z as canonical
from fsmeu.trellis import walk
from tests import brute_force
from tests.expectation.checks import assert_same, close
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


@pytest.mark.parametrize("name", ["chunk_fscore", "chunk_recall", "span_fscore"])
def test_chunks_are_merged(name, monkeypatch):
    """The same expectation with every age a state of its own."""
    loss = fsmeu.load(name, types=["A", "B"])
    rng = np.random.default_rng(2)
    then = rng.dirichlet(np.ones(5), 5)
    model = fsmeu.models.Markov(np.full(5, 0.2), then, n=25, labels=loss.labels)
    z = [loss.labels[k] for k in rng.integers(0, 5, 25)]
    view = loss.view(25, loss.alphabet.encode(z, "z"), weights=True)
    assert canonical.quotient_given_z(view, 5) is not None
    merged = fsmeu.expect(loss, z, model)
    steep = fsmeu.gradient(loss, z, model)
    monkeypatch.setattr(walk, "quotient_given_z", lambda view, copies: None)
    plain = fsmeu.expect(loss, z, model)
    for part, wanted in fsmeu.gradient(loss, z, model).items():
        assert np.allclose(steep[part], wanted, rtol=1e-11, atol=1e-12)
    assert merged.value == close(plain.value)
    assert merged.variance == close(plain.variance)


def test_two_classes_of_ages():
    """After each position what stands for the ages of y: that of z, and one for all others."""
    loss = fsmeu.loads(
        "utility f labels 0 1 age a since z == 1 up to n age b since y == 1 up to n "
        "count c when a == b count d when y == 1 value c / (d + 1)"
    )
    z = np.array([0, 1, 0, 0, 1, 0, 0, 0] * 9)
    view = loss.view(len(z), z, weights=True)
    merged = canonical.quotient_given_z(view, 99)
    codes = np.array([merged.start])
    for i in range(1, len(z) + 1):
        codes = np.unique(merged.advance(i, codes)[0])
        assert len(np.unique(view.space_of.decode(codes)["b"])) <= 2


@pytest.mark.parametrize("name", ["fscore", "pk", "hamming"])
def test_small_cores_are_left_alone(name):
    params = {"k": 5} if name == "pk" else {}
    view = fsmeu.load(name, **params).view(20, np.zeros(20, np.int64), weights=True)
    assert canonical.quotient_given_z(view, 1000) is None
