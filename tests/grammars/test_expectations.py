"""Expectations of every loss on the shelf against sums over all references, on both engines.

What a pair is worth is asked of the loss: the other tests here compare that with libraries.
"""

import itertools

import numpy as np
import pytest

import fsmeu
from fsmeu.expectation.expect import ENGINES

COST = [[0, 1, 4], [2, -1, 0.5], [1, 3, 0]]
TAGS = {"types": ("X", "Y")}
CASES = [
    ("accuracy", {"labels": "abc"}),
    ("balanced_accuracy", {}),
    ("balanced_accuracy", {"drop": 0, "empty": 0.5}),
    ("boundary_fscore", {"tolerance": 1}),
    ("boundary_fscore", {"tolerance": 2, "beta": 2, "empty": 0}),
    ("chunk_fscore", TAGS),
    ("chunk_fscore", {"types": ("X",), "beta": 0.5, "empty": 0}),
    ("chunk_fscore_iob1", TAGS),
    ("chunk_fscore_iobes", {"types": ("X",)}),
    ("chunk_precision", TAGS),
    ("chunk_recall", TAGS),
    ("chunk_type_fscore", TAGS),
    ("cost_matrix", {"labels": "abc", "cost": COST}),
    ("cost_matrix", {"labels": "abc", "cost": COST, "mean": 0}),
    ("fractional_linear", {"c0": 1, "c1": -1, "d0": 2, "d1": 0.5}),
    ("fscore", {"beta": 2}),
    ("fscore", {"alpha": 0.25, "empty": 0}),
    ("g_mean", {}),
    ("g_tp_pr", {}),
    ("h_mean", {"drop": 0}),
    ("hamming", {"labels": "abc"}),
    ("jaccard", {}),
    ("kappa", {}),
    ("mcc", {"empty": 0.25}),
    ("pk", {"k": 2}),
    ("pk", {"k": 4}),
    ("precision", {}),
    ("q_mean", {"root": 1}),
    ("recall", {}),
    ("run_length", {"cap": 2, "labels": "abc"}),
    ("run_length", {}),
    ("sec", {}),
    ("span_fscore", TAGS),
    ("specificity", {}),
    ("threshold", {"m": 1, "labels": "abc"}),
    ("transitions", {"labels": "abc"}),
    ("weighted_cost", {"c_fp": 2, "c_fn": 0.5}),
    ("weighted_windows", {"k": 3, "limit": 2, "power": 2, "c_fn": 0.5}),
    ("windowdiff", {"k": 3}),
    ("windowdiff", {"k": 2, "weighted": 1}),
    ("zero_one", {"labels": "abc"}),
]


def test_every_loss_is_here():
    assert {name for name, _ in CASES} == set(fsmeu.library())


def markov(labels, n, seed):
    """A chain and the probability of each of its sequences of label indices."""
    rng = np.random.default_rng(seed)
    size = len(labels)
    first, step = rng.dirichlet(np.ones(size)), rng.dirichlet(np.ones(size), size)
    rows = np.array(list(itertools.product(range(size), repeat=n)), np.int64).reshape(size**n, n)
    chance = np.ones(len(rows))
    for i in range(n):
        chance = chance * (first[rows[:, 0]] if i == 0 else step[rows[:, i - 1], rows[:, i]])
    return fsmeu.models.Markov(first, step, n=n, labels=labels), rows, chance


@pytest.mark.parametrize(("name", "given"), CASES)
@pytest.mark.thirds
def test_expectation_is_the_sum_over_references(name, given):
    loss = fsmeu.load(name, **given)
    for n in (0, 1, 3, 5) if len(loss.labels) < 4 else (0, 1, 2, 4):
        model, rows, chance = markov(loss.labels, n, seed=n)
        for z in rows[:: max(1, len(rows) // 3)]:
            wanted = chance @ loss.pair_values(np.tile(z, (len(rows), 1)), rows)
            for engine in ENGINES:
                found = fsmeu.expect(loss, loss.alphabet.decode(z), model, engine=engine)
                assert found.value == pytest.approx(wanted, rel=1e-12, abs=1e-12)


@pytest.mark.parametrize(("name", "given"), CASES)
def test_expectation_over_hypotheses_too(name, given):
    """With a distribution on the hypothesis tape every register is a state or in the weight."""
    loss = fsmeu.load(name, **given)
    n = {2: 4, 3: 3}.get(len(loss.labels), 2)
    hypothesis, rows, chance = markov(loss.labels, n, seed=1)
    model, _, reference = markov(loss.labels, n, seed=2)
    z, y = rows.repeat(len(rows), axis=0), np.tile(rows, (len(rows), 1))
    wanted = np.outer(chance, reference).ravel() @ loss.pair_values(z, y)
    for engine in ENGINES:
        found = fsmeu.expect(loss, hypothesis, model, engine=engine)
        assert found.value == pytest.approx(wanted, rel=1e-12, abs=1e-12)
