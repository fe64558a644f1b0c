"""Losses over any labels against plain Python: thresholds, cost matrices, transitions, runs."""

import itertools

import numpy as np
import pytest

import fsmeu
from tests.grammars.pairs import TOTAL, batches, close

COST = np.random.default_rng(4).normal(size=(4, 4))


def transitions(z, y):
    changes = [s[:, 1:] != s[:, :-1] for s in (z, y)]
    return (changes[0] != changes[1]).mean(axis=1) if z.shape[1] > 1 else np.zeros(len(z))


def run_length(cap):
    """The share of positions whose runs, as long as they are so far, have different lengths."""

    def lengths(row):
        return [k for _, run in itertools.groupby(row) for k, _ in enumerate(run, start=1)]

    def score(z, y):
        ours, theirs = (np.array([lengths(row) for row in s.tolist()]) for s in (z, y))
        return (np.minimum(ours, cap + 1) != np.minimum(theirs, cap + 1)).mean(axis=1)

    return score


@pytest.mark.parametrize("size", [2, 4])
@pytest.mark.parametrize(
    ("name", "params", "score"),
    [
        ("hamming", {}, lambda z, y: (z != y).mean(axis=1)),
        ("accuracy", {}, lambda z, y: (z == y).mean(axis=1)),
        ("zero_one", {}, lambda z, y: (z != y).any(axis=1)),
        *(
            ("threshold", {"m": m}, lambda z, y, m=m: (z != y).sum(axis=1) > m)
            for m in (0, 1, 3, 30)
        ),
        ("cost_matrix", {"cost": COST}, lambda z, y: COST[z, y].mean(axis=1)),
        ("cost_matrix", {"cost": COST, "mean": 0}, lambda z, y: COST[z, y].sum(axis=1)),
        ("transitions", {}, transitions),
        *(("run_length", {"cap": cap}, run_length(cap)) for cap in (1, 3, 40)),
    ],
)
def test_losses_over_any_labels(name, params, score, size):
    """In a cost matrix the row is what was said, the column what is right."""
    if "cost" in params:
        params = {**params, "cost": COST[:size, :size]}
    loss = fsmeu.load(name, labels=tuple("abcd"[:size]), **params)
    for z, y in batches(size, (1, 2, 3, 5, 8, 13, 21), seed=4, total=TOTAL // 3):
        close(loss.pair_values(z, y), score(z, y))
