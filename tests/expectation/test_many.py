"""Expectations of many sequences at once, as one at a time."""

import numpy as np
import pytest

import fsmeu
from tests.label_models import PLAIN_KINDS, plain_model
from tests.support.python_losses import Keeper

TAGS = ("O", "B-X", "I-X", "B-Y", "I-Y")


def some_pairs(seed, labels, count=25, longest=6):
    """Hypotheses of mixed lengths, 0 included, with models of all kinds."""
    random = np.random.default_rng(seed)
    kinds = [kind for kind in PLAIN_KINDS if kind != "bernoulli" or labels == (0, 1)]
    lengths = random.integers(0, longest + 1, count).tolist()
    zs = [[labels[x] for x in random.integers(0, len(labels), n)] for n in lengths]
    models = [
        plain_model(random, kinds[k % len(kinds)], labels, n).build() for k, n in enumerate(lengths)
    ]
    return zs, models


def assert_same(loss, zs, models, **options):
    found = fsmeu.expect_many(loss, zs, models, **options)
    pairs = zip(zs, models, strict=True)
    alone = [fsmeu.expect(loss, z, model, **options) for z, model in pairs]
    for name in ("lower", "upper", "kept"):
        wanted = [getattr(one, name) for one in alone]
        np.testing.assert_allclose(getattr(found, name), wanted, rtol=1e-10, atol=1e-10)
    wanted = [one.value for one in alone]
    np.testing.assert_allclose(found.values, wanted, rtol=1e-12, atol=1e-12)
    assert len(found) == len(zs)
    assert np.array(found).tolist() == found.values.tolist()


def test_labels_are_taken_from_each_model():
    """A loss that leaves its labels open is asked over tags and numbers in one call."""
    zs, models = some_pairs(5, TAGS, 12)
    more_zs, more_models = some_pairs(6, (0, 1), 12)
    assert_same(fsmeu.load("hamming"), [*zs, *more_zs], [*models, *more_models])


@pytest.mark.parametrize("cells", [1, 500])
@pytest.mark.parametrize(("name", "params"), [("fscore", {}), ("jaccard", {}), ("pk", {"k": 2})])
def test_a_bucket_may_be_computed_in_parts(lowered, cells, name, params):
    lowered(BATCHED_CELLS=cells)
    assert_same(fsmeu.load(name, **params), *some_pairs(3, (0, 1), 20, longest=3))


@pytest.mark.parametrize(
    "options", [{}, {"engine": "openfst"}, {"keep": 3}, {"engine": "openfst", "keep": 3}]
)
def test_bounds_and_options(options):
    """Engines and states kept, as for one; states of a loss in Python are tuples."""
    random = np.random.default_rng(9)
    p, zs = random.random((6, 5)), random.integers(0, 2, (6, 5))
    for loss in (fsmeu.load("fscore"), fsmeu.function_loss(Keeper(mistakes=True))):
        assert_same(loss, zs, p, **options)
    kept = fsmeu.expect_many("fscore", zs, p, **options).kept
    assert ((kept < 0.9999) == ("keep" in options)).all()
