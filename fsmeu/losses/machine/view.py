"""A loss as it is walked: its states, the steps between them, and their values at the end.

With the hypothesis free, a step reads a pair of labels and every register is part of the state.
With the hypothesis given, a step reads a label of y only, and registers that look at z alone are
constants. In both, registers in which the value is linear may be kept in the weight.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Hashable, Iterator, Mapping
from contextlib import suppress
from functools import partial
from typing import Any

import numpy as np

from fsmeu import limits
from fsmeu.arrays import Bools, Floats, Ints
from fsmeu.errors import LossFileError, SizeLimitError
from fsmeu.fst.compose import guard_pairs
from fsmeu.fst.distinct import bits, group, refine, refine_layers
from fsmeu.losses.language import syntax as ast
from fsmeu.losses.language.syntax import Expr, Register, names_read
from fsmeu.losses.semantics import domains
from fsmeu.losses.semantics.at_length import LossAtLength
from fsmeu.losses.semantics.evaluator import (
    Scope,
    evaluate,
    is_undefined,
    number,
    where_defined,
)
from fsmeu.losses.semantics.walk import trajectories


class LossAutomaton:
    """A loss as engines read it; states are int64 codes."""

    n: int  # the length of the sequences
    z: Ints | None  # the label indices of the hypothesis, None where it is free
    symbols: int  # how many symbols a step can read: labels of y, or pairs z * L + y
    start: int  # the code of the start state
    linear: int  # how many registers are kept in the weight
    space: int | None  # the number of codes when arrays may span all of them
    memo: dict[Hashable, Any]  # the cache of engines between walks of one loss at one length
    track: Mapping[str, Floats]  # registers that read z alone, (1, n + 1) by name

    def advance(
        self, i: int, codes: Ints, symbols: Ints | None = None
    ) -> tuple[Ints, Floats | None]:
        """Targets (states, symbols) of the step at position i, and gains (linear, states, symbols).

        Only the steps of these symbols are computed, if they are given.
        A target of -1 stands for a step that no sequence of length n takes.
        """
        raise NotImplementedError

    def values(self, codes: Ints) -> tuple[Floats, Floats]:
        """Value of ending in each state with linear registers at their start, and their slopes."""
        raise NotImplementedError

    def registers(self, codes: Ints) -> dict[str, Any]:
        """The register values behind each code, where an explicit machine is made of the view."""
        raise NotImplementedError

    def merged_given_z(self, copies: int) -> LossAutomaton:
        """The automaton with states merged that no continuation tells apart, given z; or itself.

        ``copies`` is how many times each state occurs: the number of states of the model.
        """
        return self

    # Where arrays may span all codes, many hypotheses are walked over together:

    def tracks(self, z: Ints) -> Mapping[str, Floats]:
        """The registers that read z alone, for rows of z (rows, n), (rows, n + 1) by name."""
        raise NotImplementedError

    def context_cells(self, z: Ints, track: Mapping[str, Floats]) -> Floats:
        """The numbers that make up the contexts of rows of z, (rows, positions, numbers)."""
        raise NotImplementedError

    def values_with(
        self, tracks: Mapping[str, Any], codes: Ints, shape: tuple[int, ...], active: Bools | None
    ) -> tuple[Floats, Floats]:
        """Values and slopes of ending in states, registers that read z alone being given."""
        raise NotImplementedError


class SpecAutomaton(LossAutomaton):
    """The view of a loss written in the language, z being a hypothesis or None to leave it free.

    ``linear`` registers are kept in the weight, ``ends`` has last values of registers that are left
    out because no step looks at them, ``memo`` is shared by all views with the same arguments but
    z. With ``merge``, values of a register that nothing can tell apart are one. With a ``quotient``
    (``quotient_given_z``), steps lead to what stands for all that is alike given z.
    """

    def __init__(
        self,
        at: LossAtLength,
        z: Ints | None = None,
        linear: tuple[str, ...] = (),
        ends: Mapping[str, float] | None = None,
        memo: dict[Hashable, Any] | None = None,
        merge: bool = True,
    ) -> None:
        spec = at.spec
        self.at = at
        self.bound = at.bound
        self.n = at.n
        self.z = z
        self.merge = merge
        self.memo = {} if memo is None else memo
        self.linear_names = tuple(r.name for r in spec.registers if r.name in linear)
        self.ends = dict(ends or {})
        self.quotient: tuple[SpecAutomaton, list[_CoreLayer]] | None = None
        self.clock = any(r.sugar == "clock" for r in spec.registers)
        self.linear = len(linear)
        self.memories = at.memories
        constant_in_y = {name for name, t in spec.tapes.items() if z is not None and "y" not in t}
        fixed = constant_in_y - set(linear)
        self.track = trajectories(at.bound, z[None, :], fixed) if z is not None else {}
        left_out = fixed | set(linear) | self.ends.keys()
        self.carried = [r for r in spec.registers if r.name not in left_out]
        self.gain_exprs = [spec.amounts[name] for name in self.linear_names]
        merged = merged_registers(at) if merge else {}
        of = {r.name: merged.get(r.name) or at.domain(r) for r in self.carried}
        self.space_of = domains.Space(domains.share_numbers(of))
        if self.space_of.size > 2**domains.MAX_BITS:
            must = f"the registers together may take at most 2^{domains.MAX_BITS} values"
            raise SizeLimitError(f"{spec.kind} {spec.name}", must, given=self.space_of.size)
        self.space = self.space_of.size if self.space_of.dense else None
        stepping = {*(r.name for r in self.carried), *self.linear_names}
        updates = (r.update for r in spec.registers if r.name in stepping)
        self._read = frozenset[str]().union(*map(names_read, updates))
        labels = at.bound.label_values
        if z is None:
            guard_pairs(f"{spec.kind} {spec.name}", len(labels))
        pair = np.arange(len(labels) ** (2 if z is None else 1))
        self.symbols = len(pair)
        self._z = labels[pair // len(labels)]
        self._y = labels[pair % len(labels)]
        starts = {r.name: at.starts[r.name] for r in self.carried}
        code, culprit = self.space_of.encode({k: np.array(start) for k, start in starts.items()})
        if culprit is not None or int(code) < 0:
            register = next(r for r in self.carried if culprit in (None, r.name))
            start = np.array(starts[register.name])
            raise domains.left_domain(spec, register, start, self.space_of)
        self.start = int(code)

    def tracks(self, z: Ints) -> Mapping[str, Floats]:
        """The registers that read z alone, for rows of z (rows, n), (rows, n + 1) by name."""
        if len(z) == 1:
            return self.track
        return trajectories(self.bound, z, set(self.track))

    def merged_given_z(self, copies: int) -> LossAutomaton:
        """The automaton with states merged that no continuation tells apart, given z; or itself."""
        return (quotient_given_z(self, copies) if self.merge else None) or self

    def context_cells(self, z: Ints, track: Mapping[str, Floats]) -> Floats:
        """The numbers that make up the contexts of rows of z, (rows, positions, numbers)."""
        columns: list[Floats] = []
        if "i" in self._read and not self.clock:
            columns += [np.broadcast_to(piece, z.shape) for piece in self._clock_pieces()]
        if self.z is not None and "z" in self._read:
            columns.append(z.astype(np.float64))
        for name, values in track.items():
            if name in self._read:
                columns += [values[:, :-1], values[:, 1:]]
        return np.stack(columns, axis=-1) if columns else np.zeros((*z.shape, 0))

    def _clock_pieces(self) -> list[Floats]:
        """What steps read of the position: pieces of updates that read nothing else, (n,) each.

        A loss that asks whether i == n has two kinds of positions, not n of them.
        """
        stepping = {*(r.name for r in self.carried), *self.linear_names}
        current = {"i": np.arange(1.0, self.n + 1.0), "n": float(self.n)}
        scope = Scope(self.bound, current, current, self.memories)
        alone = frozenset({"i", "n", *self.bound.params})
        pieces: dict[Expr, Floats] = {}
        for register in self.bound.spec.registers:
            if register.name in stepping:
                for piece in _pieces_of_clock(register.update, alone):
                    pieces[piece] = np.asarray(evaluate(piece, scope), np.float64)
        return list(pieces.values())

    def advance(
        self, i: int, codes: Ints, symbols: Ints | None = None
    ) -> tuple[Ints, Floats | None]:
        """Targets (states, symbols) of the step at position i, and gains (linear, same shape)."""
        old = {name: column[:, None] for name, column in self.space_of.decode(codes).items()}
        old |= {name: track[0, i - 1] for name, track in self.track.items()}
        read = slice(None) if symbols is None else symbols
        z = self._z[None, read] if self.z is None else float(self.bound.label_values[self.z[i - 1]])
        clock = {} if self.clock else {"i": float(i)}
        current = {**old, "z": z, "y": self._y[None, read], "n": float(self.n), **clock}
        scope = Scope(self.bound, current, old, self.memories)
        shape = (len(codes), self.symbols if symbols is None else len(symbols))
        gains = np.empty((self.linear, *shape)) if self.linear else None
        new: dict[str, Floats] = {}
        k = 0
        for register in self.bound.spec.registers:
            name = register.name
            if name in self.track:
                current[name] = self.track[name][0, i]
            elif name in self.ends:
                continue
            elif gains is not None and name in self.linear_names:
                compute = where_defined if register.sugar == "feature" else number
                gains[k] = compute(self.gain_exprs[k], scope)  # type: ignore[arg-type]
                k += 1
            else:
                new[name] = evaluate(register.update, scope)
                domains.keep_whole(register, old[name], new[name], scope)
                current[name] = new[name]
        targets, culprit = self.space_of.encode(new)
        if culprit is not None:
            register = next(r for r in self.carried if r.name == culprit)
            spec = self.bound.spec
            raise domains.left_domain(spec, register, new[culprit], self.space_of, scope)
        return self.stand_in(i, np.broadcast_to(targets, shape)), gains

    def stand_in(self, i: int, codes: Ints) -> Ints:
        """The codes of representatives of the states after position i, in the shape of codes."""
        if self.quotient is None:
            return codes
        core, layers = self.quotient
        distinct, inverse = np.unique(codes, return_inverse=True)
        valid = distinct >= 0
        contents, stands = layers[i]
        registers = self.space_of.decode(distinct[valid])
        inner = core.space_of.encode({name: registers[name] for name in stands})[0]
        place = np.searchsorted(contents, np.broadcast_to(inner, distinct[valid].shape))
        others = {name: values[place] for name, values in stands.items()}
        distinct[valid] = self.space_of.encode({**registers, **others})[0]
        return distinct[inverse].reshape(codes.shape)

    def values(self, codes: Ints) -> tuple[Floats, Floats]:
        """Value of ending in each state with linear registers at their start, and their slopes."""
        tracks = {name: float(track[0, self.n]) for name, track in self.track.items()}
        return self.values_with(tracks, codes, (len(codes),), None)

    def values_with(
        self, tracks: Mapping[str, Any], codes: Ints, shape: tuple[int, ...], active: Bools | None
    ) -> tuple[Floats, Floats]:
        """Values and slopes of ending in states, registers that read z alone being given."""
        at = self.at
        names = self.linear_names
        registers = {**self.space_of.decode(codes), **tracks, **self.ends}
        at_start = {**registers, **{name: at.starts[name] for name in names}}
        value = at.at_end(at.spec.value, at_start, shape, active)
        rises = [at.spec.slope(name) for name in names]
        slopes = [at.at_end(expr, registers, shape, active) for expr in rises]
        if not self.linear:
            at.check_range(value if active is None else value[active])
        return value, np.array(slopes).reshape(self.linear, *shape)

    def registers(self, codes: Ints) -> dict[str, Floats]:
        """The values of all registers (but linear ones) behind each code, at the end of z."""
        fixed = {**{name: track[0, self.n] for name, track in self.track.items()}, **self.ends}
        columns = {name: np.full(len(codes), value) for name, value in fixed.items()}
        columns |= self.space_of.decode(codes)
        return {r.name: columns[r.name] for r in self.bound.spec.registers if r.name in columns}


def _pieces_of_clock(expr: Expr, names: frozenset[str]) -> Iterator[Expr]:
    """The largest pieces that read the position, and nothing beside these names."""
    read = names_read(expr)
    if "i" not in read:
        return
    if read <= names:
        yield expr
    else:
        for part in ast.parts(expr):
            yield from _pieces_of_clock(part, names)


# -- values of a register that nothing in the file can tell apart ----------------------------------
#
# A file may remember more than it reads: the last k labels where only the age of the newest
# boundary matters. Two values of a register are the same when all that the file reads off it is the
# same, now and after every further step. That is found by refining the register's own small
# automaton; the machine of the loss, which may be far too large to build, is not needed.


def merged_registers(at: LossAtLength) -> Mapping[str, domains.Merged]:
    """The registers with values that can be merged, and how."""
    return at.derived.get("merged registers", lambda: _merged_registers(at))


def _merged_registers(at: LossAtLength) -> dict[str, domains.Merged]:
    registers = {}
    for register, reads in at.spec.derived.get("candidates", lambda: _candidates(at.spec)):
        sides = (register.start, register.update, register.low, register.high, register.depth)
        reads_length = any("n" in names_read(x) for x in (*sides, *reads) if x is not None)
        longer = at  # what serves a longer one serves all that are shorter
        if not reads_length:
            longer = at.bound.at(1 << at.n.bit_length())
        key = "classes", register.name
        with suppress(LossFileError):  # something is undefined; who reaches it will say so
            merged = longer.derived.get(key, partial(_value_classes, longer, register, reads))
            if merged is not None and len(merged.representatives) < len(merged.values):
                registers[register.name] = merged
    return registers


def _candidates(spec: ast.Spec) -> tuple[tuple[Register, tuple[Expr, ...]], ...]:
    """Registers updated by labels alone, each with the expressions that others read of it.

    That are the largest pieces of other updates and of the value that look at the register only,
    either as it is or as it was before the step, beside labels of the step, parameters and n.
    """
    labels = frozenset({"z", "y", "n", *(param.name for param in spec.params)})
    candidates = []
    for register in spec.registers:
        name = register.name
        free = labels | {register.name}
        others = [spec.value, *(r.update for r in spec.registers if r.name != name)]
        reads = dict.fromkeys(piece for expr in others for piece in _pieces(expr, name, free))
        bare = any(isinstance(expr, ast.Name | ast.Old) for expr in reads)
        if not bare and names_read(register.update) <= free:
            candidates.append((register, tuple(reads)))
    return tuple(candidates)


def _pieces(expr: Expr, name: str, free: frozenset[str]) -> Iterator[Expr]:
    if name not in names_read(expr):
        return
    if names_read(expr) <= free and _is_one_time(expr, name):
        yield expr
        return
    if isinstance(expr, ast.Index) and expr.name == name:
        yield ast.Name(name)
    for part in ast.parts(expr):
        yield from _pieces(part, name, free)


def _is_one_time(expr: Expr, name: str) -> bool:
    """True when an expression reads a register's new value or its old one, but not both."""
    times = set()
    for node in ast.subexpressions(expr):
        if isinstance(node, ast.Arcs | ast.Push):
            return False
        read = "state" if isinstance(node, ast.At) else getattr(node, "name", "")
        if read == name:
            times.add(isinstance(node, ast.Old) or getattr(node, "old", False))
    return len(times) == 1


def _value_classes(
    at: LossAtLength, register: Register, reads: tuple[Expr, ...]
) -> domains.Merged | None:
    """The classes of the values that a register takes; None if there are too many, or some leave.

    A value that is first reached at the end leads to itself, so that it is merged with its like.
    """
    domain = at.domain(register)
    start = at.constant(register.start)
    labels = len(at.bound.label_values)
    bounded = not isinstance(domain, domains.Pool) and domain.size <= limits.LARGEST_MERGED_DOMAIN
    if not bounded or start != int(start) or not 0 <= start - domain.low < domain.size:
        return None
    if not reads and register.sugar == "count":  # nothing tells its values apart
        return domains.all_alike(domain, start)
    values = np.array([start])
    rows = list[Ints]()
    begin = depth = 0
    place = np.full(domain.size, -1, np.int64)
    place[int(start) - domain.low] = 0
    while begin < len(values) and depth < at.n:
        if len(values) * labels**2 > limits.MOST_MERGED_CELLS:
            return None
        after = _look(at, register.name, register.update, values[begin:], evaluate)
        after = after - domain.low
        offsets = after.astype(np.int64)
        if not ((offsets == after) & (offsets >= 0) & (offsets < domain.size)).all():
            return None
        fresh = np.unique(offsets[place[offsets] < 0])
        place[fresh] = len(values) + np.arange(len(fresh))
        rows.append(place[offsets])
        begin = len(values)
        depth += 1
        values = np.concatenate([values, fresh + float(domain.low)])
        if len(values) > limits.MOST_MERGED_VALUES:
            return None
    last = np.arange(begin, len(values))[:, None]
    rows.append(np.broadcast_to(last, (len(last), rows[0].shape[1] if rows else 1)))
    columns = [_look(at, register.name, expr, values, where_defined) for expr in reads]
    missing = [is_undefined(column).astype(np.float64) for column in columns]
    seen = np.concatenate([np.zeros((len(values), 1)), *columns, *missing], axis=1)
    outputs = group(bits(seen))
    classes = refine(np.concatenate(rows), outputs)
    order = np.argsort(values)
    first = np.unique(classes, return_index=True)[1]
    return domains.Merged(values[order], classes[order], values[first])


def _look(
    at: LossAtLength,
    name: str,
    expr: Expr,
    values: Floats,
    compute: Callable[[Expr, Scope], Any],
) -> Floats:
    """An expression's value for each value of a register and pair of labels, (values, pairs)."""
    column = values[:, None, None]
    labels = at.bound.label_values
    tapes = {"z": labels[None, :, None], "y": labels[None, None, :], "n": float(at.n)}
    scope = Scope(at.bound, {name: column, **tapes}, {name: column}, at.memories)
    result = np.asarray(compute(expr, scope), np.float64)
    columns = np.broadcast_shapes(result.shape, (1, 1, 1))[1:]
    return np.broadcast_to(result, (len(values), *columns)).reshape(len(values), -1)


# -- merged once the hypothesis is known -----------------------------------------------------------

_CoreLayer = tuple[Ints, dict[str, Floats]]
"""The contents of the core after a position, ascending, and what stands for each, by register."""


def quotient_given_z(view: SpecAutomaton, copies: int) -> LossAutomaton | None:
    """The view (with z given) with states merged that nothing can tell apart; None if no gain.

    In the core, all registers that only add up are in the weight. States of it that no continuation
    tells apart, given z, are merged layer by layer: of the age of the open chunk of y, all that
    matters is whether z's is the same. ``copies`` is how many times each state of the core occurs
    beside what the view itself adds up: the number of states of the model.
    """
    spec = view.bound.spec
    adding = {name for name in spec.unread if spec.amounts[name] is not None}
    sums = [r.name for r in view.carried if r.name in adding]
    names = [r.name for r in view.carried if r.name not in sums]
    if view.z is None or not names:
        return None
    sizes = {name: domain.size for name, domain in view.space_of.domains.items()}
    size = int(np.prod([float(sizes[name]) for name in names]))
    beside = copies * int(np.prod([float(min(sizes[name], view.n + 1)) for name in sums]))
    if size < limits.SMALL_CORE or beside < limits.SMALL_CORE:
        return None
    core = SpecAutomaton(view.at, view.z, (*view.linear_names, *sums))
    layers = _core_layers(core, names)
    if layers is None:
        return None
    merged = copy.copy(view)
    merged.quotient = core, layers
    merged.merge = False
    merged.space = None
    merged.memo = {}
    merged.start = int(merged.stand_in(0, np.array([view.start]))[0])
    return merged


def _core_layers(core: SpecAutomaton, names: list[str]) -> list[_CoreLayer] | None:
    """The layers of the core with classes of states; None where merging saves little."""
    codes = [np.array([core.start], np.int64)]
    steps: list[tuple[Ints, Ints]] = []
    cells = 0
    try:
        for i in range(1, core.n + 1):
            targets, gains = core.advance(i, codes[-1])
            after = np.unique(targets[targets >= 0])
            places = np.where(targets < 0, -1, np.searchsorted(after, targets))
            gained = np.zeros((0, *targets.shape)) if gains is None else gains
            steps.append((places, bits(gained.transpose(1, 0, 2).reshape(len(targets), -1))))
            codes.append(after)
            cells += targets.size * (1 + core.linear)
            if cells > limits.MOST_MERGED_CELLS:
                return None
    except LossFileError:
        return None  # perhaps where only impossible references lead: the plain walk will tell
    decode = core.space_of.decode
    read = names_read(core.bound.spec.value) & set(names)
    columns = [bits(column) for name, column in decode(codes[-1]).items() if name in read]
    ends = group(np.stack([np.zeros_like(codes[-1]), *columns], axis=1))
    layers = []
    merged = 0
    for contents, classes in zip(codes, refine_layers(steps, ends), strict=True):
        _, first, inverse = np.unique(classes, return_index=True, return_inverse=True)
        layers.append((contents, decode(contents[first[inverse]])))
        merged += len(first)
    return None if limits.WORTH_MERGING * merged > sum(map(len, codes)) else layers
