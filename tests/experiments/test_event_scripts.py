"""Scripts on change points and on activity: their parts against enumeration."""

import itertools
import math

import numpy as np
import pytest
from scipy.stats import multivariate_normal


def segmentations(samples, prior):
    """The posterior probability of each label sequence, by scipy's normal densities."""
    n = len(samples)
    centred = np.array(samples) - np.mean(samples)
    weights = {}
    for labels in itertools.product((0, 1), repeat=n - 1):
        changes = [t for t, label in enumerate(labels, start=1) if label]
        weight = math.prod(prior.rate if label else 1 - prior.rate for label in labels)
        for part in np.split(centred, changes):
            covariance = prior.noise**2 * np.eye(len(part)) + prior.spread**2
            weight *= multivariate_normal(np.zeros(len(part)), covariance).pdf(part)
        weights[labels] = weight
    whole = sum(weights.values())
    return {labels: weight / whole for labels, weight in weights.items()}


def test_the_lattice_is_the_posterior_over_segmentations(load):
    script = load("change_points")
    prior = script.Prior(noise=0.7, spread=1.5, rate=0.2)
    samples = np.random.default_rng(3).normal(size=8) + np.repeat([0.0, 2.0], 4)
    wanted = segmentations(samples, prior)
    found = script.posterior(samples, prior)
    model = script.Segmentations(found)
    for labels, probability in wanted.items():
        assert model.probability(labels) == pytest.approx(probability, rel=1e-7, abs=1e-9)
