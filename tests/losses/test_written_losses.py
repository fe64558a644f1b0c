"""Losses as a reader of docs/language.md writes them: values, and which method decides for them."""

from itertools import product

import numpy as np
import pytest

import fsmeu

CONTEXTUAL = """
loss    contextual(cost: table, after: table) "a wrong tag costs more after some tags"
labels  DT NN VB
memory  my of y last 1
count   c by cost[z, y] * (if i == 1 then 1 else after[old my[0]])
value   c
"""
LONGEST_RUN = """
loss    longest_run "the longest run of wrong labels"
labels  0 1
register run in 0..n start 0 next if z != y then run + 1 else 0
register longest in 0..n start 0 next max(longest, run)
value   longest
"""
COST = [[0.0, 1.0, 2.0], [1.5, 0.0, 1.0], [1.0, 3.0, 0.0]]
AFTER = [2.0, 1.0, 0.5]


def contextual(z, y):
    index = ("DT", "NN", "VB").index
    costs = [COST[index(a)][index(b)] for a, b in zip(z, y, strict=True)]
    return sum(c * (AFTER[index(y[i - 1])] if i else 1) for i, c in enumerate(costs))


def longest_run(z, y):
    return max(
        len(run) for run in "".join("01"[a != b] for a, b in zip(z, y, strict=True)).split("0")
    )


CASES = {
    "contextual": (
        CONTEXTUAL, {"cost": COST, "after": AFTER}, ("DT", "NN", "VB"), contextual, "additive",
    ),
    "longest run": (LONGEST_RUN, {}, (0, 1), longest_run, None),
}  # fmt: skip


@pytest.mark.parametrize(("text", "params", "labels", "meant", "method"), CASES.values(), ids=CASES)
def test_values_are_what_was_meant_and_a_method_decides(text, params, labels, meant, method):
    """Of the longest run no exact method is known."""
    loss = fsmeu.loads(text, **params)
    for n in range(1, 8 - len(labels)):
        sequences = list(product(labels, repeat=n))
        zs, ys = zip(*product(sequences, repeat=2), strict=True)
        expected = [meant(z, y) for z, y in zip(zs, ys, strict=True)]
        assert fsmeu.evaluate_many(loss, zs, ys) == pytest.approx(np.array(expected), abs=1e-9)
    rows = np.random.default_rng(3).dirichlet(np.ones(len(labels)), 30)
    if method is None:
        return
    decided = fsmeu.decode(loss, fsmeu.models.Independent(rows, labels))
    assert (decided.method, decided.exact) == (method, True)
