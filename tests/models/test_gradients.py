"""Derivatives pulled back to parameters, against the oracle's expectation differentiated.

The oracle is an analytic function of every parameter, so the imaginary part of E(x + ih) / h is the
derivative up to rounding for tiny h (the complex step); one test takes central differences as well.
Every arc's own derivative comes from listing the paths through it.
"""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tests import brute_force
from tests.strategies import cases

STEP = 1e-30
CLOSE = {"rtol": 1e-11, "atol": 1e-12}


def random_function(case, seed):
    """An arbitrary real value for every sequence, some of them negative."""
    random = np.random.default_rng(seed)
    return {y: float(random.normal()) for y in case.distribution}


def pulled(model, g):
    layered = model.layered()
    value = brute_force.expectation(brute_force.path_distribution(layered), g)
    return model.pullback(brute_force.arc_gradients(layered, g), value)


def complex_step(distribution, parameters, g):
    """dE/d(parameters), E being the expectation of g under ``distribution(parameters)``."""
    result = np.zeros(parameters.shape)
    for index in np.ndindex(parameters.shape):
        moved = parameters.astype(complex)
        moved[index] += STEP * 1j
        listed = distribution(moved if parameters.ndim else moved[()])
        result[index] = brute_force.expectation(listed, g).imag / STEP
    return result


seeds = st.integers(0, 2**32)


@settings(max_examples=25, deadline=None)
@given(case=cases(["bernoulli"], most=4), seed=seeds)
def test_bernoulli(case, seed):
    g = random_function(case, seed)
    expected = complex_step(brute_force.bernoulli, case.model.p, g)
    np.testing.assert_allclose(pulled(case.model, g), expected, **CLOSE)


@settings(max_examples=25, deadline=None)
@given(case=cases(["independent"], most=3), seed=seeds)
def test_independent(case, seed):
    g, model = random_function(case, seed), case.model
    expected = complex_step(
        lambda x: brute_force.independent(x, model.labels), model.probabilities, g
    )
    np.testing.assert_allclose(pulled(model, g), expected, **CLOSE)


@settings(max_examples=40, deadline=None)
@given(case=cases(["markov"], most=3), seed=seeds)
def test_markov(case, seed):
    """Entries of probability 0 included, also where a whole prefix has probability 0."""
    g, model = random_function(case, seed), case.model
    initial, transition, labels, n = model.initial, model.transition, model.labels, model.n
    found = pulled(model, g)
    expected = complex_step(lambda x: brute_force.markov(x, transition, labels, n), initial, g)
    np.testing.assert_allclose(found["initial"], expected, **CLOSE)
    expected = complex_step(lambda x: brute_force.markov(initial, x, labels, n), transition, g)
    np.testing.assert_allclose(found["transition"], expected, **CLOSE)
    assert found["transition"].shape == transition.shape


@settings(max_examples=40, deadline=None)
@given(case=cases(["potentials", "hmm"], most=3), seed=seeds)
def test_potentials(case, seed):
    """Forbidden entries included: their derivative is 0."""
    g, model = random_function(case, seed), case.model
    unary, pairwise, labels, n = model.unary, model.pairwise, model.labels, model.n
    found = pulled(model, g)
    expected = complex_step(lambda x: brute_force.potentials(x, pairwise, labels, n), unary, g)
    np.testing.assert_allclose(found["unary"], expected, **CLOSE)
    expected = complex_step(lambda x: brute_force.potentials(unary, x, labels, n), pairwise, g)
    np.testing.assert_allclose(found["pairwise"], expected, **CLOSE)
    assert found["pairwise"].shape == pairwise.shape


@settings(max_examples=20, deadline=None)
@given(case=cases(["potentials"], most=3), seed=seeds)
def test_central_differences(case, seed):
    """Central differences of step 1e-5 are good to about 1e-9 here: step**2, and rounding/step."""
    g, model = random_function(case, seed), case.model
    found = pulled(model, g)["unary"]
    for index in np.argwhere(np.isfinite(model.unary)):
        ends = []
        for step in (1e-5, -1e-5):
            moved = model.unary.copy()
            moved[tuple(index)] += step
            listed = brute_force.potentials(moved, model.pairwise, model.labels, model.n)
            ends.append(brute_force.expectation(listed, g))
        np.testing.assert_allclose(found[tuple(index)], (ends[0] - ends[1]) / 2e-5, atol=1e-8)


@settings(max_examples=20, deadline=None)
@given(case=cases(["bernoulli", "independent", "markov", "potentials", "hmm"]))
def test_parametrized_models_start_in_one_state(case):
    assert case.model.layered().start.tolist() == [1.0]
