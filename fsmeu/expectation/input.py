"""What the loss machine reads, as factors per position: the model, or hypothesis and model paired."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fsmeu.fst.compose import guard_size
from fsmeu.fst.layers import Layer, Layered

__all__ = ["Input", "model_input", "pair_input"]

Floats = NDArray[np.float64]

_MAX_TABLE = 4_000_000


@dataclass(frozen=True, eq=False)
class Input:
    """A layered acceptor over the symbols of a view, position by position.

    Attributes:
        layered: the acceptor.
        symbols: how many symbols there are.
        table: factors (n, states, symbols, next states) of all positions, narrower layers padded to
            the widest; None when that would be large.
        start: weight of starting in each state of layer 0.
        final: weight of ending in each state of layer n.
    """

    layered: Layered
    symbols: int
    table: Floats | None
    start: Floats
    final: Floats

    def factors(self, position: int) -> Floats:
        """Weight of (state, symbol, next state) at a position, counted from 0."""
        if self.table is not None:
            return self.table[position]
        layer = self.layered.layers[position]
        shape = (self.layered.widths[position], self.symbols, layer.width)
        factors = np.zeros(shape)
        np.add.at(factors, (layer.source, layer.label, layer.target), layer.weight)
        return factors


def model_input(layered: Layered, symbols: int) -> Input:
    """The input of a view with the hypothesis given: the model alone."""
    widest = max(layered.widths)
    for before, after in zip(layered.widths, layered.widths[1:], strict=False):
        guard_size("model layer", before * symbols * after // 16)
    if layered.n * widest * widest * symbols > _MAX_TABLE:
        return Input(layered, symbols, None, layered.start, layered.final)
    table = np.zeros((layered.n, widest, symbols, widest))
    start, final = (np.pad(v, (0, widest - len(v))) for v in (layered.start, layered.final))
    if not layered.n:
        return Input(layered, symbols, table, start, final)
    sizes = [len(layer.source) for layer in layered.layers]
    place = np.repeat(np.arange(layered.n), sizes)
    source, label, target = (
        np.concatenate([getattr(layer, name) for layer in layered.layers])
        for name in ("source", "label", "target")
    )
    weight = np.concatenate([layer.weight for layer in layered.layers])
    np.add.at(table, (place, source, label, target), weight)
    return Input(layered, symbols, table, start, final)


def pair_input(hypothesis: Layered, model: Layered) -> Input:
    """The input of a view with the hypothesis free: both acceptors side by side.

    Symbol z * L + y is read with the product of the two weights; the two sequences are independent.
    """
    size = len(model.alphabet)
    layers = []
    for k, (left, right) in enumerate(zip(hypothesis.layers, model.layers, strict=True)):
        guard_size("hypothesis with model", len(left.source) * len(right.source))
        lower, upper = model.widths[k], right.width
        layers.append(
            Layer(
                (left.source[:, None] * lower + right.source).ravel(),
                (left.label[:, None] * size + right.label).ravel(),
                (left.target[:, None] * upper + right.target).ravel(),
                (left.weight[:, None] * right.weight).ravel(),
                left.width * upper,
            )
        )
    both = hypothesis.unambiguous and model.unambiguous
    start = np.kron(hypothesis.start, model.start)
    final = np.kron(hypothesis.final, model.final)
    product = Layered(model.alphabet, start, tuple(layers), final, unambiguous=both)
    return model_input(product, size * size)
