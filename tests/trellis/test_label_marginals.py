"""Losses that read label marginals alone, against every reference and against the general sweep."""

import numpy as np
import pytest

import fsmeu
from fsmeu.models import marginals_many
from fsmeu.trellis.kept import split_trellis
from fsmeu.trellis.label_marginals import (
    reads_marginals,
    scores_by_marginals,
    values_by_marginals,
)
from fsmeu.trellis.scores import step_scores
from tests.explore.cases import random_case
from tests.trellis.test_best import chains, listed

CASES = 400
MOST = 1000
"""Greater counts are refused by those who ask for sweeps."""

PRECISION = """utility precision_of_1 labels 0 1 2
count tp when z == 1 and y == 1
count hyp when z == 1
value tp / hyp or 1 when hyp == 0"""
WITH_CLOCK = """loss late labels 0 1 2
count wrong by i when z != y
value wrong / n or 0 when n == 0"""
Z_REMEMBERS = """loss smooth labels 0 1 2
memory m of z last 1
count wrong by 1 + (old m[0] != z) when z != y
value wrong"""
Y_REMEMBERS = """loss moved labels 0 1 2
memory m of y last 1
count wrong when z != y and old m[0] != y
value wrong"""
Y_COUNTS = """utility recall_of_1 labels 0 1 2
count tp when z == 1 and y == 1
count ref when y == 1
value tp / ref or 1 when ref == 0"""


@pytest.mark.parametrize("n", [0, 1, 4])
@pytest.mark.parametrize("text", [PRECISION, WITH_CLOCK, Z_REMEMBERS])
def test_expectations_of_all_hypotheses(text, n):
    loss = fsmeu.loads(text)
    trellis = split_trellis(loss, loss.split, n)
    assert reads_marginals(trellis, n)
    for model in chains(loss.labels, n, seed=n):
        every, values = listed(loss, model)
        marginals = marginals_many([model] * len(every))
        found = values_by_marginals(trellis, every, marginals)
        assert found == pytest.approx(values, rel=1e-12, abs=1e-13)


@pytest.mark.parametrize("text", [Y_REMEMBERS, Y_COUNTS])
def test_states_and_counts_of_y_need_more_than_marginals(text):
    loss = fsmeu.loads(text)
    assert not reads_marginals(split_trellis(loss, loss.split, 3), 3)


def test_large_tables_are_not_made(monkeypatch):
    monkeypatch.setattr("fsmeu.trellis.label_marginals.LABEL_TABLE_CELLS", 5)
    loss = fsmeu.loads(PRECISION)
    assert not reads_marginals(split_trellis(loss, loss.split, 3), 3)


def test_scores_are_those_of_the_sweep():
    """Files as they come; bounds on errors stay bounds."""
    compared = 0
    for k in range(CASES):
        case = random_case(23, k)
        if case.loss.split is None or not case.loss.split.counted:
            continue
        try:
            trellis = split_trellis(case.loss, case.loss.split, case.n)
            if trellis.z.most(case.n) > MOST or not reads_marginals(trellis, case.n):
                continue
        except fsmeu.FsmeuError:
            continue
        models, hypotheses = [case.built[0]] * 2, trellis.hypotheses(case.n)
        layered = [model.layered() for model in models]
        references = trellis.references(layered[0], models[0].structure)
        swept = step_scores(trellis, references, hypotheses, layered, roots=False)
        found = scores_by_marginals(trellis, hypotheses, marginals_many(models), 4, 1.0)
        compared += case.n > 0
        for one, other in zip([*found.steps, found.ends], [*swept.steps, swept.ends], strict=True):
            size = np.abs(other).max(initial=0.0)
            np.testing.assert_allclose(one, other, rtol=1e-11, atol=1e-13 * size)
        assert (found.errors.absolute >= 0).all()
    assert compared > CASES // 40
