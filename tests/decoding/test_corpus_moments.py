"""Large corpora by moments of their counts, beside the search over windows of counts."""

import numpy as np
import pytest

import fsmeu
from fsmeu.decoding import corpus_moments
from fsmeu.expectation import corpus_moments as expected
from fsmeu.losses.algebra.ratios import ratio_of_totals

TAGS = ["O", "B-X", "I-X", "B-Y", "I-Y"]


def sentences(seed, count, scale):
    """Models of short sentences, all drawn."""
    random = np.random.default_rng(seed)
    link = random.normal(size=(5, 5)) * scale
    for _ in range(count):
        unary = random.normal(size=(int(random.integers(1, 9)), 5)) * scale
        yield fsmeu.models.from_potentials(unary, link, labels=TAGS)


@pytest.fixture
def without_moments(monkeypatch):
    def switch():
        monkeypatch.setattr(corpus_moments, "best_by_moments", lambda *_: None)
        monkeypatch.setattr(expected, "moment_value", lambda *_: None)

    return switch


@pytest.mark.parametrize(("name", "scale"), [("chunk_fscore", 1.0), ("chunk_fscore", 3.0)])
def test_as_by_windows(name, scale, without_moments):
    """The same decision; the bounds of either hold the value of the other."""
    loss, models = fsmeu.load(name, empty=0), list(sentences(4, 150, scale))
    told = []
    found = fsmeu.decode_corpus(loss, models, progress=lambda *sides: told.append(sides), jobs=2)
    assert told == [(found.lower, found.upper)]
    value = fsmeu.expect_corpus(loss, found.labels, models)
    without_moments()
    wanted = fsmeu.decode_corpus(loss, models)
    again = fsmeu.expect_corpus(loss, found.labels, models)
    assert found.exact
    assert found.labels == wanted.labels
    assert found.value == pytest.approx(wanted.value, rel=1e-11)
    assert found.lower <= wanted.upper
    assert wanted.lower <= found.upper
    assert found.gap < 1e-10
    assert value.lower <= again.upper
    assert again.lower <= value.upper
    assert value.upper - value.lower < 1e-10


def test_expectations_are_within_their_bounds(without_moments):
    """For hypotheses that are far from the best."""
    loss, models = fsmeu.load("chunk_fscore", beta=2), list(sentences(9, 120, 2.0))
    zs = [["B-X", "O", "I-Y"] * (model.n // 3) + ["O"] * (model.n % 3) for model in models]
    value = fsmeu.expect_corpus(loss, zs, models)
    without_moments()
    again = fsmeu.expect_corpus(loss, zs, models)
    assert value.value == pytest.approx(again.value, rel=1e-11)
    assert value.lower <= again.upper
    assert again.lower <= value.upper


@pytest.mark.parametrize("name", ["jaccard", "kappa", "recall"])
def test_other_losses_are_no_such_ratios(name):
    """Ratios that look at both tapes, and what may divide by 0."""
    loss = fsmeu.load(name)
    if loss.split is not None:
        assert ratio_of_totals(loss.split, 9, np.arange(1.0, 10), 9.0) is None
