"""Reductions: their weights against the definitions, their decisions against the costs."""

from typing import ClassVar

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.sparse import csr_array
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.naive_bayes import BernoulliNB
from sklearn.svm import LinearSVC

from fsmeu.errors import InputError
from fsmeu.searn.learners.linear import AveragedPerceptron, Decisions, Logistic
from fsmeu.searn.learners.reductions import (
    AllPairs,
    Costing,
    CostRegression,
    Multiclass,
    OneAgainstAll,
    pair_gaps,
)


def decisions(rows, costs, begins=None):
    """Examples whose targets are all actions of least cost."""
    begins = np.arange(len(costs) + 1) if begins is None else begins
    least = np.minimum.reduceat(costs.min(axis=1), begins[:-1])
    targets = costs == np.repeat(least, np.diff(begins))[:, None]
    return Decisions(rows, costs, targets, begins)


def by_state(seed=0, count=300, actions=4):
    """Rows that name one of six states, each with costs of its own; and these costs."""
    rng = np.random.default_rng(seed)
    states = rng.integers(6, size=count)
    costs = rng.random((6, actions)).round(2)
    costs[np.arange(6), rng.integers(actions, size=6)] = -1.0
    rows = csr_array((np.ones(count), states * 17, np.arange(count + 1)), shape=(count, 256))
    return rows, costs[states]


LEARNERS = [
    Logistic(epochs=20, rate=0.3, dropout=0),
    AveragedPerceptron(),
    AveragedPerceptron(importance="cost"),
    AllPairs(),
    AllPairs(Costing(LinearSVC(), rounds=5, random_state=0)),
    OneAgainstAll(LogisticRegression(C=100)),
    CostRegression(Ridge(alpha=1e-6)),
    Multiclass(BernoulliNB()),
    Multiclass(LinearSVC()),
]


@pytest.mark.parametrize("learner", LEARNERS, ids=repr)
def test_least_costs_are_learned(learner):
    rows, costs = by_state()
    model = learner.learn(decisions(rows, costs), seed=0)
    found = model.scores(rows).argmax(axis=1)
    assert np.array_equal(found, costs.argmin(axis=1))


@pytest.mark.parametrize("learner", LEARNERS, ids=repr)
def test_actions_that_are_not_allowed(learner):
    """They are no examples; the others are learned."""
    rows, costs = by_state(1)
    costs[:, 3] = np.inf
    costs[:, 0] = np.where(costs[:, 0] > 0.5, np.inf, costs[:, 0])
    keep = np.isfinite(costs.min(axis=1))
    given = decisions(rows[np.flatnonzero(keep)], costs[keep])
    scores = learner.learn(given, seed=0).scores(given.rows)
    allowed = np.isfinite(given.costs)
    found = np.where(allowed, scores, -np.inf).argmax(axis=1)
    # Two actions of the six states can be equal: what counts is the cost.
    picked = given.costs[np.arange(len(found)), found]
    assert np.array_equal(picked, given.costs.min(axis=1))


def test_gaps_are_integrals():
    """v_a is the integral of 1 / |{b: c_b <= t}| from 0 to c_a (Beygelzimer et al. 2005)."""
    rng = np.random.default_rng(0)
    for _ in range(5):
        costs = rng.random(5).round(1)
        costs -= costs.min()
        found = pair_gaps(costs[None])[0]
        for a in range(5):
            want = quad(
                lambda t, costs=costs: 1 / np.count_nonzero(costs <= t), 0, costs[a],
                points=sorted(set(costs[costs < costs[a]])) or None, limit=200,
            )[0]  # fmt: skip
            assert found[a] == pytest.approx(want, abs=1e-6)  # of a numerical integral


def test_costing_draws_by_weight():
    """An example of weight 0 is in no sample, one of the greatest weight in all."""

    class Counts(DummyClassifier):
        rows: ClassVar[list] = []

        def fit(self, X, y):
            self.rows.append(np.asarray(X).ravel())
            return super().fit(X, y)

    X, y = np.arange(6.0)[:, None], np.array([0, 1, 0, 1, 0, 1])
    weights = np.array([0, 1, 1, 0.25, 0.25, 0])
    Costing(Counts(), rounds=400, random_state=1).fit(X, y, weights)
    shares = np.array([np.mean([k in rows for rows in Counts.rows]) for k in range(6)])
    # 0.25 up to Hoeffding's bound at 1e-9 for 400 draws
    assert np.abs(shares - weights).max() < np.sqrt(np.log(2e9) / 800)
    assert shares[[0, 1, 2, 5]].tolist() == [0, 1, 1, 0]


def test_states_of_several_rows():
    """Rows of actions: learned by what has one vector of weights, refused by the others."""
    rows = csr_array(np.tile(np.eye(4), (40, 1)))  # four actions, each with a feature of its own
    costs = np.tile([3.0, 1.0, 0.0, 2.0], 40)[:, None]
    given = decisions(rows, costs, begins=np.arange(0, 161, 4))
    for learner in (Logistic(), AveragedPerceptron(), OneAgainstAll(), CostRegression()):
        scores = learner.learn(given, seed=0).scores(rows[np.arange(4)])
        assert scores.ravel().argmax() == 2
    for learner in (AllPairs(), Multiclass()):
        with pytest.raises(InputError, match="same actions in all states"):
            learner.learn(given, seed=0)


@pytest.mark.parametrize("learner", [Multiclass(LinearSVC()), OneAgainstAll(), CostRegression()])
def test_rows_with_repeated_columns_stay_as_they_are(learner):
    """Features that share a column stand in it twice; learning and scoring leave the rows alone."""
    columns = np.array([3, 3, 1, 5, 5, 5, 2, 3, 1, 1, 4, 2], np.int32)
    held = (np.ones(12, np.float32), columns, np.array([0, 3, 7, 10, 12]))
    rows = csr_array(held, shape=(4, 8))
    dense, ends = rows.toarray(), rows.indptr.copy()
    model = learner.learn(decisions(rows, 1.0 - np.eye(3)[[0, 1, 2, 0]]), 0)
    first = model.scores(rows)
    np.testing.assert_array_equal(rows.indptr, ends)
    np.testing.assert_array_equal(rows.toarray(), dense)
    np.testing.assert_array_equal(model.scores(rows), first)


def test_actions_that_are_not_allowed_do_not_decide_between_others():
    """Of four actions two are allowed in the first state; pairs with the others must not matter.

    In the second state action 1 wins against 2 and 3, which win against 0. Learned from there
    alone, that would make 1 win in the first state, too, where 0 is right.
    """
    rows = csr_array(np.tile(np.eye(2), (20, 1)))
    costs = np.tile([[0, 1, np.inf, np.inf], [1, 0, 0.5, 0.5]], (20, 1))
    model = AllPairs(LogisticRegression(C=100)).learn(decisions(rows, costs), 0)
    scores = np.where(np.isfinite(costs), model.scores(rows), -np.inf)
    assert scores[:2].argmax(axis=1).tolist() == [0, 1]
