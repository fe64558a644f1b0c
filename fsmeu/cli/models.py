"""Estimators on the command line: made from names and parameters, watched, loaded, plotted."""

from __future__ import annotations

import inspect
import json
import warnings
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from numpy.typing import NDArray
from sklearn.base import ClassifierMixin

from fsmeu.cli.failures import refuse
from fsmeu.cli.inputs import name_values
from fsmeu.cli.output import Tell, checked_picture, note, progress
from fsmeu.drawing.plots import plot_threshold, save_plot
from fsmeu.errors import FsmeuError, InputError, message, one_of
from fsmeu.learning.given_loss import confusion_loss, decision_scores
from fsmeu.learning.saving import PROBABILISTIC, estimators
from fsmeu.losses.loss import load


def classifiers() -> dict[str, Any]:
    """The classifiers of rows that can be trained, by name."""
    return {name: kind for name, kind in estimators().items() if issubclass(kind, ClassifierMixin)}


def parameters(texts: Iterable[str] | None) -> dict[str, Any]:
    """Parameters of an estimator by name, from texts NAME=VALUE."""
    return name_values(texts, _value, "loss=jaccard")


def _value(_: str, text: str) -> Any:
    """A number, truth value, list or null as JSON writes it; anything else is a text."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return {"True": True, "False": False, "None": None}.get(text, text)


def made_classifier(name: str, known: Mapping[str, Any], given: dict[str, Any]) -> Any:
    """The classifier with its parameters.

    Args:
        name: its name.
        known: classes by name, of which it must be one.
        given: parameters by name, as ``parameters`` reads them.
    """
    kind = known[one_of("--classifier", "a classifier", name, known)]
    first = {key: value for key, value in given.items() if "__" not in key}
    for key in first:
        one_of(f"--param, {name}", "a parameter", key, inspect.signature(kind).parameters)
    model = kind(**_with_parts(name, first, given))
    inner = {key: v for key, v in given.items() if "__" in key and not key.startswith("loss__")}
    try:
        return model.set_params(**inner)
    except (ValueError, AttributeError) as error:
        must = str(error) if isinstance(error, ValueError) else "parameters need their estimator"
        remedy = "For example: -p estimator=LogisticRegression -p estimator__C=0.1"
        raise InputError(message(f"--param, {name}", must, None, remedy)) from None


def _with_parts(name: str, first: dict[str, Any], given: dict[str, Any]) -> dict[str, Any]:
    """Parameters with the loss loaded where its own are given, and the estimator made."""
    made = dict(first)
    of_loss = {k.removeprefix("loss__"): v for k, v in given.items() if k.startswith("loss__")}
    if of_loss:
        if "loss" not in first:
            must = "parameters of a loss need the loss"
            refuse(f"--param, {name}", must, None, "Add -p loss=NAME")
        made["loss"] = load(first["loss"], **of_loss)
    if isinstance(first.get("estimator"), str):
        ours = {n: kind for n, kind in classifiers().items() if hasattr(kind, "predict_proba")}
        known = PROBABILISTIC | ours
        chosen = one_of(f"--param, {name}", "estimator", first["estimator"], known)
        made["estimator"] = known[chosen]()
    return made


@contextmanager
def estimating(where: str, doing: str, total: float | None = None) -> Iterator[Tell]:
    """A context with a bar, in which what an estimator refuses becomes an InputError.

    Its warnings are told on stderr.
    """
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always", UserWarning)
        try:
            with progress(doing, total) as tell:
                yield tell
        except FsmeuError:
            raise
        except (ValueError, TypeError) as error:
            raise InputError(message(where, str(error).strip().partition("\n")[0])) from error
    for one in dict.fromkeys(str(warning.message).partition("\n")[0] for warning in seen):
        note(f"warning: {one}")


def checked_decision_plot(name: str | None, labels: NDArray[Any] | None) -> Path | None:
    """The path of the plot, looked at before anything long is run; None where none is wanted.

    Args:
        name: what --plot was given.
        labels: those of the examples that are decided.
    """
    path = checked_picture(name)
    if path is None:
        return None
    if labels is None:
        must = "examples with labels must be decided"
        refuse("--plot", must, "none", "With train, give --test FILE")
    if labels.ndim != 1:
        refuse("--plot", "an example must have one label", f"{labels.shape[1]} labels")
    return path


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
    loss = confusion_loss(model)
    kind = "probability" if hasattr(model, "predict_proba") else "score"
    with estimating("--plot", "deciding"):
        scores = decision_scores(model, rows)
    positive, chosen = labels == model.classes_[1], predicted == model.classes_[1]

    def draw(axes: Any) -> None:
        plot_threshold(loss, scores, positive, chosen, score=kind, ax=axes)

    save_plot(path, draw, (6.4, 4.4))
