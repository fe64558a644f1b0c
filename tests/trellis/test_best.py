"""Scores of steps and best paths, against every sequence one by one."""

import itertools

import numpy as np
import pytest

import fsmeu
from fsmeu.losses.algebra.split import split
from fsmeu.trellis.best import best_values, trace
from fsmeu.trellis.kept import split_trellis
from fsmeu.trellis.means import hypothesis_values
from fsmeu.trellis.scores import step_scores

LOSSES = [
    ("fscore", {}),
    ("hamming", {}),
    ("pk", {"k": 2}),
    ("windowdiff", {"k": 2}),
    ("chunk_fscore", {"types": ["A"]}),
    ("chunk_fscore", {"types": ["A"], "beta": 2}),
    ("span_fscore", {"types": ["A"]}),
]


def chains(labels, n, seed, count=2):
    """Random chains with some steps impossible."""
    random, size = np.random.default_rng(seed), len(labels)
    pairwise = np.where(
        random.random((size, size)) < 0.2, -np.inf, random.normal(size=(size, size))
    )
    np.fill_diagonal(pairwise, 0.0)
    return [
        fsmeu.models.from_potentials(random.normal(size=(n, size)), pairwise, labels)
        for _ in range(count)
    ]


def listed(loss, model):
    """The expected value of every hypothesis, by all references."""
    size, n = len(loss.alphabet), model.n
    every = np.array(list(itertools.product(range(size), repeat=n)), np.int64).reshape(size**n, n)
    chances = [model.probability([loss.labels[k] for k in y]) for y in every]
    values = [loss.pair_values(np.broadcast_to(z, every.shape), every) @ chances for z in every]
    return every, np.array(values)


@pytest.mark.parametrize("n", [0, 1, 4])
@pytest.mark.parametrize(("name", "given"), LOSSES)
@pytest.mark.parametrize("roots", [True, False])
def test_scores_add_up_to_expectations(name, given, n, roots):
    loss = fsmeu.load(name, **given)
    models = chains(loss.labels, n, seed=n)
    form = split(loss.bound)
    trellis = split_trellis(loss, form, n)
    references = trellis.references(models[0].layered(), models[0].structure)
    hypotheses = trellis.hypotheses(n)
    sign = 1.0 if loss.kind == "utility" else -1.0
    layered = [m.layered() for m in models]
    scores = step_scores(trellis, references, hypotheses, layered, roots, sign)
    for row, model in enumerate(models):
        every, values = listed(loss, model)
        steps = [worth[row] for worth in scores.steps]
        plans, ends, steps_of = hypotheses.plans[:n], scores.ends[row], trellis.steps(n)
        totals, layers = best_values(plans, steps, ends, steps_of)
        best = int(totals.argmax())
        assert sign * totals[best] == pytest.approx(
            (sign * values).max() * sign, rel=1e-12, abs=1e-12
        )
        path = trace(plans, steps, layers, best, steps_of)
        place = np.flatnonzero((every == path).all(axis=1))[0]
        assert values[place] == pytest.approx(sign * totals[best], rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("n", [0, 1, 4])
@pytest.mark.parametrize(("name", "given"), LOSSES)
def test_means_of_all_hypotheses(name, given, n):
    loss = fsmeu.load(name, **given)
    model = chains(loss.labels, n, seed=7, count=1)[0]
    trellis = split_trellis(loss, split(loss.bound), n)
    references = trellis.references(model.layered(), model.structure)
    every, values = listed(loss, model)
    models = [model.layered()] * len(every)
    found, mass = hypothesis_values(trellis, references, every, models)
    assert found == pytest.approx(values, rel=1e-12, abs=1e-13)
    assert mass == pytest.approx(np.ones(len(every)), rel=1e-13)
