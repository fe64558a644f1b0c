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
    for lengths in ([3, 0, 2], [2, 1, 2], [3], []):
        both = listing.models(kind, rng, lengths, labels)
        models, listed = [m for m, _ in both], [d for _, d in both]
        zs = [tuple(labels[k] for k in rng.integers(0, len(labels), n)) for n in lengths]
        truth = float(listing.expected(zs, listed, count, value))
        slack = 1e-15 * abs(truth)  # of the sum
        alone = [fsmeu.expect(loss, zs[0], models[0])] if len(lengths) == 1 else []
        for found in (fsmeu.expect_corpus(loss, zs, models), *alone):
            assert found.value == pytest.approx(truth, rel=1e-12, abs=1e-15)
            assert found.lower - slack <= truth <= found.upper + slack
            assert found.upper - found.lower < (1e-12 if found in alone else 1e-10)


@pytest.mark.parametrize("name", ["mcc", "g_mean", "boundary_fscore", "fscore", "chunk_fscore"])
def test_tables_of_counts(name):
    """Values that are not linear, or whose states read both tapes; the distribution, too."""
    rng = np.random.default_rng(5)
    loss = fsmeu.load(name, **({"tolerance": 1} if name == "boundary_fscore" else {}))
    labels = TAGS if name == "chunk_fscore" else (0, 1)
    both = listing.models("markov", rng, [3, 2, 3] if len(labels) == 2 else [2, 3], labels)
    zs = [tuple(labels[k] for k in rng.integers(0, len(labels), m.n)) for m, _ in both]
    found = fsmeu.expect_corpus(loss, zs, [model for model, _ in both])
    pairs = [(ys, listing.Fraction(1)) for ys in [()]]
    for _, listed in both:
        pairs = [((*ys, y), p * q) for ys, p in pairs for y, q in listed.items() if q]
    worth = [(fsmeu.evaluate_corpus(loss, zs, ys), float(p)) for ys, p in pairs]
    mean = sum(v * p for v, p in worth)
    assert found.value == pytest.approx(mean, rel=1e-12, abs=1e-14)
    assert found.lower - 1e-15 <= mean <= found.upper + 1e-15
    assert found.levels.mean == pytest.approx(mean, rel=1e-12, abs=1e-14)
    assert found.variance == pytest.approx(sum((v - mean) ** 2 * p for v, p in worth), rel=1e-9)


def test_labels_of_one_long_sequence():
    """For losses of single positions, sentences of independent labels are one long sequence."""
    p = np.random.default_rng(1).random(300)
    z = (p > 0.4).astype(int)
    loss, ends = fsmeu.load("fscore"), [70, 71, 150, 270]
    found = fsmeu.expect_corpus(loss, np.split(z, ends), np.split(p, ends))
    whole = fsmeu.expect(loss, z, p)
    assert found.value == pytest.approx(whole.value, rel=1e-12)
    assert found.lower <= whole.value <= found.upper


def test_a_document_of_512_tokens():
    loss, z = fsmeu.load("chunk_fscore", types=["A", "B"]), ["O", "B-A"] * 256
    model = fsmeu.models.Independent([[0.6, 0.1, 0.1, 0.1, 0.1]] * 512, loss.labels)
    found = fsmeu.expect_corpus(loss, [z], [model])
    assert found.value == pytest.approx(fsmeu.expect(loss, z, model).value, rel=1e-12)


def test_distributions_of_large_corpora_are_refused_at_once(lowered):
    """Their values are there, and a sample of them is what the message says."""
    chain = fsmeu.models.Markov([0.5, 0.5], [[0.5, 0.5], [0.4, 0.6]], n=20)
    loss, models, zs = fsmeu.load("fscore"), [chain] * 600, [[0, 1] * 10] * 600
    lowered(MOST_CORPUS_TABLE=10**6)
    for count, given in ((600, "12,000"), (200, "about 2,003,001")):
        found = fsmeu.expect_corpus(loss, zs[:count], models[:count])
        with pytest.raises(SizeLimitError, match=rf"Got {given} .*evaluate_corpus.*sample"):
            found.quantile(0.05)
    few = models[:20]
    drawn = zip(*[model.sample(50, seed) for seed, model in enumerate(few)], strict=True)
    values = [fsmeu.evaluate_corpus(loss, zs[:20], ys) for ys in drawn]
    assert np.mean(values) == pytest.approx(fsmeu.expect_corpus(loss, zs[:20], few).value, abs=0.02)


def test_totals_are_counted_until_the_limit(lowered):
    chain = fsmeu.models.Markov([0.5, 0.5], [[0.5, 0.5], [0.4, 0.6]], n=50)
    lowered(MOST_CORPUS_TABLE=2600)  # those of two sentences are 51 * 51
    with pytest.raises(SizeLimitError, match=r"2,600 tuples of totals\. Got 2,601"):
        fsmeu.expect_corpus(fsmeu.load("jaccard"), [[0, 1] * 25] * 2, [chain, chain])
