"""The parts of a query: a loss, a hypothesis and a label model that fit together."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from copy import copy
from functools import cached_property
from typing import Any, NoReturn

from fsmeu.arrays import Ints
from fsmeu.errors import InputError, message, shorten
from fsmeu.fst.alphabet import Alphabet, Label, listed
from fsmeu.fst.layers import Layered, pair_layers, reordered, string_layers
from fsmeu.losses.machine.view import View
from fsmeu.losses.protocol import Loss, check_loss
from fsmeu.models import Model, as_model
from fsmeu.models.derived import extended

__all__ = [
    "Query",
    "bind_labels",
    "fitted",
    "further_tags",
    "labels_open",
    "open_tags",
    "query",
    "refuse_exchanged",
]


class Query:
    """A loss, a hypothesis and a model that fit together, checked once.

    Attributes:
        loss: the loss, over the model's labels.
        z: label indices of the hypothesis, or None when it is a distribution.
        model: the label model, over all labels of the loss.
    """

    def __init__(self, loss: Loss, z: Any, model: Any, where: str = "expect") -> None:
        refuse_exchanged(z, model, where)
        if not isinstance(z, Model):
            z = listed(_sequence(z, where), "hypothesis z")
        self.loss, self.model = fitted(loss, as_model(model), where, further_tags(loss, z))
        if isinstance(z, Model):
            if not set(z.labels) <= set(self.model.labels):
                _refuse_labels("hypothesis", z.labels, self.model.labels, where)
            self.z: Ints | None = None
            self._distribution: Model | None = z
            length = z.n
        else:
            self.z = self.loss.alphabet.encode(z, "hypothesis z")
            self._distribution = None
            length = len(self.z)
        if length != self.model.n:
            must = "the hypothesis and the model must have the same length"
            raise InputError(message(where, must, f"lengths {length} and {self.model.n}"))

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

    def input(self) -> Layered:
        """What that view reads: the model, or both tapes side by side, symbol z * L + y."""
        if self.z is not None:
            return self.model.layered()
        return pair_layers(self.hypothesis, self.model.layered())


def query(loss: Loss, z: Any, model: Any, where: str = "expect") -> Query:
    """The three parts of an expectation, checked against each other."""
    return Query(loss, z, model, where)


def refuse_exchanged(z: Any, model: Any, where: str) -> None:
    """Refuses a label sequence as the model beside a model as the hypothesis.

    A sequence of 0 and 1 could also be read as probabilities; the answer would be another one.

    Raises:
        InputError: hypothesis and model stand in each other's place.
    """
    if not isinstance(z, Model) or isinstance(model, Model):
        return
    try:
        labels = z.alphabet.encode(model)
    except InputError:
        return
    if len(labels):
        must = "the hypothesis z comes before the model"
        got = f"{shorten(repr(z))} as z and labels {shorten(repr(model))} as the model"
        remedy = "Exchange them, or write models.Bernoulli([0, 1, ...]) for a certain reference"
        raise InputError(message(where, must, got, remedy))


def fitted(
    loss: Loss, model: Model, where: str, further: Iterable[Label] = ()
) -> tuple[Loss, Model]:
    """The loss and the model over the same labels: the model's, in its order, then others.

    A label that the loss has and the model lacks has probability zero.

    Args:
        loss: a loss or utility.
        model: a label model.
        where: the caller, for messages.
        further: labels beside those of the model, where those of the loss are open.

    Raises:
        InputError: the model has a label that the loss lacks.
    """
    check_loss(loss, where)
    if not labels_open(loss):
        further = loss.alphabet.labels
        if not set(model.labels) <= set(further):
            _refuse_labels(f"{loss.kind} {loss.name}", further, model.labels, where)
    more = [label for label in further if label not in model.alphabet.index]
    if more:
        model = extended(model, Alphabet((*model.labels, *dict.fromkeys(more))))
    return bind_labels(loss, model.alphabet, where), model


def bind_labels(loss: Loss, alphabet: Alphabet, where: str) -> Loss:
    """The loss over these labels, in this order.

    Raises:
        InputError: the loss has others.
    """
    check_loss(loss, where)
    if not labels_open(loss):
        if loss.alphabet.labels == alphabet.labels:
            return loss
        if set(loss.alphabet.labels) != set(alphabet.labels):
            name = f"{loss.kind} {loss.name}"
            _refuse_labels(name, loss.alphabet.labels, alphabet.labels, where)
    return loss.with_labels(alphabet)


def open_tags(loss: Loss) -> bool:
    """Whether the loss is over chunk tags that were not given when it was loaded."""
    return labels_open(loss) and bool(loss.spec.scheme)  # type: ignore[attr-defined]


def labels_open(loss: Loss) -> bool:
    """Whether the labels may still be chosen."""
    return bool(getattr(loss, "labels_open", False))


def further_tags(loss: Loss, z: Any) -> Sequence[Label]:
    """The labels of a hypothesis, where the loss is over chunk tags that are read from the data."""
    if not open_tags(loss):
        return ()
    return z.labels if isinstance(z, Model) else [tag for tag in z if isinstance(tag, str)]


def _refuse_labels(
    what: str, other: Sequence[Label], model: Sequence[Label], where: str
) -> NoReturn:
    """Refuses two sets of labels, and names what is in one of them alone."""
    must = f"{what} and model must have the same labels"
    sides = ((what, other, model), ("model", model, other))
    alone = [(name, [x for x in one if x not in set(two)]) for name, one, two in sides]
    got = "; ".join(f"in the {name} alone: {shorten(some)}" for name, some in alone if some)
    raise InputError(message(where, must, got, "Give labels=... when loading or building"))


def _sequence(z: Any, where: str) -> Iterable[object]:
    if hasattr(z, "__iter__") or hasattr(z, "__array__"):
        return z  # type: ignore[no-any-return]
    raise InputError(message(where, "z must be a label sequence or a model", z))
