"""The plot of a classifier's decision on labelled examples, for train and predict."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fsmeu.cli.measures import guarded
from fsmeu.cli.output import file_for
from fsmeu.drawing.plots.measure_plots import plot_threshold
from fsmeu.drawing.plots.plot_file import checked_plot, save_plot
from fsmeu.errors import InputError, sentence
from fsmeu.losses.library import load
from fsmeu.losses.loss import SpecLoss

__all__ = ["checked_decision_plot", "plot_decision"]


def checked_decision_plot(name: str, labels: NDArray[Any] | None) -> Path:
    """The path of the plot, looked at before anything long is run.

    Args:
        name: what --plot was given.
        labels: those of the examples that are decided.

    Raises:
        InputError: it is not the name of a plot, or there is not one label for each example.
        MissingExtra: matplotlib is not installed.
    """
    path, _ = checked_plot(name)
    if labels is None:
        must = "examples with labels must be decided"
        raise InputError(sentence("--plot", must, "none", "With train, give --test FILE"))
    if labels.ndim != 1:
        must = "an example must have one label"
        raise InputError(sentence("--plot", must, f"{labels.shape[1]} labels"))
    return file_for("--plot", str(path))


def plot_decision(
    path: Path, model: Any, rows: Any, labels: NDArray[Any], predicted: NDArray[Any]
) -> None:
    """Writes the plot: the value of each threshold on the scores, and what was decided.

    Args:
        path: where it goes.
        model: a fitted classifier.
        rows: examples, (examples, features).
        labels: their classes, (examples,).
        predicted: the classes that the model decides for, (examples,).
    """
    loss = _loss_of(model)
    kind = "probability" if hasattr(model, "predict_proba") else "score"
    found = guarded("--plot", lambda: _scores(model, rows), "deciding")
    positive, chosen = labels == model.classes_[1], predicted == model.classes_[1]
    save_plot(
        path,
        lambda axes: plot_threshold(loss, found, positive, chosen, score=kind, ax=axes),
        (6.4, 4.4),
    )


def _scores(model: Any, rows: Any) -> NDArray[np.float64]:
    """Probabilities of the positive class, or what else is compared with a threshold, (rows,)."""
    if hasattr(model, "predict_proba"):
        return np.asarray(model.predict_proba(rows), np.float64)[:, 1]
    return np.asarray(model.decision_function(rows), np.float64)


def _loss_of(model: Any) -> SpecLoss:
    """What the model decides for: its loss, or the F-score or Jaccard index of its parameters.

    Raises:
        InputError: its loss is not one of the confusion table.
    """
    loss = getattr(model, "loss_", None)
    if isinstance(loss, SpecLoss) and loss.confusion is not None:
        return loss
    if loss is not None:
        must = "the value of the loss must depend on the confusion table alone"
        raise InputError(sentence("--plot", must, loss.name))
    given = model.get_params(deep=False)
    if given.get("measure") == "jaccard":
        return load("jaccard")
    beta = given.get("beta", 1.0)
    if 0.0 <= given.get("alpha", 1.0) < 1.0:
        beta = math.sqrt(given["alpha"] / (1.0 - given["alpha"]))
    return load("fscore", beta=beta)
