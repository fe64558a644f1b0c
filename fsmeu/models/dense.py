"""Layers as one dense array, for engines that run many sequences at once."""

from __future__ import annotations

import numpy as np

from fsmeu.fst.layers import Floats, Layered

__all__ = ["MAX_ENTRIES", "dense_tables"]

MAX_ENTRIES = 4_000_000
"""Most entries of a dense array, unless the caller says otherwise."""


def dense_tables(layered: Layered, limit: int = MAX_ENTRIES) -> Floats | None:
    """The arc weights as an array T[i, s, l, t]; None if it needs more than ``limit`` entries.

    T has shape (n, M, L, M), M being the greatest width. T[i, s, l, t] is the summed weight of the
    arcs of position i from state s with label l to state t; states past a layer's width have none.
    """
    width, labels = max(layered.widths), len(layered.alphabet)
    shape = (layered.n, width, labels, width)
    if layered.n * width * labels * width > limit:
        return None
    tables = np.zeros(shape)
    for table, layer in zip(tables, layered.layers, strict=True):
        np.add.at(table, (layer.source, layer.label, layer.target), layer.weight)
    return tables
