"""A loss with the reference given: the step on each label of z, and the value at the end.

What only adds up and is read by the value alone is a *sum*; the other registers that read z are the
states. Registers that read the reference alone are constants of each position: its *context*.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import add
from typing import Any

import numpy as np

from fsmeu import limits
from fsmeu.arrays import Floats, Ints
from fsmeu.fst.distinct import distinct, distinct_rows
from fsmeu.losses.language.syntax import Spec, is_affine, names_read
from fsmeu.losses.machine.view import SpecAutomaton
from fsmeu.losses.protocol import Loss
from fsmeu.losses.semantics import domains
from fsmeu.losses.semantics.evaluator import Scope, evaluate, number

_Context = tuple[int, int, dict[str, Floats]]  # position, label, constants before and after it


class ReferenceSteps:
    """The steps of a loss from a file, which the evaluator computes for each context.

    ``y`` are label indices of a reference of the greatest length; where steps are ``shared``,
    shorter references can be given, too. ``amounts`` number what steps add to the sums, and grow.

    Attributes:
        n, labels, start: the greatest length, the number of labels, the code of the first state.
        sum_order: the numbers of the sums that the value reads, those of both tapes first.
        steady: whether steps lead to the same states in all contexts.
        bounded: the registers of states whose declared bounds depend on the length.
    """

    def __init__(
        self, loss: Loss, y: Ints, shared: bool, amounts: dict[tuple[float, ...], int]
    ) -> None:
        bound = loss.swapped.bound  # its z is the reference, its y the labels that are chosen
        assert bound is not None
        self.n = len(y)
        self.shared = shared
        self._bound = bound
        self._amounts = amounts
        spec = bound.spec
        view = SpecAutomaton(bound.at(self.n), y, _sums_of(spec), merge=not shared)
        self._view = view
        reads = names_read(spec.value)
        self.labels = view.symbols
        self.start = view.start
        self._sums = [name for name in view.linear_names if name in reads]
        order = range(len(self._sums))
        self.sum_order = sorted(order, key=lambda k: "z" not in spec.tapes[self._sums[k]])
        self._ends = [r.name for r in view.carried if r.name in reads]
        self._constants = [name for name in view.track if name in reads]
        declared = [r for r in view.carried if r.sugar == "register"]
        self.bounded = [
            r for r in declared if any(x and "n" in names_read(x) for x in (r.low, r.high))
        ]
        read = frozenset[str]().union(*(names_read(r.update) for r in view.carried))
        self.steady = shared and not read & {"z", "i", "n", *view.track}
        self._numbers: dict[tuple[float, ...], int] = {}
        self._contexts: list[_Context] = []
        adds = {name for name in spec.unread if spec.amounts[name] is not None}
        self._added = [name for name in view.track if name in adds]
        self._states = [name for name in view.track if name not in adds]
        tracked = (names_read(r.update) for r in spec.registers if r.name in view.track)
        read = frozenset[str]().union(view._read, *tracked)
        self._clocked = not {"i", "n"}.isdisjoint(read)
        self._paths: dict[tuple[float, ...], list[tuple[int, Any, list[float]]]] = {}

    def serves(self, n: int) -> bool:
        """Whether references of this length can be given."""
        if self.steady:
            return self.n - limits.ORACLE_LENGTH_STEP <= n < self.n
        return n == self.n or (self.shared and n < self.n)

    def contexts(self, ys: Ints) -> tuple[Ints, Floats]:
        """The context of each position (rows, n), and constants at the end (rows, constants).

        References (rows, n) are paths through the values of constants, whose steps are cached.
        """
        rows, n = ys.shape
        values = []
        at = self._bound.at(n)
        starts = {name: at.starts[name] for name in (*self._states, *self._added)}
        first = tuple(starts[name] for name in self._states)
        numbers = np.zeros(ys.shape, np.int64)
        for row, y in enumerate(ys.tolist()):
            state = first
            sums = tuple(starts[name] for name in self._added)
            path = [(*state, *sums)]
            for i, label in enumerate(y):
                key = (float(i + 1), *state) if self._clocked else state
                if key not in self._paths:
                    self._paths[key] = self._steps_from(state, i + 1)
                numbers[row, i], state, more = self._paths[key][label]
                sums = tuple(map(add, sums, more))
                path.append((*state, *sums))
            values.append(path)
        table = np.array(values, np.float64).reshape(rows, n + 1, len(starts))
        track = dict(zip((*self._states, *self._added), np.moveaxis(table, 2, 0), strict=True))
        for register in self._bound.spec.registers:
            if register.name in track:
                values_at = track[register.name]
                domains.keep_bounds(at.spec, register, values_at, at.bounds[register.name])
        ends = np.array([track[name][:, n] for name in self._constants])
        return numbers, ends.reshape(len(self._constants), rows).T

    def _steps_from(self, state: tuple[float, ...], i: int) -> list[tuple[int, Any, list[float]]]:
        """For each label of the reference the context, the constants after it, what is added."""
        bound = self._bound
        labels = self._bound.label_values
        view = self._view
        old: dict[str, Any] = dict(zip(self._states, state, strict=True))
        current: dict[str, Any] = {**old, "z": labels, "i": float(i), "n": float(self.n)}
        scope = Scope(bound, current, old, view.memories)
        new = dict[str, Floats]()
        for register in bound.spec.registers:
            name = register.name
            if name in self._added:
                amount = evaluate(bound.spec.amounts[name], scope)  # type: ignore[arg-type]
                new[name] = np.broadcast_to(amount, labels.shape)
            elif name in self._states:
                current[name] = evaluate(register.update, scope)
                domains.keep_whole(register, old[name], current[name], scope)
                new[name] = np.broadcast_to(current[name], labels.shape)
        arcs = []
        for k in range(len(labels)):
            constants = {name: np.array([old.get(name, 0.0), new[name][k]]) + 0.0 for name in new}
            context: dict[str, Any] = {"i": [float(i)], "z": [float(k)], **constants}
            key = tuple(x for name in context if name in view._read for x in context[name])
            number_of = self._numbers.setdefault(key, len(self._contexts))
            if number_of == len(self._contexts):
                self._contexts.append((i, k, constants))
            after = tuple(float(constants[name][1]) for name in self._states)
            arcs.append((number_of, after, [float(new[name][k]) for name in self._added]))
        return arcs

    def advance(self, contexts: Sequence[int], codes: Ints) -> list[tuple[Ints, Ints]]:
        """For each context the codes after steps and numbers of what is added, (states, labels)."""
        view = self._view
        bound = self._bound
        places, ys, constants = zip(*(self._contexts[c] for c in contexts), strict=True)
        old: dict[str, Any] = {n: c[:, None] for n, c in view.space_of.decode(codes).items()}
        pairs = {name: np.array([c[name] for c in constants]) for name in view.track}
        old |= {name: pair[:, :1, None] for name, pair in pairs.items()}  # (contexts, 1, 1)
        labels = bound.label_values
        z, i = (np.array(part)[:, None, None] for part in (labels[[*ys]], places))
        current: dict[str, Any] = {**old, "z": z, "y": labels[None], "n": float(self.n)}
        if not view.clock:
            current["i"] = i.astype(np.float64)
        scope = Scope(bound, current, old, view.memories)
        new = {}
        shape = (len(constants), len(codes), len(labels))
        added = []
        for register in bound.spec.registers:
            name = register.name
            if name in pairs:
                current[name] = pairs[name][:, 1:, None]
            elif name in view.linear_names:
                read = evaluate if register.sugar == "feature" else number
                expr = view.gain_exprs[view.linear_names.index(name)]
                gains = np.asarray(read(expr, scope))  # type: ignore[arg-type]
                if name in self._sums:
                    added.append(gains)
            else:
                current[name] = new[name] = evaluate(register.update, scope)
                domains.keep_whole(register, old[name], new[name], scope)
        targets, culprit = view.space_of.encode(new)
        if culprit is not None:
            register = next(r for r in view.carried if r.name == culprit)
            raise domains.left_domain(bound.spec, register, new[culprit], view.space_of, scope)
        kinds = self._amount_numbers(added, shape)
        return list(zip(np.broadcast_to(targets, shape), kinds, strict=True))

    def _amount_numbers(self, added: Sequence[Floats], shape: tuple[int, ...]) -> Ints:
        """The numbers of amounts, of this shape, given what is added to each sum; they may grow."""
        ranks = [np.broadcast_to(_ranks(gains), shape).ravel() for gains in added]
        first, row = distinct_rows([np.zeros(int(np.prod(shape)), np.int64), *ranks])
        at = np.unravel_index(first, shape)
        columns = [np.broadcast_to(gains, shape)[at].tolist() for gains in added]
        keys = list(zip(*columns, strict=True)) if added else [()] * len(first)
        numbers = [self._amounts.setdefault(key, len(self._amounts)) for key in keys]
        return np.array(numbers, np.int64)[row].reshape(shape)

    def amounts(self) -> Floats:
        """The amounts that are added to each sum, by number, (sums, numbers)."""
        table = np.array(list(self._amounts), np.float64)
        return np.asarray(table.reshape(len(self._amounts), len(self._sums)).T)

    def keep_bounds(self, codes: Ints, n: int) -> None:
        """Refuses states whose registers leave the bounds declared for this length."""
        at = self._bound.at(n)
        registers = self._view.space_of.decode(codes)
        for r in self.bounded:
            domains.keep_bounds(at.spec, r, registers[r.name], at.bounds[r.name])

    def ends(self, codes: Ints) -> Floats:
        """The registers that the value reads, in each state, (states, registers)."""
        registers = self._view.space_of.decode(codes)
        columns = np.array([registers[name] for name in self._ends], np.float64)
        return np.asarray(columns.reshape(len(self._ends), len(codes)).T)

    def begin(self, n: int) -> Floats:
        """The sums before the first step, (sums,)."""
        starts = self._bound.at(n).starts
        return np.array([starts[name] for name in self._sums], np.float64)

    def values(self, n: int, constants: Floats, ends: Floats, sums: Floats) -> Floats:
        """The value at some ends, (cells,), checked to be in the range that the file declares.

        ``ends`` are what it reads in the states, (registers, cells); sums are (sums, cells).
        """
        variables = dict(zip(self._constants, map(float, constants), strict=True))
        variables |= zip((*self._ends, *self._sums), (*ends, *sums), strict=True)
        return self._bound.at(n).value(variables, sums.shape[1:])

    def checked(self, n: int, values: Floats) -> Floats:
        """The values, unless one is outside the range that the file declares."""
        self._bound.at(n).check_range(values)
        return values

    def slopes(self, n: int, constants: Floats) -> tuple[float, Floats] | None:
        """The value with all sums at their start, and what each adds to it, if it is linear."""
        if not is_affine(self._bound.spec.value, frozenset(self._sums)):
            return None
        variables = dict(zip(self._constants, map(float, constants), strict=True))
        at = self._bound.at(n)
        variables |= {name: at.starts[name] for name in self._sums}
        value = float(at.at_end(at.spec.value, variables, ()))
        slopes = [float(at.at_end(at.spec.slope(name), variables, ())) for name in self._sums]
        return value, np.array(slopes, np.float64)


def _ranks(values: Floats) -> Ints:
    """Numbers from 0 that are in order and equal where values are, of the same shape."""
    with np.errstate(invalid="ignore"):
        whole = values.astype(np.int64)
    if (whole == values).all():
        return distinct(whole)[1]
    return np.unique(values, return_inverse=True)[1].reshape(values.shape)


def _sums_of(spec: Spec) -> tuple[str, ...]:
    """Registers that read y and only add up, nothing else reading them."""
    adding = [name for name, amount in spec.amounts.items() if amount is not None]
    return tuple(x for x in adding if x in spec.unread and "y" in spec.tapes[x])


def reads_length(loss: Loss) -> bool:
    """Whether a step looks at the length; bounds of registers do not count, nor starts of sums."""
    bound = loss.swapped.bound
    assert bound is not None
    sums = _sums_of(bound.spec)
    read: list[Any] = []
    for register in bound.spec.registers:
        read += [register.update] if register.name in sums else [register.update, register.start]
        if register.depth is not None:
            read += [register.depth, register.low, register.high]
    return any("n" in names_read(expr) for expr in read if expr is not None)
