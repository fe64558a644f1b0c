"""A class that gets rarer or more frequent after training: tuned thresholds and whole decisions.

A classifier is trained for each split, and test sets are drawn from held-out rows so that their
share of positives is that of training times 1/4, 1/2, 1, 2 and 4. Decisions, for F1, and for
accuracy where the classifier is logistic:

- 0.5: positive where the probability is at least 1/2;
- tuned: ``TunedThresholdClassifierCV`` of scikit-learn, the threshold of the best score in five
  folds of the training set;
- DTA: ``DTAClassifier``, which takes the share of training for granted;
- estimate: ``DTAClassifier(prior="estimate")``, no label of the test set being known, calibrated
  inside, as it is by default;
- raw: the same with ``calibration=None``;
- known: ``DTAClassifier(prior=share)`` with the true share;
- best: the best of all thresholds, chosen with the labels of the test rows.

The difference is that of estimate and tuned, with the range of 95 of 100 bootstrap draws of the
splits. "warned" and "refused" count test sets of which a ``ShareWarning`` says that the estimate is
in doubt, and those whose rows do not tell their share. Known and DTA are not calibrated.

    ./run python experiments/prevalence.py [--seeds 20] [--train 2000] [--test 5000]
        [--tasks made ijcnn1] [--classifiers logistic boosting forest bayes] [--quick]

takes 20 minutes of one processor. ``made`` is ``make_classification`` of scikit-learn; the task of
ijcnn1 (``fetch.py ijcnn1``) is left out where its data are not. ``--quick`` takes ``made``, the
logistic classifier and two seeds alone.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from data_folder import MissingDataError, run_script
from numpy.typing import NDArray
from rare_positives import TASKS
from rich.console import Console
from rich.progress import track
from rich.table import Table
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, f1_score, precision_recall_curve, roc_curve
from sklearn.model_selection import TunedThresholdClassifierCV
from sklearn.naive_bayes import GaussianNB
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from fsmeu.errors import InputError
from fsmeu.learning import DTAClassifier, ShareWarning

FACTORS = (0.25, 0.5, 1.0, 2.0, 4.0)
WAYS = ("0.5", "tuned", "DTA", "estimate", "raw", "known", "best")
Floats = NDArray[np.float64]
Truths = NDArray[np.bool_]


def made() -> tuple[Floats, Truths]:
    """40,000 examples of 20 features, of which 8 in 100 are positive."""
    rows, labels = make_classification(
        40_000, weights=[0.92], class_sep=0.8, flip_y=0, n_informative=4, random_state=0
    )
    return rows, labels == 1


DATA: dict[str, Callable[[], tuple[Floats, Truths]]] = {
    "made": made,
    "ijcnn1": TASKS["ijcnn1"],
}


def drawn(positive: Truths, size: int, share: float, random: np.random.Generator) -> Any:
    """Indices of random rows, of which this share is positive."""
    count = round(share * size)
    parts = [
        random.choice(np.flatnonzero(positive), count, replace=False),
        random.choice(np.flatnonzero(~positive), size - count, replace=False),
    ]
    return np.concatenate(parts)


def best_f1(truth: Truths, p: Floats) -> float:
    """The best F1 of all thresholds."""
    precision, recall, _ = precision_recall_curve(truth, p)
    return float(np.max(2 * precision * recall / np.maximum(precision + recall, 1e-12)))


def best_accuracy(truth: Truths, p: Floats) -> float:
    """The best accuracy of all thresholds."""
    false, true, _ = roc_curve(truth, p)
    return float(np.max(true * truth.mean() + (1 - false) * (1 - truth.mean())))


class Measure(NamedTuple):
    """A score, by scikit-learn."""

    scoring: str  # its name in scikit-learn
    score: Callable[[Truths, Any], float]
    best: Callable[[Truths, Floats], float]


MEASURES = {
    "fscore": Measure("f1", f1_score, best_f1),
    "accuracy": Measure("accuracy", accuracy_score, best_accuracy),
}


CLASSIFIERS: dict[str, Any] = {
    "logistic": LogisticRegression(max_iter=1000),
    "boosting": HistGradientBoostingClassifier(random_state=0),
    "forest": RandomForestClassifier(50, random_state=0),
    "bayes": GaussianNB(),
}


class Scores(NamedTuple):
    """What one split comes to."""

    values: NDArray[np.float64]  # (losses, factors, ways), NaN where a share is refused
    shares: NDArray[np.float64]  # the estimated ones, (factors,)
    warned: NDArray[np.float64]  # whether estimates are in doubt, (factors,)


def decided_by_estimate(made: DTAClassifier, rows: Floats) -> tuple[Any, float, bool]:
    """Decisions, the estimated share, and whether it is warned of; None and NaN if refused."""
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always", ShareWarning)
        try:
            return made.predict(rows), made.prior_of(rows), bool(found)
        except InputError:
            return None, np.nan, False


def scores(
    rows: Floats,
    positive: Truths,
    sizes: tuple[int, int],
    seed: int,
    inner: Any,
    losses: tuple[str, ...] = tuple(MEASURES),
) -> Scores:
    """The scores of one split; ``sizes`` are those of training and test set."""
    random = np.random.default_rng(seed)
    order = random.permutation(len(rows))
    first, rest = order[: sizes[0]], order[sizes[0] :]
    scaler = StandardScaler().fit(rows[first])
    given, known = scaler.transform(rows[first]), positive[first]
    plain = clone(inner).fit(given, known)
    tuned = {
        loss: TunedThresholdClassifierCV(inner, scoring=MEASURES[loss].scoring).fit(given, known)
        for loss in losses
    }
    whole = DTAClassifier("fscore", inner, calibration=None).fit(given, known)
    estimating = DTAClassifier("fscore", inner, prior="estimate").fit(given, known)
    found = Scores(
        np.full((len(losses), len(FACTORS), len(WAYS)), np.nan),
        np.full(len(FACTORS), np.nan),
        np.zeros(len(FACTORS)),
    )
    for k, factor in enumerate(FACTORS):
        share = factor * float(known.mean())
        chosen = rest[drawn(positive[rest], sizes[1], share, random)]
        held, truth = scaler.transform(rows[chosen]), positive[chosen]
        p = plain.predict_proba(held)[:, 1]
        for at, loss in enumerate(losses):
            whole.set_params(loss=loss)
            estimating.set_params(loss=loss)
            decided = {"0.5": plain.predict(held), "tuned": tuned[loss].predict(held)}
            decided["DTA"] = whole.set_params(prior=None).predict(held)
            decided["known"] = whole.set_params(prior=float(truth.mean())).predict(held)
            decided["raw"] = decided_by_estimate(whole.set_params(prior="estimate"), held)[0]
            estimate = decided_by_estimate(estimating, held)
            decided["estimate"], found.shares[k], found.warned[k] = estimate
            measure = MEASURES[loss]
            values = {
                way: measure.score(truth, labels)
                for way, labels in decided.items()
                if labels is not None
            }
            values["best"] = measure.best(truth, p)
            found.values[at, k] = [values.get(way, np.nan) for way in WAYS]
    return found


def interval(gains: Floats) -> str:
    """The mean gain of splits, and the range of 95 of 100 bootstrap draws of them."""
    random = np.random.default_rng(0)
    means = random.choice(gains, (10_000, len(gains))).mean(axis=1)
    low, high = np.quantile(means, (0.025, 0.975))
    return f"{gains.mean():+.3f} ({low:+.3f} to {high:+.3f})"


def show(title: str, share: float, values: Floats, every: list[Scores]) -> None:
    """Prints a table of values, (seeds, factors, ways)."""
    shares = np.stack([one.shares for one in every])
    warned = np.sum([one.warned for one in every], axis=0)
    heads = ("estimate - tuned", "share", "estimated", "warned", "refused")
    table = Table("times", *WAYS, *heads, title=f"{title}, mean of {len(values)} splits")
    for k, factor in enumerate(FACTORS):
        told = ~np.isnan(shares[:, k])
        cells = [f"{mean:.3f}" for mean in np.nanmean(values[:, k], axis=0)]
        cells.append(interval((values[:, k, 3] - values[:, k, 1])[told]))
        cells += [f"{factor * share:.1%}", f"{shares[told, k].mean():.1%}"]
        table.add_row(f"{factor:g}", *cells, f"{warned[k]:.0f}", f"{(~told).sum()}")
    Console(width=140).print(table)


def main() -> None:
    """Draws training and test sets, decides, and prints the tables."""
    parser = argparse.ArgumentParser(description="F1 where the share of positives moves.")
    parser.add_argument("--seeds", type=int, default=20, help="random splits of each task")
    parser.add_argument("--train", type=int, default=2000, help="training examples")
    parser.add_argument("--test", type=int, default=5000, help="test examples")
    parser.add_argument("--tasks", nargs="+", choices=DATA, default=list(DATA))
    parser.add_argument("--classifiers", nargs="+", choices=CLASSIFIERS, default=list(CLASSIFIERS))
    parser.add_argument("--quick", action="store_true", help="one task and classifier, two seeds")
    given = parser.parse_args()
    tasks, seeds, names = given.tasks, given.seeds, given.classifiers
    if given.quick:
        tasks, seeds, names = ["made"], 2, ["logistic"]
    for task in tasks:
        try:
            rows, positive = DATA[task]()
        except MissingDataError as error:
            print(error)
            continue
        for name in names:
            losses = tuple(MEASURES) if name == "logistic" else ("fscore",)
            sizes = (given.train, given.test)
            splits = track(range(seeds), f"{task}, {name}", transient=True)
            inner = CLASSIFIERS[name]
            with threadpool_limits(1):
                every = [scores(rows, positive, sizes, k, inner, losses) for k in splits]
            share = float(positive.mean())
            for at, loss in enumerate(losses):
                title = f"{task} ({share:.1%} positive), {name}: {MEASURES[loss].scoring}"
                show(title, share, np.stack([one.values[at] for one in every]), every)


if __name__ == "__main__":
    run_script(main)
