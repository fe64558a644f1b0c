"""Decisions by best paths of z against all sequences: counts that are taken back, shared steps."""

from itertools import product

import numpy as np
import pytest

import fsmeu

TAGS = ["O", "B-A", "I-A", "B-B", "I-B"]
# A count that falls below 0, with a range that does not tell; and where nothing is counted.
FALLS = """utility falls labels 0 1 count tp by (z == 1 and y == 1) - (z == 0 and y == 1)
count hyp when z == 1 count ref when y == 1 value tp / (1 + hyp + ref)"""
HIDDEN = """utility hidden labels a b c
count tp by (z == "b" and y == "b") - (z == "a" and y == "c")
count hyp when z == "b" count ref when y == "b"
value tp / (hyp + ref) or 0 when hyp + ref == 0"""
LOSSES = {
    "chunk_fscore": lambda: fsmeu.load("chunk_fscore", labels=TAGS),
    "chunk_recall": lambda: fsmeu.load("chunk_recall", labels=TAGS),
    "chunk_fscore_iob1": lambda: fsmeu.load("chunk_fscore_iob1", labels=["O", "B-A", "I-A"]),
    "hamming": lambda: fsmeu.load("hamming", labels=TAGS),
    "windowdiff": lambda: fsmeu.load("windowdiff", k=2),
    "falls": lambda: fsmeu.loads(FALLS),
    "hidden": lambda: fsmeu.loads(HIDDEN),
}


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("name", LOSSES)
def test_decisions_are_best(name, seed):
    """The answer is the best of all sequences, and its value the expectation of its labels."""
    loss = LOSSES[name]()
    size = len(loss.labels)
    n = 4 if size < 4 else 3
    random = np.random.default_rng(seed)
    scores = 2.0 * random.normal(size=(n, size))
    moves = random.normal(size=(size, size))
    model = fsmeu.models.from_potentials(scores, moves, labels=loss.labels)
    method = "additive" if name in ("hamming", "windowdiff") else "counting"
    decision = fsmeu.decode(loss, model, method=method)
    zs = [list(z) for z in product(loss.labels, repeat=n)]
    listed = fsmeu.expect_many(loss, zs, [model] * len(zs)).values
    best = max(listed) if loss.kind == "utility" else min(listed)
    assert decision.value == pytest.approx(best, abs=1e-12)
    assert fsmeu.expect(loss, decision.labels, model).value == pytest.approx(best, abs=1e-12)
    assert decision.exact
