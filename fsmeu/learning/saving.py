"""Estimators in files without pickle: arrays in an npz archive, all else as JSON in it.

A file names a class of this package, its parameters and what it has learned; losses, other
estimators of this package and those of scikit-learn may be among these, taken apart into what JSON
and arrays can say. Only registered classes and those named here are ever made: reading a file runs
no code that it brings, so that a file from a stranger is safe to load.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from operator import attrgetter
from os import PathLike
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.linear_model import LogisticRegression, Ridge, RidgeClassifier, SGDClassifier
from sklearn.naive_bayes import BernoulliNB, ComplementNB, GaussianNB, MultinomialNB
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, Normalizer, StandardScaler
from sklearn.svm import LinearSVC

from fsmeu.errors import FsmeuError, InputError, as_whole, shorten
from fsmeu.files import TABLES, input_limit, read_arrays, write_arrays
from fsmeu.losses.language.read import read
from fsmeu.losses.loss import SpecLoss, loads

Kind = TypeVar("Kind", bound=type)
Arrays = dict[str, NDArray[Any]]

_CLASSES: dict[str, Any] = {}


def register(kind: Kind) -> Kind:
    """The class itself, after making it known to ``load``; a class decorator."""
    _CLASSES[kind.__name__] = kind
    return kind


def estimators() -> dict[str, Any]:
    """The registered classes of this package by name, in alphabetical order."""
    ours = {n: kind for n, kind in _CLASSES.items() if kind.__module__.startswith("fsmeu.")}
    return dict(sorted(ours.items()))


_LINEAR = (LinearSVC, LogisticRegression, RidgeClassifier, SGDClassifier)
_BAYES = (BernoulliNB, ComplementNB, GaussianNB, MultinomialNB)
_STEPS = (MaxAbsScaler, MinMaxScaler, Normalizer, StandardScaler)
_PLAIN = {kind.__name__: kind for kind in (*_LINEAR, *_BAYES, *_STEPS)}
"""Classifiers of scikit-learn, and steps before them, whose whole state is arrays and numbers."""
_SAVED = {**_PLAIN, "Ridge": Ridge}
PROBABILISTIC = {name: kind for name, kind in _PLAIN.items() if hasattr(kind, "predict_proba")}

_FORMAT = "fsmeu estimator 1"
_PARTS = ("parameters", "learned")
_WRITTEN = "a file must have been written by save, of this version of fsmeu"
_MOST_TRIED = 1 << 20  # features of rows that are predicted to see that a model works: 8 MB a row
_WORDS = (str, int, float, bool, type(None))


def save(estimator: Any, path: str | PathLike[str]) -> None:
    """Writes an estimator of this package to a file; an InputError where it cannot be saved."""
    if _CLASSES.get(type(estimator).__name__) is not type(estimator):
        must = f"an estimator must be one of {', '.join(sorted(_CLASSES))}"
        raise InputError("save", must, given=estimator)
    arrays: Arrays = {}
    parts = _packed("", estimator, arrays)["own"]["dict"]
    header = {"format": _FORMAT, "class": parts["class"]}
    header |= {part: parts[part]["dict"] for part in _PARTS}
    arrays["header"] = np.array(json.dumps(header))
    write_arrays(path, arrays)


def load(path: str | PathLike[str]) -> Any:
    """The estimator of a file that ``save`` has written; an InputError if the file is none."""
    where = f"load {path}"
    if not isinstance(path, str | PathLike):
        raise InputError("load", "the path of a file must be given", given=path)
    arrays = read_arrays(Path(path), where, _WRITTEN)
    cells = sum(array.size for array in arrays.values())
    if "header" not in arrays or arrays["header"].nbytes > input_limit(TABLES):
        raise InputError(where, _WRITTEN)
    with first_use(where):
        header = json.loads(str(arrays.pop("header")[()]))
        if header.get("format") != _FORMAT or header.get("class") not in _CLASSES:
            must = f"a file must hold one of {', '.join(sorted(_CLASSES))}"
            raise InputError("estimator", must, remedy="For others import fsmeu.searn")
        parts = {"class": header["class"]} | {part: {"dict": header[part]} for part in _PARTS}
        estimator = _unpacked({"own": {"dict": parts}}, arrays)
        _try(estimator, cells)
    return estimator


@contextmanager
def first_use(where: str) -> Iterator[None]:
    """A context that turns errors of a loaded model into an InputError."""
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            yield
    except Exception as error:  # whatever wrong types, names and shapes raise
        must = "the file is damaged, or save did not write it"
        kind = "" if isinstance(error, FsmeuError) else f"{type(error).__name__}: "
        detail = shorten(f"{kind}{error}").rstrip(".")
        raise InputError(where, f"{must} ({detail})") from error


def _try(estimator: Any, cells: int) -> None:
    """Predicts a few examples; errors of the loss on these are ignored.

    An estimator has ``_examples``, inputs that it must predict, or none; or it is one of rows, of
    no more features than there are cells of arrays in the file (none are tried of texts, or where
    rows are long).
    """
    classes = getattr(estimator, "classes_", None)
    if classes is not None and (classes.shape != np.unique(classes).shape or len(classes) < 2):
        raise ValueError(classes.shape)
    if not hasattr(estimator, "predict") or not _learned(vars(estimator)):
        return
    if has_examples := hasattr(estimator, "_examples"):
        examples = estimator._examples()
    else:
        inner = [*getattr(estimator, "estimators_", ())] or [getattr(estimator, "estimator_", None)]
        widths = [x.n_features_in_ for x in (estimator, *inner) if hasattr(x, "n_features_in_")]
        wrong = as_whole(widths[0], 1) is None or widths[0] > cells if widths else inner == [None]
        if wrong:
            raise ValueError(estimator)
        tried = bool(widths) and widths[0] <= _MOST_TRIED
        examples = np.multiply.outer([0.0, 1.0, 100.0], np.ones(widths[0])) if tried else ()
    for batch in (examples, examples[1:]) if len(examples) else ():  # what broadcasts to one fails
        for name in ("predict", "predict_proba", "decision_function"):
            with nullcontext() if has_examples and classes is None else suppress(FsmeuError):
                getattr(estimator, name, len)(batch)


def _packed(place: str, value: Any, arrays: Arrays) -> Any:
    """A value as JSON; arrays go beside it, and stand in it by their names."""
    where, name = f"save, {place}", type(value).__name__
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, _WORDS):
        return value
    if isinstance(value, list):
        return [_packed(f"{place}.{k}", item, arrays) for k, item in enumerate(value)]
    if isinstance(value, tuple):
        return {"tuple": _packed(place, list(value), arrays)}
    if isinstance(value, dict) and all(isinstance(key, str) for key in value):
        dots = f"{place}." if place else ""
        return {"dict": {key: _packed(dots + key, item, arrays) for key, item in value.items()}}
    if isinstance(value, np.ndarray) and value.dtype != object:
        arrays[place] = value
        return {"array": place}
    if isinstance(value, np.ndarray):
        if all(isinstance(item, _WORDS) for item in value.tolist()):
            return {"objects": value.tolist()}
        raise InputError(where, "only numbers, truth values and texts can be saved", given=value)
    if isinstance(value, SpecLoss):
        spec, labels = value.spec, value.labels_given
        meaning = attrgetter("name", "kind", "params", "labels", "registers", "value")
        if meaning(read(spec.source, spec.origin)) != meaning(spec):
            must = "a loss can be saved if it is that of its file"
            raise InputError(where, must, given=value, remedy="Write a file of its own for it")
        parts = {"text": spec.source, "labels": labels and list(labels.labels)}
        return {"loss": _packed(place, parts | {"parameters": dict(value.params_given)}, arrays)}
    if type(value) is Pipeline:
        steps = [list(step) for step in value.steps]
        return {"pipeline": _packed(place, {"steps": steps}, arrays)}
    for kind, classes in (("own", _CLASSES), ("estimator", _SAVED)):
        if classes.get(name) is type(value):
            parts = {"class": name, "parameters": value.get_params(deep=False)}
            return {kind: _packed(place, parts | {"learned": _learned(vars(value))}, arrays)}
    if isinstance(value, BaseEstimator):
        must = "an estimator within must be of fsmeu.learning, or a Pipeline, or one of "
        raise InputError(where, must + ", ".join(sorted(_PLAIN)), given=name)
    must = "only arrays, numbers, texts, lists, dictionaries, losses and estimators can be saved"
    raise InputError(where, must, given=value)


def _learned(attributes: dict[str, Any]) -> dict[str, Any]:
    """The learned attributes of an estimator by name: those that end in an underscore."""
    names = [name for name in attributes if name.isidentifier() and name.endswith("_")]
    return {name: attributes[name] for name in names if not name.startswith("_")}


def _unpacked(value: Any, arrays: Arrays) -> Any:
    """The value that ``_packed`` has written as JSON; each array is taken once."""
    if isinstance(value, list):
        return [_unpacked(item, arrays) for item in value]
    if not isinstance(value, dict):
        return value
    ((kind, content),) = value.items()
    if kind == "array":
        return arrays.pop(content)
    if kind == "objects":
        return np.array([*content, None], object)[:-1]
    if kind == "dict":
        return {k: _unpacked(item, arrays) for k, item in content.items()}
    parts = _unpacked(content, arrays)
    if kind == "tuple":
        return tuple(parts)
    if kind == "loss":
        return loads(parts["text"], labels=parts["labels"], **parts["parameters"])
    if kind == "pipeline":
        return Pipeline([(str(name), step) for name, step in parts["steps"]])
    estimator = {"own": _CLASSES, "estimator": _SAVED}[kind][parts["class"]](**parts["parameters"])
    if _learned(parts["learned"]).keys() != parts["learned"].keys():
        raise ValueError(list(parts["learned"]))
    vars(estimator).update(parts["learned"])
    getattr(estimator, "check_parts", lambda: None)()  # which sees that arrays fit together
    return estimator
