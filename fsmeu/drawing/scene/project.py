"""Parts of a machine: states merged that agree in some registers, and the part near the start.

The machine of Jansche (2007), Figure 1, reads both tapes but has no state for what z alone does: it
is the machine of F-score with the register ``hyp`` projected away, cut off after three steps.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from fsmeu.errors import InputError, nearest, sentence, shorten, whole
from fsmeu.exchange.automaton import Automaton
from fsmeu.fst.arcs import ArcTable
from fsmeu.fst.sequences import listed
from fsmeu.losses.language.dependencies import names_read, tapes
from fsmeu.losses.language.syntax import Spec

__all__ = ["cut", "project", "reached", "registers_given_z"]

Ints = NDArray[np.int64]


def registers_given_z(spec: Spec) -> tuple[str, ...]:
    """The registers that are states once z is known.

    Left out are those that read z alone and that no other register looks at: with z known, what
    they come to is known as well.
    """
    reach = tapes(spec)
    out = {name for name, read in reach.items() if "y" not in read}
    while True:
        kept = [r for r in spec.registers if r.name not in out]
        looked_at = {name for r in kept for name in names_read(r.update)}
        if not out & looked_at:
            return tuple(r.name for r in kept)
        out -= looked_at


def project(automaton: Automaton, registers: Iterable[str]) -> Automaton:
    """The machine over some of the registers: states that agree in them are one.

    Values are kept if all states that became one have the same, and left out otherwise.

    Args:
        automaton: a machine without weights on its arcs.
        registers: the registers to keep.
    """
    kept = _known_registers(automaton, registers)
    if automaton.weighted:
        must = "only a machine without weights on its arcs can be projected"
        raise InputError(sentence("registers", must, automaton.name))
    merged, first = _classes([automaton.registers[name] for name in kept], automaton.states)
    table = _merge_arcs(automaton.table, merged, len(first))
    ending = np.zeros(len(first), bool)
    ending[merged[automaton.ending]] = True
    values = _agreed(automaton, merged, len(first))
    final = np.where(ending, 0.0, np.inf)
    return replace(
        automaton,
        name=f"{automaton.name}, states ({', '.join(kept)})",
        table=replace(table, final=final),
        ending=ending,
        values=values,
        registers={name: automaton.registers[name][first] for name in kept},
        texts={k: tuple(t[s] for s in first) for k, t in automaton.texts.items() if k in kept},
        masses=None,
    )


def _known_registers(automaton: Automaton, registers: Iterable[str]) -> list[str]:
    wanted = listed(registers, "registers", "must be a list of names of registers")
    for name in wanted:
        if not isinstance(name, str) or name not in automaton.registers:
            known = ", ".join(automaton.registers) or "none"
            hint = nearest(shorten(name), automaton.registers)
            raise InputError(sentence("registers", f"the registers are {known}", name, hint))
    return [name for name in automaton.registers if name in wanted]


def _classes(columns: Sequence[NDArray[np.generic]], states: int) -> tuple[Ints, Ints]:
    """The class of each state, numbered as they are met, and the first state of each."""
    numbers: dict[tuple[object, ...], int] = {}
    first: list[int] = []
    merged = np.empty(states, np.int64)
    rows = zip(*columns, strict=True) if columns else [()] * states
    for state, row in enumerate(rows):
        merged[state] = numbers.setdefault(tuple(row), len(numbers))
        if merged[state] == len(first):
            first.append(state)
    return merged, np.array(first, np.int64)


def _merge_arcs(table: ArcTable, merged: Ints, classes: int) -> ArcTable:
    rows = np.stack([merged[table.source], table.ilabel, table.olabel, merged[table.target]])
    source, ilabel, olabel, target = np.unique(rows, axis=1)
    start = int(merged[table.start]) if table.start >= 0 else -1
    final = np.full(classes, np.inf)
    return ArcTable(start, source, ilabel, olabel, np.zeros(len(source)), target, final)


def _agreed(automaton: Automaton, merged: Ints, classes: int) -> NDArray[np.float64]:
    """The value of each class if in every class the ending states have the same one, else nan."""
    low, high = np.full(classes, np.inf), np.full(classes, -np.inf)
    ends = np.flatnonzero(automaton.ending)
    np.fmin.at(low, merged[ends], automaton.values[ends])
    np.fmax.at(high, merged[ends], automaton.values[ends])
    met = np.isfinite(high)
    if not (low[met] == high[met]).all():
        return np.full(classes, np.nan)
    return np.where(met, low, np.nan)


def cut(automaton: Automaton, depth: int) -> Automaton:
    """The part of a machine within so many steps of the start, with the arcs inside it."""
    depth = whole("draw", "depth", depth, least=0)
    near = (automaton.depth >= 0) & (automaton.depth <= depth)
    return replace(_part(automaton, near), name=f"{automaton.name}, first {depth} steps")


def reached(automaton: Automaton) -> Automaton:
    """The part of a machine to which paths lead from the start."""
    return automaton if (automaton.depth >= 0).all() else _part(automaton, automaton.depth >= 0)


def _part(automaton: Automaton, near: NDArray[np.bool_]) -> Automaton:
    """The machine of some of the states, with the arcs between them."""
    kept = np.flatnonzero(near)
    number = np.full(automaton.states, -1, np.int64)
    number[kept] = np.arange(len(kept))
    table = automaton.table
    arcs = np.flatnonzero(near[table.source] & near[table.target])
    inside = ArcTable(
        int(number[table.start]) if table.start >= 0 else -1,
        number[table.source[arcs]],
        table.ilabel[arcs],
        table.olabel[arcs],
        table.weight[arcs],
        number[table.target[arcs]],
        table.final[kept],
    )
    return replace(
        automaton,
        table=inside,
        ending=automaton.ending[kept],
        values=automaton.values[kept],
        registers={name: held[kept] for name, held in automaton.registers.items()},
        texts={name: tuple(text[s] for s in kept) for name, text in automaton.texts.items()},
        masses=None if automaton.masses is None else automaton.masses[kept],
    )
