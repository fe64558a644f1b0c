"""A loss as an explicit two-tape transducer for sequences of length n.

Input tape z, output tape y, one path per pair, the value as final weight (-log of it): the total
weight of hypothesis o machine o model is the expected value. Values that can be negative are
shifted up by a constant that is kept beside the machine.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from fsmeu import limits
from fsmeu.arrays import Bools, Floats, Ints
from fsmeu.display import Picture
from fsmeu.errors import visible
from fsmeu.fst.alphabet import Alphabet
from fsmeu.fst.compose import guard_arcs, guard_layers, guard_size, max_states
from fsmeu.fst.image import ArcTable, fst_from_table, symbol_table
from fsmeu.fst.layers import Layer, Layered, arcs_by_label
from fsmeu.fst.lengths import unrolled
from fsmeu.fst.openfst import Fst
from fsmeu.losses.language import syntax as ast
from fsmeu.losses.machine.view import LossAutomaton, SpecAutomaton
from fsmeu.losses.semantics.at_length import LossAtLength
from fsmeu.losses.semantics.evaluator import BoundLoss
from fsmeu.losses.semantics.walk import trajectories

_UNKNOWN = -2  # the target of a step that has not been looked at
_ZERO = ast.Number(0.0)
_LATER = ast.Binary("+", ast.Name("i"), ast.Number(1.0))
_CLOCK = ast.Register("i", "clock", _ZERO, _LATER, _ZERO, ast.Name("n"), ast.Place())


class Compiled(Picture):
    """A machine for sequences of length n, named for pictures and messages.

    ``table`` has its arcs, sorted by state and input label, state 0 being the start; ``shift`` was
    added to every value to make weights of them. Several depths may share a state, which keeps it
    small; ``unrolled``, and so ``fst``, has paths for pairs of length n alone, and with a
    hypothesis ``z`` for pairs with it alone.
    """

    name: str
    n: int
    alphabet: Alphabet
    table: ArcTable
    shift: float
    z: Ints | None

    def __repr__(self) -> str:
        return f"<machine of {visible(self.name)}: {self.states:,} states, {self.arcs:,} arcs>"

    @property
    def states(self) -> int:
        """The number of states."""
        return self.table.states

    @property
    def arcs(self) -> int:
        """The number of arcs."""
        return self.table.arcs

    @property
    def unrolled(self) -> Compiled:
        """The machine with a state for each depth at which one is reached."""
        raise NotImplementedError

    @cached_property
    def fst(self) -> Fst:
        """The pynini machine of pairs of length n (log64 arcs, symbol tables attached)."""
        symbols = symbol_table(self.alphabet)
        return fst_from_table(self.unrolled.table, symbols, symbols)

    @cached_property
    def shared(self) -> Fst:
        """The pynini machine whose states depths share, to be composed with paths of length n."""
        symbols = symbol_table(self.alphabet)
        return fst_from_table(self.table, symbols, symbols)

    def _unrolled(self, ending: Bools) -> tuple[ArcTable, Ints, Bools]:
        """The arcs of the unrolled machine, the state behind each of its own, and where it ends."""
        inputs = None if self.z is None else self.z + 1
        return unrolled(self.name, self.table, ending, self.n, inputs)


@dataclass(frozen=True, eq=False, repr=False)
class Machine(Compiled):
    """A compiled loss, which has one path per pair and the value as its final weight."""

    name: str
    n: int
    alphabet: Alphabet
    next: Ints  # the target (states, z, y) of each step, -1 where no pair of length n takes it
    values: Floats  # the value of ending in each state; nan where no pair of length n ends
    shift: float
    registers: dict[str, Floats]  # their values behind each state
    source: LossAtLength | None = None  # the loss that it was compiled from, if known
    z: Ints | None = None  # the label indices of the hypothesis that it was compiled for, if any

    @cached_property
    def unrolled(self) -> Machine:
        """The machine with a state for each depth at which one is reached."""
        table, behind, ends = self._unrolled(~np.isnan(self.values))
        steps = np.full((len(behind), *self.next.shape[1:]), -1, np.int64)
        steps[table.source, table.ilabel - 1, table.olabel - 1] = table.target
        values = np.where(ends, self.values[behind], np.nan)
        registers = {name: column[behind] for name, column in self.registers.items()}
        return replace(self, next=steps, values=values, registers=registers)

    @property
    def states(self) -> int:
        """The number of states."""
        return len(self.values)

    @cached_property
    def table(self) -> ArcTable:  # type: ignore[override]
        """The arcs, sorted by state and input label; state 0 is the start."""
        source, z, y = np.nonzero(self.next >= 0)
        target = self.next[source, z, y]
        with np.errstate(divide="ignore"):
            final = -np.log(np.where(np.isnan(self.values), 0.0, self.values + self.shift))
        return ArcTable(0, source, z + 1, y + 1, np.zeros(len(source)), target, final)

    @cached_property
    def unvalued(self) -> Fst:
        """The pynini machine without values: every final weight is one."""
        symbols = symbol_table(self.alphabet)
        final = np.where(np.isnan(self.values), np.inf, 0.0)
        return fst_from_table(replace(self.table, final=final), symbols, symbols)


def machine_view(
    at: LossAtLength, z: Ints | None = None, merge: bool = False, linear: tuple[str, ...] = ()
) -> SpecAutomaton:
    """The view whose steps are the same at every position, as a machine needs it.

    The position is a register where a step looks at it. With z given, registers that read z alone
    and that no step looks at are left out (Figure 1 of Jansche 2007: states are (tp, ref)).
    """
    clocked = at
    if at.spec.reads_clock:
        clocked = at.bound.derived.get("clocked", lambda: _clocked(at.bound)).at(at.n)
    ends: dict[str, float] = {}
    if z is not None:
        registers = clocked.spec.registers
        names = {x for x, reads in clocked.spec.tapes.items() if "y" not in reads and x != "i"}
        read = ast.needed_registers(registers, [r.update for r in registers if r.name not in names])
        tracks = trajectories(at.bound, z[None, :], names)
        ends = {name: float(tracks[name][0, at.n]) for name in sorted(names - read)}
    return SpecAutomaton(clocked, None, linear, ends=ends, merge=merge)


def _clocked(bound: BoundLoss) -> BoundLoss:
    """The same loss with the position as a register."""
    return replace(bound, spec=replace(bound.spec, registers=(_CLOCK, *bound.spec.registers)))


def refuse_large(
    name: str, at: LossAtLength, limit: int | None, weights: tuple[str, ...] = ()
) -> None:
    """Refuses a machine, the hypothesis free, that is seen to be too large before it is built.

    ``weights`` are counts that are no part of its states, which are merged then.

    Counts that no step looks at aside, let s be the start, or where the first pair leads. If ways
    of k steps from s to s have r linearly independent gains, m further steps make comb(m // k + r,
    r) sums of them: so many states for each content of the other registers that the remaining
    steps reach. These contents are counted until the limit is passed.
    """
    n = at.n
    free = at.spec.unread - set(weights)
    counts = tuple(x for x, added in at.spec.amounts.items() if x in free and added is not None)
    view = machine_view(at, merge=bool(weights), linear=(*counts, *weights))
    rows = [view.linear_names.index(x) for x in counts]
    sums = math.comb(n + len(counts), len(counts))
    if n < 3 or not counts or view.space_of.size * sums <= max_states(limit):
        return
    ranks = [0, 0]
    for depth in (0, 1):
        first, gains = view.advance(depth + 1, np.array([view.start]))
        once = gains[rows]  # type: ignore[index]
        ranks[0] = _rank(once[:, 0, first[0] == view.start])
        guard_size(name, _sums(n - depth, ranks), limit, least=True)
        view.start = view.start if depth else int(first[0, 0])
    targets, place = np.unique(first[0], return_inverse=True)
    if len(targets) * view.symbols <= limits.STEPS_AT_ONCE:
        second, twice = view.advance(3, targets)
        ways, back = np.nonzero(second[place] == view.start)
        both = once[:, 0, ways] + twice[rows][:, place[ways], back]  # type: ignore[index]
        ranks[1] = _rank(both)
    least = 0
    explored = _Explored(name, view, view.symbols, limit)
    explored.gains = explored.gains[:0]
    for m, fresh in zip(range((n - 1) * any(ranks), 0, -1), explored.by_depth(), strict=False):
        least += fresh * _sums(m, ranks)
        guard_size(name, least, limit, least=True)
        guard_arcs(name, least * view.symbols, limit, least=True)


def _rank(gains: Floats | Ints) -> int:
    """The number of linearly independent columns; 0 without any, which numpy 1.26 refuses."""
    return int(np.linalg.matrix_rank(gains)) if gains.size else 0


def _sums(m: int, ranks: list[int]) -> int:
    """A lower bound on the distinct sums after m steps; gains of 1 and 2 steps have these ranks."""
    return min(
        max(math.comb(m // k + int(r), int(r)) for k, r in enumerate(ranks, start=1)), 10**18
    )


def build_machine(
    name: str,
    alphabet: Alphabet,
    view: LossAutomaton,
    pairs: Layered | None = None,
    max_states: int | None = None,
) -> Machine:
    """The explicit machine of a view, or of what an acceptor of pairs z * L + y can reach of it."""
    size = len(alphabet)
    reached = explore(name, view, pairs, size, max_states)
    codes = reached.codes
    values = np.full(len(codes), np.nan)
    values[reached.ending] = view.values(codes[reached.ending])[0]
    least = np.nanmin(values) if reached.ending.any() else 0.0
    shift = -float(least) if least < 0 else 0.0
    steps = reached.targets.reshape(len(codes), size, size)
    return Machine(name, view.n, alphabet, steps, values, shift, view.registers(codes))


class Reached(NamedTuple):
    """The states of a loss that some pairs of sequences reach."""

    codes: Ints  # (states,)
    targets: Ints  # numbers of states, -1 for none, (states, pairs of labels)
    ending: Bools  # whether a pair of length exactly n can end there, (states,)
    gains: Floats  # (linear, states, pairs of labels)


def explore(
    name: str, view: LossAutomaton, pairs: Layered | None, size: int, max_states: int | None
) -> Reached:
    """The states that pairs of length n reach, or those of an acceptor of pairs z * size + y."""
    explored = _Explored(name, view, size * size, max_states)
    if pairs is None:
        for _ in explored.by_depth():
            pass
        targets = explored.targets
        return Reached(explored.codes, targets, _ending(targets, view.n), explored.gains)
    inside = (pairs.start > 0)[None, :]
    for i, layer in enumerate(pairs.layers, start=1):
        _expand_reached(i, layer, inside, explored)
        guard_size(f"{name}, with the model", len(explored.codes) * layer.width // 8, max_states)
        after = np.zeros((len(explored.codes) + 1, layer.width), bool)
        for symbol, arcs in arcs_by_label(layer):
            state, arc = np.nonzero(inside[:, layer.source[arcs]])
            after[explored.steps[state, symbol], layer.target[arcs][arc]] = True
        inside = after[:-1]  # which (state, state of the acceptor) are reached after position i
    ending = np.any(inside[:, pairs.final > 0], axis=1)
    return Reached(explored.codes, explored.targets, ending, explored.gains)


def _expand_reached(i: int, layer: Layer, inside: Bools, explored: _Explored) -> None:
    """Adds the new steps at position i, from the (state, state of the acceptor) inside."""
    together: dict[bytes, tuple[Ints, list[int]]] = {}
    for symbol, arcs in arcs_by_label(layer):
        reached = inside[:, layer.source[arcs]].any(axis=1)
        fresh = np.flatnonzero(reached & (explored.steps[: len(inside), symbol] == _UNKNOWN))
        together.setdefault(fresh.tobytes(), (fresh, []))[1].append(symbol)
    for fresh, symbols in together.values():
        explored.expand(i, fresh, np.array(symbols))


def _ending(targets: Ints, n: int) -> Bools:
    """True for states in which a pair of length exactly n can end, (states,), z being free."""
    states = len(targets)
    expanded = (targets >= 0).any(axis=1)
    loops = (targets == np.arange(states)[:, None]).any(axis=1)
    if loops[expanded].all():
        return np.ones(states, bool)
    here = np.zeros(states, bool)
    here[0] = True
    marked = here
    since = 0
    depth = 0
    while depth < n:
        after = np.zeros(states + 1, bool)
        after[targets[here]] = True
        here = after[:-1]
        depth += 1
        if (here == marked).all():  # the sets of states repeat (Brent 1980)
            n = depth + (n - depth) % (depth - since)
        elif depth > 2 * since:
            marked = here
            since = depth
    return here


class _Explored:
    """The states so far, and their steps as far as they are known."""

    def __init__(self, name: str, view: LossAutomaton, pairs: int, max_states: int | None) -> None:
        self.name = name
        self.view = view
        self.max_states = max_states
        self.codes = np.array([view.start], np.int64)
        self.steps = np.full((1, pairs), _UNKNOWN)
        self.gains = np.zeros((view.linear, 1, pairs))
        self._sorted = self.codes.copy()
        self._order = np.zeros(1, np.int64)

    @property
    def targets(self) -> Ints:
        """Target numbers (states, pairs), -1 where a step is not known or not taken."""
        targets: Ints = np.maximum(self.steps[: len(self.codes)], -1)
        return targets

    def by_depth(self) -> Iterator[int]:
        """The number of states that each depth is the first to reach, before they are expanded."""
        columns = np.arange(self.steps.shape[1])
        begin = 0
        for i in range(1, self.view.n + 1):
            fresh = np.arange(begin, len(self.codes))
            if not len(fresh):
                return
            yield len(fresh)
            if i > limits.LAYERS_BEFORE_GUARD or self.steps.size > limits.STEPS_BEFORE_GUARD:
                guard_layers(self.name, self.view.n)
            begin = len(self.codes)
            self.expand(i, fresh, columns)

    def expand(self, i: int, fresh: Ints, columns: Ints) -> None:
        """Adds the targets of these states on these pairs at position i, some states at a time."""
        size = max(1, limits.STEPS_AT_ONCE // max(1, len(columns)))
        for states in (fresh[begin : begin + size] for begin in range(0, len(fresh), size)):
            reached, gained = self.view.advance(i, self.codes[states], columns)
            numbers = self._number(reached)
            count = len(self.codes)
            width = self.steps.shape[1]
            guard_size(self.name, count, self.max_states, least=True)
            guard_arcs(self.name, count * width, self.max_states, least=True)
            if count > len(self.steps):
                more = np.full((count, width), _UNKNOWN)
                self.steps = np.concatenate([self.steps, more])
                none = np.zeros((len(self.gains), *more.shape))
                self.gains = np.concatenate([self.gains, none], axis=1)
            self.steps[states[:, None], columns] = numbers
            if len(self.gains):
                self.gains[:, states[:, None], columns] = gained

    def _number(self, codes: Ints) -> Ints:
        """The state numbers of these codes, of the same shape; new codes get new ones, -1 stays."""
        distinct = np.sort(codes[codes >= 0])  # many are new, which is slow for a table of them
        distinct = distinct[np.diff(distinct, prepend=-1) != 0]
        place = np.searchsorted(self._sorted, distinct)
        near = np.minimum(place, len(self._sorted) - 1)
        numbers = self._order[near]
        new = self._sorted[near] != distinct
        if new.any():
            numbers[new] = len(self.codes) + np.arange(np.count_nonzero(new))
            self._sorted = np.insert(self._sorted, place[new], distinct[new])
            self._order = np.insert(self._order, place[new], numbers[new])
            self.codes = np.concatenate([self.codes, distinct[new]])
        return np.where(codes >= 0, np.append(numbers, -1)[np.searchsorted(distinct, codes)], -1)
