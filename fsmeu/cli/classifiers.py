"""Classifiers as they are named on the command line, with their parameters."""

from __future__ import annotations

import inspect
import json
from collections.abc import Iterable, Mapping
from typing import Any

from sklearn.base import ClassifierMixin

from fsmeu.errors import InputError, one_of, sentence
from fsmeu.learning.parts import PROBABILISTIC
from fsmeu.learning.registry import estimators
from fsmeu.losses.library import load

__all__ = ["classifiers", "made_classifier", "parameters"]


def classifiers() -> dict[str, Any]:
    """The classifiers of rows that can be trained, by name."""
    return {name: kind for name, kind in estimators().items() if issubclass(kind, ClassifierMixin)}


def parameters(texts: Iterable[str] | None) -> dict[str, Any]:
    """Parameters by name, from texts NAME=VALUE.

    Raises:
        InputError: a text is written otherwise, or a name is given twice.
    """
    given: dict[str, Any] = {}
    for text in texts or ():
        key, equals, value = text.partition("=")
        key = key.strip()
        if not equals or not key:
            must = "a parameter must be written NAME=VALUE"
            raise InputError(sentence("--param", must, text, "For example: --param loss=jaccard"))
        if key in given:
            raise InputError(sentence("--param", f"{key!r} may be given once", text))
        given[key] = _value(value.strip())
    return given


def made_classifier(name: str, known: Mapping[str, Any], given: dict[str, Any]) -> Any:
    """The classifier with its parameters.

    Args:
        name: its name.
        known: classes by name, of which it must be one.
        given: parameters by name, as ``parameters`` reads them.

    Raises:
        InputError: there is none of that name, or it has no such parameter.
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
        raise InputError(sentence(f"--param, {name}", must, None, remedy)) from None


def _with_parts(name: str, first: dict[str, Any], given: dict[str, Any]) -> dict[str, Any]:
    """Parameters with the loss loaded where its own are given, and the estimator made."""
    made = dict(first)
    of_loss = {k.removeprefix("loss__"): v for k, v in given.items() if k.startswith("loss__")}
    if of_loss:
        if "loss" not in first:
            must = "parameters of a loss need the loss"
            raise InputError(sentence(f"--param, {name}", must, None, "Add -p loss=NAME"))
        made["loss"] = load(first["loss"], **of_loss)
    if isinstance(first.get("estimator"), str):
        ours = {n: kind for n, kind in classifiers().items() if hasattr(kind, "predict_proba")}
        known = PROBABILISTIC | ours
        chosen = one_of(f"--param, {name}", "estimator", first["estimator"], known)
        made["estimator"] = known[chosen]()
    return made


def _value(text: str) -> Any:
    """A number, truth value, list or null as JSON writes it; anything else is a text."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        words = {"True": True, "False": False, "None": None}
        return words.get(text, text)
