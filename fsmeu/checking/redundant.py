"""Registers that a loss could do without."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
from numpy.typing import NDArray

from fsmeu.losses.machine.machine import Machine
from fsmeu.losses.machine.minimize import same_values
from fsmeu.losses.machine.refine import group

__all__ = ["can_drop", "redundant_registers"]

Ints = NDArray[np.int64]


def redundant_registers(
    machine: Machine, names: Collection[str]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Registers without which the others still find their way and the value.

    Args:
        machine: a compiled loss, with the registers that its file gives it.
        names: the registers to try.

    Returns:
        Those that can be left out one at a time, and as many as can be left out together (later
        ones first).
    """
    alone = tuple(name for name in names if can_drop(machine, [name]))
    together: list[str] = []
    for name in reversed(alone):
        if can_drop(machine, [*together, name]):
            together.append(name)
    return alone, tuple(reversed(together))


def can_drop(machine: Machine, names: Collection[str]) -> bool:
    """True when the other registers decide where each step leads them, and what the end is worth.

    States that differ in the dropped registers only are one then. What holds for pairs of the
    machine's length need not hold for longer ones.
    """
    kept = [held for name, held in machine.registers.items() if name not in names]
    numbers = [np.unique(held, return_inverse=True)[1] for held in kept]
    blocks = group(np.stack([np.zeros(machine.states, np.int64), *numbers], axis=1))
    steps = machine.next.reshape(machine.states, -1)
    targets = np.where(steps >= 0, blocks[steps], -1)
    columns = np.concatenate([targets, same_values(machine.values)[:, None]], axis=1)
    return all(_is_function(blocks, column) for column in columns.T)


def _is_function(blocks: Ints, outcome: Ints) -> bool:
    """True when all states of a block that have an outcome have the same."""
    known = outcome >= 0
    pairs = np.stack([blocks[known], outcome[known]], axis=1)
    return len(np.unique(pairs, axis=0)) == len(np.unique(blocks[known]))
