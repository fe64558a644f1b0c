"""A number of states that a machine has at least, found without building it.

What the registers of one tape hold is independent of what those of the other hold: after the same
number of positions, every content of the one is met with every content of the other. The parts are
small where their product is not.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from fsmeu.errors import LossFileError
from fsmeu.limits import DEEPEST_WIDTH
from fsmeu.losses.language.dependencies import tapes
from fsmeu.losses.language.syntax import Number
from fsmeu.losses.machine.machine import machine_view
from fsmeu.losses.machine.reachability import in_blocks
from fsmeu.losses.semantics.bound import BoundLoss

__all__ = ["least_states"]

Ints = NDArray[np.int64]


def least_states(bound: BoundLoss, n: int, enough: int) -> int:
    """The greatest number of states, known from the tapes alone, that pairs are in at one depth.

    Args:
        bound: the loss; all its registers are states.
        n: the length of the sequences.
        enough: more than this need not be counted.
    """
    size = len(bound.alphabet)
    each = np.arange(size)
    alone = (
        _widths(_of_tape(bound, "y"), n, each * size),
        _widths(_of_tape(bound, "z"), n, each),
    )
    widths, most = (1, 1), 1
    try:
        for _ in range(min(n, DEEPEST_WIDTH) + 1):
            widths = (next(alone[0], widths[0]), next(alone[1], widths[1]))
            most = max(most, math.prod(widths))
            if most > enough:
                break
    except LossFileError:
        return 1
    return most


def _of_tape(bound: BoundLoss, other: str) -> BoundLoss:
    """The loss with those registers only that do not depend on the other tape."""
    spec, reach = bound.spec, tapes(bound.spec)
    registers = tuple(r for r in spec.registers if other not in reach[r.name])
    return replace(bound, spec=replace(spec, registers=registers, value=Number(0.0), range=None))


def _widths(bound: BoundLoss, n: int, symbols: Ints) -> Iterator[int]:
    """The number of states at depths 0, 1, ...; the last is that of all further depths, too."""
    view = machine_view(bound, n, None)
    codes = np.array([view.start], np.int64)
    yield 1
    for i in range(1, n + 1):
        parts = in_blocks(codes, len(symbols))
        reached = [np.unique(view.advance(i, part, symbols)[0]) for part in parts]
        after = np.unique(np.concatenate(reached))
        after = after[after >= 0]
        if np.array_equal(after, codes):
            return
        codes = after
        yield len(codes)
