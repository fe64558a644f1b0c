"""Online learners do what their papers' listings say, whatever form the examples come in."""

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array
from sklearn.linear_model import SGDClassifier
from sklearn.metrics import f1_score, fbeta_score, jaccard_score

from fsmeu.errors import InputError, SizeLimitError
from fsmeu.learning.online import FOFOClassifier, OFOClassifier, OnlineLogisticClassifier
from fsmeu.learning.saving import load, save
from tests.learning.online import transcript

EVERY = (
    FOFOClassifier(),
    FOFOClassifier(gamma_scale="auto", average=True),
    OFOClassifier(),
    OnlineLogisticClassifier(average=True),
    OnlineLogisticClassifier(average="suffix"),
)
BY_NAME = pytest.mark.parametrize("learner", EVERY, ids=lambda one: type(one).__name__)


def data(n=300, seed=0, features=5, shift=1.5):
    random = np.random.default_rng(seed)
    rows = random.normal(size=(n, features)) * (random.random((n, features)) < 0.7)
    chances = 1 / (1 + np.exp(-(rows @ random.normal(size=features) * 2 - shift)))
    return rows, (random.random(n) < chances).astype(int)


def made(learner, **changes):
    return type(learner)(**{**learner.get_params(), **changes})


@pytest.mark.parametrize("n", [10, 50, 300, 700])  # 1, 1, 2 and 2 stages
@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        ({}, {}),
        ({"gamma_scale": 16.0, "beta": 2.0}, {"scale": 16, "beta": 2}),
        ({"average": True, "step": 0.3}, {"average": True, "c": 0.3}),
        ({"average": "suffix"}, {"average": "suffix"}),
        ({"gamma_scale": 8, "predict_with": "last"}, {"scale": 8, "with_last": True}),
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


def test_a_stage_begins_at_the_mean_of_the_one_before():
    """Algorithm 2, line 1: its first example is judged by that, with predict_with="last" too."""
    for seed in range(20):
        rows, labels = data(300, seed=seed, features=1)
        wanted = transcript.fofo(rows, labels.tolist(), scale=64, with_last=True)[0]
        learner = FOFOClassifier(horizon=300, gamma_scale=64, predict_with="last")
        assert learner.predict_then_fit(rows, labels).tolist() == wanted


@pytest.mark.parametrize(
    ("horizon", "ends"),
    [
        (10_000, {2500: (1, 4), 5000: (2, 4), 7500: (3, 4), 10_000: (4, 4)}),
        (None, {256: (1, 2), 512: (2, 2), 1024: (1, 2), 1536: (2, 2), 2218: (1, 3)}),
    ],
)
def test_stages_are_those_of_algorithm_1(horizon, ends, monkeypatch):
    """n = 10,000: m = floor(log2(20000 / 13.29) / 2) - 1 = 4 stages of 2,500.

    Where n is unknown, plans for 512, 1,024 and 2,048 examples follow each other, of 2, 2 and 3.
    """
    monkeypatch.setattr("fsmeu.learning.online.FIRST_HORIZON", 512)
    rows, labels = data(max(ends) // 100 * 100, features=1)
    learner = FOFOClassifier(horizon=horizon)
    for begin in range(0, len(rows), 100):
        learner.partial_fit(rows[begin : begin + 100], labels[begin : begin + 100], [0, 1])
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
    """Beside the transcript, scikit-learn's: eta0 / t^0.5, without l2."""
    rows, labels = data()
    learner = OnlineLogisticClassifier(step=0.7)
    predicted = learner.predict_then_fit(rows, labels)
    wanted, weights = transcript.logistic(rows, labels, 0.7)
    assert predicted.tolist() == wanted
    assert learner.weights_[0] == pytest.approx(weights, rel=1e-9)
    theirs = SGDClassifier(
        "log_loss", alpha=0, penalty=None, learning_rate="invscaling", eta0=0.7, power_t=0.5,
        max_iter=1, shuffle=False, tol=None,
    ).fit(rows, labels)  # fmt: skip
    assert learner.coef_ == pytest.approx(theirs.coef_, rel=1e-9)
    assert learner.intercept_ == pytest.approx(theirs.intercept_, rel=1e-9)


@BY_NAME
def test_score_is_that_of_the_predictions(learner):
    rows, labels = data()
    for measure, beta, wanted in (
        ("f", 1.0, lambda z: f1_score(labels, z)),
        ("f", 2.0, lambda z: fbeta_score(labels, z, beta=2)),
        ("jaccard", 1.0, lambda z: jaccard_score(labels, z)),
    ):
        one = made(learner, measure=measure, beta=beta)
        predicted = one.predict_then_fit(rows, labels)
        assert one.score_ == pytest.approx(wanted(predicted))
        assert one.seen_ == 300


@BY_NAME
@given(st.lists(st.integers(1, 299), max_size=4), st.integers(0, 5))
@settings(max_examples=10)
@pytest.mark.thirds
def test_pieces_sparse_rows_and_dropped_rows(learner, cuts, seed):
    """Pieces give what the whole gives; so do sparse rows; weight 0 means absent."""
    rows, labels = data(seed=seed)
    whole, pieces, sparse, dropped = (made(learner) for _ in range(4))
    predicted = whole.predict_then_fit(rows, labels, classes=[0, 1])
    ends = [0, *sorted(set(cuts)), 300]
    parts = [
        pieces.predict_then_fit(rows[a:b], labels[a:b], classes=[0, 1]) for a, b in pairwise(ends)
    ]
    assert np.concatenate(parts).tolist() == predicted.tolist()
    assert pieces.state_ == pytest.approx(whole.state_, rel=1e-12)
    assert pieces.weights_ == pytest.approx(whole.weights_, rel=1e-12)
    found = sparse.predict_then_fit(csr_array(rows), labels)
    assert found.tolist() == predicted.tolist()
    assert sparse.coef_ == pytest.approx(whole.coef_, rel=1e-9, abs=1e-12)
    mixed = np.insert(rows, [0, 7, 300], 9.0, axis=0)
    marked = np.insert(labels, [0, 7, 300], 1)
    weights = np.insert(np.ones(300), [0, 7, 300], 0.0)
    dropped.partial_fit(mixed, marked, classes=[0, 1], sample_weight=weights)
    assert dropped.state_ == pytest.approx(whole.state_, rel=1e-12)


def test_weights_of_rows_that_repeat_counts():
    """An example of weight 3 moves the weights three times as far, and counts as three."""
    learner = OFOClassifier().fit([[1.0], [2.0]], [0, 1], sample_weight=[3.0, 1.0])
    first = -3 * 0.5 * np.array([1.0, 1.0])
    second = (1 - transcript.sigmoid(first @ [2, 1])) / math.sqrt(2) * np.array([2.0, 1.0])
    assert learner.weights_[0] == pytest.approx(first + second)
    assert learner.score_ == pytest.approx(2 / 5)  # 3 false positives; the threshold 0 / 3; a hit


def test_probabilities_before_labels():
    """Those of the transcript; a learner of the same settings sees the same."""
    rows, labels = data()
    learner = transcript.Learner(5, 0.5)
    wanted = []
    for x, y in zip(rows, labels, strict=True):
        wanted.append(learner.chance(x))
        learner.update(x, y)
    for kind in (FOFOClassifier, OFOClassifier):
        assert kind(step=0.5).proba_then_fit(rows, labels) == pytest.approx(wanted, rel=1e-9)


@BY_NAME
def test_file_of_a_learner(learner, tmp_path):
    """What comes back predicts the same, and learns on as if nothing had happened."""
    rows, labels = data()
    named = np.array(["no", "yes"])[labels]
    one = made(learner).partial_fit(rows[:200], named[:200])
    save(one, tmp_path / "one.npz")
    again = load(tmp_path / "one.npz")
    assert again.predict(rows).tolist() == one.predict(rows).tolist()
    assert set(one.predict(rows)) <= {"no", "yes"}
    for each in (one, again):
        each.partial_fit(rows[200:], named[200:])
    assert np.array_equal(again.weights_, one.weights_)
    assert np.array_equal(again.state_, one.state_)


@pytest.mark.parametrize(
    ("learner", "name"), [(EVERY[1], "delays_"), (OnlineLogisticClassifier(), "state_")]
)
def test_arrays_that_are_too_short_are_refused(learner, name, tmp_path):
    """The compiled loop would write beyond their ends."""
    one = made(learner).fit(*data(60))
    setattr(one, name, getattr(one, name)[..., :1])
    save(one, tmp_path / "one.npz")
    with pytest.raises(InputError, match="must have shape"):
        load(tmp_path / "one.npz")


@BY_NAME
def test_overflow_is_told(learner):
    """Weights that are no numbers would predict something all the same."""
    rows, labels = data(60)
    with pytest.raises(InputError, match="must stay finite"):
        made(learner).fit(rows * 1e300, labels)
    large = made(learner, step=1e-160).fit(rows * 1e160, labels)  # only squares are too large
    assert np.isfinite(large.decision_function(rows)).all()


def test_misuse():
    """Classes are checked; memory is not asked for before the sizes are known to be sensible."""
    rows = [[0.0], [1.0]]
    for classes in (None, [1, 2, 3]):
        with pytest.raises(InputError, match="there must be two classes"):
            OFOClassifier().partial_fit(rows, [1, 1], classes=classes)
    one = OFOClassifier().partial_fit(rows, [1, 1], classes=[1, 2])
    with pytest.raises(InputError, match="labels must be of the classes"):
        one.partial_fit(rows, [1, 3])
    with pytest.raises(InputError, match="classes must stay the same"):
        one.partial_fit(rows, [1, 1], classes=[1, 3])
    wide = csr_array(([1.0], ([0], [5])), shape=(2, 10**10))
    with pytest.raises(SizeLimitError, match=r"ONLINE_WEIGHTS.*10,000,000,001"):
        OFOClassifier().fit(wide, [0, 1])


@pytest.mark.parametrize(("average", "vectors"), [(False, 1), (True, 2), ("suffix", 3)])
def test_memory_is_that_of_table_1(average, vectors):
    """Liu et al. 2018: O(d) numbers, however many examples."""
    for n in (60, 600):
        rows, labels = data(n)
        one = FOFOClassifier(average=average).fit(rows, labels)
        held = sum(part.size for part in (one.weights_, one.delays_, one.state_))
        assert held <= vectors * (rows.shape[1] + 1) + 23
