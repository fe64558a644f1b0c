"""The machines of many references, with all that was found before about the loss."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fsmeu.limits import MOST_TRELLISES
from fsmeu.losses.loss import SpecLoss
from fsmeu.losses.protocol import Loss
from fsmeu.searn.oracle.core import SpecCore, core_of
from fsmeu.searn.oracle.layers import BoundsError, Layers, Walked

__all__ = ["Walks", "walk_all"]

Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Walks:
    """The machines of references of one length.

    Attributes:
        n: the length.
        numbers: which references they are.
        layers: the layers that the machines are made of.
        machines: the machine of each.
    """

    n: int
    numbers: list[int]
    layers: Layers
    machines: list[Walked]


def walk_all(loss: Loss, ys: Sequence[Ints]) -> Iterator[Walks]:
    """The machines of references given as label indices, from the longest to the shortest.

    Raises:
        LossFileError: a step is not defined after some sequence of labels.
        SizeLimitError: there are too many states.
    """
    kept: dict[int, Layers] = {}
    if isinstance(loss, SpecLoss):
        kept = loss.memo("oracles")  # type: ignore[assignment]
    lengths: dict[int, list[int]] = {}
    for k, y in enumerate(ys):
        lengths.setdefault(len(y), []).append(k)
    for n in sorted(lengths, reverse=True):
        given = np.array([ys[k] for k in lengths[n]], np.int64).reshape(len(lengths[n]), n)
        layers = next((one for one in kept.values() if one.core.serves(n)), None)
        layers = layers or Layers(core_of(loss, given[0]))
        try:
            machines = _machines(layers, given)
        except BoundsError:
            assert isinstance(loss, SpecLoss)
            layers = Layers(SpecCore(loss, given[0], shared=False))
            machines = _machines(layers, given)
        _keep(kept, layers)
        yield Walks(n, lengths[n], layers, machines)
        layers.forget_steps()


def _machines(layers: Layers, ys: Ints) -> list[Walked]:
    contexts, constants = layers.core.contexts(ys)
    return [layers.walk(row, ends) for row, ends in zip(contexts, constants, strict=True)]


def _keep(kept: dict[int, Layers], layers: Layers) -> None:
    """Keeps these layers as the last used, and few others."""
    kept.pop(layers.core.n, None)
    kept[layers.core.n] = layers
    while len(kept) > MOST_TRELLISES:
        del kept[next(iter(kept))]
