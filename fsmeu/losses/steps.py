"""A pair of sequences step by step: what a loss reads, and what its registers hold after it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fsmeu.losses.evaluate import trace_pairs
from fsmeu.losses.language.syntax import Register
from fsmeu.losses.loss import SpecLoss
from fsmeu.losses.semantics.bound import BoundLoss
from fsmeu.losses.semantics.domains import memory_of

Entry = int | float | str | None
Held = Entry | list[Entry]


def whole_or_float(value: float) -> int | float:
    """The number, as an int when it is whole and small enough to be exact."""
    return int(value) if float(value).is_integer() and abs(value) < 2**53 else float(value)


def steps_of(loss: SpecLoss, z: Sequence[Any], y: Sequence[Any]) -> list[dict[str, Any]]:
    """For each position from 0 (the start): "i", the labels "z" and "y", and "registers" by name.

    A register holds a number, the name of a state, or the entries of a memory, newest first.
    """
    rows = (loss.alphabet.encode(sequence)[None, :] for sequence in (z, y))
    steps = []
    for i, state in enumerate(trace_pairs(loss.bound, *rows)):
        held = {
            r.name: _contents(loss.bound, r, float(state[r.name][0]), len(z))
            for r in loss.spec.registers
        }
        read = {"z": z[i - 1], "y": y[i - 1]} if i else {"z": None, "y": None}
        steps.append({"i": i, **read, "registers": held})
    return steps


def _contents(bound: BoundLoss, register: Register, value: float, n: int) -> Held:
    """What a register holds: a number, the name of a state, or the entries of a memory."""
    if register.sugar == "state":
        return register.states[int(value)]
    if register.sugar == "memory":
        return _entries(bound, register, int(value), n)
    return whole_or_float(value)


def _entries(bound: BoundLoss, register: Register, packed: int, n: int) -> list[Entry]:
    """Entries of a memory, newest first, None for those before the start."""
    memory = memory_of(bound, register, n)
    names: list[Entry] = [None, *(whole_or_float(value) for value in memory.values.tolist())]
    if not memory.numeric:
        texts = {code: text for text, code in bound.codes.items()}
        names[1:] = [texts.get(value) for value in memory.values.tolist()]
    entries = []
    for _ in range(memory.depth):
        packed, digit = divmod(packed, memory.base)
        entries.append(names[digit])
    return entries
