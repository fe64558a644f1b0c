"""A class that gets rarer or more frequent after training: tuned thresholds and whole decisions.

One logistic regression is trained for each split, and test sets are drawn from held-out rows so
that their share of positives is that of training times 1/4, 1/2, 1, 2 and 4. Decisions, for F1 and
for accuracy:

- 0.5: positive where the probability is at least 1/2;
- tuned: ``TunedThresholdClassifierCV`` of scikit-learn, the threshold of the best score in five
  folds of the training set;
- DTA: ``DTAClassifier``, which takes the share of training for granted;
- estimate: ``DTAClassifier(prior="estimate")``, no label of the test set being known;
- known: ``DTAClassifier(prior=share)`` with the true share;
- best: the best of all thresholds, chosen with the labels of the test rows.

"refused" counts test sets whose rows do not tell their share.

    ./run python experiments/prevalence.py [--seeds 20] [--train 2000] [--test 5000] [--quick]

takes three minutes of one processor. ``made`` is ``make_classification`` of scikit-learn; the task
of ijcnn1 (``fetch.py ijcnn1``) is left out where its data are not. ``--quick`` takes ``made`` alone
and two seeds.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np
from data_folder import MissingDataError, run_script
from numpy.typing import NDArray
from rare_positives import TASKS
from rich.console import Console
from rich.progress import track
from rich.table import Table
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, f1_score, precision_recall_curve, roc_curve
from sklearn.model_selection import TunedThresholdClassifierCV
from sklearn.preprocessing import StandardScaler

from fsmeu.errors import InputError
from fsmeu.learning import DTAClassifier

FACTORS = (0.25, 0.5, 1.0, 2.0, 4.0)
WAYS = ("0.5", "tuned", "DTA", "estimate", "known", "best")
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


class Scores(NamedTuple):
    """What one split comes to."""

    values: NDArray[np.float64]  # (losses, factors, ways), NaN where a share is refused
    shares: NDArray[np.float64]  # the estimated ones, (factors,)


def scores(rows: Floats, positive: Truths, sizes: tuple[int, int], seed: int) -> Scores:
    """The scores of one split; ``sizes`` are those of training and test set."""
    random = np.random.default_rng(seed)
    order = random.permutation(len(rows))
    first, rest = order[: sizes[0]], order[sizes[0] :]
    scaler = StandardScaler().fit(rows[first])
    given, known = scaler.transform(rows[first]), positive[first]
    plain = LogisticRegression(max_iter=1000).fit(given, known)
    tuned, whole = {}, {}
    for loss, measure in MEASURES.items():
        inner = LogisticRegression(max_iter=1000)
        tuned[loss] = TunedThresholdClassifierCV(inner, scoring=measure.scoring).fit(given, known)
        whole[loss] = DTAClassifier(loss, inner).fit(given, known)
    values = np.full((len(MEASURES), len(FACTORS), len(WAYS)), np.nan)
    shares = np.full(len(FACTORS), np.nan)
    for k, factor in enumerate(FACTORS):
        share = factor * float(known.mean())
        chosen = rest[drawn(positive[rest], sizes[1], share, random)]
        held, truth = scaler.transform(rows[chosen]), positive[chosen]
        p = plain.predict_proba(held)[:, 1]
        for at, (loss, measure) in enumerate(MEASURES.items()):
            made = whole[loss]
            decided = {"0.5": plain.predict(held), "tuned": tuned[loss].predict(held)}
            decided["DTA"] = made.set_params(prior=None).predict(held)
            decided["known"] = made.set_params(prior=float(truth.mean())).predict(held)
            made.set_params(prior="estimate")
            with suppress(InputError):
                shares[k] = made.prior_of(held)
                decided["estimate"] = made.predict(held)
            found = {way: measure.score(truth, labels) for way, labels in decided.items()}
            found["best"] = measure.best(truth, p)
            values[at, k] = [found.get(way, np.nan) for way in WAYS]
    return Scores(values, shares)


def show(name: str, loss: str, share: float, found: Any, shares: Any) -> None:
    """Prints a table, of values (seeds, factors, ways) and shares (seeds, factors)."""
    title = f"{name}: {MEASURES[loss].scoring}, {share:.1%} positive, mean of {len(found)} splits"
    heads = ("estimate - tuned", "share", "estimated", "refused")
    table = Table("times", *WAYS, *heads, title=title)
    for k, factor in enumerate(FACTORS):
        told = ~np.isnan(shares[:, k])
        gain = (found[:, k, 3] - found[:, k, 1])[told]
        error = gain.std(ddof=1) / np.sqrt(len(gain)) if len(gain) > 1 else np.nan
        cells = [f"{mean:.3f}" for mean in np.nanmean(found[:, k], axis=0)]
        cells.append(f"{gain.mean():+.3f} ({error:.3f})")
        cells += [f"{factor * share:.1%}", f"{shares[told, k].mean():.1%}", str((~told).sum())]
        table.add_row(f"{factor:g}", *cells)
    Console(width=110).print(table)


def main() -> None:
    """Draws training and test sets, decides, and prints the tables."""
    parser = argparse.ArgumentParser(description="F1 where the share of positives moves.")
    parser.add_argument("--seeds", type=int, default=20, help="random splits of each task")
    parser.add_argument("--train", type=int, default=2000, help="training examples")
    parser.add_argument("--test", type=int, default=5000, help="test examples")
    parser.add_argument("--quick", action="store_true", help="one task, two seeds")
    given = parser.parse_args()
    tasks, seeds = (["made"], 2) if given.quick else (list(DATA), given.seeds)
    for name in tasks:
        try:
            rows, positive = DATA[name]()
        except MissingDataError as error:
            print(error)
            continue
        sizes = (given.train, given.test)
        splits = track(range(seeds), name, transient=True)
        every = [scores(rows, positive, sizes, k) for k in splits]
        values = np.stack([one.values for one in every])
        shares = np.stack([one.shares for one in every])
        for at, loss in enumerate(MEASURES):
            show(name, loss, float(positive.mean()), values[:, at], shares)


if __name__ == "__main__":
    run_script(main)
