"""Rare classes: F1 of a logistic regression at 1/2, with a tuned threshold, and decided as a whole.

Three tasks with few positive examples (``rare_positives.py``), the probabilities of the same
logistic regression, and decisions for the test examples:

- 0.5: positive where the probability is at least 1/2;
- tuned: ``TunedThresholdClassifierCV`` of scikit-learn, the threshold of the best F1 in five folds;
- DTA: ``DTAClassifier``, the labels of the greatest expected F1 of all test examples together;
- best: the best of all thresholds, chosen with the labels of the test examples.

    ./run python experiments/rare_classes.py [--seeds 10] [--train 1000] [--test 2000] [--quick]

takes a minute and a half of one processor. The data: ``fetch.py covtype ijcnn1``. ``--quick`` takes
one task and two seeds.
"""

from __future__ import annotations

import argparse
from functools import partial

import numpy as np
from data_folder import run_script
from numpy.typing import NDArray
from rare_positives import TASKS, covtype, split
from rich.console import Console
from rich.progress import track
from rich.table import Table
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score, precision_recall_curve
from sklearn.model_selection import TunedThresholdClassifierCV

from fsmeu.learning import DTAClassifier

RARE = {
    "covtype 5": partial(covtype, 5),
    "covtype 6": TASKS["covtype 6"],
    "ijcnn1": TASKS["ijcnn1"],
}
WAYS = ("0.5", "tuned", "DTA", "best")


def scores(rows: NDArray[np.float64], positive: NDArray[np.bool_], *sizes: int) -> list[float]:
    """F1 in each of ``WAYS``; ``sizes`` are those of training and test set, and the seed."""
    given, known, held, truth = split(rows, positive, *sizes)
    plain = LogisticRegression(max_iter=1000).fit(given, known)
    tuned = TunedThresholdClassifierCV(LogisticRegression(max_iter=1000), scoring="f1")
    whole = DTAClassifier("fscore", LogisticRegression(max_iter=1000))
    decided = [plain, tuned.fit(given, known), whole.fit(given, known)]
    precision, recall, _ = precision_recall_curve(truth, plain.predict_proba(held)[:, 1])
    best = np.max(2 * precision * recall / np.maximum(precision + recall, 1e-12))
    return [float(f1_score(truth, one.predict(held))) for one in decided] + [float(best)]


def main() -> None:
    """Draws training and test examples, decides, and prints the table."""
    parser = argparse.ArgumentParser(description="F1 of rare classes, decided in three ways.")
    parser.add_argument("--seeds", type=int, default=10, help="random splits of each task")
    parser.add_argument("--train", type=int, default=1000, help="training examples")
    parser.add_argument("--test", type=int, default=2000, help="test examples")
    parser.add_argument("--quick", action="store_true", help="one task, two seeds")
    given = parser.parse_args()
    tasks, seeds = (["ijcnn1"], 2) if given.quick else (list(RARE), given.seeds)
    title = f"F1, {given.train} training examples, mean of {seeds} splits (standard error)"
    table = Table("task", "positive", *WAYS, "DTA - tuned", title=title)
    for name in tasks:
        rows, positive = RARE[name]()
        drawn = track(range(seeds), name, transient=True)
        found = np.array([scores(rows, positive, given.train, given.test, k) for k in drawn])
        gain = found[:, 2] - found[:, 1]
        shown = [f"{mean:.3f}" for mean in found.mean(axis=0)]
        error = gain.std(ddof=1) / np.sqrt(seeds)
        table.add_row(name, f"{positive.mean():.1%}", *shown, f"{gain.mean():+.3f} ({error:.3f})")
    Console(width=90).print(table)


if __name__ == "__main__":
    run_script(main)
