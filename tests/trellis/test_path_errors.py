"""Bounds on the error of the worth of paths, against windows valued in fractions."""

import itertools
from fractions import Fraction
from math import prod
from operator import mul

import numpy as np
import pytest

import fsmeu
from fsmeu.decoding.by_tape import best_by_tape
from fsmeu.decoding.problem import Problem
from fsmeu.models import Bernoulli, Markov
from fsmeu.trellis import numpy_steps
from fsmeu.trellis.best import best_values
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


def test_errors_of_terms_that_cancel():
    """Chunk F1 counts by differences; its worths of all sequences in fractions, and their bound."""
    n, labels = 3, ["O", "B-X", "I-X"]
    loss = fsmeu.load("chunk_fscore", labels=labels)
    model = Markov([0.3, 0.6, 0.1], [[0.1, 0.8, 0.1], [0.3, 0.3, 0.4], [0.7, 0.2, 0.1]], n, labels)
    trellis = split_trellis(loss, loss.split, n)
    references = trellis.references(model.layered(), model.structure)
    hypotheses, layered = trellis.hypotheses(n), model.layered()
    scores = step_scores(trellis, references, hypotheses, [layered], roots=False)
    totals, _ = best_values(
        hypotheses.plans[:n], [s[0] for s in scores.steps], scores.ends[0], numpy_steps
    )
    every = np.array(list(itertools.product(range(3), repeat=n)))
    chances = [weight(model, y) for y in every.tolist()]
    best = dict.fromkeys(range(len(totals)), Fraction(-1))
    for z in every:
        values = loss.pair_values(np.tile(z, (len(every), 1)), every).tolist()
        exact = [Fraction(value).limit_denominator(100) for value in values]
        begins = [k == 1 or (k == 2 and (i == 0 or z[i - 1] == 0)) for i, k in enumerate(z)]
        mean = sum(map(mul, chances, exact), Fraction(0))
        best[sum(begins)] = max(best[sum(begins)], mean)
    errors = scores.errors.absolute[0]
    assert (errors <= 1e-13).all()
    for k, wanted in best.items():
        if wanted >= 0:
            assert abs(Fraction(float(totals[k])) - wanted) <= Fraction(float(errors[k]))


def weight(model, y):
    """The probability of a sequence under a chain, in fractions of its doubles."""
    steps = [Fraction(float(model.transition[a, b])) for a, b in itertools.pairwise(y)]
    return Fraction(float(model.initial[y[0]])) * prod(steps)


def test_a_small_value_of_a_chain_is_proven():
    """Its error by the greatest amounts is just too wide, that by expected ones is not."""
    initial = [0.31297781, 0.65856097, 0.02846122]
    rows = [
        [0.30065901, 0.03565275, 0.66368824],
        [0.03695455, 0.09638522, 0.86666023],
        [0.02992935, 0.00608599, 0.96398466],
    ]
    labels = ["O", "B-X", "I-X"]
    loss = fsmeu.load("chunk_fscore", labels=labels)
    (found,) = best_by_tape([Problem(loss, Markov(initial, rows, 59, labels))])
    assert found.proven
    assert found.value < 0.08
