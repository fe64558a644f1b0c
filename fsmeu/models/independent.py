"""Independent labels: ``Bernoulli`` for two labels, ``Independent`` for any number."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from fsmeu.errors import InputError, sentence
from fsmeu.fst.alphabet import BINARY, Alphabet, Label, as_alphabet
from fsmeu.fst.layers import Floats, Layer, Layered
from fsmeu.fst.sequences import listed
from fsmeu.models.base import Parametrized
from fsmeu.models.checks import (
    check_arcs,
    check_rows,
    frozen,
    normalized_rows,
    probability_array,
)

__all__ = ["Bernoulli", "Independent", "chances_of_ones"]


@dataclass(frozen=True, eq=False, repr=False)
class Bernoulli(Parametrized):
    """Independent labels 0 and 1.

    Every layer has two arcs: label 0 with weight 1 - p_i, then label 1 with weight p_i.

    Attributes:
        p: p[i] = P(y_i = 1), shape (n,).
        labels: always (0, 1).
        n: the length of every sequence.
    """

    p: Floats
    labels: tuple[Label, ...]
    n: int

    def __init__(self, p: ArrayLike) -> None:
        array = probability_array(p, "Bernoulli p")
        if array.ndim != 1:
            must = "must be one-dimensional, one probability per position"
            remedy = "For more labels use Independent(probabilities, labels)"
            raise InputError(sentence("Bernoulli p", must, f"shape {array.shape}", remedy))
        check_arcs("Bernoulli", 2 * array.size)
        self._keep(p=frozen(array), labels=BINARY.labels, n=len(array))

    @property
    def structure(self) -> Hashable:
        """A chain: the number of labels, and how many of the last ones make up a state."""
        return "chain", len(self.labels), 0

    def _build(self) -> Layered:
        return _independent_layers(self.alphabet, np.stack((1.0 - self.p, self.p), axis=1))

    def all_weights(self) -> Floats:
        """Start weights, weights of the arcs of all positions, and final weights, in one array."""
        return binary_weights(self.p)

    def pullback(self, arc_gradients: Sequence[Floats], value: float) -> Floats:
        """dE/dp, shape (n,): p_i weighs one arc with p_i and the other with 1 - p_i."""
        return np.array([arcs[1] - arcs[0] for arcs in arc_gradients], dtype=np.float64)

    @property
    def title(self) -> str:
        """What kind of distribution it is, in words."""
        return "independent labels"

    def to_json(self) -> dict[str, Any]:
        """The model as plain lists and numbers."""
        return {"model": "bernoulli", "p": self.p.tolist()}


@dataclass(frozen=True, eq=False, repr=False)
class Independent(Parametrized):
    """Independent labels, each position with its own distribution.

    Every layer has L arcs, in the order of the labels.

    Attributes:
        probabilities: P(y_i = l), shape (n, L), each row summing to 1.
        labels: the L labels, 0, ..., L - 1 unless given.
        n: the length of every sequence.
    """

    probabilities: Floats
    labels: tuple[Label, ...]
    n: int

    def __init__(self, probabilities: ArrayLike, labels: Sequence[Label] | None = None) -> None:
        array = probability_array(probabilities, "Independent probabilities")
        if array.shape == (0,) and labels is not None:
            array = array.reshape(0, len(labels_of(labels, "Independent labels")))
        if array.ndim != 2 or array.shape[1] == 0:
            must = "must have shape (n, L), one row per position and one column per label"
            raise InputError(sentence("Independent probabilities", must, f"shape {array.shape}"))
        array = check_rows(array, "Independent probabilities", given=probabilities)
        alphabet = alphabet_of(labels, array.shape[1], "Independent labels")
        self._keep(probabilities=frozen(array), labels=alphabet.labels, n=len(array))
        self._keep(alphabet=alphabet)

    @property
    def structure(self) -> Hashable:
        """A chain: the number of labels, and how many of the last ones make up a state."""
        return "chain", len(self.labels), 0

    def _build(self) -> Layered:
        return _independent_layers(self.alphabet, normalized_rows(self.probabilities))

    def all_weights(self) -> Floats:
        """Start weights, weights of the arcs of all positions, and final weights, in one array."""
        return np.pad(normalized_rows(self.probabilities).ravel(), 1, constant_values=1.0)

    def pullback(self, arc_gradients: Sequence[Floats], value: float) -> Floats:
        """dE/d(probabilities), shape (n, L), every entry being a free variable."""
        return np.array(arc_gradients, dtype=np.float64).reshape(self.probabilities.shape)

    @property
    def title(self) -> str:
        """What kind of distribution it is, in words."""
        return "independent labels"

    def to_json(self) -> dict[str, Any]:
        """The model as plain lists and numbers."""
        return {
            "model": "independent",
            "probabilities": self.probabilities.tolist(),
            "labels": list(self.labels),
        }


def binary_weights(p: Floats) -> Floats:
    """``all_weights()`` of labels 0 and 1 that are 1 with these probabilities, (..., n)."""
    found = np.ones((*p.shape[:-1], 2 * p.shape[-1] + 2))
    found[..., 1:-1:2], found[..., 2:-1:2] = 1.0 - p, p
    return found


def alphabet_of(labels: Sequence[Label] | None, size: int, where: str) -> Alphabet:
    """The alphabet of ``size`` labels: those given, or 0, ..., size - 1."""
    if labels is None:
        return _kept(tuple(range(size)))
    alphabet = labels_of(labels, where)
    if len(alphabet) != size:
        must = f"there must be {size} labels, as many as the model has"
        raise InputError(sentence(where, must, list(alphabet.labels)))
    return alphabet


def labels_of(labels: Sequence[Label] | Alphabet, where: str) -> Alphabet:
    """The alphabet of these labels, of whatever a caller or a file may give."""
    if isinstance(labels, Alphabet):
        return labels
    given = listed(labels, where, "must be a list of labels")
    if set(map(type, given)) <= {int, str}:  # not bool: True is equal to 1, but is no label
        return _kept(tuple(given))
    return as_alphabet(given)


@lru_cache(maxsize=16)
def _kept(labels: tuple[Label, ...]) -> Alphabet:
    """The alphabet of these labels, checked once for all models of a corpus."""
    return Alphabet(labels)


def chances_of_ones(model: object) -> Floats | None:
    """P(y_i = second label), (n,), when labels are independent and there are two, else None."""
    if isinstance(model, Bernoulli):
        return model.p
    if isinstance(model, Independent) and len(model.labels) == 2:
        return model.probabilities[:, 1]
    return None


def _independent_layers(alphabet: Alphabet, rows: Floats) -> Layered:
    label = np.arange(len(alphabet), dtype=np.int64)
    zero = np.zeros(len(alphabet), np.int64)
    one = np.ones(1)
    layers = tuple(Layer(zero, label, zero, row, 1) for row in rows)
    return Layered(alphabet, one, layers, one, unambiguous=True)
