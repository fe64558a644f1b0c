"""How good the decisions of a fitted classifier are, and what they were made for."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fsmeu.errors import InputError, sentence
from fsmeu.losses.library import load
from fsmeu.losses.loss import SpecLoss

__all__ = ["confusion_loss", "decision_scores", "measures", "plain"]


def measures(model: Any, labels: NDArray[Any], predicted: NDArray[Any]) -> dict[str, float]:
    """Accuracy, precision, recall and F1 of the positive class, and the mean value of the loss.

    With several labels for each example, precision, recall and F1 are means over examples.

    Raises:
        InputError: the labels are not of the model's classes.
    """
    from sklearn.metrics import accuracy_score, precision_recall_fscore_support

    if labels.shape != predicted.shape:
        must = f"the model gives labels of shape {predicted.shape}"
        raise InputError(sentence("labels", must, f"shape {labels.shape}"))
    strange = sorted(set(labels.ravel().tolist()) - set(model.classes_.tolist()), key=str)
    if strange:
        must = f"labels must be {' or '.join(str(plain(c)) for c in model.classes_)}"
        raise InputError(sentence("labels", must, plain(strange[0])))
    positive, chosen = labels == model.classes_[1], predicted == model.classes_[1]
    average = "binary" if labels.ndim == 1 else "samples"
    three = precision_recall_fscore_support(positive, chosen, average=average, zero_division=0)
    found = {"accuracy": float(accuracy_score(positive, chosen))}
    found |= dict(zip(("precision", "recall", "F1"), map(float, three[:3]), strict=True))
    loss: Any = getattr(model, "loss_", None)
    if loss is not None and hasattr(loss, "pair_values"):
        zs, ys = (np.atleast_2d(part).astype(np.int64) for part in (chosen, positive))
        found[loss.name] = float(loss.pair_values(zs, ys).mean())
    return found


def plain(label: Any) -> Any:
    """A label as JSON and people write it: whole numbers without a point."""
    value = label.item() if isinstance(label, np.generic) else label
    return int(value) if isinstance(value, float) and value.is_integer() else value


def decision_scores(model: Any, rows: Any) -> NDArray[np.float64]:
    """Probabilities of the positive class, or what else is compared with a threshold, (rows,)."""
    if hasattr(model, "predict_proba"):
        return np.asarray(model.predict_proba(rows), np.float64)[:, 1]
    return np.asarray(model.decision_function(rows), np.float64)


def confusion_loss(model: Any) -> SpecLoss:
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
