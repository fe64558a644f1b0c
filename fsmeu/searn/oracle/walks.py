"""The machines of many references, with all that was found before about the loss."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fsmeu.errors import LossFileError, SizeLimitError
from fsmeu.limits import (
    LEAST_ORACLE_LENGTH,
    LEAST_TRELLIS_LENGTH,
    MOST_TRELLISES,
    ORACLE_LENGTH_STEP,
)
from fsmeu.losses.loss import SpecLoss
from fsmeu.losses.protocol import Loss
from fsmeu.searn.oracle.core import CannotServeError, Core
from fsmeu.searn.oracle.function_core import FunctionCore
from fsmeu.searn.oracle.layers import Layers, Walked
from fsmeu.searn.oracle.spec_core import SpecCore, reads_length
from fsmeu.searn.oracle.split_core import SplitCore, can_split
from fsmeu.searn.oracle.valid_core import LastLabels, ValidCore

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


def walk_all(loss: Loss, ys: Sequence[Ints], meanings: Ints | None = None) -> Iterator[Walks]:
    """The machines of references given as label indices, from the longest to the shortest.

    Args:
        loss: the loss.
        ys: the references.
        meanings: the label that each label stands for after each other, (L + 1, L), its last row
            at the start; None where each stands for itself.

    Raises:
        LossFileError: a step is not defined after some sequence of labels.
        SizeLimitError: there are too many states.
    """
    kept: dict[int, Layers] = {}
    if isinstance(loss, SpecLoss):
        kind = "oracles" if meanings is None else f"oracles {meanings.tobytes().hex()}"
        kept = loss.memo(kind)  # type: ignore[assignment]
    last = None if meanings is None else LastLabels(meanings)
    lengths: dict[int, list[int]] = {}
    for k, y in enumerate(ys):
        lengths.setdefault(len(y), []).append(k)
    for n in sorted(lengths, reverse=True):
        given = np.array([ys[k] for k in lengths[n]], np.int64).reshape(len(lengths[n]), n)
        layers, machines = _found(loss, given, kept, last)
        _keep(kept, layers)
        yield Walks(n, lengths[n], layers, machines)
        layers.forget_steps()


def _found(
    loss: Loss, ys: Ints, kept: dict[int, Layers], last: LastLabels | None
) -> tuple[Layers, list[Walked]]:
    """Machines of references of one length, by the first core that can serve them all."""
    for core in _cores(loss, ys[0], kept):
        layers = core if isinstance(core, Layers) else _layers(core, last)
        try:
            return layers, _machines(layers, ys)
        except CannotServeError:
            continue
    raise AssertionError  # the last core serves its own length


def _layers(core: Core, last: LastLabels | None) -> Layers:
    return Layers(core if last is None else ValidCore(core, last))


def _cores(loss: Loss, y: Ints, kept: dict[int, Layers]) -> Iterator[Core | Layers]:
    """Layers that are kept, then new cores: for all lengths first, at last for this one."""
    n = len(y)
    yield from [one for one in reversed(kept.values()) if one.core.serves(n)]
    if not isinstance(loss, SpecLoss):
        yield FunctionCore(loss)
        return
    length = max(LEAST_TRELLIS_LENGTH, 1 << max(0, n - 1).bit_length())
    form = can_split(loss)
    if form is not None:
        with suppress(CannotServeError):
            core = SplitCore(loss, form, _rounded(n))
            if core.serves(n):
                yield core
    if n and not reads_length(loss):
        with suppress(LossFileError, SizeLimitError):  # perhaps one that long is refused
            yield SpecCore(loss, np.resize(y, length), shared=True)
    yield SpecCore(loss, y, shared=False)


def _rounded(n: int) -> int:
    """A length for which the tapes serve references of length n and a little longer ones."""
    return max(LEAST_ORACLE_LENGTH, -(-n // ORACLE_LENGTH_STEP) * ORACLE_LENGTH_STEP)


def _machines(layers: Layers, ys: Ints) -> list[Walked]:
    contexts, constants = layers.core.contexts(ys)
    return [layers.walk(row, ends) for row, ends in zip(contexts, constants, strict=True)]


def _keep(kept: dict[int, Layers], layers: Layers) -> None:
    """Keeps these layers as the last used, and few others."""
    kept.pop(layers.core.n, None)
    kept[layers.core.n] = layers
    while len(kept) > MOST_TRELLISES:
        del kept[next(iter(kept))]
