"""Costs where not every label may follow every other, beside listing all allowed completions."""

import random
from itertools import pairwise

import numpy as np
import pytest

import fsmeu
from fsmeu.errors import InputError
from fsmeu.expectation.expect import ENGINES
from fsmeu.losses.loss import library
from fsmeu.searn import CostOracles
from tests import shelf
from tests.searn.oracle.enumeration import reachable


def drawn(labels, rng):
    """A table of which label may follow which, and what each stands for."""
    may = np.array([[rng.random() < 0.6 for _ in range(labels)] for _ in range(labels + 1)])
    may[range(labels + 1), [rng.randrange(labels) for _ in range(labels + 1)]] = True
    meanings = np.empty((labels + 1, labels), np.int64)
    for row, table in zip(may, meanings, strict=True):
        table[:] = [k if row[k] else rng.choice(np.flatnonzero(row)) for k in range(labels)]
    return may, meanings


def is_allowed(z, places, may):
    last = [-1, *(places[label] for label in z)]
    return all(may[a, b] for a, b in pairwise(last))


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", library())
@pytest.mark.thirds
def test_costs_are_those_of_allowed_completions(name, engine):
    case, loss = shelf.case(name, 2), shelf.load(name, 2)
    rng = random.Random(f"{name} meanings")
    places = {label: k for k, label in enumerate(case.labels)}
    may, meanings = drawn(len(case.labels), rng)
    n = 3 if len(case.labels) > 3 else 5
    y = tuple(rng.choices(case.labels, k=n))
    greater = loss.kind == "utility"
    values = reachable(case.world(n), y, greater)
    every = {z: float(values[z]) for z in values if len(z) == n and is_allowed(z, places, may)}
    best = max if greater else min
    oracles = CostOracles(loss, [y], meanings=meanings, engine=engine)
    for prefix in {z[: rng.randrange(n)] for z in rng.sample(sorted(every), min(8, len(every)))}:
        oracle = oracles.oracle(0)
        costs, found = oracle.costs(prefix), {}
        for label in case.labels:
            ahead = [v for z, v in every.items() if z[: len(prefix) + 1] == (*prefix, label)]
            if ahead:
                found[label] = best(ahead)
        ideal = best(found.values())
        assert oracle.value(prefix) == pytest.approx(ideal, rel=1e-12, abs=1e-12)
        for label, value in found.items():
            scale = max(1.0, abs(ideal))
            assert costs[places[label]] == pytest.approx(abs(value - ideal), abs=1e-12 * scale)
        for label in case.labels:  # what may not come next is said of what it stands for
            row = meanings[places[prefix[-1]] if prefix else -1]
            assert costs[places[label]] == costs[row[places[label]]]


@pytest.mark.parametrize(
    "meanings",
    [
        [[0, 1], [0, 1]],
        [[0, 1], [0, 1], [0, 2]],
        [[0.0, 1.0]] * 3,
        [[1, 0]] * 3,
        "ab",
        [[0, 1], [0]],
    ],
)
def test_other_tables_are_refused(meanings):
    with pytest.raises(InputError, match="meanings must be a table of 3 rows and 2 columns"):
        CostOracles(fsmeu.load("fscore"), [[0, 1]], meanings=meanings)
