"""Long sequences: a test set of 100,000 examples is one sequence of labels."""

import math

import numpy as np
import pytest

import fsmeu
from tests.benchmarks.measure import apart, record


def chances(n):
    """Probabilities of rare positives."""
    return np.random.default_rng(n).beta(0.3, 3, size=n)


def limits(title, run, seconds, gigabytes):
    """Rows for time and memory; whether both bars hold."""
    return [
        record(f"{title}: the limit | ours", seconds, run.seconds, at_most=1),
        record(f"{title}, memory in GB: the limit | ours", gigabytes, run.gigabytes, at_most=1),
    ]


def test_expected_fscore_of_a_million_labels():
    """And how time grows."""
    loss, seconds = fsmeu.load("fscore"), {}
    for n in (10**4, 10**6):
        p = chances(n)
        z, title = (p > 0.2).astype(int), f"E[F1], independent labels, n = {n:,}"
        run = apart(title, lambda z=z, p=p: fsmeu.expect(loss, z, p).value, 10, 2)
        seconds[n] = run.seconds
        mean = 2 * p[z == 1].sum() / (z.sum() + p.sum())
        assert run.result == pytest.approx(mean, rel=0.01)
    held = limits(title, run, 10, 2)
    exponent = math.log(seconds[10**6] / seconds[10**4]) / math.log(100)
    held.append(record("  its exponent: 1 | from 10^4 to 10^6", 1.0, exponent, at_most=1.2))
    assert all(held)


def test_expected_fscore_of_a_long_chain():
    n, loss = 10**5, fsmeu.load("fscore")
    chain = fsmeu.models.Markov([0.9, 0.1], [[0.95, 0.05], [0.3, 0.7]], n=n)
    z, title = (np.arange(n) % 7 == 0).astype(int), f"E[F1], chain of order 1, n = {n:,}"
    run = apart(title, lambda: fsmeu.expect(loss, z, chain).value, 30, 2)
    rate = 0.05 / 0.35  # of ones where the chain has come to rest
    assert run.result == pytest.approx(2 * rate / (1 + 7 * rate), rel=0.01)
    assert all(limits(title, run, 30, 2))


def test_best_fscore_of_100000_labels():
    n, loss = 10**5, fsmeu.load("fscore")
    p, title = chances(n), f"decode, F1, independent labels, n = {n:,}"

    def ours():
        made = fsmeu.decode(loss, p)
        return made.value, sum(made.labels), made.exact

    run = apart(title, ours, 30, 1)
    value, ones, exact = run.result
    assert exact
    ranked = np.sort(p)[::-1]
    means = 2 * np.cumsum(ranked) / (np.arange(1, n + 1) + p.sum())  # what F1 is without variance
    assert value == pytest.approx(means.max(), rel=1e-3)
    assert ones == pytest.approx(means.argmax() + 1, rel=0.02)
    assert all(limits(title, run, 30, 1))


DECIDED = [
    ("hamming", {}, 1.3),
    ("pk", {"k": 10}, 1.3),
    ("zero_one", {}, 1.3),
    ("balanced_accuracy", {}, 1.7),
    ("g_tp_pr", {}, 1.7),
]
"""Losses, and what the exponent of the growth of decisions may be."""


@pytest.mark.parametrize(("name", "params", "exponent"), DECIDED)
def test_decisions_of_100000_labels(name, params, exponent):
    """And how time grows."""
    loss, seconds = fsmeu.load(name, **params), {}
    for n in (10**4, 10**5):
        p, title = chances(n), f"decode, {name}, independent labels, n = {n:,}"
        run = apart(title, lambda p=p: fsmeu.decode(loss, p).exact, 60, 2)
        assert run.result
        seconds[n] = run.seconds
    held = limits(title, run, 60, 2)
    small, large = seconds.values()
    title = f"  {name}: n = 10,000 | n = 100,000"
    held.append(record(title, small, large, at_most=round(10**exponent, 1)))
    assert all(held)
