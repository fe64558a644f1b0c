"""Linear-chain conditional random fields: ``from_potentials`` makes a model of log-potentials."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from fsmeu.errors import EmptyError, InputError, sentence
from fsmeu.fst.alphabet import Label
from fsmeu.fst.layers import Floats, Layered
from fsmeu.limits import NORMALISED_CELLS
from fsmeu.models.base import Model, Parametrized
from fsmeu.models.chain import Conditionals, conditionals, first_impossible, marginals
from fsmeu.models.checks import check_arcs, first_index, frozen, index_text, real_array
from fsmeu.models.distances import forward
from fsmeu.models.independent import alphabet_of, labels_of
from fsmeu.models.markov import initial_layers, transition_layers

__all__ = ["MAX_POTENTIAL", "Potentials", "from_potentials"]

MAX_POTENTIAL = 1e300
"""Greatest size of a finite log-potential, so that no sum of them overflows."""


@dataclass(frozen=True, eq=False, repr=False)
class Potentials(Parametrized):
    """A linear chain with log-potentials: P(y) is proportional to exp(score of y).

    Layer 1 has L arcs, in the order of the labels; every later layer has L * L arcs, number
    a * L + b from state a (the label before) with label b. The weights are conditional
    probabilities.

    Attributes:
        unary: score of each label at each position, shape (n, L); -inf forbids.
        pairwise: score of each label (last axis) after each other, shape (L, L) for all positions,
            or (n - 1, L, L); -inf forbids.
        labels: the L labels, 0, ..., L - 1 unless given.
        n: the length of every sequence.
    """

    unary: Floats
    pairwise: Floats
    labels: tuple[Label, ...]
    n: int
    zeros_stay: ClassVar[bool] = True
    _origin: str = field(init=False, default="linear-chain conditional random field")

    def __init__(
        self, unary: ArrayLike, pairwise: ArrayLike, labels: Sequence[Label] | None = None
    ) -> None:
        scores = _scores(unary, "potentials unary")
        if scores.shape == (0,) and labels is not None:
            scores = scores.reshape(0, len(labels_of(labels, "potentials labels")))
        if scores.ndim != 2 or scores.shape[1] == 0:
            must = "must have shape (n, L), one row per position and one column per label"
            raise InputError(sentence("potentials unary", must, f"shape {scores.shape}"))
        links = _scores(pairwise, "potentials pairwise")
        n, size = scores.shape
        if links.shape == (0,):
            links = links.reshape(0, size, size)
        shared, each = (size, size), (max(0, n - 1), size, size)
        if links.shape not in (shared, each):
            must = f"must have shape {shared}, or position by position {each}"
            raise InputError(sentence("potentials pairwise", must, f"shape {links.shape}"))
        check_arcs("potentials", size + max(0, n - 1) * size * size)
        alphabet = alphabet_of(labels, size, "potentials labels")
        self._keep(unary=frozen(scores), pairwise=frozen(links), labels=alphabet.labels, n=n)
        self._keep(alphabet=alphabet)
        _check_possible(scores, links)

    @classmethod
    def _prepare(cls, models: Sequence[Model]) -> None:
        fields = [one for one in models if isinstance(one, Potentials)]
        fresh = [one for one in fields if "_chain" not in one.__dict__]
        for rows in _blocks(fresh):
            block = [fresh[row] for row in rows]
            for one, chain in zip(block, _normalised(block), strict=True):
                one._keep(_chain=chain)

    @classmethod
    def _marginals_many(cls, models: Sequence[Potentials]) -> Floats:
        found = np.empty((len(models), *models[0].unary.shape))
        for rows in _blocks(models) if models[0].n else ():
            found[rows] = marginals(*_stacked([models[row] for row in rows]))
        return found

    @cached_property
    def _chain(self) -> Conditionals:
        return _normalised([self])[0]

    @property
    def log_partition(self) -> float:
        """The logarithm of the sum of exp(score) over all sequences."""
        return self._chain.log_partition

    @property
    def structure(self) -> Hashable:
        """A chain: the number of labels, and how many of the last ones make up a state."""
        return "chain", len(self.labels), min(1, self.n)

    def _build(self) -> Layered:
        size, one = len(self.labels), np.ones(1)
        if self.n == 0:
            return Layered(self.alphabet, one, (), one, unambiguous=True)
        tables = self._chain.steps.reshape(-1, size * size)
        layers = initial_layers(self._chain.first, size, 1) + transition_layers(tables, size)
        return Layered(self.alphabet, one, tuple(layers), np.ones(size), unambiguous=True)

    def pullback(self, arc_gradients: Sequence[Floats], value: float) -> dict[str, Floats]:
        """dE/d(unary) and dE/d(pairwise).

        The derivative for a log-potential is the covariance of g with the event that it is used:
        E[g; arc] - E[g] P(arc), and E[g; arc] is the arc's weight times dE/d(weight).
        A pairwise table that serves several positions collects the derivatives of all.
        """
        size = len(self.labels)
        unary = np.zeros(self.unary.shape)
        links = np.zeros((max(0, self.n - 1), size, size))
        layered = self.layered()
        for i, mass in enumerate(forward(layered)[: self.n]):
            layer = layered.layers[i]
            arcs = layer.weight * (arc_gradients[i] - value * mass[layer.source])
            unary[i] = np.bincount(layer.label, arcs, size)
            if i:
                links[i - 1] = arcs.reshape(size, size)
        pairwise = links.sum(axis=0) if self.pairwise.ndim == 2 else links
        return {"unary": unary, "pairwise": pairwise}

    @property
    def title(self) -> str:
        """What kind of distribution it is, in words."""
        return self._origin

    def to_json(self) -> dict[str, Any]:
        """The model as plain lists and numbers; a forbidden potential is the text "-inf"."""
        return {
            "model": "potentials",
            "unary": _plain(self.unary),
            "pairwise": _plain(self.pairwise),
            "labels": list(self.labels),
        }


def from_potentials(
    unary: ArrayLike, pairwise: ArrayLike, labels: Sequence[Label] | None = None
) -> Potentials:
    """The distribution of a linear-chain conditional random field, normalised exactly.

    Args:
        unary: log-potentials of the labels, shape (n, L).
        pairwise: log-potentials of neighbours, shape (L, L) or (n - 1, L, L).
        labels: the L labels, 0, ..., L - 1 unless given.
    """
    return Potentials(unary, pairwise, labels)


def _blocks(fields: Sequence[Potentials]) -> Iterator[list[int]]:
    """The rows of blocks of models whose potentials have the same shapes."""
    alike: dict[Hashable, list[int]] = {}
    for row, one in enumerate(fields):
        alike.setdefault((one.unary.shape, one.pairwise.shape), []).append(row)
    for rows in alike.values():
        first = fields[rows[0]]
        size = max(1, NORMALISED_CELLS // max(1, first.unary.size + first.pairwise.size))
        for begin in range(0, len(rows), size):
            yield rows[begin : begin + size]


def _normalised(block: Sequence[Potentials]) -> list[Conditionals]:
    """The conditional probabilities of each model, the potentials of all having the same shapes."""
    if block[0].n == 0:
        return [Conditionals(np.zeros(0), np.zeros((0, 0, 0)), 0.0) for _ in block]
    return conditionals(*_stacked(block))


def _stacked(block: Sequence[Potentials]) -> tuple[Floats, Floats]:
    """The potentials of models whose shapes are the same: (batch, n, L), (batch, tables, L, L)."""
    size = len(block[0].labels)
    pairwise = [one.pairwise.reshape(-1, size, size) for one in block]
    return np.stack([one.unary for one in block]), np.stack(pairwise)


def _scores(value: ArrayLike, where: str) -> Floats:
    array = real_array(value, where)
    if array.size and array.min() >= -MAX_POTENTIAL and array.max() <= MAX_POTENTIAL:
        return array
    bad = ~((np.abs(array) <= MAX_POTENTIAL) | np.isneginf(array))
    if bad.any():
        at = first_index(bad)
        must = f"each entry must be a number up to {MAX_POTENTIAL:g} in size, or -inf to forbid"
        got = f"{float(array[at])!r} at {index_text(at)}"
        raise InputError(sentence(where, must, got))
    return array


def _check_possible(unary: Floats, pairwise: Floats) -> None:
    at = first_impossible(unary, pairwise)
    if at is not None:
        what = f"the -inf among them leave no label for position {at + 1}"
        raise EmptyError(sentence("potentials", f"must allow some sequence, but {what}"))


def _plain(array: Floats) -> object:
    """Nested lists in which -inf, for which JSON has no number, is the text "-inf"."""
    if np.isfinite(array).all():
        return array.tolist()
    return np.where(np.isneginf(array), "-inf", array.astype(object)).tolist()
