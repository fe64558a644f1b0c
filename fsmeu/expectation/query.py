"""The parts of a query: a loss, a hypothesis and a label model that fit together."""

from __future__ import annotations

from collections.abc import Iterable
from copy import copy
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fsmeu.errors import InputError, sentence, shorten
from fsmeu.fst.alphabet import Alphabet
from fsmeu.fst.layers import Layered, reordered, string_layers
from fsmeu.losses.machine.view import View
from fsmeu.losses.protocol import Loss, check_loss
from fsmeu.models import Model, as_model
from fsmeu.trellis.source import Source, model_source, pair_source

__all__ = ["Query", "bind_labels", "check_same_labels", "query"]

Ints = NDArray[np.int64]


class Query:
    """A loss, a hypothesis and a model that fit together, checked once.

    Attributes:
        loss: the loss, over the model's labels.
        z: label indices of the hypothesis, or None when it is a distribution.
        model: the label model.
    """

    def __init__(self, loss: Loss, z: Any, model: Any, where: str = "expect") -> None:
        self.model = as_model(model)
        self.loss = bind_labels(loss, self.model.alphabet, where)
        if isinstance(z, Model):
            check_same_labels(self.model.alphabet, z.alphabet, where, "hypothesis")
            self.z: Ints | None = None
            self._distribution: Model | None = z
            length = z.n
        else:
            self.z = self.loss.alphabet.encode(_sequence(z, where), "hypothesis z")
            self._distribution = None
            length = len(self.z)
        if length != self.model.n:
            must = "the hypothesis and the model must have the same length"
            raise InputError(sentence(where, must, f"lengths {length} and {self.model.n}"))

    @cached_property
    def hypothesis(self) -> Layered:
        """The hypothesis as a layered acceptor: one sequence, or a distribution."""
        if self.z is not None:
            return string_layers(self.loss.alphabet, self.z)
        return reordered(self._distribution.layered(), self.model.alphabet)  # type: ignore[union-attr]

    @property
    def n(self) -> int:
        """The length of the sequences."""
        return self.model.n

    def with_loss(self, loss: Loss) -> Query:
        """The same hypothesis and model with another loss over the same labels."""
        other = copy(self)
        other.loss = loss
        return other

    def view(self, weights: bool) -> View:
        """The loss as the lattice engine walks it."""
        return self.loss.view(self.n, self.z, weights)

    def input(self) -> Source:
        """What that view reads."""
        if self.z is not None:
            return model_source(self.model)
        return pair_source(self.hypothesis, self.model.layered())


def query(loss: Loss, z: Any, model: Any, where: str = "expect") -> Query:
    """The three parts of an expectation, checked against each other."""
    return Query(loss, z, model, where)


def bind_labels(loss: Loss, alphabet: Alphabet, where: str) -> Loss:
    """The loss over the model's labels, in the model's order.

    Raises:
        InputError: the loss has other labels than the model.
    """
    check_loss(loss, where)
    if not getattr(loss, "labels_open", False):
        if loss.alphabet.labels == alphabet.labels:
            return loss
        check_same_labels(alphabet, loss.alphabet, where, f"{loss.kind} {loss.name}")
    return loss.with_labels(alphabet)


def check_same_labels(model: Alphabet, other: Alphabet, where: str, what: str) -> None:
    """Refuses labels that are not those of the model; their order does not matter."""
    if set(model.labels) != set(other.labels):
        must = f"{what} and model must have the same labels"
        got = f"{shorten(other.labels)} and {shorten(model.labels)}"
        raise InputError(sentence(where, must, got, "Give labels=... when loading or building"))


def _sequence(z: Any, where: str) -> Iterable[object]:
    if hasattr(z, "__iter__") or hasattr(z, "__array__"):
        return z  # type: ignore[no-any-return]
    raise InputError(sentence(where, "z must be a label sequence or a model", z))
