"""Chains given by probabilities: independent labels, and Markov chains of any order."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from fsmeu import limits
from fsmeu.arrays import Floats, Ints
from fsmeu.errors import InputError, as_whole, shorten
from fsmeu.fst.alphabet import BINARY, Label
from fsmeu.fst.layers import ArcWeights, Layer, Layered
from fsmeu.models import checks
from fsmeu.models.base import Model, ModelLike, Parametrized
from fsmeu.models.checks import check_rows, check_shape, normalized_rows, probability_array

_DIVIDE_OR_FLATTEN = (
    "Divide by the sum; or, where these are probabilities of ones (a row or a map of them), give "
    "Bernoulli(x.ravel())"
)


class Chain(Parametrized):
    """A chain: a state is the last labels, as many as the next one depends on."""

    @property
    @abstractmethod
    def order(self) -> int:
        """How many labels the next one depends on."""

    @abstractmethod
    def _conditionals(self) -> tuple[Floats, Floats]:
        """P(first m labels), (L**m,), and P(next label | last m), (steps, L**m, L); m is the depth.

        There is a table for each of the n - m steps, or one for all.
        """

    @property
    def depth(self) -> int:
        """How many labels make up a state."""
        return min(self.order, self.n)

    @property
    def is_unambiguous(self) -> bool:
        """True: a state is the last labels."""
        return True

    @property
    def structure(self) -> Hashable:
        """A chain: the number of labels, and how many of the last ones make up a state."""
        return "chain", len(self.labels), self.depth

    @property
    def repeats(self) -> bool:
        """True when further positions of a longer model would have the arcs of the last one."""
        return self.n > max(1, self.depth)  # of higher order, it spells its first state

    def _build(self) -> Layered:
        size = len(self.labels)
        first, steps = self._conditionals()
        built = transition_layers(steps.reshape(-1, size ** (self.depth + 1)), size)
        layers = initial_layers(first, size, self.depth)
        layers += built * (self.n - self.depth) if len(steps) == 1 else built
        ends = np.ones(size**self.depth)
        of_chain = self.alphabet, np.ones(1), tuple(layers), ends
        return Layered(*of_chain)

    def arc_weights(self) -> ArcWeights:
        """P(first m labels), ones where the rest of these are read, and P(next label | last m)."""
        first, steps = self._conditionals()
        arcs = steps.ravel() if len(steps) > 1 else np.tile(steps.ravel(), self.n - self.depth)
        if self.depth:
            arcs = np.concatenate([first, np.ones((self.depth - 1) * len(first)), arcs])
        ends = np.ones((1, 1)), np.ones((1, len(first)))
        return ArcWeights(self.n, arcs[None], *ends, is_stochastic=True)


# -- independent labels ----------------------------------------------------------------------------


class _Independent(Chain):
    """Independent labels: every layer has one state, and an arc for each label in their order."""

    order = 0
    title = "independent labels"

    def _conditionals(self) -> tuple[Floats, Floats]:
        return np.ones(1), self.marginals()[:, None]


@dataclass(frozen=True, eq=False, repr=False)
class Bernoulli(_Independent):
    """Independent labels 0 and 1.

    Every layer has two arcs: label 0 with weight 1 - p_i, then label 1 with weight p_i.

    Attributes:
        p: p[i] = P(y_i = 1), shape (n,); a column (n, 1) or a row (1, n) may be given.
        labels: always (0, 1).
    """

    p: Floats
    labels: tuple[Label, ...]
    n: int
    _arguments = ("p",)

    def __init__(self, p: ArrayLike) -> None:
        array = probability_array(p, "Bernoulli p")
        if array.ndim == 2 and 1 in array.shape:
            array = array.ravel()
        if array.ndim != 1:
            must = "must be one-dimensional, one probability per position"
            remedy = "For more labels use Independent(probabilities, labels); give a map of "
            remedy += "probabilities of ones flat, as p.ravel(), and reshape the answer"
            raise InputError("Bernoulli p", must, given=f"shape {array.shape}", remedy=remedy)
        checks.check_arcs("Bernoulli", 2 * array.size)
        self._keep(p=array, alphabet=BINARY, labels=BINARY.labels, n=len(array))

    def marginals(self) -> Floats:
        """P(y_i = l), shape (n, L)."""
        return np.stack((1.0 - self.p, self.p), axis=1)

    def pullback(self, arc_gradients: Sequence[Floats], value: float) -> Floats:
        """dE/dp, shape (n,): p_i weighs one arc with p_i and the other with 1 - p_i."""
        return np.array([arcs[1] - arcs[0] for arcs in arc_gradients], dtype=np.float64)


@dataclass(frozen=True, eq=False, repr=False)
class Independent(_Independent):
    """Independent labels, each position with its own distribution.

    Every layer has L arcs, in the order of the labels.

    Attributes:
        probabilities: P(y_i = l), shape (n, L), each row summing to 1.
        labels: the L labels, 0, ..., L - 1 unless given.
    """

    probabilities: Floats
    labels: tuple[Label, ...]
    n: int
    _arguments = ("probabilities", "labels")

    def __init__(self, probabilities: ArrayLike, labels: Sequence[Label] | None = None) -> None:
        array = probability_array(probabilities, "Independent probabilities")
        array = checks.label_rows(array, labels, "Independent", "probabilities")
        array = check_rows(
            array, "Independent probabilities", original=probabilities, remedy=_DIVIDE_OR_FLATTEN
        )
        alphabet = checks.alphabet_of(labels, array.shape[1], "Independent labels")
        self._keep(probabilities=array, n=len(array), alphabet=alphabet, labels=alphabet.labels)

    def marginals(self) -> Floats:
        """P(y_i = l), shape (n, L)."""
        return self.probabilities

    def pullback(self, arc_gradients: Sequence[Floats], value: float) -> Floats:
        """dE/d(probabilities), shape (n, L), every entry being a free variable."""
        return np.array(arc_gradients, dtype=np.float64).reshape(self.probabilities.shape)


def as_model(value: ModelLike) -> Model:
    """The model that the value stands for.

    A model stands for itself, a list or a column of probabilities for ``Bernoulli``, a table of
    probabilities whose rows sum to 1 for ``Independent``.
    """
    if isinstance(value, Model):
        return value
    is_array = type(value) is np.ndarray and value.dtype == np.float64  # needs no look beforehand
    array: Any = value if is_array else checks.real_array(value, "model")
    if array.ndim in (1, 2):
        is_list = array.ndim == 1 or array.shape[1] == 1
        return (Bernoulli if is_list else Independent)(value)
    must = "must be a label model, a list of probabilities, or a table, one row per position"
    remedy = "Give positions of several axes flat, as x.reshape(-1, x.shape[-1]), and reshape the "
    remedy += "answer"
    raise InputError("model", must, given=f"an array of shape {array.shape}", remedy=remedy)


def binary_marginals(model: object) -> Floats | None:
    """P(y_i = second label), (n,), when labels are independent and there are two, else None."""
    if isinstance(model, Bernoulli):
        return model.p
    if isinstance(model, Independent) and len(model.labels) == 2:
        return model.probabilities[:, 1]
    return None


def is_binary_chain(model: Model) -> bool:
    """Whether a model is a chain of two labels and order m >= 1, longer than m."""
    return isinstance(model, Chain) and len(model.labels) == 2 and 0 < model.order < model.n


def binary_chain(model: Model) -> tuple[Floats, Floats] | None:
    """P(first m labels), (2^m,), and P(next label | last m), (n - m, 2^m, 2), of such a chain."""
    if not isinstance(model, Chain) or not is_binary_chain(model):
        return None
    states = 2**model.order
    arcs = model.arc_weights().arcs[0]
    return arcs[:states], arcs[states * model.order :].reshape(-1, states, 2)


# -- Markov chains ---------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False, repr=False)
class Markov(Chain):
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
        labels: the L labels, 0, ..., L - 1 unless given.
    """

    initial: Floats
    transition: Floats
    n: int
    labels: tuple[Label, ...]
    _arguments = ("initial", "transition", "n", "labels")

    def __init__(
        self,
        initial: ArrayLike,
        transition: ArrayLike,
        n: int | None = None,
        labels: Sequence[Label] | None = None,
    ) -> None:
        first = probability_array(initial, "Markov initial")
        steps = probability_array(transition, "Markov transition")
        if first.ndim == 0:
            must = "needs one axis for each of the first m labels, m at least 1"
            remedy = "For order 0 use Independent(probabilities)"
            raise InputError("Markov initial", must, given="a single number", remedy=remedy)
        if len(set(first.shape)) > 1 or first.shape[0] == 0:
            must = "all axes must have the same length, the number of labels"
            raise InputError("Markov initial", must, given=f"shape {first.shape}")
        if steps.shape == (0,):
            steps = steps.reshape((0,) + first.shape[:1] * (first.ndim + 1))
        length = _length(first, steps, n)
        order = first.ndim
        size = first.shape[0]
        arcs = size ** min(order, length) * min(order, length)
        checks.check_arcs("Markov", arcs + max(0, length - order) * size ** (order + 1))
        first = check_rows(first, "Markov initial", axes=order, original=initial)
        steps = check_rows(steps, "Markov transition", original=transition)
        alphabet = checks.alphabet_of(labels, size, "Markov labels")
        self._keep(initial=first, transition=steps, n=length, alphabet=alphabet)
        self._keep(labels=alphabet.labels, title=f"Markov chain of order {order}")

    @property
    def order(self) -> int:
        """How many labels the next one depends on."""
        return self.initial.ndim

    @property
    def homogeneous(self) -> bool:
        """Whether one transition table serves all positions."""
        return self.transition.ndim == self.order + 1

    def _conditionals(self) -> tuple[Floats, Floats]:
        size = len(self.labels)
        depth = self.depth
        first = self.initial.reshape(-1)
        if depth < self.order:
            first = normalized_rows(self.initial.reshape(size**depth, -1).sum(axis=1))
        steps = self.transition[: None if self.n > self.order else 0]
        return first, steps.reshape(-1, size**depth, size)

    def pullback(self, arc_gradients: Sequence[Floats], value: float) -> dict[str, Floats]:
        """dE/d(initial) and dE/d(transition), every entry being a free variable.

        A transition table that serves several positions collects the derivatives of all.
        """
        size = len(self.labels)
        order = self.order
        initial = np.asarray(arc_gradients[0] if self.depth else value, np.float64)
        initial = initial.reshape((size,) * self.depth + (1,) * (order - self.depth))
        table = (max(0, self.n - order),) + (size,) * (order + 1)
        steps = np.array(arc_gradients[order:], np.float64).reshape(table)
        transition = steps.sum(axis=0) if self.homogeneous else steps
        return {"initial": np.zeros(self.initial.shape) + initial, "transition": transition}

    def __repr__(self) -> str:
        """Names the order, the length and the labels."""
        return f"Markov(order={self.order}, n={self.n}, labels={shorten(self.labels)})"


def _length(initial: Floats, transition: Floats, n: int | None) -> int:
    """The length of the sequences; the number of axes of ``transition`` says how to read it."""
    order = initial.ndim
    where = "Markov transition"
    size = len(initial)
    table = (size,) * (order + 1)
    other = ""
    axes = transition.ndim
    if 1 < axes != order + 1 and transition.shape == (size,) * axes:
        shape = (size,) * (axes - 1)  # what initial must be, if transition is right
        other = f"If the order is {axes - 1}, initial must have shape {shape}: "
        other += f"P(first {axes - 1} labels)"
    if transition.ndim == order + 1:
        remedy = f"initial has shape {initial.shape}, so the order is {order}"
        check_shape(transition, table, where, remedy)
        if n is None:
            must = "the length n must be given when one transition table serves all positions"
            raise InputError("Markov", must, remedy="Write Markov(..., n=10)")
        return _checked_length(n)
    if transition.ndim != order + 2:
        must = f"must have {order + 1} axes, or {order + 2} position by position, for order {order}"
        raise InputError(where, must, given=f"shape {transition.shape}", remedy=other)
    steps = len(transition)
    check_shape(transition, (steps, *table), where)
    if n is None:
        return order + steps
    length = _checked_length(n)
    if max(0, length - order) != steps:
        must = f"must hold n - m = {max(0, length - order)} tables for n = {length}, order {order}"
        raise InputError(where, must, given=f"{steps} tables", remedy=other)
    return length


def _checked_length(n: object) -> int:
    """The length of the sequences; an InputError unless it is a whole number of at least 0.

    It may be a key of a file: the message names no argument, which would become an option.
    """
    length = as_whole(n, least=0)
    if length is None:
        raise InputError("Markov", "the length n must be a whole number of at least 0", given=n)
    return length


def initial_layers(first: Floats, size: int, depth: int) -> list[Layer]:
    """The first layers: an arc at the start chooses all first labels, which are read one by one."""
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
    make = _transition_arcs if arcs <= limits.SHARED_ARCS else _transition_arcs.__wrapped__
    ends = make(arcs, size)
    return [Layer(*ends, weight, arcs // size) for weight in tables]


@lru_cache(maxsize=8)
def _transition_arcs(arcs: int, size: int) -> tuple[Ints, Ints, Ints]:
    """Sources, labels and targets of the arcs of a transition table, each (arcs,)."""
    arc = np.arange(arcs, dtype=np.int64)
    result = arc // size, arc % size, arc % (arcs // size)
    for array in result:
        array.setflags(write=False)
    return result
