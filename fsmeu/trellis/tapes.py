"""Both tapes of a split loss, and the value as a function of where their counters end.

A tape is an automaton that reads labels. A step of it leads to a state, adds a whole number to the
counter that the value looks at, and shows each term of a joint count a row of feature values.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from contextlib import suppress
from math import prod
from typing import Any, NamedTuple

import numpy as np

from fsmeu.arrays import Bools, Floats, Ints
from fsmeu.errors import FsmeuError, InputError, message
from fsmeu.fst.distinct import distinct_rows
from fsmeu.losses.algebra.split import Split, TapeLoss, slope, starts_of
from fsmeu.losses.language.syntax import Expr, names_read
from fsmeu.losses.machine.view import SpecView
from fsmeu.losses.semantics.evaluator import Scope, constant_at, number
from fsmeu.trellis.terms import joint_terms

_AHEAD = 1 << 20  # steps that are found at once, at most


class UncountableError(InputError):
    """The counter of a tape does not grow by whole numbers of at least 0."""


class Steps(NamedTuple):
    """What the steps from some states do; arrays have shape (states, labels)."""

    targets: Ints  # the codes of the states after, -1 where there is none
    counted: Ints  # what the step adds to the counter
    features: tuple[Ints, ...]  # for each term, the number of the row of feature values shown


# Some states, ascending, their targets, what they count; for each term places of rows, and rows.
_Known = tuple[Ints, Ints, Ints, list[tuple[Ints, Floats]]]


class Tape:
    """One tape of a split loss for sequences of length n.

    ``terms`` has for each term of a joint count the numbers of the part's features that it reads.
    """

    def __init__(self, part: TapeLoss, n: int, terms: Sequence[Sequence[int]]) -> None:
        names = [f"#{k}" for k in range(part.features)]  # features and the counter are linear
        names += [part.counter] if part.counter is not None else []
        # What only the value looks at is not in this spec, so it would be merged away.
        merge = not set(part.ends) - {part.counter}
        self._view = SpecView(part.bound, n, np.zeros(n, np.int64), tuple(names), merge=merge)
        names = list(self._view.linear_names)
        self._columns = [[names.index(f"#{k}") for k in term] for term in terms]
        self._counter = names.index(part.counter) if part.counter is not None else None
        self.terms, self.start = len(terms), self._view.start
        self.contexts = self._view.contexts()  # what steps of each position depend on beside states
        self._rows: list[dict[bytes, int]] = [{} for _ in terms]
        self._asked: dict[Hashable, Ints] = {}
        self._known: dict[Hashable, _Known] = {}

    def steps(self, position: int, codes: Ints) -> Steps:
        """What the steps at a position, counted from 0, do that leave these states, ascending.

        Where a register grows by one at every step, as the age of a chunk does, the states of a
        position are those of the one before moved on by a number: then the steps of all positions
        to come are found at once.
        """
        context = self.contexts[position]
        if context not in self._known or not np.isin(codes, self._known[context][0]).all():
            self._known[context] = self._found(position, codes, self._asked.get(context))
        self._asked[context] = codes
        known, targets, counted, tables = self._known[context]
        rows, each = np.searchsorted(known, codes), zip(self._rows, tables, strict=True)
        numbers = tuple(_numbered(held, places[rows], table) for held, (places, table) in each)
        return Steps(targets[rows], counted[rows], numbers)

    def _found(self, position: int, codes: Ints, asked: Ints | None) -> _Known:
        """The steps of these states and, if they are those asked for before, moved, of the next."""
        if asked is not None and len(asked) == len(codes) and self._view.space is not None:
            moved, most = codes - asked, _AHEAD // (len(codes) * self._view.symbols)
            to_come = max(1, min(len(self.contexts) - position, most))
            ahead = codes + moved[0] * np.arange(to_come)[:, None]
            if (moved == moved[0]).all() and ahead.min() >= 0 and ahead.max() < self._view.space:
                with suppress(FsmeuError):
                    return self._computed(position, np.unique(ahead))
        return self._computed(position, codes)

    def _computed(self, position: int, codes: Ints) -> _Known:
        """The steps of these states."""
        targets, gains = self._view.advance(position + 1, codes)
        if gains is None:
            gains = np.zeros((0, *targets.shape))
        counted = np.zeros(targets.shape) if self._counter is None else gains[self._counter]
        whole: Ints = counted.astype(np.int64)
        if (whole != counted).any() or (whole < 0).any():
            must = "the counts that the value looks at must grow by whole numbers"
            raise UncountableError(message("decode by counting", must))
        return codes, targets, whole, [_rows_of(gains[columns]) for columns in self._columns]

    def rows(self, term: int) -> Floats:
        """The distinct rows of feature values that a term has been shown, (rows, features)."""
        width = len(self._columns[term])
        flat = np.frombuffer(b"".join(self._rows[term]), np.float64)
        return flat.reshape(len(self._rows[term]), width)

    def keeps_bounds(self, codes: Ints, n: int) -> bool:
        """True when registers have values in these states that are declared at length n."""
        bound, values = self._view.bound, self._view.space_of.decode(codes)
        for register in self._view.carried:
            if register.low is None or register.high is None:
                continue
            if "n" not in names_read(register.low) | names_read(register.high):
                continue
            low, high = (constant_at(bound, side, n) for side in (register.low, register.high))
            held = values[register.name]
            if held.min(initial=low) < low or held.max(initial=high) > high:
                return False
        return True


def _rows_of(cells: Floats) -> tuple[Ints, Floats]:
    """Places of rows of feature values (features, states, labels) among distinct ones; these."""
    features, *shape = cells.shape
    table = np.moveaxis(cells, 0, 2).reshape(prod(shape), features) + 0.0  # -0.0 becomes 0.0
    levels = [np.unique(column, return_inverse=True)[1] for column in table.view(np.int64).T]
    first, row = distinct_rows([np.zeros(len(table), np.int64), *levels])
    return row.reshape(shape), table[first]


def _numbered(known: dict[bytes, int], places: Ints, table: Floats) -> Ints:
    """The numbers of rows of a table that stand at some places; new rows are added.

    Rows of states that are only looked ahead to are not: an amount may be undefined for them.
    """
    used, at = np.unique(places, return_inverse=True)
    numbers = [known.setdefault(table[row].tobytes(), len(known)) for row in used]
    return np.array(numbers, np.int64)[at].reshape(places.shape)


class Tapes:
    """The tapes of a split loss for sequences of length n, or of every length up to n."""

    def __init__(self, form: Split, n: int) -> None:
        self.form, self.terms = form, joint_terms(form)
        self.z = Tape(form.z, n, [term.z for term in self.terms])
        self.y = Tape(form.y, n, [term.y for term in self.terms])


def values_at(
    form: Split, n: int, hyp: Any, ref: Any, possible: Bools
) -> tuple[list[Floats], Floats]:
    """The slopes of each joint count and the offset for counts of z and y; 0 where impossible.

    ``hyp`` and ``ref`` are where the counters of z and y end, for sequences of length n; both
    broadcast to the shape of ``possible``, which says what some sequences have.
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
