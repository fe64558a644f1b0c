"""Positions by compiled loops are those by numpy, and when they are taken."""

import itertools

import numpy as np
import pytest

import fsmeu
from fsmeu.errors import FsmeuError
from fsmeu.trellis import numpy_steps, steps
from fsmeu.trellis.best import best_values
from fsmeu.trellis.kept import split_trellis
from fsmeu.trellis.means import hypothesis_values
from fsmeu.trellis.scores import step_scores
from tests.explore.cases import random_case

CASES = 200
MOST = 1000
"""Greater counts are refused by those who ask for sweeps."""


@pytest.fixture(autouse=True)
def positions(monkeypatch):
    """A fixture of the folder that these tests do without: each asks for both."""
    pytest.importorskip("numba", reason="numba is not installed (it is the extra 'fast')")


def swept(case, roots):
    """All that sweeps compute for a case, as one list of arrays; None if it does not split."""
    loss, n = case.loss, case.n
    if loss.split is None or not loss.split.counted:
        return None
    trellis = split_trellis(loss, loss.split, n)
    if max(trellis.z.most(n), trellis.y.most(n)) > MOST:
        return None
    models = [case.built[0]] * 2
    references = trellis.references(models[0].layered(), models[0].structure)
    hypotheses = trellis.hypotheses(n)
    layered = [model.layered() for model in models]
    scores = step_scores(trellis, references, hypotheses, layered, roots)
    found = [*scores.steps, scores.ends, scores.errors.absolute]
    plans, own = hypotheses.plans[:n], [worth[0] for worth in scores.steps]
    totals, layers = best_values(plans, own, scores.ends[0], trellis.steps(n))
    found += [totals, *(layer.offsets for layer in layers), *(layer.bases for layer in layers)]
    size = len(loss.labels)
    every = np.array(list(itertools.product(range(size), repeat=n)), np.int64).reshape(size**n, n)
    found += hypothesis_values(trellis, references, every, [layered[0]] * len(every))
    return found, totals.max()


def test_loops_compute_what_numpy_computes(monkeypatch):
    """Files as they come, counts of all kinds, several ways to one pair, both kinds of counts."""
    compared = 0
    for k in range(CASES):
        case, roots = random_case(11, k), k % 2 == 0
        try:
            monkeypatch.setattr(steps, "COMPILED_AFTER", 10**9)
            by_numpy = swept(case, roots)
            monkeypatch.setattr(steps, "COMPILED_AFTER", 0)
            by_loops = swept(case, roots)
        except FsmeuError:
            continue
        if by_numpy is None or not np.isfinite(by_numpy[1]):
            continue
        for ours, theirs in zip(by_loops[0], by_numpy[0], strict=True):
            with np.errstate(invalid="ignore"):
                # At roots of unity errors are those of probabilities, absolute.
                size = np.abs(theirs[np.isfinite(theirs)]).max(initial=float(roots))
                same = (ours == theirs) | (np.abs(ours - theirs) <= 1e-13 * size)
            assert same.all(), (k, case.program.text)
        compared += 1
    assert compared > CASES // 4


def test_loops_are_taken_once_a_trellis_was_swept_often(monkeypatch):
    monkeypatch.setattr(steps, "COMPILED_AFTER", 20)
    loss = fsmeu.load("fscore")
    trellis = split_trellis(loss, loss.split, 8)
    taken = [trellis.steps(8) for _ in range(4)]
    assert taken[0] is taken[1] is numpy_steps
    assert taken[2] is taken[3] is not numpy_steps


def test_numpy_does_without_numba(monkeypatch):
    monkeypatch.setattr(steps, "is_installed", lambda name: False)
    assert steps.steps_after(10**9) is numpy_steps
