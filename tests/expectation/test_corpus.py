"""Expectations of a corpus, against a listing of all references."""

import numpy as np
import pytest

import fsmeu
from fsmeu.errors import SizeLimitError
from tests import corpora_by_listing as listing
from tests.corpora_by_listing import TAGS, loaded


@pytest.mark.parametrize("kind", listing.KINDS)
@pytest.mark.parametrize("name", listing.CASES)
def test_expectations_are_those_of_a_listing(name, kind):
    loss, labels, count, value = loaded(name)
    rng = np.random.default_rng(sum(map(ord, name + kind)))
    for lengths in ([3, 0, 2], [3], []):
        both = listing.models(kind, rng, lengths, labels)
        models, listed = [m for m, _ in both], [d for _, d in both]
        zs = [tuple(labels[k] for k in rng.integers(0, len(labels), n)) for n in lengths]
        truth = pytest.approx(float(listing.expected(zs, listed, count, value)), rel=1e-12)
        assert fsmeu.expect_corpus(loss, zs, models).value == truth


@pytest.mark.parametrize("name", ["mcc", "g_mean", "boundary_fscore", "fscore", "chunk_fscore"])
def test_tables_of_counts(name):
    """Values that are not linear, or whose states read both tapes; the distribution, too."""
    rng = np.random.default_rng(5)
    loss = fsmeu.load(name, **({"tolerance": 1} if name == "boundary_fscore" else {}))
    labels = TAGS if name == "chunk_fscore" else (0, 1)
    both = listing.models("markov", rng, [3, 2, 3] if len(labels) == 2 else [2, 3], labels)
    zs = [tuple(labels[k] for k in rng.integers(0, len(labels), m.n)) for m, _ in both]
    found = fsmeu.expect_corpus(loss, zs, [model for model, _ in both])
    pairs = [((), 1.0)]
    for _, listed in both:
        pairs = [((*ys, y), p * float(q)) for ys, p in pairs for y, q in listed.items() if q]
    worth = [(fsmeu.evaluate_corpus(loss, zs, ys), p) for ys, p in pairs]
    mean = sum(v * p for v, p in worth)
    assert found.value == pytest.approx(mean, rel=1e-12, abs=1e-14)
    assert found.levels.mean == pytest.approx(mean, rel=1e-12, abs=1e-14)
    assert found.variance == pytest.approx(sum((v - mean) ** 2 * p for v, p in worth), rel=1e-9)


def test_distributions_of_large_corpora_are_refused_at_once(lowered):
    """Their values are there, and a sample of them is what the message says."""
    chain = fsmeu.models.Markov([0.5, 0.5], [[0.5, 0.5], [0.4, 0.6]], n=20)
    loss, models, zs = fsmeu.load("fscore"), [chain] * 600, [[0, 1] * 10] * 600
    lowered(MOST_CORPUS_TABLE=10**6)
    for count, given in ((600, "12,000"), (200, "about 2,003,001")):
        found = fsmeu.expect_corpus(loss, zs[:count], models[:count])
        with pytest.raises(SizeLimitError, match=rf"Got {given} .*evaluate_corpus.*sample"):
            found.quantile(0.05)
    lowered(MOST_CORPUS_TABLE=440)  # totals of two sentences are 21 * 21
    with pytest.raises(SizeLimitError, match=r"440 tuples of totals\. Got 441"):
        fsmeu.expect_corpus(fsmeu.load("jaccard"), zs[:2], models[:2])
