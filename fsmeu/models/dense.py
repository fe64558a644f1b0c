"""Layers as one dense array."""

from __future__ import annotations

import numpy as np

from fsmeu.fst.layers import Floats, Layered, check_layers
from fsmeu.limits import MAX_DENSE_ENTRIES

__all__ = ["dense_tables"]


def dense_tables(layered: Layered, limit: int = MAX_DENSE_ENTRIES) -> Floats | None:
    """The arc weights as an array T[i, s, l, t]; None if it needs more than ``limit`` entries.

    T has shape (n, M, L, M), M being the greatest width. T[i, s, l, t] is the summed weight of the
    arcs of position i from state s with label l to state t; states past a layer's width have none.
    """
    check_layers(layered)
    width, labels = max(layered.widths), len(layered.alphabet)
    shape = (layered.n, width, labels, width)
    if layered.n * width * labels * width > limit:
        return None
    tables = np.zeros(shape)
    if layered.n:
        layers = layered.layers
        position = np.repeat(np.arange(layered.n), [len(x.source) for x in layers])
        source = np.concatenate([x.source for x in layers])
        label = np.concatenate([x.label for x in layers])
        target = np.concatenate([x.target for x in layers])
        weight = np.concatenate([x.weight for x in layers])
        np.add.at(tables, (position, source, label, target), weight)
    return tables
