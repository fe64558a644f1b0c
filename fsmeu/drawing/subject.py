"""What is to be drawn: from what was asked for to a machine or a part of it, and a path.

The machine of Jansche (2007), Figure 1, reads both tapes but has no state for what z alone does: it
is the machine of F-score with the register ``hyp`` projected away, cut off after three steps.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fsmeu.arrays import Ints
from fsmeu.drawing.frame import label_name, register_texts, with_last_label
from fsmeu.errors import InputError, check_int, message, nearest, shorten
from fsmeu.exchange.automaton import Automaton, as_automaton
from fsmeu.expectation.composition import Composition, compose
from fsmeu.expectation.query import refuse_exchanged
from fsmeu.fst.alphabet import listed
from fsmeu.fst.compose import max_states as general_limit
from fsmeu.fst.image import ArcTable
from fsmeu.losses.language.syntax import Spec, names_read, tapes
from fsmeu.losses.loss import SpecLoss
from fsmeu.losses.machine.machine import Machine
from fsmeu.losses.protocol import Loss
from fsmeu.models import Model, as_model

_MOST_VALUES = 2  # of a register in one merged state; of more, it tells too little to be shown


@dataclass(frozen=True)
class Route:
    """The states and arcs that the paths of a pair run through, and the states it ends in."""

    states: frozenset[int] = frozenset()
    arcs: frozenset[int] = frozenset()
    ends: tuple[int, ...] = ()

    def takes(self, arcs: Iterable[int]) -> bool:
        """Whether a path runs through one of these arcs."""
        return not self.arcs.isdisjoint(arcs)


def find_route(automaton: Automaton, z: Ints, y: Ints | None) -> Route:
    """All paths that read a pair of label sequences, or a hypothesis with any reference.

    Args:
        automaton: an epsilon-free machine.
        z: numbers on the input tape.
        y: numbers on the output tape, as many; None for any.

    Raises:
        InputError: the lengths differ, or no path reads the pair.
    """
    if y is not None and len(z) != len(y):
        must = "hypothesis z and reference y must have the same length"
        raise InputError(message("draw", must, f"lengths {len(z)} and {len(y)}"))
    table = automaton.table
    here = {table.start} if table.start >= 0 else set()
    steps: list[Ints] = []
    for i, a in enumerate(z):
        reads = (table.ilabel == a) & np.isin(table.source, list(here))
        if y is not None:
            reads &= table.olabel == y[i]
        arcs = np.flatnonzero(reads)
        if not len(arcs):
            read = label_name(automaton.inputs, int(a))
            if y is not None:
                read = f"the pair {read}:{label_name(automaton.outputs, int(y[i]))}"
            else:
                read = f"label {read}"
            must = f"the machine must have an arc for {read} at position {i + 1}"
            raise InputError(message("draw", must))
        steps.append(arcs)
        here = set(table.target[arcs].tolist())
    ends = {state for state in here if automaton.ending[state]} or here
    return _leading_to(table, steps, ends)


def _leading_to(table: ArcTable, steps: list[Ints], ends: set[int]) -> Route:
    """What of the steps leads to an end."""
    here, states, arcs = ends, set(ends), set[int]()
    for step in reversed(steps):
        used = step[np.isin(table.target[step], list(here))]
        arcs.update(used.tolist())
        here = set(table.source[used].tolist())
        states |= here
    return Route(frozenset(states), frozenset(arcs), tuple(sorted(ends)))


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
        raise InputError(message("registers", must, automaton.name))
    columns = [automaton.registers[name].tolist() for name in kept]
    rows = list(zip(*columns, strict=True)) if columns else [()] * automaton.states
    numbers = {row: k for k, row in enumerate(dict.fromkeys(rows))}
    merged = np.array([numbers[row] for row in rows], np.int64)
    first = np.unique(merged, return_index=True)[1]
    ending = np.zeros(len(first), bool)
    ending[merged[automaton.ending]] = True
    return replace(
        automaton,
        name=f"{automaton.name}, states ({', '.join(kept)})",
        table=_merge_arcs(automaton.table, merged, np.where(ending, 0.0, np.inf)),
        ending=ending,
        values=_agreed(automaton, merged, len(first)),
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
            raise InputError(message("registers", f"the registers are {known}", name, hint))
    return [name for name in automaton.registers if name in wanted]


def _merge_arcs(table: ArcTable, merged: Ints, final: NDArray[np.float64]) -> ArcTable:
    rows = np.stack([merged[table.source], table.ilabel, table.olabel, merged[table.target]])
    source, ilabel, olabel, target = np.unique(rows, axis=1)
    start = int(merged[table.start]) if table.start >= 0 else -1
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


def cut(
    automaton: Automaton, depth: int, route: Route | None = None
) -> tuple[Automaton, Route | None]:
    """The part of a machine within so many steps of the start, and what of a route lies in it."""
    depth = check_int("draw", "depth", depth, least=0)
    near = (automaton.depth >= 0) & (automaton.depth <= depth)
    part, route = _part(automaton, near, route)
    return replace(part, name=f"{automaton.name}, first {depth} steps"), route


def reached(automaton: Automaton) -> Automaton:
    """The part of a machine to which paths lead from the start."""
    near = automaton.depth >= 0
    return automaton if near.all() else _part(automaton, near, None)[0]


def _part(
    automaton: Automaton, near: NDArray[np.bool_], route: Route | None
) -> tuple[Automaton, Route | None]:
    """The machine of some of the states, with the arcs between them, and its part of a route."""
    table = automaton.table
    inside = near[table.source] & near[table.target]
    kept, arcs = np.flatnonzero(near), np.flatnonzero(inside)
    state_at, arc_at = np.cumsum(near) - 1, np.cumsum(inside) - 1
    start = int(state_at[table.start]) if table.start >= 0 and near[table.start] else -1
    columns = (table.ilabel[arcs], table.olabel[arcs], table.weight[arcs])
    source, target = state_at[table.source[arcs]], state_at[table.target[arcs]]
    part = replace(
        automaton,
        table=ArcTable(start, source, *columns, target, table.final[kept]),
        ending=automaton.ending[kept],
        values=automaton.values[kept],
        registers={name: held[kept] for name, held in automaton.registers.items()},
        texts={name: tuple(text[s] for s in kept) for name, text in automaton.texts.items()},
        masses=None if automaton.masses is None else automaton.masses[kept],
    )
    if route is not None:
        route = Route(
            frozenset(int(state_at[s]) for s in route.states if near[s]),
            frozenset(int(arc_at[a]) for a in route.arcs if inside[a]),
            tuple(int(state_at[s]) for s in route.ends if near[s]),
        )
    return part, route


def merged_automaton(loss: Loss, n: int, z: Any, limit: int) -> Automaton:
    """The merged machine; registers hold what the states that were merged agree on, or a choice.

    Args:
        loss: a loss or utility.
        n: the length of the sequences.
        z: a hypothesis, or None.
        limit: up to how many states are built.
    """
    plain = loss.compile(n, z, limit)
    merged = loss.compile(n, z, limit, minimize=True)
    texts = register_texts(plain.source, n, plain.registers) if plain.source is not None else {}
    told = replace(as_automaton(plain), texts=texts)
    members = stands_for(plain, merged)
    registers = {
        name: np.array([_choice(told, name, held) for held in members], object)
        for name in plain.registers
    }
    name = f"{merged.name}, merged from {plain.states:,} states"
    return replace(as_automaton(merged), name=name, registers=registers)


def stands_for(plain: Machine, merged: Machine) -> list[list[int]]:
    """For each merged state, the states of the plain machine that are met along with it."""
    found: list[set[int]] = [set() for _ in range(merged.states)]
    here = np.zeros((1, 2), np.int64)
    plain_next = plain.next.reshape(plain.states, -1)
    merged_next = merged.next.reshape(merged.states, -1)
    for _ in range(plain.n + 1):
        for p, m in here.tolist():
            found[m].add(p)
        targets = [plain_next[here[:, 0]].ravel(), merged_next[here[:, 1]].ravel()]
        pairs: Ints = np.stack(targets, axis=1)
        here = np.unique(pairs[(pairs >= 0).all(axis=1)], axis=0)
    return [sorted(held) for held in found]


def _choice(plain: Automaton, register: str, states: list[int]) -> str:
    """What a register holds in some states: the value, one of few values, or nothing to tell."""
    texts = sorted({plain.register_text(register, state) for state in states})
    return "|".join(texts) if len(texts) <= _MOST_VALUES else ""


MAX_BUILT = 50_000


@dataclass(frozen=True)
class Subject:
    """The arguments of ``draw`` that say what is drawn."""

    thing: Any
    n: int | None = None
    z: Any = None
    y: Iterable[object] | None = None
    model: Any = None
    given_z: bool = False
    registers: Sequence[str] | None = None
    depth: int | None = None
    max_states: int | None = None
    merged: bool = False


def find_subject(asked: Subject) -> tuple[Automaton, Route | None]:
    """The machine that was asked for, and the path of the pair (z, y) if both are given.

    In a composition that is given as such, z alone has a path for each reference.
    """
    asked = replace(asked, z=_kept(asked.z), y=_kept(asked.y))
    automaton = _of_loss(asked) if _is_loss(asked.thing) else _of_machine(asked)
    if asked.registers is not None:
        automaton = project(automaton, asked.registers)
    route = _route(automaton, asked)
    return (automaton, route) if asked.depth is None else cut(automaton, asked.depth, route)


def _is_loss(thing: Any) -> bool:
    return all(hasattr(thing, name) for name in ("compile", "alphabet", "kind", "name"))


def _kept(sequence: Any) -> Any:
    """A sequence that can be read more than once."""
    if sequence is None or isinstance(sequence, Model | str):
        return sequence
    return listed(sequence, "draw", "z and y must be label sequences")


def _of_machine(asked: Subject) -> Automaton:
    """Something compiled already: what only a loss can be asked for is refused."""
    for name in ("n", "model", "given_z", "merged"):
        if not (getattr(asked, name) is None or getattr(asked, name) is False):
            must = f"{name} goes with a loss, this is a machine already"
            remedy = "Say which registers to keep" if name == "given_z" else ""
            raise InputError(message("draw", must, type(asked.thing).__name__, remedy))
    automaton = as_automaton(asked.thing)
    if isinstance(asked.thing, Composition):
        return with_last_label(_spelled_out(automaton, asked.thing.machine))
    if isinstance(asked.thing, Machine):
        return _spelled_out(automaton, asked.thing)
    return reached(automaton) if isinstance(asked.thing, Model) else automaton


def _spelled_out(automaton: Automaton, machine: Machine) -> Automaton:
    """The automaton with named states and memories in words, where the loss is known."""
    if machine.source is None:
        return automaton
    return replace(automaton, texts=register_texts(machine.source, machine.n, automaton.registers))


def _of_loss(asked: Subject) -> Automaton:
    loss: Loss = asked.thing
    limit = asked.max_states
    if limit is None:
        limit = general_limit() if os.environ.get("FSMEU_MAX_STATES") else MAX_BUILT
    if asked.model is not None:
        return _composition(loss, asked, limit)
    if isinstance(asked.z, Model):
        must = "a hypothesis that is a model needs a model of the reference beside it"
        raise InputError(message("draw", must, None, "Give model=..., or labels for z"))
    n = _length(asked)
    alone = asked.z is not None and asked.y is None and not asked.given_z
    if asked.merged and (asked.given_z or asked.registers is not None):
        must = "states are merged by what follows, or by registers, not both"
        raise InputError(message("merged", must, None, "Leave given_z and registers out"))
    if asked.merged:
        return merged_automaton(loss, n, asked.z if alone else None, limit)
    machine = loss.compile(n, asked.z if alone else None, limit)
    automaton = _spelled_out(as_automaton(machine), machine)
    if not asked.given_z:
        return automaton
    if not isinstance(loss, SpecLoss):
        must = "what follows z alone is known of losses in files"
        raise InputError(message("given_z", must, type(loss).__name__, "Use registers=..."))
    own = {register.name for register in loss.spec.registers}
    clock = [name for name in automaton.registers if name not in own]
    return project(automaton, [*clock, *registers_given_z(loss.spec)])


def _composition(loss: Loss, asked: Subject, limit: int) -> Automaton:
    refuse_exchanged(asked.z, asked.model, "draw")
    model = as_model(asked.model)
    if asked.merged:
        must = "a composition is drawn as it is"
        raise InputError(message("merged", must, None, "Leave merged or the model out"))
    if asked.z is None:
        must = "with a model, the hypothesis z must be given: labels, or a model of its own"
        raise InputError(message("draw", must))
    if asked.n is not None and asked.n != model.n:
        raise InputError(message("draw", f"n must be that of the model, {model.n}", asked.n))
    if asked.given_z:
        must = "with a model, what follows z alone is left out already"
        raise InputError(message("given_z", must, None, "Leave given_z out"))
    composed = compose(loss, asked.z, model, max_states=limit)
    return with_last_label(_spelled_out(as_automaton(composed), composed.machine))


def _length(asked: Subject) -> int:
    given = [len(list(x)) for x in (asked.z, asked.y) if x is not None]
    if asked.n is not None:
        given.insert(0, check_int("draw", "n", asked.n, least=0))
    if not given:
        must = "the length of the sequences must be given"
        raise InputError(message("draw", must, None, "Give n=3, or sequences z and y"))
    if len(set(given)) > 1:
        must = "n, hypothesis z and reference y must have the same length"
        raise InputError(message("draw", must, f"lengths {', '.join(map(str, given))}"))
    return given[0]


def _route(automaton: Automaton, asked: Subject) -> Route | None:
    if asked.y is None:
        if asked.z is None or not isinstance(asked.thing, Composition):
            return None
        return find_route(automaton, automaton.encode(asked.z, False, "hypothesis z"), None)
    if asked.z is None or isinstance(asked.z, Model):
        if not automaton.acceptor:
            must = "to colour a path, the hypothesis z must be given as labels too"
            raise InputError(message("draw", must))
        labels = automaton.encode(asked.y, True, "reference y")
        return find_route(automaton, labels, labels)
    z = automaton.encode(asked.z, False, "hypothesis z")
    return find_route(automaton, z, automaton.encode(asked.y, True, "reference y"))
