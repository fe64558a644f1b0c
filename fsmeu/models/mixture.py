"""Mixtures: one of several models is drawn first, then a sequence from it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from fsmeu.errors import EmptyError, InputError, sentence
from fsmeu.fst.alphabet import Label
from fsmeu.fst.layers import Floats, Layer, Layered, reordered
from fsmeu.fst.sequences import listed
from fsmeu.models.base import Model
from fsmeu.models.checks import (
    check_arcs,
    check_rows,
    check_shape,
    frozen,
    normalized_rows,
    probability_array,
)

__all__ = ["Mixture"]


@dataclass(frozen=True, eq=False, repr=False)
class Mixture(Model):
    """P(y) = sum over k of weights[k] * P_k(y).

    The layers are those of the models side by side, so a sequence has a path in each of them.

    Attributes:
        models: models over the same labels, in any order, and of the same length.
        weights: the probability of each model.
        labels: the labels of all models, in the order of the first.
        n: the length of every sequence.
    """

    models: tuple[Model, ...]
    weights: Floats
    labels: tuple[Label, ...]
    n: int

    def __init__(self, models: Sequence[Model], weights: ArrayLike) -> None:
        parts = tuple(listed(models, "Mixture models", "must be a list of models"))
        if not parts:
            raise EmptyError(sentence("Mixture models", "must hold at least one model"))
        for part in parts:
            _check_part(part, parts[0])
        array = probability_array(weights, "Mixture weights")
        check_shape(array, (len(parts),), "Mixture weights", "Give one weight per model")
        array = check_rows(array, "Mixture weights", given=weights)
        self._keep(models=parts, weights=frozen(array), labels=parts[0].labels, n=parts[0].n)

    def _build(self) -> Layered:
        weights = normalized_rows(self.weights)
        used = np.flatnonzero(weights > 0)
        parts = [reordered(self.models[k].layered(), self.alphabet) for k in used]
        check_arcs("Mixture", sum(len(layer.source) for part in parts for layer in part.layers))
        start = np.concatenate([weights[k] * x.start for k, x in zip(used, parts, strict=True)])
        layers = tuple(_side_by_side(parts, i) for i in range(self.n))
        final = np.concatenate([part.final for part in parts])
        unambiguous = len(parts) == 1 and parts[0].unambiguous
        return Layered(self.alphabet, start, layers, final, unambiguous)

    @property
    def title(self) -> str:
        """What kind of distribution it is, in words."""
        return f"mixture of {len(self.models)} models"

    def to_json(self) -> dict[str, Any]:
        """The model as plain lists and numbers."""
        return {
            "model": "mixture",
            "models": [part.to_json() for part in self.models],
            "weights": self.weights.tolist(),
        }


def _check_part(part: object, first: Model) -> None:
    if not isinstance(part, Model):
        raise InputError(sentence("Mixture models", "each must be a label model", part))
    if set(part.labels) != set(first.labels):
        got = f"{list(first.labels)} and {list(part.labels)}"
        raise InputError(sentence("Mixture models", "all must have the same labels", got))
    if part.n != first.n:
        got = f"lengths {first.n} and {part.n}"
        raise InputError(sentence("Mixture models", "all must have the same length", got))


def _side_by_side(parts: list[Layered], position: int) -> Layer:
    """One layer of all models, their states numbered one model after the other."""
    layers = [part.layers[position] for part in parts]
    before = np.cumsum([0] + [part.widths[position] for part in parts])
    after = np.cumsum([0] + [layer.width for layer in layers])
    return Layer(
        np.concatenate([x.source + k for x, k in zip(layers, before, strict=False)]),
        np.concatenate([x.label for x in layers]),
        np.concatenate([x.target + k for x, k in zip(layers, after, strict=False)]),
        np.concatenate([x.weight for x in layers]),
        int(after[-1]),
    )
