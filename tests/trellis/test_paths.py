"""The tape of z, factored: every path is there once, with what its steps show and count."""

from itertools import product

import numpy as np
import pytest

import fsmeu
from fsmeu.decoding.problem import Problem
from fsmeu.trellis.trellis_cache import split_trellis_of

TAGS = ["O", "B-A", "I-A", "B-B", "I-B"]
LOSSES = {
    "chunk_fscore": lambda: fsmeu.load("chunk_fscore", labels=TAGS),
    "chunk_fscore_iob1": lambda: fsmeu.load("chunk_fscore_iob1", labels=["O", "B-A", "I-A"]),
    "fscore": lambda: fsmeu.load("fscore"),
    "hamming": lambda: fsmeu.load("hamming", labels=TAGS),
    "windowdiff": lambda: fsmeu.load("windowdiff", k=2),
}


def trellis_of(name, n):
    """The trellis of a loss with a Markov model of length n."""
    loss = LOSSES[name]()
    size = len(loss.labels)
    random = np.random.default_rng(n)
    scores = random.normal(size=(n, size))
    model = fsmeu.models.from_potentials(scores, random.normal(size=(size, size)), loss.labels)
    problem = Problem(loss, model)
    return split_trellis_of(problem.loss, problem.model)


def scores_by_path(trellis, score, n):
    """The sum of scores and the count of every hypothesis that is allowed, by its steps."""
    paths = trellis.z_tables
    labels = paths.step.shape[2]
    for z in product(range(labels), repeat=n):
        pair = total = counted = 0
        for i, label in enumerate(z):
            pair, shown, adds = paths.step[paths.kind[i], pair, label]
            if pair < 0:
                break
            total += score[i, paths.shown[shown]].sum()
            counted += adds
        else:
            yield z, total, counted


@pytest.mark.parametrize("n", [1, 2, 4])
@pytest.mark.parametrize("name", LOSSES)
def test_best_paths_by_count(name, n):
    """The best score and labels of each count, and at a price, against all paths."""
    from fsmeu.trellis.batches import Scores
    from fsmeu.trellis.price_kernels import best_at_prices, set_priced_steps

    trellis = trellis_of(name, n)
    rows = len(trellis.amounts.joint)
    score = np.random.default_rng(1).normal(size=(n, rows))
    score[:, -1] = 0.0  # the row that stands for nothing
    cells = np.stack(np.divmod(np.arange(n * rows), rows), axis=1).astype(np.uint32)
    scores = Scores(np.array([0, n * rows]), cells, score.reshape(-1, 1))
    listed = list(scores_by_path(trellis, score, n))
    totals = {z: total for z, total, _ in listed}
    counts = {z: counted for z, _, counted in listed}
    for k in range(int(trellis.z_tables.columns[n])):
        found = trellis.best(scores, np.ones((1, 1)), n, np.array([k]))
        own = [total for _, total, counted in listed if counted == k]
        assert found.by_count[0, k] == pytest.approx(max(own, default=-np.inf), abs=1e-12)
        if own:
            labels = tuple(found.labels[0].tolist())
            assert counts[labels] == k
            assert totals[labels] == pytest.approx(max(own), abs=1e-12)
    buffers = trellis.workspace.price_buffers(n)
    lines = np.array([[-0.5, 0.0, 0.0], [0.25, 0.0, 0.0]])
    set_priced_steps(trellis.z_tables, n, scores, np.ones(1), buffers)
    best_at_prices(trellis.z_tables, n, buffers, lines)
    for price, value, _ in lines:
        best = max(total - price * counted for _, total, counted in listed)
        assert value == pytest.approx(best, abs=1e-12)


SIGNS = {  # is T >= 0; is it 0 where z counts nothing; where y does
    "chunk_fscore": (True, True, True),
    "chunk_fscore_iob1": (True, True, True),
    "fscore": (True, True, True),
    "hamming": (True, False, False),
}


@pytest.mark.parametrize("n", [3, 30])
@pytest.mark.parametrize("name", SIGNS)
def test_signs_of_joint_counts(name, n):
    """Counts that are taken back are at least 0, as the declared range tells."""
    trellis = trellis_of(name, n)
    found = trellis.is_nonnegative, trellis.needs_item("z", n), trellis.needs_item("y", n)
    assert found == SIGNS[name]


def test_counts_below_0_are_not_taken_to_be_positive():
    """A count that may fall below 0, and a range that does not tell."""
    text = """utility f labels 0 1 count tp by (z == 1 and y == 1) - (z == 0 and y == 1)
        count hyp when z == 1 count ref when y == 1 value tp / (1 + hyp + ref)"""
    model = fsmeu.models.from_potentials(np.zeros((4, 2)), np.zeros((2, 2)), labels=[0, 1])
    problem = Problem(fsmeu.loads(text), model)
    trellis = split_trellis_of(problem.loss, problem.model)
    assert not trellis.is_nonnegative
    assert not trellis.needs_item("z", 4)
    assert trellis.needs_item("y", 4)
