"""What the loss machine reads, as factors per position: the model, or hypothesis and model."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fsmeu.fst.compose import guard_size
from fsmeu.fst.layers import Layered, pair_layers
from fsmeu.limits import CUBE_CELLS_PER_STATE, LARGE_CUBE, MANY_LABELS, SPARSE_CUBE
from fsmeu.models import Model
from fsmeu.models.paths import Dense
from fsmeu.trellis.chain_step import ChainStep

__all__ = ["Source", "cube_source", "model_source", "pair_source"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Source:
    """A layered acceptor over the symbols of a view, position by position.

    Attributes:
        factors: weight of (next state, symbol, state) at a position, counted from 0; or the step of
            a chain, where the next state is the symbol.
        start: weight of starting in each state of layer 0.
        final: weight of ending in each state of layer n.
        layered: the acceptor itself, built when it is asked for.
        sparse: True when arrays of factors would be large and nearly empty, so that mass is better
            moved arc by arc.
        table: the factors of all positions in one array, or None when that would be large.
    """

    factors: Callable[[int], Floats | ChainStep]
    start: Floats
    final: Floats
    layered: Callable[[], Layered]
    table: Floats | None = None
    sparse: bool = False


def model_source(model: Model) -> Source:
    """The input of a view with the hypothesis given: the model alone."""
    size = len(model.alphabet)
    if size < MANY_LABELS or model.structure != ("chain", size, 1):
        return cube_source(model)
    layered = model.layered()

    def factors(position: int) -> ChainStep:
        return ChainStep(layered.layers[position].weight.reshape(-1, size))

    return Source(factors, layered.start, layered.final, model.layered)


def cube_source(model: Model) -> Source:
    """The same with factors of (next state, symbol, state), every layer as wide as the widest."""
    arrays = model.dense()
    if arrays is not None:
        return _from_dense(arrays, model.layered)
    return _from_layers(model.layered(), len(model.alphabet))


def pair_source(hypothesis: Layered, model: Layered) -> Source:
    """The input of a view with the hypothesis free: both acceptors side by side.

    Symbol z * L + y is read with the product of the two weights; the two sequences are independent.
    """
    return _from_layers(pair_layers(hypothesis, model), len(model.alphabet) ** 2)


def _from_dense(arrays: Dense, layered: Callable[[], Layered]) -> Source:
    tables = np.ascontiguousarray(arrays.tables.transpose(0, 3, 2, 1))
    return Source(tables.__getitem__, arrays.start, arrays.final, layered, tables)


def _from_layers(layered: Layered, symbols: int) -> Source:
    """Factors of one position at a time, for layers too wide to hold all at once."""
    widths = layered.widths
    sizes = [before * symbols * after for before, after in itertools.pairwise(widths)]

    def factors(position: int) -> Floats:
        layer = layered.layers[position]
        guard_size("model layer", sizes[position] // CUBE_CELLS_PER_STATE)
        cube = np.zeros((layer.width, symbols, widths[position]))
        np.add.at(cube, (layer.target, layer.label, layer.source), layer.weight)
        return cube

    arcs = sum(len(layer.source) for layer in layered.layers)
    sparse = max(sizes, default=0) > LARGE_CUBE and SPARSE_CUBE * arcs < sum(sizes)
    return Source(factors, layered.start, layered.final, lambda: layered, sparse=sparse)
