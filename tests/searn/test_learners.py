"""Learners: scores of linear models, weights and decisions of reductions."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.naive_bayes import BernoulliNB
from sklearn.svm import LinearSVC

from fsmeu.searn.learners import linear, reductions
from fsmeu.searn.learners.linear import AveragedPerceptron, Logistic
from fsmeu.searn.learners.reductions import AllPairs, CostRegression, Multiclass, OneAgainstAll


@pytest.mark.parametrize("actions", [1, 7])  # the table of 40 columns is larger than the weights
def test_scores(actions):
    rng = np.random.default_rng(actions)
    columns = np.array([31, 4, 17, 0, 39, 8], np.int32)
    weights = np.concatenate([rng.normal(size=(6, actions)), np.zeros((1, actions))])
    model = linear.LinearModel(columns, weights)
    dense = np.zeros((40, actions))
    dense[columns] = weights[:6]
    for order in (columns, columns, columns[::-1].copy()):  # the second time by what is kept
        model.set_params(columns=order)
        dense[order] = weights[:6]
        rows = csr_array(rng.integers(0, 3, (9, 40)).astype(float))
        np.testing.assert_allclose(model.scores(rows), rows.toarray() @ dense, atol=1e-12)
    assert not model.scores(csr_array((3, 40))).any()
    empty = linear.LinearModel(np.empty(0, np.int32), np.zeros((1, 2)))
    assert empty.scores(csr_array(np.eye(3))).tolist() == [[0, 0]] * 3


def test_scores_are_log_probabilities():
    """Of two states of which each has a right action in so many of its examples."""
    shares = np.array([[0.7, 0.2, 0.1], [0.1, 0.5, 0.4]])
    states, right = np.repeat([0, 1], 500), []
    for share in shares:
        right += np.repeat(range(3), np.rint(500 * share).astype(int)).tolist()
    given = decisions(csr_array(np.eye(2)[states]), 1.0 - np.eye(3)[right])
    learner = Logistic(epochs=40, rate=0.1, dropout=0, importance="equal")
    scores = learner.learn(given, 0).scores(csr_array(np.eye(2)))
    found = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(found, shares, atol=0.05)


# -- reductions ------------------------------------------------------------------------------------


def decisions(rows, costs, begins=None):
    """Examples whose targets are all actions of least cost."""
    begins = np.arange(len(costs) + 1) if begins is None else begins
    least = np.minimum.reduceat(costs.min(axis=1), begins[:-1])
    targets = costs == np.repeat(least, np.diff(begins))[:, None]
    return linear.Decisions(rows, costs, targets, begins)


def by_state(seed=0, count=300, actions=4):
    """Rows that name one of six states, each with costs of its own; and these costs."""
    rng = np.random.default_rng(seed)
    states = rng.integers(6, size=count)
    costs = rng.random((6, actions)).round(2)
    costs[np.arange(6), rng.integers(actions, size=6)] = -1.0
    rows = csr_array((np.ones(count), states * 17, np.arange(count + 1)), shape=(count, 256))
    return rows, costs[states]


LEARNERS = [
    Logistic(epochs=20, rate=0.3, dropout=0, importance="equal"),
    Logistic(epochs=20, rate=0.3, dropout=0),
    AveragedPerceptron(importance="equal"),
    AveragedPerceptron(),
    AllPairs(),
    AllPairs(reductions.Costing(LinearSVC(), rounds=5, random_state=0)),
    OneAgainstAll(LogisticRegression(C=100)),
    CostRegression(Ridge(alpha=1e-6)),
    Multiclass(BernoulliNB()),
    Multiclass(LinearSVC()),
]


@pytest.mark.parametrize("learner", LEARNERS, ids=repr)
@pytest.mark.parametrize("forbidden", [False, True])
def test_least_costs_are_learned(learner, forbidden):
    """Actions that are not allowed are no examples; the others are learned."""
    rows, costs = by_state(int(forbidden))
    if forbidden:
        costs[:, 3] = np.inf
        costs[:, 0] = np.where(costs[:, 0] > 0.5, np.inf, costs[:, 0])
        keep = np.flatnonzero(np.isfinite(costs.min(axis=1)))
        rows, costs = rows[keep], costs[keep]
    scores = learner.learn(decisions(rows, costs), seed=0).scores(rows)
    found = np.where(np.isfinite(costs), scores, -np.inf).argmax(axis=1)
    # Two actions of the six states can be equal: what counts is the cost.
    assert np.array_equal(costs[np.arange(len(found)), found], costs.min(axis=1))


# By the right action, the costs of three actions; how often each is right; the cheapest one.
WEIGHTY = [
    # A missed third costs 20: it is the cheapest action, though right in one state of ten.
    ([[0, 1, 1], [1, 0, 1], [20, 20, 0]], [200, 160, 40], 2),
    # Where the first is right, the third costs 20. It still is the second that is cheapest.
    ([[0, 1, 20], [1, 0, 1], [1, 1, 0]], [120, 240, 40], 1),
]


def blind(table, counts):
    """Examples of actions that no feature tells apart, in any order."""
    right = np.random.default_rng(0).permutation(np.repeat(np.arange(3), counts))
    return decisions(csr_array(np.ones((len(right), 1))), np.array(table, float)[right])


@pytest.mark.parametrize(
    "learner", [Logistic(), AveragedPerceptron(), AllPairs(), CostRegression()], ids=repr
)
@pytest.mark.parametrize(("table", "counts", "cheapest"), WEIGHTY)
def test_expected_costs_decide(learner, table, counts, cheapest):
    """Of actions that no feature tells apart, the one of least expected cost is decided for."""
    assert (np.array(counts) @ np.array(table)).argmin() == cheapest
    model = learner.learn(blind(table, counts), 0)
    assert model.scores(csr_array(np.ones((1, 1)))).argmax() == cheapest
    # By argmin all mistakes are alike: the action that is right most often is decided for.
    alike = Logistic(importance="equal").learn(blind(table, counts), 0)
    assert alike.scores(csr_array(np.ones((1, 1)))).argmax() == np.argmax(counts)


def test_gaps_are_integrals():
    """v_a is the integral of 1 / |{b: c_b <= t}| from 0 to c_a (Beygelzimer et al. 2005)."""
    found = reductions.pair_gaps(np.array([[3.0, 0.0, 1.0, 1.0, 7.0]]))
    assert found.tolist() == [pytest.approx([1 + 2 / 3, 0, 1, 1, 1 + 2 / 3 + 4 / 4])]


def test_states_of_several_rows():
    """Rows of actions: learned by what has one vector of weights for all."""
    rows = csr_array(np.tile(np.eye(4), (40, 1)))  # four actions, each with a feature of its own
    costs = np.tile([3.0, 1.0, 0.0, 2.0], 40)[:, None]
    given = decisions(rows, costs, begins=np.arange(0, 161, 4))
    for learner in (Logistic(), AveragedPerceptron(), OneAgainstAll(), CostRegression()):
        scores = learner.learn(given, seed=0).scores(rows[np.arange(4)])
        assert scores.ravel().argmax() == 2


@pytest.mark.parametrize("learner", [Multiclass(LinearSVC()), OneAgainstAll(), CostRegression()])
def test_rows_with_repeated_columns_stay_as_they_are(learner):
    """Features that share a column stand in it twice; learning and scoring leave the rows alone."""
    columns = np.array([3, 3, 1, 5, 5, 5, 2, 3, 1, 1, 4, 2], np.int32)
    rows = csr_array((np.ones(12, np.float32), columns, np.array([0, 3, 7, 10, 12])), shape=(4, 8))
    before = rows.copy()
    model = learner.learn(decisions(rows, 1.0 - np.eye(3)[[0, 1, 2, 0]]), 0)
    np.testing.assert_array_equal(model.scores(rows), model.scores(before))
    assert rows.indptr.tolist() == before.indptr.tolist() == [0, 3, 7, 10, 12]


def test_actions_that_are_not_allowed_do_not_decide_between_others():
    """In the second state 1 wins against 2 and 3, which win against 0; in the first 0 is right."""
    rows = csr_array(np.tile(np.eye(2), (20, 1)))
    costs = np.tile([[0, 1, np.inf, np.inf], [1, 0, 0.5, 0.5]], (20, 1))
    model = AllPairs(LogisticRegression(C=100)).learn(decisions(rows, costs), 0)
    scores = np.where(np.isfinite(costs), model.scores(rows), -np.inf)
    assert scores[:2].argmax(axis=1).tolist() == [0, 1]
