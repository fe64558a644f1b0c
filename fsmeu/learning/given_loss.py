"""The loss that an estimator is told to learn for, with its labels matched to the classes by name.

A label is its name: 1, True, 1.0 and "1" are one. Every estimator asks ``over_classes`` for a loss
whose k-th label stands for the k-th class, so that indices of classes are indices of labels.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from os import PathLike
from typing import Any

import numpy as np

from fsmeu.errors import InputError, sentence
from fsmeu.expectation.query import bind_labels
from fsmeu.fst.alphabet import Alphabet, Label
from fsmeu.fst.sequences import plain
from fsmeu.losses.library import read_spec
from fsmeu.losses.loss import SpecLoss, bind_loss
from fsmeu.losses.protocol import Loss, check_loss

__all__ = ["binary_loss", "given_loss", "label_name", "over_classes"]


def given_loss(loss: Any, params: Any, where: str, labels: Any = None) -> Loss:
    """The loss that was asked for.

    Args:
        loss: a name on the shelf, the path of a loss file, or a loss.
        params: parameters of the loss by name, or None; for names and paths.
        where: the estimator, for messages.
        labels: the labels of both tapes, where the file leaves them open.

    Raises:
        InputError: there is no such loss, or a parameter does not suit it.
    """
    if params is not None and not (
        isinstance(params, Mapping) and all(isinstance(name, str) for name in params)
    ):
        must = "loss_params must be a dictionary of the parameters of the loss"
        raise InputError(sentence(where, must, params))
    if isinstance(loss, str | PathLike):
        spec = read_spec(str(loss))
        return bind_loss(spec, params or {}, labels if spec.labels is None else None)
    check_loss(loss, where)
    if params:
        must = "loss_params may be given with the name or the path of a loss only"
        raise InputError(sentence(where, must, dict(params)))
    return loss  # type: ignore[no-any-return]


def binary_loss(where: str, loss: Any, params: Any = None) -> Loss:
    """The loss that was asked for, over two labels or over labels that are still open.

    Raises:
        InputError: as for ``given_loss``, or it is a loss over more or fewer labels.
    """
    found = given_loss(loss, params, where)
    if len(found.alphabet) != 2:
        must = "the loss must be one over two labels"
        raise InputError(sentence(where, must, f"{found.name} over {found.alphabet.labels}"))
    return found


def label_name(value: Any) -> Label:
    """The name of a class as a label: an int for whole numbers and truth values, else a text."""
    given = plain(value)
    if isinstance(given, bool) or (isinstance(given, float) and given.is_integer()):
        return int(given)
    return given if isinstance(given, int | str) else str(given)


def over_classes(loss: Loss, classes: Iterable[Any], where: str) -> Loss:
    """The loss whose k-th label stands for the k-th class.

    A class is the label of its name, where all classes have one. Else, of two classes, the last is
    the positive label: the one named 1, else the only one that the loss counts, else the second.
    Where the labels are names, not 0 and 1, a class that has one is that label, and the other class
    is the label that is left.

    Args:
        loss: a loss; where its labels are open, they become the names of the classes.
        classes: the distinct classes.
        where: the estimator, for messages.

    Raises:
        InputError: the loss has other labels.
    """
    names = [label_name(one) for one in classes]
    if not getattr(loss, "labels_open", False):
        own = {str(label): label for label in loss.alphabet.labels}
        names = [own.get(str(name), name) for name in names]
        if len(names) == len(own) == 2:
            names = _both(names, loss)
    return bind_labels(loss, Alphabet(tuple(names)), where)


def _both(names: list[Label], loss: Loss) -> list[Label]:
    """The labels of two classes, from the names of the classes."""
    labels = loss.alphabet.labels
    known = [k for k, name in enumerate(names) if name in labels]
    if len(known) == 2:
        return names
    if not known or {str(label) for label in labels} == {"0", "1"}:
        last = labels[_positive(loss)]
    elif known == [1]:
        last = names[1]
    else:
        last = next(label for label in labels if label != names[0])
    return [next(label for label in labels if label != last), last]


def _positive(loss: Loss) -> int:
    """The index of the positive one of two labels."""
    index = loss.alphabet.index
    if "1" in index:
        return index["1"]
    form = loss.confusion if isinstance(loss, SpecLoss) else None
    counted = [] if form is None else [np.diag(table) for table in form.amounts.values()]
    seen = np.any(counted, axis=0) if counted else np.zeros(2, bool)
    return 0 if seen[0] and not seen[1] else 1
