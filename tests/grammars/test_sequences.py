"""Losses over any labels against plain Python: thresholds, cost matrices, transitions, runs."""

import itertools

import numpy as np
import pytest
from sklearn import metrics

import fsmeu
from tests.grammars.pairs import TOTAL, batches, close

LENGTHS = (1, 2, 3, 5, 8, 13, 21)
SIZES = [2, 3, 4]


def open_loss(name, size, **params):
    return fsmeu.load(name, labels=tuple("abcd"[:size]), **params)


@pytest.mark.parametrize("size", SIZES)
def test_hamming_accuracy_and_zero_one(size):
    hamming, accuracy, zero_one = (
        open_loss(name, size) for name in ("hamming", "accuracy", "zero_one")
    )
    for z, y in batches(size, LENGTHS, seed=4, total=TOTAL // 3 + 1):
        wrong = (z != y).mean(axis=1)
        close(hamming.pair_values(z, y), wrong)
        close(accuracy.pair_values(z, y), 1 - wrong)
        close(zero_one.pair_values(z, y), wrong > 0)
        assert hamming.pair_values(z, y)[0] == metrics.hamming_loss(y[0], z[0])


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("m", [0, 1, 3, 30])
def test_threshold(size, m):
    loss = open_loss("threshold", size, m=m)
    for z, y in batches(size, LENGTHS, seed=4, total=TOTAL // 3 + 1):
        close(loss.pair_values(z, y), (z != y).sum(axis=1) > m)


@pytest.mark.parametrize("size", SIZES)
def test_cost_matrix(size):
    """The row is what was said, the column what is right."""
    cost = np.random.default_rng(size).normal(size=(size, size))
    mean, total = (open_loss("cost_matrix", size, cost=cost, mean=m) for m in (1, 0))
    for z, y in batches(size, LENGTHS, seed=4, total=TOTAL // 3 + 1):
        close(mean.pair_values(z, y), cost[z, y].mean(axis=1))
        close(total.pair_values(z, y), cost[z, y].sum(axis=1))


@pytest.mark.parametrize("size", SIZES)
def test_transitions(size):
    loss = open_loss("transitions", size)
    for z, y in batches(size, LENGTHS, seed=4, total=TOTAL // 3 + 1):
        if z.shape[1] < 2:
            close(loss.pair_values(z, y), 0)
        else:
            changes = [s[:, 1:] != s[:, :-1] for s in (z, y)]
            close(loss.pair_values(z, y), (changes[0] != changes[1]).mean(axis=1))


def run_lengths(sequence):
    """The length so far of the run at each position."""
    return [k for _, run in itertools.groupby(sequence) for k, _ in enumerate(run, start=1)]


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("cap", [1, 3, 40])
def test_run_length(size, cap):
    loss = open_loss("run_length", size, cap=cap)
    for z, y in batches(size, LENGTHS, seed=5, total=TOTAL // 9 + 1):
        lengths = [np.minimum([run_lengths(row) for row in s.tolist()], cap + 1) for s in (z, y)]
        close(loss.pair_values(z, y), (lengths[0] != lengths[1]).mean(axis=1))


@pytest.mark.parametrize("name", ["hamming", "zero_one", "transitions", "run_length"])
def test_nothing_is_no_mistake(name):
    assert fsmeu.load(name)("", "") == 0
