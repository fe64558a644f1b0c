"""Bounds on the error of the worth of paths, against windows valued in fractions."""

from fractions import Fraction
from math import prod

import numpy as np
import pytest

import fsmeu
from fsmeu.decoding.by_tape import best_by_tape
from fsmeu.decoding.problem import Problem
from fsmeu.models import Bernoulli
from fsmeu.trellis.kept import split_trellis
from fsmeu.trellis.scores import step_scores

K = 3


def rare(n):
    """Probabilities of rare boundaries: the least expected loss is far below 1."""
    return np.random.default_rng(n).beta(0.02, 40, size=n)


def expected_pk(z, p):
    """E[Pk] of a hypothesis in fractions, window by window."""
    none = [1 - Fraction(one) for one in p.tolist()]
    total = Fraction(0)
    for end in range(K, len(z) + 1):
        empty = prod(none[end - K : end])
        total += empty if any(z[end - K : end]) else 1 - empty
    return total / (len(z) - K + 1)


def scores_of(loss, model):
    """The worth of steps under one model, with what it is made of."""
    trellis = split_trellis(loss, loss.split, model.n)
    references = trellis.references(model.layered(), model.structure)
    hypotheses = trellis.hypotheses(model.n)
    return step_scores(trellis, references, hypotheses, [model.layered()], roots=True)


def test_errors_of_small_losses_are_small():
    """A bound that is a part of the loss itself, not of 1, proves a long decision."""
    p = rare(700)
    (found,) = best_by_tape([Problem(fsmeu.load("pk", k=K), Bernoulli(p))])
    exact = expected_pk(found.indices.tolist(), p)
    assert exact < Fraction(1, 500)
    assert abs(Fraction(found.value) - exact) <= Fraction(found.error)
    assert found.error <= 2e-12 * found.value
    assert found.proven


@pytest.mark.parametrize(
    ("costs", "one_sign"),
    [([[0, 1], [5, 0]], True), ([[0, -1], [-5, 0]], True), ([[-1, 1], [5, -1]], False)],
)
def test_parts_of_the_worth_only_where_nothing_cancels(costs, one_sign):
    """The worth of steps of a cost matrix, whose costs may have both signs."""
    n, table = 6, {(a, b): costs[a][b] for a in (0, 1) for b in (0, 1)}
    p = rare(n)
    loss = fsmeu.load("cost_matrix", labels=[0, 1], cost=costs, mean=0)
    scores = scores_of(loss, Bernoulli(p))
    exact = Fraction(0)
    worth = 0.0
    for one, step in zip(map(Fraction, p.tolist()), scores.steps, strict=True):
        means = [(1 - one) * table[a, 0] + one * table[a, 1] for a in (0, 1)]
        exact += max(means)
        worth += step[0, :-1].max()
    errors = scores.errors.of_best(0, np.array([worth]))
    assert abs(Fraction(worth) - exact) <= Fraction(float(errors[0]))
    assert np.isfinite(scores.errors.relative) == one_sign
