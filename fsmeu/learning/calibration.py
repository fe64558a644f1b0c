"""Calibration of an estimator's scores by rows that it was not fitted to, and weights of classes.

Scores of rows that are held out, fold by fold, are mapped to probabilities by a sigmoid (Platt
1999) or an isotonic step function (Zadrozny and Elkan 2002), both scikit-learn's. The same rows
show how scores are distributed in each class.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.calibration import CalibratedClassifierCV
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import LogisticRegression

from fsmeu.arrays import Floats
from fsmeu.learning.base import Rows, last_step

KINDS = ("sigmoid", "isotonic")
_WEIGHTING = ("class_weight", "scale_pos_weight", "is_unbalance", "auto_class_weights")
_NO_WEIGHTING = (None, False, 1, "None")


def calibrator(kind: str, scores: Floats, positive: Floats, weights: Floats | None) -> Any:
    """The fitted map of scores, (rows,), to probabilities, of one of the kinds.

    A sigmoid is fitted to targets a little inside of 0 and 1, as Platt has them: each row counts as
    one of both classes, with weights that add up to its own.
    """
    if kind == "isotonic":
        return IsotonicRegression(out_of_bounds="clip").fit(scores, positive, weights)
    w = np.ones(len(scores)) if weights is None else weights
    ones, zeros = (w @ (positive == c) for c in (1, 0))
    target = np.where(positive == 1, (ones + 1) / (ones + 2), 1 / (zeros + 2))
    both = np.tile(scores, 2)[:, None]  # (2 rows, 1)
    classes = np.repeat([1, 0], len(scores))
    line = LogisticRegression(C=np.inf, solver="newton-cholesky", tol=1e-10)
    return line.fit(both, classes, np.append(w * target, w * (1.0 - target)))


def calibrated(fitted: Any, scores: Floats) -> Floats:
    """The probabilities, (rows,), to which a fitted calibrator maps scores, (rows,)."""
    if isinstance(fitted, LogisticRegression):
        return np.asarray(fitted.predict_proba(scores[:, None])[:, 1], np.float64)
    return np.asarray(fitted.predict(scores), np.float64)


def positive_scores(fitted: Any, rows: Rows, column: int) -> Floats:
    """What calibration maps, (rows,): scores of a class as far as they are told, else P(class).

    Args:
        fitted: an estimator of two classes with ``decision_function`` or ``predict_proba``.
        rows: what it takes.
        column: the index of the class in its ``classes_``.
    """
    if not hasattr(fitted, "decision_function"):
        return np.asarray(fitted.predict_proba(rows), np.float64)[:, column]
    scores: NDArray[np.float64] = np.asarray(fitted.decision_function(rows), np.float64)
    if scores.ndim == 2 and scores.shape[1] == 2:
        return scores[:, column]
    return scores.reshape(-1) if column else -scores.reshape(-1)


def class_weighting(estimator: Any) -> str:
    """The parameter that weighs classes, as a call has it; "" where none is seen.

    Pipelines, searches and frozen estimators are looked into; calibration makes up for weights.
    """
    last = last_step(estimator)[1]
    if isinstance(last, CalibratedClassifierCV) or getattr(last, "calibration", None) in KINDS:
        return ""
    for name in _WEIGHTING:
        value = getattr(last, name, None)
        if not any(value is no or value == no for no in _NO_WEIGHTING):
            return f"{name}={value!r}"
    inner = getattr(last, "estimator", None)
    return "" if inner is None else class_weighting(inner)
