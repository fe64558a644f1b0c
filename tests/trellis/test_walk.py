"""The general walk: the same bits whatever runs it, in any batch, and with any zeros beside."""

import numpy as np
import pytest

import fsmeu
from fsmeu.decoding.precision import Changes
from fsmeu.decoding.problem import Problem
from fsmeu.models import Bernoulli, Markov, from_potentials
from tests.support.kernels import run_kernels

TAGS = ["O", "B-A", "I-A", "B-B", "I-B"]
JOINT = """
utility joint
labels any
flag    apart when z != y
age     both since z == y up to 2
count   good by 1 - 2 * (y == "O") when not apart and both < 2
count   more when y != "O"
value   good / (1 + apart + more)
"""
JACCARD = fsmeu.load("jaccard")


def binary(seed, n, order=0):
    """A hypothesis and a model over 0 and 1."""
    random = np.random.default_rng(seed)
    z = random.integers(0, 2, n).tolist()
    if not order:
        return z, Bernoulli(random.random(n))
    initial = random.dirichlet(np.ones(2**order)).reshape((2,) * order)
    return z, Markov(initial, random.dirichlet(np.ones(2), (2,) * order), n)


def tagged(seed, n=5):
    """A hypothesis and a chain over five tags."""
    random = np.random.default_rng(seed)
    model = from_potentials(random.normal(size=(n, 5)), random.normal(size=(5, 5)), TAGS)
    return [TAGS[k] for k in random.integers(0, 5, n)], model


def answers(seed):
    """Numbers of every kind that the walk computes."""
    loss, (tags, chain) = fsmeu.loads(JOINT, labels=TAGS), tagged(seed)
    z, model = binary(seed, 9, order=seed % 3)
    one = fsmeu.expect(JACCARD, z, model)
    yield one.value, one.upper
    yield one.levels.ungrouped
    yield fsmeu.expect(JACCARD, z, model, keep=5).value
    yield fsmeu.expect(JACCARD, model, model).value
    yield fsmeu.gradient(JACCARD, z, model)
    yield fsmeu.expect(loss, tags, chain).value
    yield fsmeu.gradient(loss, tags, chain)
    yield fsmeu.expect(fsmeu.load("windowdiff", k=7), z, model).value
    yield Changes(Problem(loss, chain)).values(np.arange(5))


def flat(found):
    """All numbers, in one array."""
    if isinstance(found, dict):
        return np.concatenate([np.ravel(found[name]) for name in sorted(found)])
    return np.ravel(np.array(found, np.float64))


@pytest.mark.parametrize("seed", range(3))
def test_plain_and_compiled_have_the_same_bits(seed, monkeypatch):
    found = []
    for how in ("plain", "compiled"):
        run_kernels(how, monkeypatch.setattr)
        found.append([flat(one) for one in answers(seed)])
    for plain, compiled in zip(*found, strict=True):
        assert plain.tobytes() == compiled.tobytes()


def test_batch_mates_do_not_matter():
    """One by one or in any batch: the same bits."""
    pairs = [binary(seed, 3 + seed % 4, order=seed % 3) for seed in range(24)]
    alone = np.array([fsmeu.expect(JACCARD, z, model).value for z, model in pairs])
    together = fsmeu.expect_many(JACCARD, *zip(*pairs, strict=True))
    assert together.tobytes() == alone.tobytes()
