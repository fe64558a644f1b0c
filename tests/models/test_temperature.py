"""Temperatures and calibration, against the list of all sequences."""

import math
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fsmeu
from fsmeu.models import Bernoulli, from_potentials, tempered
from tests.strategies import cases


def powered(distribution, temperature):
    mass = {y: p ** (1 / temperature) if p > 0 else 0.0 for y, p in distribution.items()}
    whole = sum(mass.values())
    return {y: p / whole for y, p in mass.items()}


@settings(max_examples=60, deadline=None)
@given(
    case=cases(["bernoulli", "independent", "markov", "potentials", "hmm", "nbest"], most=4),
    temperature=st.sampled_from([0.5, 1.0, 1.7, 4.0]),
)
def test_every_sequence_at_a_temperature(case, temperature):
    found = tempered(case.model, temperature)
    assert found.labels == case.model.labels
    for y, p in powered(case.distribution, temperature).items():
        np.testing.assert_allclose(found.probability(y), p, rtol=1e-11, atol=1e-15)


@pytest.mark.parametrize(("links", "sharp"), [((2, 2), 3.0), ((2, 2, 2), 1.0)])
def test_the_likelihood_is_greatest(links, sharp, lowered):
    """Links of all steps or of each; of models that may be too sure. Nothing worse on a grid."""
    random = np.random.default_rng(8)
    tables = [(2 * random.normal(size=(3, 2)), random.normal(size=links)) for _ in range(8)]
    models = [from_potentials(sharp * unary, sharp * pairs) for unary, pairs in tables]
    references = [from_potentials(*table).sample(seed=random) for table in tables]
    listed = [{y: m.probability(y) for y in product((0, 1), repeat=3)} for m in models]

    def likelihood(t):
        pairs = zip(listed, references, strict=True)
        return sum(math.log(powered(p, t)[tuple(y)]) for p, y in pairs) / 8

    found = fsmeu.calibrate(models, references)
    assert found.before == pytest.approx(likelihood(1.0), rel=1e-12)
    assert found.log_likelihood == pytest.approx(likelihood(found.temperature), rel=1e-12)
    assert found.log_likelihood >= max(likelihood(t) for t in np.geomspace(0.02, 50, 99)) - 1e-12
    more, told = [*models, Bernoulli([0.0]), Bernoulli([0.5])], [*references, [1], ["x"]]
    again = fsmeu.calibrate(more, told, skip_impossible=True)
    assert (again.skipped, again.before) == (2, found.before)
    assert again.temperature == found.temperature
    lowered(FITTED_AT_ONCE=3)
    parts = fsmeu.calibrate(models, references)
    assert parts.temperature == pytest.approx(found.temperature, rel=1e-6)


def test_a_case_by_hand():
    """Three of four labels are right: the temperature makes 0.9 to 3/4, by log-odds."""
    found = fsmeu.calibrate([[0.9, 0.9], [0.1, 0.9]], [[1, 0], [0, 1]])
    assert found.temperature == pytest.approx(math.log(9) / math.log(3), rel=1e-6)
