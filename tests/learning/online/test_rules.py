"""Online learners do what their papers' listings say, whatever form the examples come in."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.linear_model import SGDClassifier

from fsmeu.learning import FOFOClassifier, OFOClassifier, OnlineLogisticClassifier
from tests.learning.online import transcript
from tests.support.examples import data


def numbers(learner):
    """All numbers of a learner's state."""
    return learner.state_.view(np.float64)


@pytest.mark.parametrize("n", [10, 300])  # 1 and 2 stages
@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        ({}, {}),
        ({"gamma_scale": 16.0, "beta": 2.0}, {"scale": 16, "beta": 2}),
        ({"average": True, "step": 0.3}, {"average": True, "c": 0.3}),
        ({"average": "suffix"}, {"average": "suffix"}),
        ({"gamma_scale": 64, "predict_with": "last"}, {"scale": 64, "with_last": True}),
        ({"gamma_scale": "auto", "beta": 0.5}, {"scale": None, "beta": 0.5}),
    ],
)
def test_fofo_is_algorithms_1_and_2(n, ours, theirs):
    rows, labels = data(n)
    learner = FOFOClassifier(horizon=n, **ours)
    predicted = learner.predict_then_fit(rows, labels)
    wanted, threshold, weights = transcript.fofo(rows, labels.tolist(), **theirs)
    assert predicted.tolist() == wanted
    if "predict_with" not in ours:
        assert learner.threshold_ == pytest.approx(threshold, rel=1e-10)
    assert learner.weights_[0] == pytest.approx(weights, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("average", [True, "suffix"])
@pytest.mark.parametrize("n", [2, 3, 4, 7, 8, 37])
def test_means_of_weights(average, n):
    """Of all weight vectors, or without the first 2^(i-1) of 2^i, ..., 2^(i+1) - 1."""
    rows, labels = data(n, shift=0)
    labels[:2] = 0, 1
    learner = OnlineLogisticClassifier(average=average).fit(rows, labels)
    by_hand = transcript.Learner(5, 1.0)
    for x, y in zip(rows, labels, strict=True):
        by_hand.update(x, y)
    first = {2: 1, 3: 1, 4: 2, 7: 2, 8: 4, 37: 16}[n] if average == "suffix" else 0
    wanted = np.mean(by_hand.all[first:], axis=0)
    np.testing.assert_allclose(np.append(learner.coef_, learner.intercept_), wanted, rtol=1e-9)


@pytest.mark.parametrize(
    ("horizon", "ends"),
    [
        (10_000, {2500: (1, 4), 5000: (2, 4), 7500: (3, 4), 10_000: (4, 4)}),
        (None, {256: (1, 2), 512: (2, 2), 1024: (1, 2), 1536: (2, 2), 2218: (1, 3)}),
    ],
)
def test_stages_are_those_of_algorithm_1(horizon, ends, lowered):
    """n = 10,000: m = floor(log2(20000 / 13.29) / 2) - 1 = 4 stages of 2,500.

    Where n is unknown, plans for 512, 1,024 and 2,048 examples follow each other, of 2, 2 and 3.
    """
    lowered(FIRST_HORIZON=512)
    rows, labels = data(max(ends) // 100 * 100, features=1)
    learner = FOFOClassifier(horizon=horizon)
    for begin in range(0, len(rows), 100):
        learner.partial_fit(rows[begin : begin + 100], labels[begin : begin + 100], [0, 1])
        assert learner.seen_ == begin + 100
        assert learner.stage_ == next(stage for end, stage in ends.items() if begin + 100 <= end)


def test_ofo_has_half_the_running_f():
    rows, labels = data()
    for beta in (1.0, 0.5):
        learner = OFOClassifier(beta=beta)
        predicted = learner.predict_then_fit(rows, labels)
        assert predicted.tolist() == transcript.ofo(rows, labels.tolist(), beta=beta)
        assert learner.threshold_ * (1 + beta**2) == pytest.approx(learner.score_)
    jaccard = OFOClassifier(measure="jaccard").fit(rows, labels)
    assert jaccard.threshold_ == pytest.approx(jaccard.score_ / (1 + jaccard.score_))


def test_logistic_regression():
    """That of scikit-learn: eta0 / t^0.5, without l2."""
    rows, labels = data()
    learner = OnlineLogisticClassifier(step=0.7).fit(rows, labels)
    theirs = SGDClassifier(
        "log_loss", alpha=0, penalty=None, learning_rate="invscaling", eta0=0.7, power_t=0.5,
        max_iter=1, shuffle=False, tol=None,
    ).fit(rows, labels)  # fmt: skip
    assert learner.coef_ == pytest.approx(theirs.coef_, rel=1e-9)
    assert learner.intercept_ == pytest.approx(theirs.intercept_, rel=1e-9)


@pytest.mark.parametrize(
    "learner",
    [
        FOFOClassifier(gamma_scale="auto", average=True),
        OFOClassifier(),
        OnlineLogisticClassifier(average="suffix"),
    ],
    ids=lambda one: type(one).__name__,
)
@given(st.lists(st.integers(1, 299), max_size=4), st.integers(0, 5))
@settings(max_examples=10)
def test_pieces_sparse_rows_and_dropped_rows(learner, cuts, seed):
    rows, labels = data(seed=seed)
    whole, pieces, sparse, dropped = (clone(learner) for _ in range(4))
    predicted = whole.predict_then_fit(rows, labels, classes=[0, 1])
    ends = [0, *sorted(set(cuts)), 300]
    parts = [
        pieces.predict_then_fit(rows[a:b], labels[a:b], classes=[0, 1])
        for a, b in itertools.pairwise(ends)
    ]
    assert np.concatenate(parts).tolist() == predicted.tolist()
    assert sparse.predict_then_fit(csr_array(rows), labels).tolist() == predicted.tolist()
    mixed, marked = np.insert(rows, [0, 7, 300], 9.0, axis=0), np.insert(labels, [0, 7, 300], 1)
    weights = np.insert(np.ones(300), [0, 7, 300], 0.0)
    dropped.partial_fit(mixed, marked, classes=[0, 1], sample_weight=weights)
    for other in (pieces, sparse, dropped):
        assert numbers(other) == pytest.approx(numbers(whole), rel=1e-9)
        assert other.coef_ == pytest.approx(whole.coef_, rel=1e-9, abs=1e-12)


def test_weights_of_rows_that_repeat_counts():
    """An example of weight 3 moves the weights three times as far, and counts as three."""
    learner = OFOClassifier().fit([[1.0], [2.0]], [0, 1], sample_weight=[3.0, 1.0])
    first = -3 * 0.5 * np.array([1.0, 1.0])
    second = (1 - transcript.sigmoid(first @ [2, 1])) / math.sqrt(2) * np.array([2.0, 1.0])
    assert learner.weights_[0] == pytest.approx(first + second)
    assert learner.score_ == pytest.approx(2 / 5)  # 3 false positives; the threshold 0 / 3; a hit


@pytest.mark.parametrize(("average", "vectors"), [(False, 1), (True, 2), ("suffix", 3)])
def test_memory_is_that_of_table_1(average, vectors):
    """Liu et al. 2018: O(d) numbers, however many examples."""
    for n in (60, 600):
        rows, labels = data(n)
        one = FOFOClassifier(average=average).fit(rows, labels)
        held = sum(part.size for part in (one.weights_, one.delays_, numbers(one)))
        assert held <= vectors * (rows.shape[1] + 1) + 23


@pytest.mark.parametrize("options", [{}, {"gamma_scale": "auto"}, {"predict_with": "last"}])
def test_jaccard_has_the_threshold_of_f_one(options):
    """The same objective: the same thresholds and predictions for any beta; J = F / (2 - F)."""
    rows, labels = data(700)
    one, other = FOFOClassifier(**options), FOFOClassifier(measure="jaccard", beta=3.0, **options)
    first = one.predict_then_fit(rows, labels)
    assert np.array_equal(first, other.predict_then_fit(rows, labels))
    assert one.threshold_ == other.threshold_
    assert other.score_ == pytest.approx(one.score_ / (2 - one.score_), rel=1e-12)
