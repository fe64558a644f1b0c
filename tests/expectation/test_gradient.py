"""Derivatives of expectations: a distribution as hypothesis, and references without a value.

A listed expectation is an analytic function of every parameter, so the imaginary part of
E(x + ih) / h is its derivative up to rounding for tiny h (the complex step). Sequences as
hypotheses: see the explorer.
"""

import numpy as np
import pytest

import fsmeu
from fsmeu.models import Bernoulli, from_potentials
from tests import brute_force
from tests.expectation.checks import ENGINES, engines
from tests.label_models import by_name, derivatives, plain_model

LOSSES = {
    "fscore": {},
    "jaccard": {},
    "transitions": {},
    "windowdiff": {"k": 2},
}


@pytest.mark.parametrize("kind", ["bernoulli", "markov", "potentials"])
@pytest.mark.parametrize("name", LOSSES)
def test_distribution_on_the_hypothesis_tape(name, kind):
    """With z at random, a reference is worth its average over z."""
    random, loss, n = np.random.default_rng(4), fsmeu.load(name, **LOSSES[name]), 3
    p, model = random.random(n).round(1), plain_model(random, kind, (0, 1), n).build()
    hypotheses, ys = brute_force.bernoulli(p), brute_force.sequences((0, 1), n)
    values = {y: sum(w * loss(z, y) for z, w in hypotheses.items()) for y in ys}
    wanted = derivatives(model, values)
    for engine in ENGINES:
        value, found = fsmeu.value_and_gradient(loss, Bernoulli(p), model, engine=engine)
        mean = sum(model.probability(y) * worth for y, worth in values.items())
        assert value == pytest.approx(mean, rel=1e-12)
        assert by_name(found).keys() == wanted.keys()
        for key, array in by_name(found).items():
            np.testing.assert_allclose(array, wanted[key], rtol=1e-11, atol=1e-12)


UNDEFINED = {
    "a value": "utility f count tp when z == 1 and y == 1 count ref when y == 1 value tp / ref",
    "a step": """utility f
        register r in 0 .. 5 start 0 next if y == 1 then r + 1 else if r == 0 then 0 / 0 else r
        count same when z == y
        value same * r / (1 + r)""",
}


@engines
@pytest.mark.parametrize("name", UNDEFINED)
def test_impossible_references_may_be_undefined(engine, name):
    """Potentials of -inf stay so: what they forbid has no part in a derivative.

    The derivative for a potential of label a at position i is the covariance of the value and the
    event y_i = a, listed here.
    """
    loss = fsmeu.loads(UNDEFINED[name], labels=[0, 1])
    unary = np.array([[-np.inf, 0.3], [0.2, 0.1], [0.5, -0.4]])
    model = from_potentials(unary, [[0.1, 0.2], [-0.3, 0.4]])
    chances = {y: model.probability(y) for y in np.ndindex(2, 2, 2)}
    pairs = {y: p for y, p in chances.items() if p}
    worth = {y: loss("110", y) for y in pairs}
    value, found = fsmeu.value_and_gradient(loss, "110", model, engine=engine)
    mean = sum(p * worth[y] for y, p in pairs.items())
    assert value == pytest.approx(mean, rel=1e-12)
    for i, a in np.ndindex(3, 2):
        expected = sum(p * (worth[y] - mean) * (y[i] == a) for y, p in pairs.items())
        assert found["unary"][i, a] == pytest.approx(expected, rel=1e-12, abs=1e-14)
