"""Both tapes of a split loss, and the value as a function of where their counters end.

A tape is an automaton that reads labels. A step of it leads to a state, adds a whole number to the
counter that the value looks at, and shows each term of a joint count a row of feature values. Steps
are found layer by layer, once, and kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from fsmeu.arrays import Bools, Floats, Ints
from fsmeu.errors import InputError, message
from fsmeu.fst.compose import guard_size
from fsmeu.fst.distinct import distinct, distinct_rows
from fsmeu.losses.algebra.split import Split, TapeLoss, slope, starts_of
from fsmeu.losses.language.syntax import Expr, names_read
from fsmeu.losses.machine.view import SpecView
from fsmeu.losses.semantics.evaluator import Scope, constant_at, number
from fsmeu.trellis.terms import Term, joint_terms

__all__ = ["Tape", "TapeLayer", "Tapes", "UncountableError", "value_tables", "values_at"]


class UncountableError(InputError):
    """The counter of a tape does not grow by whole numbers of at least 0."""


@dataclass(frozen=True, eq=False)
class TapeLayer:
    """The steps of one position; arrays have shape (states before, labels).

    Attributes:
        targets: the state after the step, numbered within the next layer; -1 where there is none.
        counted: what the step adds to the counter.
        features: for each term, the number of the row of feature values that the step shows.
        width: the number of states of the next layer.
    """

    targets: Ints
    counted: Ints
    features: tuple[Ints, ...]
    width: int


class _Steps(NamedTuple):
    """What the steps from some states do; arrays have shape (states, labels).

    Attributes:
        targets: the codes of the states after, -1 where there is none.
        counted: what the step adds to the counter.
        features: for each term, the number of the row of feature values that the step shows.
    """

    targets: Ints
    counted: Ints
    features: tuple[Ints, ...]


class Tape:
    """The layers of one tape for sequences of length n, each computed when it is asked for.

    Args:
        part: the tape's share of a split loss.
        n: the length of the sequences.
        terms: for each term of a joint count, the numbers of the part's features that it reads.

    Attributes:
        terms: the number of terms.
        contexts: for each position what its steps depend on beside the state.
    """

    def __init__(self, part: TapeLoss, n: int, terms: Sequence[Sequence[int]]) -> None:
        self.view, self.terms = _view(part, n), len(terms)
        names = self.view.linear_names
        self._columns = [[names.index(f"#{k}") for k in term] for term in terms]
        self._counter = names.index(part.counter) if part.counter is not None else None
        self.contexts = self.view.contexts()
        self._codes = [np.array([self.view.start], np.int64)]
        self._layers: list[TapeLayer] = []
        self._rows: list[dict[bytes, int]] = [{} for _ in terms]
        self._most = [0]
        self._held = [np.ones((1, 1), bool)]
        self._cells = 0
        self._extremes_of: dict[str, list[tuple[float, float]]] = {}

    def layer(self, position: int) -> TapeLayer:
        """The steps at a position, counted from 0."""
        while len(self._layers) <= position:
            self._layers.append(self._next())
        return self._layers[position]

    def codes(self, position: int) -> Ints:
        """The codes of the states before a position, counted from 0, in the view of the tape."""
        if position:
            self.layer(position - 1)
        return self._codes[position]

    def keeps_bounds(self, n: int) -> bool:
        """True when the values of registers in n steps keep the bounds declared at length n."""
        if n > self.view.n:
            return False
        bound = self.view.bound
        for register in self.view.carried:
            if register.low is None or register.high is None:
                continue
            if "n" not in names_read(register.low) | names_read(register.high):
                continue
            low, high = (constant_at(bound, side, n) for side in (register.low, register.high))
            least, most = self._extremes(register.name, n)
            if least < low or most > high:
                return False
        return True

    def _extremes(self, register: str, n: int) -> tuple[float, float]:
        """The least and the greatest value that a register has before or after any of n steps."""
        known = self._extremes_of.setdefault(register, [])
        while len(known) <= n:
            values = self.view.space_of.decode(self.codes(len(known)))[register]
            least, most = known[-1] if known else (np.inf, -np.inf)
            known.append((values.min(initial=least), values.max(initial=most)))
        return known[n]

    def most(self, n: int) -> int:
        """The greatest value that the counter can reach in n steps."""
        while len(self._most) <= n:
            counted = self.layer(len(self._most) - 1).counted
            self._most.append(self._most[-1] + int(counted.max(initial=0)))
        return self._most[n]

    def reachable(self, n: int) -> Bools:
        """Which values the counter may have after n steps, (most + 1,)."""
        if self._counter is None:
            return np.ones(1, bool)
        while len(self._held) <= n:
            i = len(self._held) - 1
            self._held.append(_held_after(self.layer(i), self._held[i], self.most(i + 1) + 1))
        reached: Bools = np.logical_or.reduce(self._held[n], axis=0)
        return reached

    def rows(self, term: int) -> Floats:
        """The distinct rows of feature values that a term has been shown, (rows, features)."""
        width = len(self._columns[term])
        flat = np.frombuffer(b"".join(self._rows[term]), np.float64)
        return flat.reshape(len(self._rows[term]), width)

    def _next(self) -> TapeLayer:
        position, codes = len(self._layers), self._codes[-1]
        repeats = position > 0 and self.contexts[position] == self.contexts[position - 1]
        if repeats and np.array_equal(codes, self._codes[-2]):
            self._codes.append(codes)
            return self._layers[-1]
        steps = self._continued(codes) if repeats else self._steps(position, codes)
        after, targets = distinct(steps.targets)
        if len(after) and after[0] < 0:
            after, targets = after[1:], targets - 1
        self._cells += targets.size
        guard_size("decode", self._cells)
        self._codes.append(after)
        return TapeLayer(targets, steps.counted, steps.features, len(after))

    def _steps(self, position: int, codes: Ints) -> _Steps:
        """What the steps at a position do that leave these states."""
        targets, gains = self.view.advance(position + 1, codes)
        if gains is None:
            gains = np.zeros((0, *targets.shape))
        counted = self._counted(gains, targets.shape)
        numbers = zip(self._rows, self._columns, strict=True)
        features = tuple(_number_rows(known, gains[columns]) for known, columns in numbers)
        return _Steps(targets, counted, features)

    def _continued(self, codes: Ints) -> _Steps:
        """The same, where the position before has the same steps: only new states are asked for."""
        last, left, reached = self._layers[-1], self._codes[-2], self._codes[-1]
        place = np.minimum(np.searchsorted(left, codes), len(left) - 1)
        fresh = left[place] != codes
        targets = np.append(reached, -1)[last.targets[place]]
        counted, features = last.counted[place], tuple(ids[place] for ids in last.features)
        if fresh.any():
            new = self._steps(len(self._layers), codes[fresh])
            targets[fresh], counted[fresh] = new.targets, new.counted
            for ids, numbers in zip(features, new.features, strict=True):
                ids[fresh] = numbers
        return _Steps(targets, counted, features)

    def _counted(self, gains: Floats, shape: tuple[int, ...]) -> Ints:
        if self._counter is None:
            return np.zeros(shape, np.int64)
        counted = gains[self._counter]
        whole: Ints = counted.astype(np.int64)
        if (whole != counted).any() or (whole < 0).any():
            must = "the counts that the value looks at must grow by whole numbers"
            raise UncountableError(message("decode by counting", must))
        return whole


def _view(part: TapeLoss, n: int) -> SpecView:
    """A tape as a machine over one tape; features and the counter ride in the weight."""
    names = [f"#{k}" for k in range(part.features)]
    if part.counter is not None:
        names.append(part.counter)
    # What only the value looks at is not in this spec, so it would be merged away.
    merge = not set(part.ends) - {part.counter}
    return SpecView(part.bound, n, np.zeros(n, np.int64), tuple(names), merge=merge)


def _held_after(layer: TapeLayer, held: Bools, size: int) -> Bools:
    """Which values the counter may have in each state after a layer, (states, size).

    Args:
        layer: the steps.
        held: the same before the layer.
        size: how many values the counter may have.
    """
    after = np.zeros((layer.width, size), bool)
    source = np.broadcast_to(np.arange(len(held))[:, None], layer.targets.shape)
    taken = layer.targets >= 0
    steps = [layer.counted[taken], layer.targets[taken], source[taken]]
    first = distinct_rows(steps)[0]
    amounts, targets, sources = (column[first] for column in steps)
    for amount in distinct(amounts)[0].tolist():
        these = amounts == amount
        begins = np.flatnonzero(np.diff(targets[these], prepend=-1))
        moved = np.logical_or.reduceat(held[sources[these]], begins)[:, : size - amount]
        after[targets[these][begins], amount : amount + moved.shape[1]] |= moved
    return after


def _number_rows(known: dict[bytes, int], cells: Floats) -> Ints:
    """The number of each row of feature values (features, states, labels); new rows are added."""
    features, *shape = cells.shape
    if not features:
        known.setdefault(b"", 0)
        return np.zeros(shape, np.int64)
    table = np.ascontiguousarray(cells.reshape(features, -1).T) + 0.0  # -0.0 becomes 0.0
    bits = table.view(np.int64)
    first, row = distinct_rows([np.unique(column, return_inverse=True)[1] for column in bits.T])
    numbers = [known.setdefault(values.tobytes(), len(known)) for values in table[first]]
    return np.array(numbers, np.int64)[row].reshape(shape)


class Tapes:
    """The tapes of a split loss for sequences of length n, or of every length up to n.

    Args:
        form: the split loss.
        n: the length.

    Attributes:
        terms: the terms of the joint counts.
        reads_clock: whether a term looks at the position.
    """

    def __init__(self, form: Split, n: int) -> None:
        self.form, self.n = form, n
        self.terms: tuple[Term, ...] = joint_terms(form)
        self.z = Tape(form.z, n, [term.z for term in self.terms])
        self.y = Tape(form.y, n, [term.y for term in self.terms])
        self.reads_clock = any(term.reads_clock for term in self.terms)
        self._served: dict[int, bool] = {}
        self.tables: dict[int, tuple[list[Floats], Floats]] = {}

    def serves(self, n: int) -> bool:
        """True when the tapes are those of sequences of length n as well.

        Requires that no step looks at the length, or that n is the tapes' own.
        """
        if n not in self._served:
            kept = n == self.n or (self.z.keeps_bounds(n) and self.y.keeps_bounds(n))
            self._served[n] = kept
        return self._served[n]


def value_tables(tapes: Tapes, n: int) -> tuple[list[Floats], Floats]:
    """The slopes g_q(k, s) of each joint count and the offset h(k, s), (z counts, y counts).

    They are 0 for counts that no sequence of length n has.
    """
    if n not in tapes.tables:
        z, y = tapes.z.reachable(n), tapes.y.reachable(n)
        hyp, ref = np.arange(len(z))[:, None], np.arange(len(y))[None, :]
        tapes.tables[n] = values_at(tapes.form, n, hyp, ref, z[:, None] & y)
    return tapes.tables[n]


def values_at(
    form: Split, n: int, hyp: Any, ref: Any, possible: Bools
) -> tuple[list[Floats], Floats]:
    """The slopes of each joint count and the offset for counts of z and y; 0 where impossible.

    Args:
        form: the split loss.
        n: the length.
        hyp: ends of the counter of z.
        ref: ends of the counter of y; both broadcast to the shape of ``possible``.
        possible: which of them some sequences have.
    """
    current: dict[str, Any] = {"n": float(n)}
    for part, counts in ((form.z, hyp), (form.y, ref)):
        if part.counter is not None:
            current[part.counter] = np.asarray(counts, np.float64)
    registers = [joint_count.register for joint_count in form.joint_counts]
    current |= starts_of(form.bound, registers, n)
    scope = Scope(form.bound, current, current, {})

    def table(expr: Expr) -> Floats:
        return np.where(possible, number(expr, scope, possible), 0.0)

    spec = form.bound.spec
    return [table(slope(spec, register)) for register in registers], table(spec.value)
