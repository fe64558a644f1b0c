"""Which registers a picture writes into its states, and which it can say once.

A register that is the same in all states is said in the title, one that is the same in a whole
column above that column. Where states would show many registers, one that follows from another is
said in a note. States show what tells them apart.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fsmeu.errors import visible
from fsmeu.exchange.automaton import Automaton

__all__ = ["Legend", "legend"]

_SEVERAL = 2  # registers up to which states show all of them
_MANY = 3  # registers up to which states show those that follow from others
_FEW = 6  # values of a register from which another one follows


@dataclass(frozen=True)
class Legend:
    """The registers of a machine by where they are shown.

    Attributes:
        fixed: those that are the same in all states.
        varying: the others.
        above: for each depth, those that are the same in all states there, shown above them.
        evident: those that follow from another one in all states but the start.
        notes: how they follow.
    """

    fixed: tuple[str, ...]
    varying: tuple[str, ...]
    above: tuple[tuple[str, ...], ...]
    evident: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    def in_state(self, depth: int) -> list[str]:
        """The registers that a state of this depth shows; -1 is the depth of unreached states."""
        away = set(self.above[depth]) if depth >= 0 else set()
        return [r for r in self.varying if r not in away | (set(self.evident) if depth else set())]


def legend(automaton: Automaton, alike: bool = False) -> Legend:
    """The registers of a machine, sorted by where they are shown.

    Args:
        automaton: the machine.
        alike: whether all states are to show the same registers.
    """
    several = automaton.states > 1
    everywhere = np.arange(automaton.states)
    fixed = tuple(r for r in automaton.registers if several and _same(automaton, r, everywhere))
    varying = tuple(r for r in automaton.registers if r not in fixed)
    last = int(automaton.depth.max(initial=-1))
    columns = [np.flatnonzero(automaton.depth == d) for d in range(last + 1)]
    wide = [column for column in columns if len(column) > 1]
    common = tuple(r for r in varying if wide and all(_same(automaton, r, c) for c in columns))
    above = []
    for column in columns:
        found = common
        if len(column) > 1 and not alike:
            found = tuple(r for r in varying if _same(automaton, r, column))
        above.append(found if len(found) < len(varying) else ())
    if len(varying) <= _SEVERAL:
        return Legend(fixed, varying, ((),) * len(columns))
    if alike:
        return Legend(fixed, varying, tuple(above))
    left = [r for r in varying if r not in common]
    follows = _evident(automaton, left) if len(left) > _MANY else {}
    return Legend(fixed, varying, tuple(above), tuple(follows), tuple(follows.values()))


def _same(automaton: Automaton, register: str, states: np.ndarray) -> bool:
    """Whether a register holds the same in all of these states."""
    held = automaton.registers[register][states]
    return all(value == held[0] for value in held)


def _evident(automaton: Automaton, registers: list[str]) -> dict[str, str]:
    """Registers that follow from one that is shown, and how, in all states but the start."""
    states = [s for s in range(automaton.states) if s != automaton.table.start]
    texts = {r: [automaton.register_text(r, s) for s in states] for r in registers}
    found: dict[str, str] = {}
    sources: set[str] = set()
    for register in registers:
        for other in registers:
            known = other != register and other not in found and register not in sources
            if known and len(registers) - len(found) > _MANY:
                note = _follows(register, texts[register], other, texts[other])
                if note:
                    found[register] = note
                    sources.add(other)
                    break
    return found


def _follows(register: str, held: list[str], other: str, known: list[str]) -> str:
    """How the values of a register follow from those of another one; empty if they do not."""
    pairs = sorted(set(zip(known, held, strict=True)))
    values = dict(pairs)
    if len(values) < len(pairs) or not 1 < len(values) <= _FEW or len(set(held)) < 2:
        return ""
    parts = []
    for value in dict.fromkeys(values.values()):
        where = ", ".join(k for k, v in values.items() if v == value)
        parts.append(f"{visible(value)} where {visible(other)} = {visible(where)}")
    return f"{visible(register)} is {'; '.join(parts)}"
