"""Chains that are normalised together: against sums of logarithms."""

import numpy as np
import pytest
from scipy.special import logsumexp

from fsmeu.models import from_potentials
from fsmeu.models.base import marginals_many, prepare_many

INF = float("inf")


def by_logarithms(unary, pairwise):
    """log P(first label), log P(next label given the one before), and the log partition."""
    rest, steps = np.zeros(unary.shape[1]), []
    links = np.broadcast_to(pairwise, (len(unary) - 1, *pairwise.shape[-2:]))
    for scores, link in zip(unary[:0:-1], links[::-1], strict=True):
        joint = link + scores + rest
        rest = logsumexp(joint, axis=1)
        steps.append(joint - np.maximum(rest, -1e308)[:, None])
    whole = logsumexp(unary[0] + rest)
    return unary[0] + rest - whole, steps[::-1], whole


@pytest.mark.parametrize("each", [False, True])
@pytest.mark.parametrize("scale", [1.0, 20.0, 300.0])
def test_many_labels_equal_sums_of_logarithms(each, scale):
    """Thirty labels at forty positions, and the partition."""
    random = np.random.default_rng(7)
    shape = (39, 30, 30) if each else (30, 30)
    links = scale * random.normal(size=shape)
    links[..., 3] = links[..., 4, :20] = -INF
    chains = [scale * random.normal(size=(40, 30)) for _ in range(5)]
    models = [from_potentials(unary, links) for unary in chains]
    prepare_many(models)
    marginals = [model.marginals() for model in models]
    np.testing.assert_array_equal(marginals_many(models), marginals)
    for unary, model in zip(chains, models, strict=True):
        first, steps, whole = by_logarithms(unary, links)
        for layer, logs in zip(model.layered().layers, [first, *steps], strict=True):
            found = layer.weight.reshape(logs.shape)
            np.testing.assert_allclose(found, np.exp(logs), rtol=1e-10, atol=1e-300)
        assert model.log_partition == pytest.approx(whole, rel=1e-13)


def test_what_hardly_weighs_is_not_lost():
    """Two ways that never meet, one 1e-217 times as probable: sums of products would lose it."""
    unary, apart = np.zeros((13, 2)), np.array([[0.0, -INF], [-INF, 0.0]])
    unary[:4, 0] = unary[4:, 1] = -100.0
    model = from_potentials(unary, apart)
    assert model.log_probability([1] * 13) == pytest.approx(-500.0, rel=1e-14)
    assert model.log_probability([0] * 13) == pytest.approx(0.0, abs=1e-14)
    assert model.log_partition == pytest.approx(-400.0, rel=1e-14)
    assert from_potentials(np.zeros((0, 2)), np.zeros((2, 2))).log_partition == 0.0
