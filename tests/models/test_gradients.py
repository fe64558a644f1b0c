"""Derivatives pulled back to parameters, against the oracle's expectation differentiated.

By the complex step; one test takes central differences as well. Every arc's own derivative comes
from listing the paths through it.
"""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests import brute_force
from tests.label_models import by_name, derivatives
from tests.strategies import cases

CLOSE = {"rtol": 1e-11, "atol": 1e-12}


def random_function(case, seed):
    """An arbitrary real value for every sequence, some of them negative."""
    random = np.random.default_rng(seed)
    return {y: float(random.normal()) for y in case.distribution}


def pulled(model, g):
    layered = model.layered()
    value = brute_force.expectation(brute_force.path_distribution(layered), g)
    return model.pullback(brute_force.arc_gradients(layered, g), value)


seeds = st.integers(0, 2**32)
KINDS = {"bernoulli": 4, "independent": 3, "markov": 3, "potentials": 3, "hmm": 3}


@pytest.mark.parametrize(("kind", "most"), KINDS.items())
@settings(max_examples=30, deadline=None)
@given(data=st.data(), seed=seeds)
def test_every_parameter(kind, most, data, seed):
    """Entries of probability 0 and forbidden ones included, also behind impossible prefixes."""
    case = data.draw(cases([kind], most=most))
    g, model = random_function(case, seed), case.model
    found, expected = by_name(pulled(model, g)), derivatives(model, g)
    assert found.keys() == expected.keys()
    for name, array in found.items():
        assert array.shape == expected[name].shape
        np.testing.assert_allclose(array, expected[name], **CLOSE)


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
