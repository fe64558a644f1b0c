"""What the registers of a loss hold, in words: names of states, entries of memories, numbers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from numpy.typing import NDArray

from fsmeu.exchange.automaton import number_text
from fsmeu.losses.language.syntax import Register
from fsmeu.losses.semantics.bound import NONE, BoundLoss
from fsmeu.losses.semantics.domains import memory_of

__all__ = ["register_texts"]

_NOTHING, _NO_TYPE = ".", "-"  # before the start; the type of a tag such as O


def register_texts(
    bound: BoundLoss, n: int, registers: Mapping[str, NDArray[Any]]
) -> dict[str, tuple[str, ...]]:
    """How each register that is more than a number reads in each state.

    Args:
        bound: the loss, for which the registers were compiled.
        n: the length of the sequences.
        registers: the values behind the states.
    """
    texts = {}
    for register in bound.spec.registers:
        if register.name in registers and register.sugar in ("state", "memory"):
            read = _reader(bound, register, n)
            texts[register.name] = tuple(read(int(v)) for v in registers[register.name])
    return texts


def _reader(bound: BoundLoss, register: Register, n: int) -> Callable[[int], str]:
    if register.sugar == "state":
        return lambda value: register.states[value]
    memory = memory_of(bound, register, n)
    if memory.numeric:
        entries = [number_text(value) for value in memory.values]
    else:
        named = {code: text for text, code in bound.codes.items()} | {NONE: _NO_TYPE}
        entries = [named[code] for code in memory.values.tolist()]
    names = [_NOTHING, *entries]
    joint = "" if all(len(name) == 1 for name in names) else ","

    def read(packed: int) -> str:
        """Entries from the newest to the oldest, as m[0], m[1], ... number them."""
        held = []
        for _ in range(memory.depth):
            packed, digit = divmod(packed, memory.base)
            held.append(names[digit])
        return joint.join(held)

    return read
