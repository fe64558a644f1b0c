"""Sizes: composed F-score machines (Jansche 2007, footnote 3), and queries over many labels."""

import itertools

import numpy as np
import pytest

import fsmeu
from fsmeu.errors import SizeLimitError
from fsmeu.models import Independent, Markov
from tests import brute_force
from tests.support.nightly import mostly_nightly
from tests.support.values import watched_cells

FSCORE = fsmeu.load("fscore")


def stated(n):
    """floor(n^3/12 + 5n^2/8 + 17n/12 + 1), in whole numbers."""
    return (2 * n**3 + 15 * n**2 + 34 * n + 24) // 24


def states(z):
    return fsmeu.compose(FSCORE, z, [0.5] * len(z)).states


def alternating(n):
    return [1 - i % 2 for i in range(n)]


def reached(z):
    """Distinct (position, tp, ref) over all references: what the composition must hold."""
    found = set()
    for y in brute_force.sequences((0, 1), len(z)):
        for i in range(len(z) + 1):
            both = sum(a * b for a, b in zip(z[:i], y[:i], strict=True))
            found.add((i, both, sum(y[:i])))
    return len(found)


@pytest.mark.parametrize("n", range(1, 31))
def test_alternating_hypothesis_has_the_stated_size(n):
    assert states(alternating(n)) == stated(n)


@pytest.mark.parametrize("n", mostly_nightly(range(1, 9), quick=6))
def test_alternating_hypothesis_is_the_worst(n):
    sizes = {z: states(z) for z in itertools.product((0, 1), repeat=n)}
    assert max(sizes.values()) == sizes[tuple(alternating(n))] == stated(n)
    if n < 7:
        assert all(size == reached(z) for z, size in sizes.items())


TYPES = [f"T{k}" for k in range(149)]


@pytest.mark.nightly
def test_a_space_of_many_steps_is_walked_as_it_is_reached(monkeypatch, lowered):
    """400,000 contents of the registers times 121 labels are never stepped from at once.

    How long it would take is seen after a few positions.
    """
    cells, loss = watched_cells(monkeypatch), fsmeu.load("chunk_fscore", types=TYPES[:60])
    lowered(DOCUMENT_WORK=10**9, SWEEP_WORK=10**12)  # it is no document
    model = Independent(np.full((80, 121), 1 / 121), loss.labels)
    view = loss.view(80, np.zeros(80, np.int64), weights=True)
    assert view.space is not None
    assert view.space * view.symbols > 40_000_000
    with pytest.raises(SizeLimitError, match="a walk may take at most 800,000 steps"):
        fsmeu.expect(loss, ["O"] * 80, model, max_states=10_000)
    assert 0 < max(cells) < 2_000_000


@pytest.mark.nightly
def test_the_spread_of_a_gradient_is_seen_before(monkeypatch):
    watched_cells(monkeypatch)
    monkeypatch.setenv("FSMEU_MAX_STATES", "20000")
    loss = fsmeu.load("span_fscore", types=TYPES)
    rows = np.full((300, 299), 1 / 299)
    model = Markov(rows[0], rows[1:], n=80, labels=loss.labels)
    with pytest.raises(SizeLimitError, match="gradient: a machine may have at most"):
        fsmeu.gradient(loss, ["B-T0", "I-T0"] * 40, model)
