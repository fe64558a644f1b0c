"""What is said of an estimated share, and of weights: where it is in doubt, and where it is not."""

import warnings

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from fsmeu.errors import InputError
from fsmeu.learning import (
    DTAClassifier,
    EUMClassifier,
    ExampleWiseClassifier,
    ShareWarning,
    load,
    save,
)
from fsmeu.learning.prior import ClassBins, Estimate, doubts, estimated_prior

ROWS, POSITIVE = make_classification(
    8000, n_informative=4, weights=[0.9], class_sep=0.8, flip_y=0, random_state=1
)
TRAIN = slice(0, 2000)
BOOSTING = GradientBoostingClassifier(n_estimators=60, max_depth=5, random_state=0)
FOREST = RandomForestClassifier(40, random_state=0)
EACH = {
    "logistic": LogisticRegression(),
    "boosting": BOOSTING,
    "forest": FOREST,
    "bayes": GaussianNB(),
}


def drawn(share, size=1500, seed=0):
    """New rows of a share of positives, and their labels."""
    random = np.random.default_rng(seed)
    new = np.arange(2000, 8000)
    count = round(share * size)
    sides = [(new[POSITIVE[new] == c], n) for c, n in ((1, count), (0, size - count))]
    chosen = np.concatenate([random.choice(rows, n, replace=False) for rows, n in sides])
    return ROWS[chosen], POSITIVE[chosen]


def told(call):
    """The warnings of shares that a call gives."""
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        call()
    return [str(one.message) for one in found if issubclass(one.category, ShareWarning)]


@pytest.mark.parametrize("name", EACH)
@pytest.mark.thirds
def test_shares_are_found_by_calibration(name):
    """Estimates are near the truth for any classifier, and nothing is said against them."""
    made = DTAClassifier("fscore", EACH[name], prior="estimate").fit(ROWS[TRAIN], POSITIVE[TRAIN])
    for share in (0.05, 0.1, 0.3):
        rows, _ = drawn(share)
        assert made.prior_of(rows) == pytest.approx(share, abs=0.03 + 0.05 * share)
        assert told(lambda rows=rows: made.predict(rows)) == []


@pytest.mark.nightly
def test_calibration_makes_boosting_better():
    rows, truth = drawn(0.3)
    scores = []
    for how in ({}, {"calibration": None}):
        made = DTAClassifier("fscore", BOOSTING, prior="estimate", **how)
        made.fit(ROWS[TRAIN], POSITIVE[TRAIN])
        assert (made.calibrator_ is None) == bool(how)
        scores.append((-abs(made.prior_of(rows) - 0.3), f1_score(truth, made.predict(rows))))
    assert scores[0][0] > scores[1][0] + 0.02
    assert scores[0][1] > scores[1][1]


def test_rows_that_look_otherwise_are_told_of():
    made = DTAClassifier("fscore", prior="estimate").fit(ROWS[TRAIN], POSITIVE[TRAIN])
    rows, _ = drawn(0.1)
    (said,) = told(lambda: made.predict(rows * 3.0))
    assert "no share explains them" in said


def test_a_frozen_estimator_that_has_seen_the_rows_is_told_of():
    """Its probabilities for these are more extreme than for any new rows."""
    seen = FrozenEstimator(FOREST.fit(ROWS[TRAIN], POSITIVE[TRAIN]))
    rows, _ = drawn(0.2)
    made = DTAClassifier("fscore", seen, prior="estimate").fit(ROWS[TRAIN], POSITIVE[TRAIN])
    assert any("no share explains them" in one for one in told(lambda: made.predict(rows)))
    other = slice(2000, 3500)
    made.fit(ROWS[other], POSITIVE[other])
    assert told(lambda: made.predict(rows)) == []
    assert made.prior_of(rows) == pytest.approx(0.2, abs=0.04)


def test_an_estimate_without_calibration_is_told_of_unless_asked_for():
    made = DTAClassifier("fscore").fit(ROWS[TRAIN], POSITIVE[TRAIN]).set_params(prior="estimate")
    rows, _ = drawn(0.2)
    (said,) = told(lambda: made.predict(rows))
    assert 'call it with prior="estimate"' in said
    assert told(lambda: made.set_params(calibration=None).predict(rows)) == []


@pytest.mark.parametrize("calibration", ["auto", "sigmoid"])
def test_what_is_known_of_scores_is_saved(calibration, tmp_path):
    made = DTAClassifier("fscore", prior="estimate", calibration=calibration)
    made.fit(ROWS[TRAIN], POSITIVE[TRAIN])
    save(made, tmp_path / "model.skops")
    again = load(tmp_path / "model.skops")
    rows, _ = drawn(0.1)
    for some in (rows, rows * 3.0):
        assert again.prior_of(some) == made.prior_of(some)
        assert told(lambda some=some: again.predict(some)) == told(
            lambda some=some: made.predict(some)
        )
    again.set_params(loss="hamming", prior=None)
    assert (
        again.predict(rows).tolist()
        == made.set_params(loss="hamming", prior=None).predict(rows).tolist()
    )


def test_calibration_needs_examples_of_each_class():
    with pytest.raises(InputError, match=r"at least 5 examples.*calibration=None"):
        DTAClassifier(prior="estimate").fit(ROWS[:40], np.arange(40) < 3)


def interval(p, before):
    """The shares of a grid that are less likely by less than 1.92 than the best."""
    grid = np.linspace(0, 1, 20_001)
    with np.errstate(divide="ignore"):
        heights = np.log(np.outer(grid, p / before) + np.outer(1 - grid, (1 - p) / (1 - before)))
    heights = heights.sum(axis=1)
    kept = grid[heights >= heights.max() - 1.92]
    return kept[0], kept[-1]


@pytest.mark.parametrize("seed", range(4))
def test_intervals_are_those_of_the_likelihood(seed):
    random = np.random.default_rng(seed)
    p = random.beta(0.5, 2.0, size=80)
    found = estimated_prior(p, 0.2, "here")
    assert (found.low, found.high) == pytest.approx(interval(p, 0.2), abs=1e-4)
    assert found.low <= found.share <= found.high


def test_doubts_of_estimates():
    assert doubts(Estimate(0.2, 0.15, 0.3)) == []
    for estimate, part in (
        (Estimate(0.0, 0.0, 0.04), "no positives at all are most likely"),
        (Estimate(1.0, 0.9, 1.0), "0.9 is not excluded"),
        (Estimate(0.02, 0.005, 0.05), "any share from 0.005 to 0.05 will do"),
        (Estimate(0.02, 0.0, 0.03), "hardly determine it"),
    ):
        (said,) = doubts(estimate)
        assert part in said


def test_ends_and_few_rows_are_told_of_or_refused():
    made = DTAClassifier("fscore", prior="estimate").fit(ROWS[TRAIN], POSITIVE[TRAIN])
    low = ROWS[2000:][np.argsort(made.estimator_.predict_proba(ROWS[2000:])[:, 1])[:4000]]
    assert any(
        "no positives at all are most likely" in one for one in told(lambda: made.decide(low))
    )
    with pytest.raises(InputError, match="2 rows, fewer than 10"):
        made.prior_of(drawn(0.5, 2)[0])


def test_mixtures_fit_and_others_do_not():
    """Drawn from known densities: one in a hundred is not exceeded, a shift is found."""
    random = np.random.default_rng(3)

    def scores(rows, share, shift=0.0):
        positive = random.random(rows) < share
        return 1 / (1 + np.exp(-random.normal(2.0 * positive - 1 + shift))), positive * 1.0

    wrong = 0
    for _ in range(100):
        bins = ClassBins.of(*scores(600, 0.2), None)
        wrong += bins.misfit(scores(300, 0.5)[0], 0.5) > 0
    assert wrong <= 1
    bins = ClassBins.of(*scores(2000, 0.2), None)
    assert bins.misfit(scores(2000, 0.5, shift=1.0)[0], 0.5) > 0.1


def test_parts_of_bins_are_weighted():
    p, positive = np.array([0.1, 0.2, 0.3, 0.4]).repeat(9), np.tile([0.0, 1.0], 18)
    weights = np.tile([1.0, 2.0, 3.0], 12)
    bins = ClassBins.of(p, positive, weights)
    assert bins.parts.sum(axis=1) == pytest.approx(1.0)
    for c in (0, 1):
        mine = positive == c
        first = weights[mine & (p <= bins.edges[0])].sum() / weights[mine].sum()
        assert bins.parts[c, 0] == pytest.approx(first)
        assert bins.sizes[c] == pytest.approx(weights[mine].sum() ** 2 / (weights[mine] ** 2).sum())


# -- weights of classes ----------------------------------------------------------------------------

BALANCED = LogisticRegression(class_weight="balanced")
WEIGHTS = np.where(POSITIVE == 1, 5.0, 1.0)[TRAIN]


@pytest.mark.parametrize(
    "inner",
    [
        BALANCED,
        make_pipeline(StandardScaler(), BALANCED),
        GridSearchCV(BALANCED, {"C": [1.0]}, cv=2),
        FrozenEstimator(BALANCED.fit(ROWS[TRAIN], POSITIVE[TRAIN])),
    ],
    ids=["plain", "pipeline", "search", "frozen"],
)
def test_class_weights_of_the_estimator_are_told_of(inner):
    (said,) = told(lambda: DTAClassifier("fscore", inner).fit(ROWS[TRAIN], POSITIVE[TRAIN]))
    assert "class_weight='balanced'" in said
    assert 'calibration="isotonic"' in said
    calibrated = DTAClassifier("fscore", inner, calibration="isotonic")
    assert told(lambda: calibrated.fit(ROWS[TRAIN], POSITIVE[TRAIN])) == []


def test_sample_weights_of_classes_are_told_of():
    """The advice restores what decisions without weights come to."""
    made = DTAClassifier("fscore")
    (said,) = told(lambda: made.fit(ROWS[TRAIN], POSITIVE[TRAIN], WEIGHTS))
    share = POSITIVE[TRAIN].mean()
    assert f"Give prior={share:.3g} if new rows are like these" in said
    rows, truth = drawn(0.1)
    weighted = f1_score(truth, made.predict(rows))
    advised = f1_score(truth, made.set_params(prior=float(share)).predict(rows))
    assert advised > weighted + 0.02
    assert told(lambda: made.fit(ROWS[TRAIN], POSITIVE[TRAIN], WEIGHTS)) == []


def test_weights_that_do_not_depend_on_the_class_are_not_told_of():
    weights = np.random.default_rng(0).exponential(size=2000)
    for some in (weights, np.full(2000, 3.0)):
        assert told(lambda some=some: DTAClassifier().fit(ROWS[TRAIN], POSITIVE[TRAIN], some)) == []


# -- another loss after fit ------------------------------------------------------------------------


@pytest.mark.thirds
@pytest.mark.parametrize("kind", [DTAClassifier, ExampleWiseClassifier])
def test_another_loss_is_heeded(kind, tmp_path):
    labels = np.array(["no", "yes"])[POSITIVE[TRAIN]]
    made = kind("fscore", pos_label="yes").fit(ROWS[TRAIN], labels)
    rows = drawn(0.1)[0]
    before = made.predict(rows)
    for settings in (
        {"loss": "hamming"},
        {"loss_params": {"beta": 3}},
        {"loss": "fscore", "loss_params": {"beta": 0.2}},
    ):
        made.set_params(**{"loss": "fscore", "loss_params": None, **settings})
        other = kind(pos_label="yes", **settings).fit(ROWS[TRAIN], labels)
        assert made.predict(rows).tolist() == other.predict(rows).tolist()
    made.loss, made.loss_params = "fscore", None
    assert made.predict(rows).tolist() == before.tolist()


def test_another_loss_needs_another_threshold():
    made = EUMClassifier("fscore", random_state=0).fit(ROWS[TRAIN], POSITIVE[TRAIN])
    before = made.predict(ROWS)
    made.set_params(loss="fscore")
    assert made.predict(ROWS).tolist() == before.tolist()
    made.set_params(loss="hamming")
    with pytest.raises(InputError, match=r"threshold.*'hamming'.*Call fit again"):
        made.predict(ROWS)
    again = EUMClassifier("hamming", random_state=0).fit(ROWS[TRAIN], POSITIVE[TRAIN])
    made.fit(ROWS[TRAIN], POSITIVE[TRAIN])
    assert made.predict(ROWS).tolist() == again.predict(ROWS).tolist()


@pytest.mark.parametrize("kind", [DTAClassifier, EUMClassifier, ExampleWiseClassifier])
def test_parameters_of_the_loss_are_taken_as_messages_advise(kind):
    with pytest.raises(InputError, match=r'Give loss_params=\{"cost": VALUE\}'):
        kind("cost_matrix").fit(ROWS[TRAIN], POSITIVE[TRAIN])
    made = kind("cost_matrix", loss_params={"cost": [[0, 9], [1, 0]]})
    assert made.fit(ROWS[TRAIN], POSITIVE[TRAIN]).predict(ROWS[:50]).sum() > 0
