"""The confusion family against scikit-learn and its definitions, in fractions."""

import functools
import math
import warnings
from fractions import Fraction

import numpy as np
import pytest
import sklearn
from sklearn import metrics

import fsmeu
from tests.grammars.pairs import batches, by_table, close

LENGTHS = (1, 2, 4, 7, 12, 25)
SHORT = (1, 2, 3, 5)


@pytest.fixture(autouse=True)
def _quiet():
    with warnings.catch_warnings(), sklearn.config_context(skip_parameter_validation=True):
        warnings.simplefilter("ignore")
        yield


def each_pair(score, z, y, **options):
    """One score per pair: each pair is a label of its own, the positions are the samples."""
    if len(z) == 1:
        return np.array([score(y[0], z[0], **options)])
    return score(y.T, z.T, average=None, **options)


def _kappa(y, z, empty):
    """Cohen's kappa, and what is given where it is 0/0."""
    with np.errstate(invalid="ignore"):
        return np.nan_to_num(metrics.cohen_kappa_score(y, z), nan=empty)


SCORES = [
    ("fscore", {}, functools.partial(metrics.fbeta_score, beta=1)),
    ("fscore", {"beta": 2}, functools.partial(metrics.fbeta_score, beta=2)),
    ("fscore", {"beta": 0}, functools.partial(metrics.fbeta_score, beta=0)),
    ("fscore", {"alpha": 0}, metrics.precision_score),
    ("fscore", {"alpha": 1}, functools.partial(metrics.fbeta_score, beta=np.inf)),
    ("fscore", {"alpha": 0.2}, functools.partial(metrics.fbeta_score, beta=0.5)),
    ("precision", {}, metrics.precision_score),
    ("recall", {}, metrics.recall_score),
    ("jaccard", {}, metrics.jaccard_score),
    ("fractional_linear", {}, metrics.f1_score),
    ("fractional_linear", {"c1": 1, "d1": -1}, metrics.jaccard_score),
    ("fractional_linear", {"c1": 1, "d3": 0}, metrics.precision_score),
    ("boundary_fscore", {}, metrics.f1_score),
    ("specificity", {}, lambda y, z, **more: metrics.recall_score(1 - y, 1 - z, **more)),
]


@pytest.mark.parametrize("empty", [0, 1])
@pytest.mark.parametrize(("name", "params", "score"), SCORES)
@pytest.mark.thirds
def test_scores_of_the_positive_label(name, params, score, empty):
    """``empty`` is zero_division, where scikit-learn applies it."""
    loss = fsmeu.load(name, empty=empty, **params)
    for z, y in batches(2, LENGTHS, seed=1):
        close(loss.pair_values(z, y), each_pair(score, z, y, zero_division=empty))


WHOLE = [
    ("accuracy", {}, metrics.accuracy_score),
    ("hamming", {}, metrics.hamming_loss),
    ("zero_one", {}, lambda y, z: metrics.zero_one_loss([[0, *y]], [[0, *z]])),
    ("balanced_accuracy", {}, metrics.balanced_accuracy_score),
    ("mcc", {}, metrics.matthews_corrcoef),
    ("mcc", {"empty": 1},
     lambda y, z: metrics.matthews_corrcoef(y, z) if np.ptp(y) * np.ptp(z) else 1),
    ("kappa", {}, functools.partial(_kappa, empty=0.0)),
    ("kappa", {"empty": 0.5}, functools.partial(_kappa, empty=0.5)),
]  # fmt: skip


@pytest.mark.thirds
@pytest.mark.parametrize(("name", "params", "score"), WHOLE)
def test_scores_of_both_labels(name, params, score):
    """These scores have no form for many pairs at once, and see labels through that table only."""
    loss = fsmeu.load(name, **params)
    for z, y in batches(2, SHORT, seed=3):
        wanted = by_table(lambda _, k, z=z, y=y: score(y[k], z[k]), z, y)
        close(loss.pair_values(z, y), wanted)


def precision_times_recall(z, y):
    both = (metrics.precision_score, metrics.recall_score)
    return np.prod([each_pair(score, z, y, zero_division=0) for score in both], axis=0)


def costs(z, y):
    return 2.5 * np.clip(z - y, 0, 1) + 0.75 * np.clip(y - z, 0, 1)


COSTS = {"c_fp": 2.5, "c_fn": 0.75}


@pytest.mark.parametrize(
    ("name", "params", "score"),
    [
        ("g_tp_pr", {"empty": 0}, lambda z, y: np.sqrt(precision_times_recall(z, y))),
        ("sec", {}, lambda z, y: (z.mean(axis=1) - y.mean(axis=1)) ** 2),
        ("weighted_cost", COSTS, lambda z, y: costs(z, y).mean(axis=1)),
        ("weighted_cost", {**COSTS, "mean": 0}, lambda z, y: costs(z, y).sum(axis=1)),
    ],
)
def test_scores_by_their_definitions(name, params, score):
    loss = fsmeu.load(name, **params)
    for z, y in batches(2, LENGTHS, seed=6):
        close(loss.pair_values(z, y), score(z, y))


RATE_LENGTHS = (1, 2, 3, 6, 12)


def present(table, drop, empty):
    """The rates that a mean is taken of; ``drop`` leaves out labels that the reference lacks."""
    tp, fp, fn, tn = table
    both = [(tp, tp + fn), (tn, tn + fp)]
    if drop and any(whole for _, whole in both):
        both = [(hits, whole) for hits, whole in both if whole]
    return [Fraction(hits, whole) if whole else Fraction(empty) for hits, whole in both]


def shortfall(values):
    return sum((1 - v) ** 2 for v in values) / len(values)


MEANS = [
    ("balanced_accuracy", {}, lambda values: sum(values) / len(values)),
    ("g_mean", {}, lambda values: math.prod(map(float, values)) ** (1 / len(values))),
    ("h_mean", {}, lambda values: 0 if 0 in values else len(values) / sum(1 / v for v in values)),
    ("q_mean", {}, lambda values: 1 - shortfall(values)),
    ("q_mean", {"root": 1}, lambda values: 1 - math.sqrt(shortfall(values))),
]


@pytest.mark.parametrize("convention", [{}, {"drop": 0}, {"drop": 0, "empty": 0}])
@pytest.mark.parametrize(("name", "params", "mean"), MEANS)
def test_mean_of_rates(name, params, mean, convention):
    loss = fsmeu.load(name, **params, **convention)
    drop, empty = convention.get("drop", 1), convention.get("empty", 1)
    for z, y in batches(2, RATE_LENGTHS, seed=11):
        wanted = by_table(lambda table, _: mean(present(table, drop, empty)), z, y)
        close(loss.pair_values(z, y), wanted)
    close(loss("", ""), float(mean([Fraction(empty)] * (1 if drop else 2))))
