"""Segmentation losses against NLTK and, for matched boundaries, a bipartite matching."""

import functools
import itertools

import numpy as np
import pytest
from nltk.metrics import segmentation as nltk

import fsmeu
from tests.grammars.pairs import TOTAL, batches, close
from tests.grammars.test_events import matched

load = functools.lru_cache(fsmeu.load)
CASES = [(n, k) for n in (1, 2, 5, 9, 22) for k in (1, 2, 4, 7) if k <= n]


def windows(seed):
    """Batches with a window that fits in them; k = n is among them."""
    for n, k in CASES:
        yield k, *batches(2, (n,), seed=100 * seed + k, total=-(-TOTAL // len(CASES)))[0]


def each(score, z, y, **options):
    pairs = zip(y.tolist(), z.tolist(), strict=True)
    return [score(reference, hypothesis, boundary=1, **options) for reference, hypothesis in pairs]


def test_pk_is_nltks():
    for k, z, y in windows(1):
        close(load("pk", k=k).pair_values(z, y), each(nltk.pk, z, y, k=k))


@pytest.mark.parametrize("weighted", [0, 1])
def test_windowdiff_is_nltks(weighted):
    for k, z, y in windows(2):
        found = load("windowdiff", k=k, weighted=weighted).pair_values(z, y)
        close(found, each(nltk.windowdiff, z, y, k=k, weighted=bool(weighted)))


@pytest.mark.parametrize("params", [
    {"limit": 1, "c_fn": 0}, {"power": 1}, {"power": 2, "c_fp": 3, "c_fn": 0.5},
])  # fmt: skip
@pytest.mark.thirds
def test_weighted_windows(params):
    """Pk, WindowDiff and weighted WindowDiff; misses and false alarms apart, and other powers."""
    p = {"power": 0, "c_fp": 1, "c_fn": 1, **params}
    for k, z, y in windows(4):
        seen = (np.lib.stride_tricks.sliding_window_view(s, k, axis=1) for s in (z, y))
        more = [np.minimum(one.sum(axis=2), p.get("limit", k)) for one in seen]
        more = (more[0] - more[1]).astype(float)
        size = np.where(more == 0, 0, np.abs(more) ** p["power"])
        costs = np.where(more > 0, p["c_fp"], p["c_fn"]) * size
        found = load("weighted_windows", k=k, **params).pair_values(z, y)
        close(found, costs.mean(axis=1))


@pytest.mark.parametrize("tolerance", [0, 1, 3, 12])
def test_boundaries_are_matched_as_well_as_can_be(tolerance):
    """F1, and precision (alpha = 0) and recall (alpha = 1): of every short pair and of others."""
    rows = np.array(list(itertools.product((0, 1), repeat=4)))
    pairs = [(rows.repeat(16, axis=0), np.tile(rows, (16, 1)))]
    pairs += batches(2, (1, 2, 4, 7, 11, 16, 24), seed=tolerance, total=-(-TOTAL // 5))
    for z, y in pairs:
        tp = np.array([matched(a, b, tolerance) for a, b in zip(z, y, strict=True)])
        sizes = {0: z.sum(axis=1), 1: y.sum(axis=1)}
        for alpha, whole in {**sizes, 0.5: (sizes[0] + sizes[1]) / 2}.items():
            loss = load("boundary_fscore", tolerance=tolerance, alpha=alpha, empty=-1)
            wanted = np.where(whole > 0, tp / np.maximum(whole, 0.5), -1)
            close(loss.pair_values(z, y), wanted)
