"""Decisions for a corpus, against all hypotheses of a few short sentences."""

import re
from itertools import chain, product

import numpy as np
import pytest

import fsmeu
from fsmeu.errors import InputError
from tests import corpora_by_listing as listing
from tests import shelf
from tests.decoding.listing import random_field

DECIDED = ["fscore", "fbeta", "hamming", "chunk_fscore"]


def corpus(name, kind, seed, sentences=3):
    """A random corpus: the loss, its meaning, models, and the same as dictionaries of fractions."""
    rng = np.random.default_rng(seed)
    loss, labels, count, value = listing.loaded(name)
    lengths = rng.integers(0, 4 if len(labels) == 2 else 3, sentences)
    both = listing.models(kind, rng, lengths, labels)
    return loss, (labels, count, value), [m for m, _ in both], [d for _, d in both]


def check(found, loss, meaning, listed):
    """The value is that of the hypotheses, bounds hold, and what is called exact is best."""
    labels, count, value = meaning
    best = float(listing.best(listed, labels, count, value, loss.kind == "utility"))
    own = float(listing.expected([tuple(z) for z in found.labels], listed, count, value))
    assert found.value == pytest.approx(own, rel=1e-12, abs=1e-15)
    assert found.lower - 1e-15 <= best <= found.upper + 1e-15
    assert found.lower - 1e-15 <= found.value <= found.upper + 1e-15
    if found.exact:
        assert found.value == pytest.approx(best, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("kind", listing.KINDS)
@pytest.mark.parametrize("name", DECIDED)
def test_best_of_all_hypotheses(name, kind):
    """By both engines; wherever a search stops, bounds hold, and what is told on the way."""
    loss, meaning, models, listed = corpus(name, kind, 40 + len(kind))
    for options in ({}, {"engine": "openfst"}):
        found = fsmeu.decode_corpus(loss, models, **options)
        check(found, loss, meaning, listed)
        assert found.exact
    told = []
    found = fsmeu.decode_corpus(loss, models, gap=0.5, progress=lambda *news: told.append(news))
    check(found, loss, meaning, listed)
    assert told
    assert all(0 <= done <= 1 for done, _ in told)
    sides = [re.findall(r"-?[0-9.]+", note) for _, note in told]
    assert all(float(low) <= float(high) for low, high in sides)


def test_independent_labels_are_one_sequence():
    """Any value of a confusion table is decided; of other models, by the explicit engine."""
    loss, meaning, models, listed = corpus("jaccard", "markov", 1)
    check(fsmeu.decode_corpus(loss, models, engine="openfst"), loss, meaning, listed)
    models = [np.random.default_rng(k).beta(0.5, 2.0, 20) for k in range(60)]
    found = fsmeu.decode_corpus(loss, models)
    assert [len(z) for z in found.labels] == [20] * 60
    assert [*chain(*found.labels)] == fsmeu.decode(loss, np.concatenate(models)).labels


@pytest.mark.parametrize("name", ["fscore", "chunk_fscore"])
def test_constraints(name):
    """The best of what is allowed: the explicit engine and all hypotheses say the same."""
    loss, (labels, count, value), models, listed = corpus(name, "field", 61)
    expression = f"{labels[0]}* ({labels[1]} {labels[0]}*)?"
    allowed = [
        [z for z in product(labels[:2], repeat=m.n) if z.count(labels[1]) <= 1] for m in models
    ]
    best = max(listing.expected(zs, listed, count, value) for zs in product(*allowed))
    for engine in ("auto", "openfst"):
        found = fsmeu.decode_corpus(loss, models, constraint=expression, engine=engine)
        assert all(tuple(z) in one for z, one in zip(found.labels, allowed, strict=True))
        assert found.exact
        assert found.value == pytest.approx(float(best), rel=1e-12)


def test_what_a_corpus_changes():
    """A doubtful label is worth more in a sentence of its own than in the corpus."""
    f1, models = fsmeu.load("fscore", empty=0), [[0.35], [0.9, 0.9, 0.9]]
    assert [one.labels for one in fsmeu.decode_many(f1, models)] == [[1], [1, 1, 1]]
    assert fsmeu.decode_corpus(f1, models).labels == [[0], [1, 1, 1]]
    none = fsmeu.decode_corpus(fsmeu.load("fscore"), [])
    assert (none.labels, none.value, none.exact) == ([], 1.0, True)


def test_the_shelf():
    """Every loss of two labels, against ``evaluate_corpus`` of all pairs; most can be decided."""
    rng, lengths, decided = np.random.default_rng(4), [2, 1], 0
    whole = list(product(*(product([0, 1], repeat=n) for n in lengths)))
    both = [listing.markov(rng, n, [0, 1]) for n in lengths]
    models = [model for model, _ in both]
    chances = [float(both[0][1][one] * both[1][1][other]) for one, other in whole]
    for loss in (shelf.load(name) for name in fsmeu.library() if not shelf.case(name).labels[2:]):
        try:
            found = fsmeu.decode_corpus(loss, models)
        except InputError:
            continue
        values = np.array([[fsmeu.evaluate_corpus(loss, zs, ys) for ys in whole] for zs in whole])
        sign = 1 if loss.kind == "utility" else -1
        best = sign * (sign * (values @ chances)).max()
        assert found.exact, loss
        assert found.value == pytest.approx(best, rel=1e-12, abs=1e-15), loss
        assert found.lower - 1e-15 <= best <= found.upper + 1e-15, loss
        decided += 1
    assert decided >= 18


# -- large corpora: the search over windows of counts beside generating functions ------------------


@pytest.mark.parametrize(
    ("name", "scale", "rare"),
    [("fscore", 1, 0), ("fscore", 3, 0), ("fscore", 1, 13), ("recall", 1, 13)],
)
def test_as_by_windows(name, scale, rare, lowered):
    """The same decision; the bounds of either hold the value of the other; rare chunks, too."""
    loss, random = fsmeu.load(f"chunk_{name}", types=["A", "B"], empty=0), np.random.default_rng(4)
    models = [random_field(random, int(n), scale, rare=rare) for n in random.integers(1, 12, 60)]
    told = []
    found = fsmeu.decode_corpus(loss, models, progress=lambda *news: told.append(news), jobs=2)
    assert told == [(1.0, f"the best is between {found.lower:.6f} and {found.upper:.6f}")]
    value = fsmeu.expect_corpus(loss, found.labels, models)
    assert found.exact
    assert found.value == pytest.approx(value.value, rel=1e-11)
    assert found.gap <= 3e-9 * found.value
    lowered(MOST_SCORES=0)
    wanted = fsmeu.decode_corpus(loss, models)
    assert found.value == pytest.approx(wanted.value, rel=1e-8)
    assert found.lower <= wanted.upper
    assert wanted.lower <= found.upper
