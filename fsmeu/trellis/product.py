"""Reachable pairs of a tape's states with an acceptor's states, and the arcs between them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fsmeu.fst.distinct import distinct
from fsmeu.fst.layers import Layer
from fsmeu.trellis.tape import TapeLayer

__all__ = ["Pairs", "ProductLayer", "Repeated", "product_layer"]

Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Pairs:
    """The pairs of one layer: parallel arrays of tape states and acceptor states."""

    tape: Ints
    acceptor: Ints

    def __len__(self) -> int:
        return len(self.tape)


@dataclass(frozen=True, eq=False)
class ProductLayer:
    """The arcs of one position between pairs, as parallel arrays.

    Attributes:
        before: the pairs of the layer before.
        after: the pairs of the layer after.
        source: number of the pair before.
        arc: number of the acceptor's arc, and so the index of the weight.
        label: the label that is read.
        target: number of the pair after.
    """

    before: Pairs
    after: Pairs
    source: Ints
    arc: Ints
    label: Ints
    target: Ints


@dataclass(frozen=True, eq=False)
class Repeated:
    """What a position was made of, to see whether the next is made of the same."""

    before: Pairs
    tape: TapeLayer
    acceptor: Layer
    after: Pairs

    def repeats(self, before: Pairs, tape: TapeLayer, acceptor: Layer) -> bool:
        """True when a position with these parts has the same arcs."""
        if tape is not self.tape:
            return False
        mine = (self.before.tape, self.before.acceptor, *_structure(self.acceptor))
        others = (before.tape, before.acceptor, *_structure(acceptor))
        return all(np.array_equal(a, b) for a, b in zip(mine, others, strict=True))


def _structure(layer: Layer) -> tuple[Ints, Ints, Ints]:
    return layer.source, layer.label, layer.target


def product_layer(before: Pairs, tape: TapeLayer, acceptor: Layer) -> ProductLayer:
    """The arcs that leave these pairs, and the pairs that they reach.

    Arcs of the acceptor count whatever their weight, so that one structure serves all weights.
    """
    order = np.argsort(acceptor.source, kind="stable")
    begins = np.searchsorted(acceptor.source[order], before.acceptor, side="left")
    ends = np.searchsorted(acceptor.source[order], before.acceptor, side="right")
    counts = ends - begins
    source = np.repeat(np.arange(len(before)), counts)
    within = np.arange(len(source)) - np.repeat(np.cumsum(counts) - counts, counts)
    arc = order[np.repeat(begins, counts) + within]
    label = acceptor.label[arc]
    reached = tape.targets[before.tape[source], label]
    taken = reached >= 0
    source, arc, label, reached = source[taken], arc[taken], label[taken], reached[taken]
    codes, target = distinct(reached * acceptor.width + acceptor.target[arc])
    after = Pairs(codes // acceptor.width, codes % acceptor.width)
    return ProductLayer(before, after, source, arc, label, target)
