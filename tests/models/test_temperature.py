"""Temperatures and calibration, against the list of all sequences."""

import math
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar

import fsmeu
from fsmeu.models import Independent, from_potentials, tempered
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


def test_independent_labels_stay_independent():
    model = tempered(Independent([[0.2, 0.8, 0.0]]), 2.0)
    assert isinstance(model, Independent)
    assert tempered(fsmeu.models.Bernoulli([0.3]), 2.0).structure == ("chain", 2, 0)


@pytest.mark.parametrize("seed", range(4))
def test_the_likelihood_is_greatest(seed):
    """At the best temperature the references score what a random sequence is expected to."""
    random = np.random.default_rng(seed)
    models, references, listed = [], [], []
    for _ in range(6):
        unary, links = random.normal(size=(3, 2)), random.normal(size=(2, 2))
        models.append(from_potentials(3 * unary, 3 * links))
        references.append(from_potentials(unary, links).sample(seed=random))
        listed.append({y: models[-1].probability(y) for y in product((0, 1), repeat=3)})
    found = fsmeu.calibrate(models, references)

    def likelihood(t):
        pairs = zip(listed, references, strict=True)
        return sum(math.log(powered(p, t)[tuple(y)]) for p, y in pairs) / 6

    assert found.before == pytest.approx(likelihood(1.0), rel=1e-12)
    assert found.log_likelihood == pytest.approx(likelihood(found.temperature), rel=1e-12)
    assert found.log_likelihood >= max(likelihood(t) for t in np.geomspace(0.02, 50, 400)) - 1e-12
    if 0.02 < found.temperature < 50:
        score = 0.0
        for p, y in zip(listed, references, strict=True):
            at = powered(p, found.temperature)
            score += math.log(p[tuple(y)]) - sum(at[x] * math.log(p[x]) for x in p)
        assert score == pytest.approx(0.0, abs=1e-5)  # the search ends near the greatest value
    applied = found(models[0])
    for y, p in powered(listed[0], found.temperature).items():
        assert applied.probability(y) == pytest.approx(p, rel=1e-11)


def test_a_case_by_hand():
    """Three of four labels are right: the temperature makes 0.9 to 3/4, by log-odds."""
    found = fsmeu.calibrate([[0.9, 0.9], [0.1, 0.9]], [[1, 0], [0, 1]])
    assert found.temperature == pytest.approx(math.log(9) / math.log(3), rel=1e-6)


@pytest.mark.parametrize("links", [(2, 2), (2, 2, 2)])
def test_chains_by_position_and_impossible_references(links):
    """One table of transitions, or one for each step; against scipy and the list of sequences."""
    random = np.random.default_rng(8)
    tables = [(2 * random.normal(size=(3, 2)), random.normal(size=links)) for _ in range(8)]
    models = [from_potentials(*table) for table in tables]
    references = [random.integers(0, 2, 3).tolist() for _ in models]
    listed = [{y: m.probability(y) for y in product((0, 1), repeat=3)} for m in models]

    def worse(log_temperature):
        pairs = zip(listed, references, strict=True)
        return -sum(math.log(powered(p, math.exp(log_temperature))[tuple(y)]) for p, y in pairs)

    best = minimize_scalar(worse, bounds=(math.log(0.01), math.log(100)), method="bounded")
    found = fsmeu.calibrate(models, references)
    assert found.temperature == pytest.approx(math.exp(best.x), rel=1e-4)
    assert found.log_likelihood >= -best.fun / 8 - 1e-12
    more = [*models, fsmeu.models.Bernoulli([0.0]), fsmeu.models.Bernoulli([0.5])]
    again = fsmeu.calibrate(more, [*references, [1], ["x"]], skip_impossible=True)
    assert again.skipped == 2
    assert again.temperature == found.temperature
    assert again.before == found.before


def test_batches_change_nothing(lowered):
    random = np.random.default_rng(9)
    models = [from_potentials(3 * random.normal(size=(2, 2)), np.eye(2)) for _ in range(7)]
    references = [random.integers(0, 2, 2).tolist() for _ in models]
    whole = fsmeu.calibrate(models, references)
    lowered(FITTED_AT_ONCE=3)
    parts = fsmeu.calibrate(models, references)
    assert parts.temperature == pytest.approx(whole.temperature, rel=1e-6)
