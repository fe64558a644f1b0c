"""Threads that ask one loss, one oracle and the same models all at once."""

import random
import sys
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import numpy as np
import pytest

import fsmeu
from fsmeu.searn import CostOracle
from tests.label_models import plain_model

LOSSES = {
    "chunk_fscore": {"types": ["X"]},
    "fscore": {},
    "windowdiff": {"k": 2},
    "jaccard": {},  # by a walk, where labels depend on each other
}


def asked_by(threads, function, items):
    """The results of a function for the items; threads take turns as often as they can."""
    before = sys.getswitchinterval()
    try:
        with ThreadPoolExecutor(threads, None, sys.setswitchinterval, (1e-6,)) as pool:
            return list(pool.map(function, items))
    finally:
        sys.setswitchinterval(before)


def bits(answer):
    """Numbers, labels and arrays of an answer as text in which no two doubles are alike."""
    if isinstance(answer, dict | list | tuple):
        parts = answer.values() if isinstance(answer, dict) else answer
        return [bits(part) for part in parts]
    if isinstance(answer, np.ndarray):
        return answer.shape, answer.tobytes()
    return repr(answer)


def questions(name):
    """Everything that is asked of one loss, as functions without arguments, by what they ask."""
    loss, rng = fsmeu.load(name, **LOSSES[name]), np.random.default_rng(8)
    models = [
        plain_model(rng, kind, loss.labels, n).build()
        for kind in ("markov", "independent", "potentials")
        for n in (1, 4, 9)
    ]
    zs = [[loss.labels[k] for k in rng.integers(0, len(loss.labels), m.n)] for m in models]
    asked = {"values": lambda: fsmeu.expect_many(loss, zs, models).values}
    for k, (z, model) in enumerate(zip(zs, models, strict=True)):
        oracle = CostOracle(loss, z)
        asked["expect", k] = lambda z=z, model=model: fsmeu.expect(loss, z, model).value
        asked["gradient", k] = partial(fsmeu.gradient, loss, z, model)
        asked["decode", k] = lambda model=model: fsmeu.decode(loss, model).labels
        asked["costs", k] = lambda one=oracle, z=z: [one.costs(z[:j]) for j in range(len(z))]
    return asked


@pytest.mark.parametrize(
    "name", ["chunk_fscore", *(pytest.param(x, marks=pytest.mark.nightly) for x in [*LOSSES][1:])]
)
def test_eight_threads_ask_one_loss(name):
    alone = {key: bits(ask()) for key, ask in questions(name).items()}
    asked = questions(name)
    order = 2 * list(asked)
    random.Random(name).shuffle(order)
    found = asked_by(8, lambda key: bits(asked[key]()), order)
    assert [key for key, one in zip(order, found, strict=True) if one != alone[key]] == []
