"""Ends of z's counter that are left out: bounds hold, and the proof that they rest on is one."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fsmeu
from fsmeu.trellis import engine
from fsmeu.trellis.kept import structure_of

TAGS = ["O", "B-A", "I-A", "B-B", "I-B"]
LOSES = """utility loses
labels 0 1
count tp by (z == 1 and y == 1) - 2 * (z == 0 and y == 1)
count hyp when z == 1
count ref when y == 1
value tp / (hyp + ref) or 1 when hyp + ref == 0
range 0 .. 1
"""


def model(n, labels, random):
    size = len(labels)
    return fsmeu.models.from_potentials(
        2 * random.normal(size=(n, size)), random.normal(size=(size, size)), labels
    )


def best_by_end(loss, model):
    """The best expected value of all hypotheses with each count, by listing these."""
    found = {}
    for z in itertools.product(loss.labels, repeat=model.n):
        k = sum(
            tag != "O" and (tag[0] == "B" or tag[2:] != before[2:] or before == "O")
            for before, tag in itertools.pairwise(("O", *z))
        )
        value = fsmeu.expect(loss, z, model, engine="openfst").value
        found[k] = max(found.get(k, -np.inf), value)
    return found


@pytest.mark.parametrize("seed", range(3))
def test_every_end_is_valued_or_bounded_from_above(seed, monkeypatch):
    monkeypatch.setattr(engine, "_FEW_ENDS", 0)
    loss, random = fsmeu.load("chunk_fscore", labels=TAGS), np.random.default_rng(seed)
    one = model(3, TAGS, random)
    listed = best_by_end(loss, one)
    found = structure_of(loss, one).decide([one.arc_weights()], 1.0)
    best = int(found.best[0])
    assert listed[best] == pytest.approx(max(listed.values()), rel=1e-12)
    for k, value in listed.items():
        assert found.values[0, k] + found.errors[0, k] >= value - 1e-15
        assert found.values[0, k] <= found.values[0, best]


def least_count(loss, n):
    """The least value of all pairs of sequences."""
    pairs = itertools.product(itertools.product(loss.labels, repeat=n), repeat=2)
    return min(loss(z, y) for z, y in pairs)


@given(st.lists(st.integers(-2, 2), min_size=4, max_size=4), st.integers(-2, 2))
@settings(max_examples=60, deadline=None)
def test_what_is_proven_is_true(amounts, later):
    """Random amounts of pairs of labels, some of them only after a pair of ones."""
    terms = [
        f"{a} * (z == {z} and y == {y})"
        for a, (z, y) in zip(amounts, itertools.product((0, 1), repeat=2), strict=True)
    ]
    text = "\n".join(
        [
            "utility f",
            "labels 0 1",
            "memory mz of z last 1",
            "memory my of y last 1",
            f"count tp by {' + '.join(terms)} + {later} * (old mz[0] == 1 and old my[0] == 1)",
            "value tp",
        ]
    )
    loss = fsmeu.loads(text)
    one = model(3, loss.labels, np.random.default_rng(1))
    if structure_of(loss, one).is_nonnegative:
        assert min(least_count(loss, n) for n in (1, 2, 3)) >= 0


def test_a_range_that_is_declared_wrongly_prunes_nothing():
    """The count gets negative, whatever the file says: all ends are valued."""
    loss = fsmeu.loads(LOSES)
    one = fsmeu.models.Bernoulli(np.array([0.4, 0.3, 0.6, 0.2]))
    structure = structure_of(loss, one)
    assert not structure.is_nonnegative
    assert structure.decide([one.arc_weights()], 1.0).tried[0] == 5
