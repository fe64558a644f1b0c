"""The structured SVM beside its objective by enumeration, which no search from there lowers."""

from itertools import pairwise, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.sparse import csr_array

import fsmeu
from searn.registry import WRONG_LABELS
from searn.structured_svm import StructuredSVM
from tests.experiments.searn.test_incremental import drawn

LOSSES = (WRONG_LABELS, "zero_one", "accuracy")


def vector(rows, line, known):
    """The features of a sentence with its labels: columns by labels, then pairs of labels."""
    size = len(known)
    found = np.zeros((rows.shape[1] + size + 1, size))
    before = size
    for row, label in zip(rows, line, strict=True):
        k = known.index(label)
        found[: rows.shape[1], k] += row
        found[rows.shape[1] + before, k] += 1
        before = k
    return found.ravel()


def margins(rows, starts, labels, loss):
    """Of each sentence: the differences of features from those of its labels, and the losses."""
    known = sorted({label for line in labels for label in line})
    value = fsmeu.load(loss)
    sign = 1 if value.kind == "loss" else -1
    found = []
    for (begin, end), y in zip(pairwise(starts), labels, strict=True):
        mine = rows[begin:end]
        lines = list(product(known, repeat=len(y)))
        gold = vector(mine, y, known)
        differences = np.array([vector(mine, line, known) - gold for line in lines])
        lost = [sign * (value(list(line), y) - value(y, y)) for line in lines]
        found.append((differences, np.array(lost)))
    return found


def objective(weights, sentences, penalty):
    """The objective, with the greatest violation of each sentence by enumeration."""
    hinges = [(lost + differences @ weights).max() for differences, lost in sentences]
    return penalty / 2 * weights @ weights + np.mean(hinges)


@pytest.mark.nightly
@settings(max_examples=3)
@given(
    st.integers(0, 10**6),
    st.lists(st.integers(1, 3), min_size=1, max_size=3),
    st.sampled_from(LOSSES),
    st.sampled_from([0.1, 1.0]),
)
def test_objective(seed, lengths, loss, penalty):
    """A general minimiser hardly gains on what was learned; the duality gap is nearly closed."""
    rows, starts, labels = drawn(seed, lengths)
    learned = StructuredSVM(loss, penalty, epochs=400).fit(csr_array(rows), starts, labels)
    order = np.argsort(learned.columns)
    weights = np.concatenate((learned.weights.positions[order], learned.weights.pairs)).ravel()
    rest = margins(rows, starts, labels, loss), penalty
    reached = objective(weights, *rest)
    least = min(
        minimize(objective, start, rest, method="Powell", options={"maxiter": 20}).fun
        for start in (weights, 0.9 * weights)
    )
    assert reached <= least + 0.02 * (1 + least)
    assert -1e-12 <= learned.gap <= 0.02 * (1 + least)
