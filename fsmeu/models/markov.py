"""Markov chains of any order, homogeneous or with a transition table for each position."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from fsmeu.errors import InputError, sentence, shorten
from fsmeu.fst.alphabet import Label
from fsmeu.fst.layers import Floats, Ints, Layer, Layered
from fsmeu.limits import SHARED_ARCS
from fsmeu.models.base import Parametrized
from fsmeu.models.checks import (
    check_arcs,
    check_rows,
    check_shape,
    count,
    frozen,
    normalized_rows,
    probability_array,
)
from fsmeu.models.independent import alphabet_of

__all__ = ["Markov", "initial_layers", "transition_layers"]


@dataclass(frozen=True, eq=False, repr=False)
class Markov(Parametrized):
    """A Markov chain of order m, which is read from the shapes.

    The states of the layers are the L**m tuples of labels, numbered as entries of ``initial``.
    Layer 1 has one arc per entry of ``initial``, in its order, from the start to that entry's
    state; layers 2, ..., m read the rest of the tuple with weight 1, one arc per state. Every later
    layer has one arc per entry of a transition table, in its order. If n < m the tuples are of
    length n. So each entry weighs an arc of its own even where it is 0.

    Attributes:
        initial: joint probability of the first m labels, shape (L,) * m.
        transition: probability of the next label (last axis) given the m before it, shape
            (L,) * (m + 1) for all positions, or (n - m,) + (L,) * (m + 1).
        n: the length of every sequence.
        labels: the L labels, 0, ..., L - 1 unless given.
    """

    initial: Floats
    transition: Floats
    n: int
    labels: tuple[Label, ...]

    def __init__(
        self,
        initial: ArrayLike,
        transition: ArrayLike,
        n: int | None = None,
        labels: Sequence[Label] | None = None,
    ) -> None:
        first = probability_array(initial, "Markov initial")
        steps = probability_array(transition, "Markov transition")
        _check_initial(first)
        if steps.shape == (0,):
            steps = steps.reshape((0,) + first.shape[:1] * (first.ndim + 1))
        length = _length(first, steps, n)
        order, size = first.ndim, first.shape[0]
        arcs = size ** min(order, length) * min(order, length)
        check_arcs("Markov", arcs + max(0, length - order) * size ** (order + 1))
        first = check_rows(first, "Markov initial", axes=order, given=initial)
        steps = check_rows(steps, "Markov transition", given=transition)
        alphabet = alphabet_of(labels, size, "Markov labels")
        self._keep(
            initial=frozen(first), transition=frozen(steps), n=length, labels=alphabet.labels
        )
        self._keep(alphabet=alphabet)

    @property
    def order(self) -> int:
        """How many labels the next one depends on."""
        return self.initial.ndim

    @property
    def homogeneous(self) -> bool:
        """Whether one transition table serves all positions."""
        return self.transition.ndim == self.order + 1

    @property
    def structure(self) -> Hashable:
        """A chain: the number of labels, and how many of the last ones make up a state."""
        return "chain", len(self.labels), min(self.order, self.n)

    def _build(self) -> Layered:
        size, depth = len(self.labels), min(self.order, self.n)
        first = self.initial.sum(axis=tuple(range(depth, self.order))).reshape(-1)
        layers = initial_layers(first / first.sum(), size, depth)
        if self.n > self.order:
            tables = normalized_rows(self.transition).reshape(-1, size ** (self.order + 1))
            built = transition_layers(tables, size)
            layers += built * (self.n - self.order) if self.homogeneous else built
        width = layers[-1].width if layers else 1
        return Layered(self.alphabet, np.ones(1), tuple(layers), np.ones(width), unambiguous=True)

    def pullback(self, arc_gradients: Sequence[Floats], value: float) -> dict[str, Floats]:
        """dE/d(initial) and dE/d(transition), every entry being a free variable.

        A transition table that serves several positions collects the derivatives of all.
        """
        depth = min(self.order, self.n)
        initial = np.zeros(self.initial.shape)
        if depth:
            known = np.reshape(arc_gradients[0], self.initial.shape[:depth])
            initial += known.reshape(known.shape + (1,) * (self.order - depth))
        else:
            initial += value
        steps = np.array(arc_gradients[self.order :], dtype=np.float64)
        table = (-1,) + (len(self.labels),) * (self.order + 1)
        steps = steps.reshape(table) if len(steps) else np.zeros((0, *table[1:]))
        transition = steps.sum(axis=0) if self.homogeneous else steps
        return {"initial": initial, "transition": transition}

    @property
    def title(self) -> str:
        """What kind of distribution it is, in words."""
        return f"Markov chain of order {self.order}"

    def to_json(self) -> dict[str, Any]:
        """The model as plain lists and numbers."""
        return {
            "model": "markov",
            "initial": self.initial.tolist(),
            "transition": self.transition.tolist(),
            "n": self.n,
            "labels": list(self.labels),
        }

    def __repr__(self) -> str:
        """Names the order, the length and the labels."""
        return f"Markov(order={self.order}, n={self.n}, labels={shorten(self.labels)})"


def _check_initial(initial: Floats) -> None:
    where = "Markov initial"
    if initial.ndim == 0:
        must = "needs one axis for each of the first m labels, m at least 1"
        raise InputError(
            sentence(where, must, "a single number", "For order 0 use Independent(probabilities)")
        )
    if len(set(initial.shape)) > 1 or initial.shape[0] == 0:
        must = "all axes must have the same length, the number of labels"
        raise InputError(sentence(where, must, f"shape {initial.shape}"))


def _length(initial: Floats, transition: Floats, n: int | None) -> int:
    """The length of the sequences; the number of axes of ``transition`` says how to read it."""
    order, where = initial.ndim, "Markov transition"
    table = initial.shape[:1] * (order + 1)
    if transition.ndim == order + 1:
        remedy = f"initial has shape {initial.shape}, so the order is {order}"
        check_shape(transition, table, where, remedy)
        if n is None:
            must = "the length n must be given when one transition table serves all positions"
            raise InputError(sentence("Markov n", must, remedy="Write Markov(..., n=10)"))
        return count(n, "Markov n")
    if transition.ndim != order + 2:
        must = f"must have {order + 1} axes, or {order + 2} position by position, for order {order}"
        remedy = _other_order(initial, transition)
        raise InputError(sentence(where, must, f"shape {transition.shape}", remedy))
    steps = len(transition)
    check_shape(transition, (steps, *table), where)
    if n is None:
        return order + steps
    length = count(n, "Markov n")
    if max(0, length - order) != steps:
        must = f"must hold n - m = {max(0, length - order)} tables for n = {length}, order {order}"
        raise InputError(
            sentence(where, must, f"{steps} tables", _other_order(initial, transition))
        )
    return length


def _other_order(initial: Floats, transition: Floats) -> str:
    """What initial must be where transition is the table of another order than initial says."""
    order, size = transition.ndim - 1, len(initial)
    if order < 1 or order == initial.ndim or transition.shape != (size,) * (order + 1):
        return ""
    shape = (size,) * order
    return f"If the order is {order}, initial must have shape {shape}: P(first {order} labels)"


def initial_layers(first: Floats, size: int, depth: int) -> list[Layer]:
    """The first layers: all first labels are guessed at once, then read, an arc for each tuple."""
    state = np.arange(len(first), dtype=np.int64)
    layers = []
    for k in range(depth):
        label = state // size ** (depth - 1 - k) % size
        source = state if k else np.zeros_like(state)
        weight = np.ones(len(state)) if k else first
        layers.append(Layer(source, label, state, weight, len(state)))
    return layers


def transition_layers(tables: Floats, size: int) -> list[Layer]:
    """A layer for each row of arc weights.

    Arc number s * L + l leaves state s with label l, and the state's oldest label is forgotten.
    """
    arcs = tables.shape[1]
    shared = arcs <= SHARED_ARCS
    source, label, target = (_kept_arcs if shared else _transition_arcs)(arcs, size)
    width = arcs // size
    return [Layer(source, label, target, weight, width) for weight in tables]


def _transition_arcs(arcs: int, size: int) -> tuple[Ints, Ints, Ints]:
    """Sources, labels and targets of the arcs of a transition table, each (arcs,)."""
    arc = np.arange(arcs, dtype=np.int64)
    found = arc // size, arc % size, arc % (arcs // size)
    for array in found:
        array.setflags(write=False)
    return found


_kept_arcs = lru_cache(maxsize=8)(_transition_arcs)
