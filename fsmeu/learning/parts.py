"""What estimators hold beside arrays and numbers: losses of files, and other estimators.

``save`` takes them apart into what JSON and arrays can say, and ``load`` puts them together again.
Only registered classes and those named here are ever made, so that a file from a stranger brings no
code.
"""

from __future__ import annotations

from typing import Any

from sklearn.base import BaseEstimator
from sklearn.linear_model import LogisticRegression, Ridge, RidgeClassifier, SGDClassifier
from sklearn.naive_bayes import BernoulliNB, ComplementNB, GaussianNB, MultinomialNB
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, Normalizer, StandardScaler
from sklearn.svm import LinearSVC

from fsmeu.errors import InputError, sentence
from fsmeu.learning.registry import registered
from fsmeu.losses.language.read import read
from fsmeu.losses.language.syntax import Spec
from fsmeu.losses.library import loads
from fsmeu.losses.loss import SpecLoss

__all__ = [
    "KINDS",
    "PROBABILISTIC",
    "estimator_apart",
    "learned",
    "put_together",
    "taken_apart",
    "with_learned",
]

_PLAIN = {
    kind.__name__: kind
    for kind in (
        BernoulliNB,
        ComplementNB,
        GaussianNB,
        LinearSVC,
        LogisticRegression,
        MaxAbsScaler,
        MinMaxScaler,
        MultinomialNB,
        Normalizer,
        RidgeClassifier,
        SGDClassifier,
        StandardScaler,
    )
}
"""Classifiers of scikit-learn, and steps before them, whose whole state is arrays and numbers."""

_SAVED = {**_PLAIN, "Ridge": Ridge}
"""These and regressors of the kind."""

PROBABILISTIC = {name: kind for name, kind in _PLAIN.items() if hasattr(kind, "predict_proba")}
"""Those of them that tell probabilities, by name."""

KINDS = ("loss", "own", "estimator", "pipeline")
"""The words by which such parts stand in a file; an own estimator is one of this package."""


def taken_apart(value: Any, where: str) -> tuple[str, dict[str, Any]] | None:
    """The kind of a part and what it is made of, a dictionary; None for what is no such part.

    Args:
        value: a loss, an estimator or something else.
        where: where it stands, for messages.

    Raises:
        InputError: it is a loss whose text does not say all of it, such as ``loss.swapped``, or
            an estimator of another class.
    """
    if isinstance(value, SpecLoss):
        return "loss", _loss_apart(value, where)
    if type(value) is Pipeline:
        return "pipeline", {"steps": [list(step) for step in value.steps]}
    name = type(value).__name__
    for kind, classes in (("own", registered()), ("estimator", _SAVED)):
        if classes.get(name) is type(value):
            return kind, {"class": name, **estimator_apart(value)}
    if isinstance(value, BaseEstimator):
        must = f"an estimator within must be of fsmeu.learning or one of {', '.join(_PLAIN)}"
        raise InputError(sentence(where, f"{must}, or a Pipeline of these", name))
    return None


def estimator_apart(estimator: Any) -> dict[str, Any]:
    """The parameters of an estimator and what it has learned, two dictionaries by name."""
    return {"parameters": estimator.get_params(deep=False), "learned": learned(estimator)}


def put_together(kind: str, parts: dict[str, Any]) -> Any:
    """The part itself; where it has ``check_parts``, its arrays fit together.

    Raises:
        KeyError, TypeError, ValueError, InputError: it is none that ``taken_apart`` has made.
    """
    if kind == "loss":
        return loads(parts["text"], labels=parts["labels"], **parts["parameters"])
    if kind == "pipeline":
        return Pipeline([(str(name), step) for name, step in parts["steps"]])
    classes = registered() if kind == "own" else _SAVED
    made = with_learned(classes[parts["class"]](**parts["parameters"]), parts["learned"])
    if hasattr(made, "check_parts"):
        made.check_parts()
    return made


def learned(estimator: Any) -> dict[str, Any]:
    """What an estimator has learned: its attributes that end in an underscore, by name."""
    held = vars(estimator).items()
    return {name: value for name, value in held if _is_learned(name)}


def with_learned(estimator: Any, found: dict[str, Any]) -> Any:
    """The estimator, after it was given what it once learned.

    Raises:
        ValueError: a name is none of a learned attribute.
    """
    for name, value in found.items():
        if not name.isidentifier() or not _is_learned(name):
            raise ValueError(name)
        setattr(estimator, name, value)
    return estimator


def _is_learned(name: str) -> bool:
    return name.endswith("_") and not name.startswith("_")


def _loss_apart(loss: SpecLoss, where: str) -> dict[str, Any]:
    text = loss.spec.source
    if _meaning(read(text, loss.spec.origin)) != _meaning(loss.spec):
        must = "a loss can be saved if it is that of its file"
        raise InputError(sentence(where, must, loss, "Write a file of its own for it"))
    labels = None if loss.labels_given is None else list(loss.labels_given.labels)
    return {"text": text, "labels": labels, "parameters": dict(loss.params_given)}


def _meaning(spec: Spec) -> tuple[object, ...]:
    return spec.name, spec.kind, spec.params, spec.labels, spec.registers, spec.value
