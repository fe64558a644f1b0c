"""From scores to probabilities: an estimator with a map that was fitted on scores of other folds.

Platt (1999) fits a sigmoid, Zadrozny and Elkan (2002) an isotonic step function. The scores of an
example come from an estimator that has not seen it; the final one has seen all, as
``CalibratedClassifierCV(ensemble=False)`` of scikit-learn does it. Folds are drawn at random, and
always the same: of rows that are sorted by kinds which the labels merge, runs of rows would be
folds with kinds that the others lack, and their scores would be those of no estimator in use.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import expit, xlogy
from sklearn.base import clone
from sklearn.isotonic import IsotonicRegression
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import Pipeline
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import has_fit_parameter

from fsmeu.errors import InputError, sentence
from fsmeu.learning.base import Rows

__all__ = ["CALIBRATIONS", "apply_map", "fit_map", "fitted", "probabilities", "scores"]

Floats = NDArray[np.float64]

CALIBRATIONS = ("sigmoid", "isotonic")
"""The kinds of maps."""


def fitted(where: str, estimator: Any, rows: Rows, positive: Floats, weights: Any) -> Any:
    """A copy of the estimator, fitted to rows with labels 1 and 0.

    Raises:
        InputError: weights are given and the estimator takes none.
    """
    made = clone(estimator)
    labels = positive.astype(np.int64)
    if weights is None:
        return made.fit(rows, labels)
    last = made.steps[-1] if isinstance(made, Pipeline) else ("", made)
    if not has_fit_parameter(last[1], "sample_weight"):
        must = "the estimator must take sample_weight where weights are given"
        raise InputError(sentence(where, must, made))
    name = f"{last[0]}__sample_weight" if isinstance(made, Pipeline) else "sample_weight"
    return made.fit(rows, labels, **{name: weights})


def probabilities(estimator: Any, rows: Rows) -> Floats:
    """The probability of a positive label for each row, (rows,), as a fitted estimator tells it."""
    found: Floats = np.asarray(estimator.predict_proba(rows), np.float64)[:, 1]
    return found


def scores(estimator: Any, rows: Rows) -> Floats:
    """What is to be mapped to probabilities: decision values, or probabilities without these."""
    if hasattr(estimator, "decision_function"):
        return np.asarray(estimator.decision_function(rows), np.float64).ravel()
    return probabilities(estimator, rows)


def fit_map(
    where: str, kind: str, estimator: Any, rows: Rows, positive: Floats, weights: Any, folds: int
) -> dict[str, Any]:
    """The map of one of ``CALIBRATIONS``, numbers and arrays by name.

    Raises:
        InputError: there are fewer examples of a class than folds.
    """
    least = int(min(positive.sum(), len(positive) - positive.sum()))
    if least < folds:
        must = f"calibration needs at least {folds} examples of each class, one for each fold"
        raise InputError(sentence(where, must, least, "Lower folds, or leave calibration out"))
    found = np.empty(len(positive))
    parts = StratifiedKFold(folds, shuffle=True, random_state=0)
    for train, test in parts.split(np.zeros(len(positive)), positive):
        part = None if weights is None else weights[train]
        made = fitted(where, estimator, _safe_indexing(rows, train), positive[train], part)
        found[test] = scores(made, _safe_indexing(rows, test))
    if kind == "sigmoid":
        slope, offset = _sigmoid(found, positive, weights)
        return {"kind": kind, "slope": slope, "offset": offset}
    steps = IsotonicRegression(out_of_bounds="clip").fit(found, positive, weights)
    return {"kind": kind, "at": steps.X_thresholds_, "to": steps.y_thresholds_}


def apply_map(made: dict[str, Any], found: Floats) -> Floats:
    """The probabilities that a map gives to scores, (rows,)."""
    if made["kind"] == "sigmoid":
        mapped: Floats = expit(made["slope"] * found + made["offset"])
        return mapped
    stepped: Floats = np.clip(np.interp(found, made["at"], made["to"]), 0.0, 1.0)
    return stepped


def _sigmoid(found: Floats, positive: Floats, weights: Floats | None) -> tuple[float, float]:
    """Slope and offset of the sigmoid that is most likely (Platt 1999).

    The targets are (N+ + 1) / (N+ + 2) for positive and 1 / (N- + 2) for negative examples, with
    N+ and N- their weights.
    """
    w = np.ones(len(found)) if weights is None else weights
    many, few = float(w @ positive), float(w @ (1 - positive))
    target = np.where(positive > 0, (many + 1) / (many + 2), 1 / (few + 2))
    scale = max(float(np.abs(found).max()), np.finfo(np.float64).tiny)
    x = found / scale

    def cost(parameters: Floats) -> tuple[float, Floats]:
        z = parameters[0] * x + parameters[1]
        lost = np.logaddexp(0.0, z) - target * z + _entropy(target)
        slope = w * (expit(z) - target)
        total = w.sum()
        return float(w @ lost) / total, np.array([slope @ x, slope.sum()]) / total

    start = np.array([0.0, np.log((many + 1) / (few + 1))])
    best = minimize(cost, start, jac=True, method="BFGS", options={"gtol": 1e-9})
    return float(best.x[0] / scale), float(best.x[1])


def _entropy(target: Floats) -> Floats:
    """Subtracted so that the cost is near zero where the fit is good, for the stopping rule."""
    found: Floats = xlogy(target, target) + xlogy(1 - target, 1 - target)
    return found
