"""Means of the rates of both labels, and the fractional-linear family, against their definitions.

The definitions are computed in fractions, one pair at a time.
"""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

import fsmeu
from tests.grammars.pairs import batches, by_table, close

LENGTHS = (1, 2, 3, 4, 6, 9, 12)


def rates(tp, fp, fn, tn):
    """Pairs (hits, all) of the positive and of the negative label."""
    return [(tp, tp + fn), (tn, tn + fp)]


def present(table, drop, empty):
    """The rates that a mean is taken of; ``drop`` leaves out labels that the reference lacks."""
    both = rates(*table)
    if drop and any(whole for _, whole in both):
        both = [(hits, whole) for hits, whole in both if whole]
    return [Fraction(hits, whole) if whole else Fraction(empty) for hits, whole in both]


def arithmetic(values):
    return sum(values) / len(values)


def geometric(values):
    return math.prod(map(float, values)) ** (1 / len(values))


def harmonic(values):
    return 0 if 0 in values else len(values) / sum(1 / v for v in values)


def quadratic(values):
    return 1 - sum((1 - v) ** 2 for v in values) / len(values)


def quadratic_root(values):
    return 1 - math.sqrt(sum((1 - v) ** 2 for v in values) / len(values))


MEANS = [
    ("balanced_accuracy", {}, arithmetic),
    ("g_mean", {}, geometric),
    ("h_mean", {}, harmonic),
    ("q_mean", {}, quadratic),
    ("q_mean", {"root": 1}, quadratic_root),
]


@pytest.mark.parametrize("convention", [{}, {"drop": 0}, {"drop": 0, "empty": 0}])
@pytest.mark.parametrize(("name", "params", "mean"), MEANS)
def test_mean_of_rates(name, params, mean, convention):
    loss = fsmeu.load(name, **params, **convention)
    drop, empty = convention.get("drop", 1), convention.get("empty", 1)
    for z, y in batches(2, LENGTHS, seed=11):
        wanted = by_table(lambda table, _: mean(present(table, drop, empty)), z, y)
        close(loss.pair_values(z, y), wanted)


@pytest.mark.parametrize(("name", "params", "mean"), MEANS)
def test_rates_of_nothing(name, params, mean):
    for drop, empty in itertools.product((0, 1), (0, 0.25, 1)):
        loss = fsmeu.load(name, drop=drop, empty=empty, **params)
        wanted = float(mean([Fraction(empty)] * (1 if drop else 2)))
        close(loss("", ""), wanted)


def ratio(c, d, table, empty):
    tp, fp, fn, _ = table
    shares = [Fraction(count, sum(table)) for count in (sum(table), tp, tp + fp, tp + fn)]
    above, below = (sum(w * s for w, s in zip(ws, shares, strict=True)) for ws in (c, d))
    return float(above / below) if below else empty


@pytest.mark.parametrize("seed", range(5))
def test_fractional_linear(seed):
    """Small whole coefficients, so that denominators of zero come up."""
    rng = np.random.default_rng(seed)
    c, d = ([int(x) for x in rng.integers(-2, 3, 4)] for _ in range(2))
    params = {f"c{k}": x for k, x in enumerate(c)} | {f"d{k}": x for k, x in enumerate(d)}
    loss = fsmeu.load("fractional_linear", empty=-7, **params)
    for z, y in batches(2, LENGTHS, seed=seed, total=4_000):
        close(loss.pair_values(z, y), by_table(lambda table, _: ratio(c, d, table, -7), z, y))
