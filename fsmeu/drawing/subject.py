"""The subject of a drawing: from the arguments of ``draw`` to a machine or a part, and a path.

The machine of Jansche (2007), Figure 1, reads both tapes but has no state for what z alone does: it
is the machine of F-score with the register ``hyp`` projected away, cut off after three steps.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fsmeu.arrays import Ints
from fsmeu.drawing.frame import label_name, register_texts, with_last_label
from fsmeu.errors import Argument, InputError, check_int, limit_from, nearest, shorten, wording
from fsmeu.exchange.automaton import Automaton, as_automaton
from fsmeu.expectation.composition import Composition, compose
from fsmeu.expectation.query import refuse_exchanged
from fsmeu.fst.alphabet import listed
from fsmeu.fst.image import ArcTable
from fsmeu.losses.language.syntax import Spec, names_read
from fsmeu.losses.machine.machine import Machine
from fsmeu.losses.protocol import Loss, as_loss
from fsmeu.models import Model, as_model

MAX_BUILT = 50_000
_MOST_VALUES = 2  # of a register in one merged state; of more, it is left out


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
    """All paths of an epsilon-free machine that read z, and y if it is given: numbers of labels."""
    if y is not None and len(z) != len(y):
        must = "hypothesis z and reference y must have the same length"
        raise InputError("draw", must, given=f"lengths {len(z)} and {len(y)}")
    table = automaton.table
    here = {table.start} if table.start >= 0 else set()
    steps: list[Ints] = []
    for i, a in enumerate(z):
        reads = (table.ilabel == a) & np.isin(table.source, list(here))
        read = f"label {label_name(automaton.inputs, int(a))}"
        if y is not None:
            reads &= table.olabel == y[i]
            read = (
                f"the pair {read.removeprefix('label ')}:{label_name(automaton.outputs, int(y[i]))}"
            )
        steps.append(np.flatnonzero(reads))
        if not len(steps[-1]):
            must = f"the machine must have an arc for {read} at entry {i}"
            raise InputError("draw", must)
        here = set(table.target[steps[-1]].tolist())
    here = ends = {state for state in here if automaton.ending[state]} or here
    states = set(ends)
    arcs = set[int]()
    for step in reversed(steps):  # what of the steps leads to an end
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
    out = {name for name, read in spec.tapes.items() if "y" not in read}
    while True:
        registers = [r for r in spec.registers if r.name not in out]
        looked_at = {name for r in registers for name in names_read(r.update)}
        if not out & looked_at:
            return tuple(r.name for r in registers)
        out -= looked_at


def project(automaton: Automaton, registers: Iterable[str]) -> Automaton:
    """A machine without weights over some of its registers: states that agree in them are one.

    Values are kept if all states that became one have the same, and left out otherwise.
    """
    names = _known_registers(automaton, registers)
    if automaton.weighted:
        must = "only a machine without weights on its arcs can be projected"
        raise InputError("registers", must, given=automaton.name)
    columns = [automaton.registers[name].tolist() for name in names]
    rows = list(zip(*columns, strict=True)) if columns else [()] * automaton.states
    numbers = {row: k for k, row in enumerate(dict.fromkeys(rows))}
    merged = np.array([numbers[row] for row in rows], np.int64)
    first = np.unique(merged, return_index=True)[1]
    ends = np.flatnonzero(automaton.ending)
    ending = np.zeros(len(first), bool)
    values = np.full(len(first), np.nan)
    ending[merged[ends]] = True
    values[merged[ends]] = automaton.values[ends]
    if not np.array_equal(values[merged[ends]], automaton.values[ends], equal_nan=True):
        values[:] = np.nan
    table = automaton.table
    arcs = np.stack([merged[table.source], table.ilabel, table.olabel, merged[table.target]])
    source, ilabel, olabel, target = np.unique(arcs, axis=1)
    start = int(merged[table.start]) if table.start >= 0 else -1
    final = np.where(ending, 0.0, np.inf)
    quotient = _of_states(automaton, first)
    return replace(
        quotient,
        name=f"{automaton.name}, states ({', '.join(names)})",
        table=ArcTable(start, source, ilabel, olabel, np.zeros(len(source)), target, final),
        ending=ending,
        values=values,
        registers={name: quotient.registers[name] for name in names},
        masses=None,
    )


def _of_states(automaton: Automaton, states: Ints) -> Automaton:
    """The automaton with these states alone; arcs are as before."""
    return replace(
        automaton,
        ending=automaton.ending[states],
        values=automaton.values[states],
        registers={name: values[states] for name, values in automaton.registers.items()},
        texts={name: tuple(text[s] for s in states) for name, text in automaton.texts.items()},
        masses=None if automaton.masses is None else automaton.masses[states],
    )


def _known_registers(automaton: Automaton, registers: Iterable[str]) -> list[str]:
    """The names that were asked for, in the machine's order; an InputError for others."""
    wanted = listed(registers, "registers", "must be a list of names of registers")
    for name in wanted:
        if not isinstance(name, str) or name not in automaton.registers:
            names = ", ".join(automaton.registers) or "none"
            hint = nearest(shorten(name), automaton.registers)
            raise InputError("registers", f"the registers are {names}", given=name, remedy=hint)
    return [name for name in automaton.registers if name in wanted]


def part(automaton: Automaton, near: NDArray[np.bool_], route: Route) -> tuple[Automaton, Route]:
    """The machine of some of the states, with the arcs between them, and its part of a route."""
    table = automaton.table
    inside = near[table.source] & near[table.target]
    states = np.flatnonzero(near)
    arcs = np.flatnonzero(inside)
    state_at = np.cumsum(near) - 1
    arc_at = np.cumsum(inside) - 1
    start = int(state_at[table.start]) if table.start >= 0 and near[table.start] else -1
    columns = (table.ilabel[arcs], table.olabel[arcs], table.weight[arcs])
    source = state_at[table.source[arcs]]
    target = state_at[table.target[arcs]]
    arc_table = ArcTable(start, source, *columns, target, table.final[states])
    return replace(_of_states(automaton, states), table=arc_table), Route(
        frozenset(int(state_at[s]) for s in route.states if near[s]),
        frozenset(int(arc_at[a]) for a in route.arcs if inside[a]),
        tuple(int(state_at[s]) for s in route.ends if near[s]),
    )


def merged_automaton(loss: Loss, n: int, z: Any, limit: int) -> Automaton:
    """The merged machine of up to so many states, given z if that is not None.

    Registers hold what the states that were merged agree on, or a choice.
    """
    plain = loss.compile(n, z, limit)
    merged = loss.compile(n, z, limit, minimize=True)
    named = _automaton(plain)
    members = stands_for(plain, merged)
    registers = {}
    for register in plain.registers:
        sets = [sorted({named.register_text(register, s) for s in states}) for states in members]
        texts = ["|".join(values) if len(values) <= _MOST_VALUES else "" for values in sets]
        registers[register] = np.array(texts, object)
    name = f"{merged.name}, merged from {plain.states:,} states"
    return replace(as_automaton(merged), name=name, registers=registers)


def stands_for(plain: Machine, merged: Machine) -> list[list[int]]:
    """For each merged state, the states of the plain machine that some pair reaches with it."""
    members: list[set[int]] = [set() for _ in range(merged.states)]
    here = {(0, 0)}
    for _ in range(plain.n + 1):
        after = set[tuple[int, int]]()
        for p, m in here:
            members[m].add(p)
            pairs = zip(
                plain.next[p].ravel().tolist(), merged.next[m].ravel().tolist(), strict=True
            )
            after.update((a, b) for a, b in pairs if min(a, b) >= 0)
        here = after
    return [sorted(states) for states in members]


@dataclass(frozen=True)
class Subject:
    """The arguments of ``draw`` that say what is drawn."""

    thing: Any
    n: int | None
    z: Any
    y: Any
    model: Any
    given_z: bool
    registers: Sequence[str] | None
    depth: int | None
    max_states: int | None
    minimize: bool


def find_subject(subject: Subject) -> tuple[Automaton, Route]:
    """The machine that is drawn, and the paths to be coloured in it."""
    subject = replace(subject, z=_sequence(subject.z), y=_sequence(subject.y))
    if isinstance(subject.thing, str | PathLike):
        subject = replace(subject, thing=as_loss(subject.thing, "draw"))
    is_loss = all(hasattr(subject.thing, name) for name in ("compile", "alphabet", "kind", "name"))
    automaton = _of_loss(subject) if is_loss else _of_machine(subject)
    if subject.registers is not None:
        automaton = project(automaton, subject.registers)
    route = _route(automaton, subject)
    if subject.depth is None:
        return automaton, route
    depth = check_int("draw", "depth", subject.depth, least=0)
    near = (automaton.depth >= 0) & (automaton.depth <= depth)
    return part(replace(automaton, name=f"{automaton.name}, first {depth} steps"), near, route)


def _sequence(sequence: Any) -> Any:
    """A sequence that can be read more than once."""
    if sequence is None or isinstance(sequence, Model | str):
        return sequence
    return listed(sequence, "draw", "z and y must be label sequences")


def _of_machine(subject: Subject) -> Automaton:
    """The automaton of a machine; an InputError for arguments that go with a loss."""
    for name in ("n", "model", "given_z", "minimize"):
        if not (getattr(subject, name) is None or getattr(subject, name) is False):
            must = wording(Argument(name), " goes with a loss, this is a machine already")
            remedy = "Say which registers to keep" if name == "given_z" else ""
            raise InputError("draw", must, given=type(subject.thing).__name__, remedy=remedy)
    return _automaton(subject.thing)


def _automaton(thing: Any) -> Automaton:
    """The automaton of something compiled, its states and memories in words if they are known."""
    automaton = as_automaton(thing)
    if isinstance(thing, Model):  # what paths reach
        return part(automaton, automaton.depth >= 0, Route())[0]
    machine = thing.machine if isinstance(thing, Composition) else thing
    if isinstance(machine, Machine) and machine.source is not None:
        texts = register_texts(machine.source, automaton.registers)
        automaton = replace(automaton, texts=texts)
    return with_last_label(automaton) if isinstance(thing, Composition) else automaton


def _of_loss(subject: Subject) -> Automaton:
    """The automaton of a loss: composed with a model, merged, projected, or as it is."""
    loss: Loss = subject.thing
    limit = subject.max_states
    if limit is None:
        limit = limit_from("FSMEU_MAX_STATES", MAX_BUILT)
    if subject.model is not None:
        return _composition(loss, subject, limit)
    if isinstance(subject.z, Model):
        must = "a hypothesis that is a model needs a model of the reference beside it"
        remedy = wording("Give ", Argument("model", "..."), ", or labels for ", Argument("z"))
        raise InputError("draw", must, remedy=remedy)
    n = _length(subject)
    alone = subject.z is not None and subject.y is None and not subject.given_z
    if subject.minimize and (subject.given_z or subject.registers is not None):
        must = "states are merged by what follows, or by registers, not both"
        remedy = wording("Leave ", Argument("given_z"), " and ", Argument("registers"), " out")
        raise InputError(wording(Argument("minimize")), must, remedy=remedy)
    if subject.minimize:
        return merged_automaton(loss, n, subject.z if alone else None, limit)
    automaton = _automaton(loss.compile(n, subject.z if alone else None, limit))
    if not subject.given_z:
        return automaton
    if loss.bound is None:
        must = "the loss must be one of a file: which registers read z alone is derived from it"
        where = wording(Argument("given_z"))
        raise InputError(where, must, given=type(loss).__name__, remedy="Use registers=...")
    declared = {register.name for register in loss.bound.spec.registers}
    clock = [name for name in automaton.registers if name not in declared]
    return project(automaton, [*clock, *registers_given_z(loss.bound.spec)])


def _composition(loss: Loss, subject: Subject, limit: int) -> Automaton:
    """The automaton of the composition with a model; an InputError for what it has no use for."""
    refuse_exchanged(subject.z, subject.model, "draw")
    model = as_model(subject.model)
    if subject.minimize:
        must = "a composition is drawn as it is"
        remedy = wording("Leave ", Argument("minimize"), " or the model out")
        raise InputError(wording(Argument("minimize")), must, remedy=remedy)
    if subject.z is None:
        must = "with a model, the hypothesis z must be given: labels, or a model of its own"
        raise InputError("draw", must)
    if subject.n is not None and subject.n != model.n:
        raise InputError("draw", f"n must be that of the model, {model.n}", given=subject.n)
    if subject.given_z:
        must = "a composition with a model has no states for registers that read z alone"
        raise InputError(wording(Argument("given_z")), must, remedy="Leave it out")
    return _automaton(compose(loss, subject.z, model, max_states=limit))


def _length(subject: Subject) -> int:
    """The length of the sequences, by n, z and y, which must agree."""
    lengths = [len(list(x)) for x in (subject.z, subject.y) if x is not None]
    if subject.n is not None:
        lengths.insert(0, check_int("draw", "n", subject.n, least=0))
    if not lengths:
        must = "the length of the sequences must be given"
        pair = (Argument("z"), " and ", Argument("y"))
        remedy = wording("Give ", Argument("n", "3"), ", or sequences ", *pair)
        raise InputError("draw", must, remedy=remedy)
    if len(set(lengths)) > 1:
        must = "n, hypothesis z and reference y must have the same length"
        raise InputError("draw", must, given=f"lengths {', '.join(map(str, lengths))}")
    return lengths[0]


def _route(automaton: Automaton, subject: Subject) -> Route:
    """The paths of the pair, or those of z in a composition, one for each reference; or none."""
    z = subject.z
    y = subject.y
    if y is None and (z is None or not isinstance(subject.thing, Composition)):
        return Route()
    read_y = None if y is None else automaton.encode(y, True, "reference y")
    if read_y is not None and isinstance(subject.thing, Model) and len(read_y) != subject.thing.n:
        must = f"reference y must be as long as the sequences of the model, {subject.thing.n}"
        raise InputError("draw", must, given=len(read_y))
    if z is not None and not isinstance(z, Model):
        return find_route(automaton, automaton.encode(z, False, "hypothesis z"), read_y)
    if read_y is None or not automaton.acceptor:
        must = "to colour a path, the hypothesis z must be given as labels too"
        raise InputError("draw", must)
    return find_route(automaton, read_y, read_y)
