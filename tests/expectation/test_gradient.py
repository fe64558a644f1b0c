"""Derivatives of expectations on both engines, against expectations that list every sequence.

A listed expectation is an analytic function of every parameter, so the imaginary part of
E(x + ih) / h is its derivative up to rounding for tiny h (the complex step).
"""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import fsmeu
from fsmeu.models import Bernoulli, from_potentials
from tests import brute_force
from tests.expectation.checks import ENGINES, engines
from tests.label_models import by_name, derivatives, parameters, plain_model
from tests.losses.meaning import Undefined
from tests.strategies import losses


@settings(max_examples=25, deadline=None)
@given(data=st.data(), seed=st.integers(0, 2**32), n=st.integers(0, 3))
def test_distribution_on_the_hypothesis_tape(data, seed, n):
    """With z at random, a reference is worth its average over z, by the second reading."""
    random, case = np.random.default_rng(seed), data.draw(losses(((0, 1),)))
    p = random.random(n).round(1)
    kind = data.draw(st.sampled_from(["bernoulli", "markov", "potentials"]))
    model = plain_model(random, kind, (0, 1), n).build()
    values, world = dict.fromkeys(brute_force.sequences((0, 1), n), 0.0), case.world(n)
    try:
        for z, weight in brute_force.bernoulli(p).items():
            for y, value in world.every_y(z).items():
                values[y] += weight * float(value)
    except Undefined:  # then there is no expectation either
        assume(False)
    wanted, scale = derivatives(model, values), max(1.0, *map(abs, values.values()))
    mean = brute_force.expectation(next(f(x) for x, f in parameters(model).values()), values)
    for engine in ENGINES:
        value, found = fsmeu.value_and_gradient(case.load(), Bernoulli(p), model, engine=engine)
        assert value == pytest.approx(mean, rel=1e-12, abs=1e-12 * scale)
        assert by_name(found).keys() == wanted.keys()
        for name, array in by_name(found).items():
            limit = 1e-12 * scale * max(1, n)
            assert array.shape == wanted[name].shape
            np.testing.assert_allclose(array, wanted[name], rtol=1e-12, atol=limit)


UNDEFINED = {
    "a value": "utility f count tp when z == 1 and y == 1 count ref when y == 1 value tp / ref",
    "a step": """utility f
        register r in 0 .. 5 start 0 next if y == 1 then r + 1 else if r == 0 then 0 / 0 else r
        count same when z == y
        value same * r / (1 + r)""",
}


@engines
@pytest.mark.parametrize("name", UNDEFINED)
@pytest.mark.parametrize("other", [False, True])
def test_impossible_references_may_be_undefined(engine, name, other):
    """Potentials of -inf stay so: what they forbid has no part in a derivative.

    The derivative for a potential of label a at position i is the covariance of the value and the
    event y_i = a, listed here.
    """
    loss = fsmeu.loads(UNDEFINED[name], labels=[0, 1])
    unary = np.array([[-np.inf, 0.3], [0.2, 0.1], [0.5, -0.4]])
    model = from_potentials(unary, [[0.1, 0.2], [-0.3, 0.4]])
    z = from_potentials(unary[:, ::-1], np.zeros((2, 2))) if other else "110"
    pairs = possible(model)
    hypotheses = possible(z) if other else {(1, 1, 0): 1.0}
    worth = {y: sum(q * loss(x, y) for x, q in hypotheses.items()) for y in pairs}
    value, found = fsmeu.value_and_gradient(loss, z, model, engine=engine)
    mean = sum(p * worth[y] for y, p in pairs.items())
    assert value == pytest.approx(mean, rel=1e-12)
    for i, a in np.ndindex(3, 2):
        expected = sum(p * (worth[y] - mean) * (y[i] == a) for y, p in pairs.items())
        assert found["unary"][i, a] == pytest.approx(expected, rel=1e-12, abs=1e-14)


def possible(model):
    """The possible sequences of three labels with their probabilities."""
    return {y: model.probability(y) for y in np.ndindex(2, 2, 2) if model.probability(y) > 0}


@engines
def test_references_that_may_become_possible_must_be_defined(engine):
    """A probability of 0 may grow, and the derivative says how fast the value changes then."""
    loss = fsmeu.loads(UNDEFINED["a value"])
    with pytest.raises(fsmeu.FsmeuError, match="division by zero"):
        fsmeu.gradient(loss, "11", [1.0, 0.5], engine=engine)
