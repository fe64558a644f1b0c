"""Chains that are normalised together: against listing sequences and sums of logarithms."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import logsumexp

from fsmeu.models import Markov, from_potentials, layered_many, marginals_many, potentials
from tests import brute_force
from tests.label_models import plain_model

INF = float("inf")
SCALES = (1.0, 40.0, 700.0)


def some_chain(random, size, n, scale, kind):
    """Potentials (n, L) and (L, L) or (n - 1, L, L), some -inf."""
    parts = plain_model(random, "potentials", range(size), n).parts
    return [(scale / 3 * part).astype(kind) for part in parts.values()]


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


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 2**32),
    size=st.integers(1, 3),
    kind=st.sampled_from(["f8", "f4"]),
    cells=st.sampled_from([1, 100, 1 << 18]),
)
def test_every_sequence_has_its_probability(seed, size, kind, cells):
    """Lengths, sizes and kinds of chains in one call and in blocks, each against its own list."""
    random = np.random.default_rng(seed)
    lengths = (0, 1, 1, 2, 4, 4)
    chains = [some_chain(random, size, n, scale, kind) for n in lengths for scale in SCALES]
    models = [from_potentials(*one) for one in chains]
    random.shuffle(order := list(range(len(models))))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(potentials, "_NORMALISED_CELLS", cells)
        layered_many([models[k] for k in order])
    first, steps = random.dirichlet(np.ones(size)), random.dirichlet(np.ones(size), size)
    for n in set(lengths):
        some = [(one, model) for one, model in zip(chains, models, strict=True) if model.n == n]
        markov = Markov(first, steps, n=n)
        *rows, last = marginals_many([*(model for _, model in some), markov])
        np.testing.assert_array_equal(last, markov.marginals())
        for (unary, links), model, found in zip(*zip(*some, strict=True), rows, strict=True):
            exact = unary.astype(np.float64), links.astype(np.float64)
            listed = brute_force.potentials(*exact, model.labels, n)
            for y, p in listed.items():
                assert model.probability(y) == pytest.approx(p, rel=1e-11, abs=1e-300)
            wanted = brute_force.marginals(listed, model.labels, n)
            np.testing.assert_allclose(found, wanted, rtol=1e-11, atol=1e-300)


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
    layered_many(models)
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
