"""Theorem 1 and footnote 7 of Daumé et al. (2009)."""

from itertools import product

import numpy as np
import pytest

import fsmeu
from fsmeu.searn import CostOracle, Searn
from fsmeu.searn.learners.linear import Logistic

LABELS = ["B-X", "I-X", "O"]


@pytest.mark.parametrize("name", ["hamming", "chunk_fscore"])
def test_theorem_1(name):
    """The label of the output of least loss costs nothing; that of the best score may cost."""
    loss, rng, wrong = fsmeu.load(name, labels=LABELS), np.random.default_rng(1), 0
    sign = -1 if loss.kind == "utility" else 1
    outputs = list(product(LABELS, repeat=3))
    for y in outputs:
        oracle, scores = CostOracle(loss, y), rng.normal(size=len(outputs))
        for prefix in [z for k in range(3) for z in product(LABELS, repeat=k)]:
            begun = [k for k, z in enumerate(outputs) if z[: len(prefix)] == prefix]
            least = min(begun, key=lambda k, y=y: sign * loss(outputs[k], y))
            best = max(begun, key=scores.item)
            costs = dict(zip(LABELS, oracle.costs(prefix), strict=True))
            assert costs[outputs[least][len(prefix)]] == 0
            wrong += costs[outputs[best][len(prefix)]] > 1e-12
    assert wrong > 0


SAFE = """
loss    safe "a safe first label costs .3; after another one, the second label must be right"
labels  s c d
register is_safe in 0..1 start 0 next if i == 1 then (if z == "s" then 1 else 0) else is_safe
count   wrong when i == 2 and z != y
value   if is_safe == 1 then 3/10 else wrong
"""


def test_footnote_7():
    """Nothing tells c from d: a safe label loses .3, others .5; optimal costs see .3 and 0."""
    loss = fsmeu.loads(SAFE)
    ys = [["s", "c"], ["s", "d"]] * 10  # the first one is not asked for
    words = [[{"one": 1.0}, {"two": 1.0}]] * 20
    learner = Logistic(importance="cost", dropout=0.0, rate=0.3)
    found = {}
    for costs in ("optimal", "expected"):
        settings = {"costs": costs, "ties": "all", "beta": 1.0, "iterations": 4, "folds": 1}
        model = Searn(loss, learner=learner, beam=1, bits=8, random_state=0, **settings)
        predicted = model.fit(words, ys).predict(words)
        found[costs] = np.mean([loss(z, y) for z, y in zip(predicted, ys, strict=True)])
    assert found == {"optimal": 0.5, "expected": pytest.approx(0.3)}
