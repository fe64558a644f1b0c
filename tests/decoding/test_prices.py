"""Bounds on best sums of scores by best paths at prices, and tables of some counts alone."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import fsmeu
from fsmeu.decoding.prices import CountsAsked, priced_sums
from fsmeu.decoding.swept import SentencePart, greatest_sizes, swept_at
from fsmeu.models import from_potentials
from fsmeu.models.base import arc_weights_many
from fsmeu.trellis.lanes import LaneGroup
from fsmeu.trellis.trellis_cache import split_trellis_of
from tests.support.chunk_sums import chunk_count

TAGS = ["O", "B-A", "I-A", "B-B", "I-B"]


@settings(max_examples=150)
@given(st.integers(0, 10**6), st.integers(2, 40))
def test_sums_at_prices(seed, n):
    """They are nowhere below those of the table, which are those of tables of some counts."""
    random = np.random.default_rng(seed)
    loss = fsmeu.load("chunk_fscore", labels=TAGS)
    scale = random.choice([0.3, 1, 3])
    unary = random.normal(size=(n, 5)) * scale
    model = from_potentials(unary, random.normal(size=(5, 5)) * scale, TAGS)
    trellis = split_trellis_of(loss, model, None, None)
    part = SentencePart(slice(0, 1), LaneGroup(trellis, arc_weights_many([model])))
    swept = swept_at(np.zeros(1), np.zeros(1), True, part)
    scores = swept.scores
    ones = np.ones((1, 1))
    table = trellis.best(scores, ones, n).by_count[0]
    (size,) = greatest_sizes(swept).tolist()
    without_signs = scores._replace(value=np.abs(scores.value))
    assert size >= trellis.best(without_signs, ones, n).by_count[0].max()
    with priced_sums(trellis, n, len(table)) as priced:
        worth = 1 / (np.arange(len(table)) + n / 3)
        bounds = priced.greatest_sums(scores, size, worth, random.normal() * worth)
        assert (bounds >= table - 1e-12).all()
        low, high = sorted(random.integers(len(table), size=2).tolist())
        between = priced.bounds_between(scores, ones, CountsAsked(low, high, table, size))
        assert (between >= table - 1e-12).all()
        beside = priced.bounds_beside(scores, ones, CountsAsked(low, high, table, size))
        assert (beside >= table - 1e-12).all()
    some = trellis.workspace.all_counts(n, high, low)
    found = trellis.best(scores, ones, n, np.array([high]), some)
    assert (found.by_count[0, :low] == -np.inf).all()
    np.testing.assert_allclose(found.by_count[0, low:], table[low : high + 1], rtol=1e-13)
    if np.isfinite(table[high]):
        assert chunk_count([TAGS[label] for label in found.labels[0]]) == high
