"""The first losses of the shelf against their definitions."""

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fsmeu
from tests import brute_force
from tests.expectation.checks import assert_same
from tests.strategies import model_cases

DEFINITIONS = {
    "fscore": brute_force.fscore,
    "precision": brute_force.precision,
    "recall": brute_force.recall,
    "jaccard": brute_force.jaccard,
    "hamming": brute_force.hamming,
    "accuracy": brute_force.accuracy,
    "zero_one": brute_force.zero_one,
    "pk": brute_force.pk,
}
PARAMETERS = {
    "fscore": ({}, {"beta": 2}, {"beta": 0.5, "empty": 0}),
    "precision": ({}, {"empty": 0}),
    "recall": ({}, {"empty": 0.25}),
    "jaccard": ({}, {"empty": 0}),
    "pk": ({"k": 1}, {"k": 2}, {"k": 3}),
}
CASES = [(name, given) for name in DEFINITIONS for given in PARAMETERS.get(name, ({},))]
BINARY = [
    (z, y)
    for n in range(4)
    for z, y in itertools.product(brute_force.sequences((0, 1), n), repeat=2)
]


@pytest.mark.parametrize(("name", "params"), CASES)
def test_value_is_the_definition(name, params):
    loss = fsmeu.load(name, **params)
    for z, y in BINARY:
        wanted = DEFINITIONS[name](z, y, **params)
        assert fsmeu.evaluate(loss, z, y) == pytest.approx(wanted, rel=1e-15)


@pytest.mark.parametrize("name", ["hamming", "accuracy", "zero_one"])
def test_value_is_the_definition_with_other_labels(name):
    loss = fsmeu.load(name, labels=("x", "yy", "z"))
    for z, y in itertools.product(itertools.product(("x", "yy", "z"), repeat=3), repeat=2):
        assert fsmeu.evaluate(loss, z, y) == pytest.approx(DEFINITIONS[name](z, y), rel=1e-15)


@settings(max_examples=60, deadline=None)
@given(data=st.data(), case=st.sampled_from(CASES), n=st.integers(0, 8))
def test_expectation_is_the_sum(data, case, n):
    name, params = case
    known = data.draw(model_cases((0, 1), n))
    z = tuple(data.draw(st.lists(st.sampled_from((0, 1)), min_size=n, max_size=n)))
    values = {y: DEFINITIONS[name](z, y, **params) for y in known.distribution}
    pairs = brute_force.joint(values, known.distribution)
    for engine in ("lattice", "openfst"):
        loss = fsmeu.load(name, **params)
        answer = fsmeu.expect(loss, z, known.model, engine=engine)
        assert_same(answer, pairs)
        q = data.draw(st.floats(0.001, 0.999))
        assert answer.quantile(q) == pytest.approx(brute_force.quantile(pairs, q), abs=1e-12)
