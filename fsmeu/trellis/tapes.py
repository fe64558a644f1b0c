"""Both tapes of a split loss, the terms of its joint counts, and the value by ends of counters.

A tape is an automaton that reads labels. A step of it leads to a state, adds a whole number to the
counter that the value looks at, and shows each term of a joint count a row of feature values.

A joint count that adds A - B at a step is taken apart, because A and B by themselves look at few
features each; together they look at every combination of these. Amounts of terms are arrays
for kernels. Score rows are the features of z of all terms, one term after the other, and one more
for none; features are those of y. Terms that look at the position have a table for every position
that differs from others.

Amounts of 0 are not kept. Of very many pairs, as of thousands of labels, what most of them add is
kept once for all: [z != y] is 1 - [z == y], and has as many amounts as there are labels. Fewer are
kept as they are, since a small sum is not to be a difference of great ones.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import pairwise
from math import prod
from typing import Any, NamedTuple

import numpy as np

from fsmeu import limits
from fsmeu.arrays import Bools, Floats, Ints, Places
from fsmeu.errors import FsmeuError, InputError, LossFileError
from fsmeu.fst.compose import guard_size
from fsmeu.fst.distinct import distinct, distinct_rows
from fsmeu.losses.algebra.split import Split, TapeLoss, terms_of_sum
from fsmeu.losses.language.syntax import Expr, Unary, fault, names_read
from fsmeu.losses.machine.view import SpecAutomaton
from fsmeu.losses.semantics.evaluator import (
    Scope,
    is_undefined,
    number,
    where_defined,
)


class NonIntegerCountError(InputError):
    """The counter of a tape does not grow by whole numbers of at least 0."""


class TapeSteps(NamedTuple):
    """The steps from some states; arrays have shape (states, labels)."""

    targets: Ints  # the codes of the states after, -1 where there is none
    counted: Ints  # what the step adds to the counter
    features: tuple[Ints, ...]  # for each term, the number of the row of feature values shown


class _ShownRows(NamedTuple):
    """The rows of feature values that steps show to a term."""

    places: Ints  # the place of the row of each step among distinct ones, (states, labels)
    distinct: Floats  # these, (rows, features)
    numbers: Ints  # their numbers, -1 for those that no state has shown yet, (rows,)


class _CachedSteps(NamedTuple):
    """The steps from some states, and perhaps from others that are yet to come."""

    states: Ints  # their codes, ascending
    targets: Ints  # (states, labels)
    counted: Ints  # (states, labels)
    shown: list[_ShownRows]  # for each term


class Tape:
    """One tape of a split loss for sequences of length n.

    ``terms`` has for each term of a joint count the numbers of the part's features that it reads,
    ``ages`` are registers that stop at a cap.
    """

    def __init__(
        self, part: TapeLoss, n: int, terms: Sequence[Sequence[int]], ages: Iterable[str] = ()
    ) -> None:
        names = [f"#{k}" for k in range(part.features)]  # features and the counter are linear
        names += [part.counter] if part.counter is not None else []
        # What only the value looks at is not in this spec, so it would be merged away.
        merge = not set(part.ends) - {part.counter}
        zeros = np.zeros(n, np.int64)  # the other tape is not read
        self._view = SpecAutomaton(part.bound.at(n), zeros, tuple(names), merge=merge)
        names = list(self._view.linear_names)
        self._columns = [[names.index(f"#{k}") for k in term] for term in terms]
        self._counter = names.index(part.counter) if part.counter is not None else None
        self.terms = len(terms)
        self.start = self._view.start
        cells = self._view.context_cells(zeros[None, :], self._view.track)[0].tolist()
        self.contexts = list(map(tuple, cells))  # what steps of each position read beside states
        self._ages = [r.name for r in self._view.carried if r.name in ages]
        self._rows: list[dict[bytes, int]] = [{} for _ in terms]
        self._last_codes: dict[Hashable, Ints] = {}
        self._cache: dict[Hashable, _CachedSteps] = {}

    def steps(self, position: int, codes: Ints) -> TapeSteps:
        """The steps at a position, counted from 0, from states of these codes, ascending.

        Where a register grows by one at every step, as the age of a chunk does, the states of a
        position are those of the one before moved on by a number: then the steps of all positions
        to come are computed at once.
        """
        context = self.contexts[position]
        known = self._cache.get(context)
        if (
            known is None
            or (known.states[np.searchsorted(known.states[:-1], codes)] != codes).any()
        ):
            known = self._ahead(position, codes, self._last_codes.get(context))
            self._cache[context] = known
        self._last_codes[context] = codes
        rows = np.searchsorted(known.states, codes)
        pairs = zip(self._rows, known.shown, strict=True)
        numbers = tuple(_numbered(index, shown, rows) for index, shown in pairs)
        return TapeSteps(known.targets[rows], known.counted[rows], numbers)

    def _ahead(self, position: int, codes: Ints, last: Ints | None) -> _CachedSteps:
        """The steps of these states and, where all are the last moved alike, of those to come."""
        if last is not None and len(last) == len(codes) and self._view.space is not None:
            moved = codes - last
            most = limits.STEPS_AHEAD // (len(codes) * self._view.symbols)
            to_come = max(1, min(len(self.contexts) - position, most))
            ahead = codes + moved[0] * np.arange(to_come)[:, None]
            if (moved == moved[0]).all() and ahead.min() >= 0 and ahead.max() < self._view.space:
                with suppress(FsmeuError):
                    return self._computed(position, np.unique(ahead))
        return self._computed(position, codes)

    def _computed(self, position: int, codes: Ints) -> _CachedSteps:
        """The steps of these states."""
        targets, gains = self._view.advance(position + 1, codes)
        if gains is None:
            gains = np.zeros((0, *targets.shape))
        gained = np.zeros(targets.shape) if self._counter is None else gains[self._counter]
        counted: Ints = gained.astype(np.int64)
        if (counted != gained).any() or (counted < 0).any():
            must = "the counts that the value looks at must grow by whole numbers"
            raise NonIntegerCountError("decode by counting", must)
        shown = [_rows_of(gains[columns]) for columns in self._columns]
        return _CachedSteps(codes, targets, counted, shown)

    def at_cap(self, codes: Ints, cap: float) -> Bools:
        """Which states have an age at the cap where ages stop, (states,)."""
        values = self._view.space_of.decode(codes)
        full = np.zeros(len(codes), bool)
        for name in self._ages:
            full |= values[name] >= cap
        return full

    def rows(self, term: int) -> Floats:
        """The distinct rows of feature values that a term has been shown, (rows, features)."""
        width = len(self._columns[term])
        flat = np.frombuffer(b"".join(self._rows[term]), np.float64)
        return flat.reshape(len(self._rows[term]), width)

    def keeps_bounds(self, codes: Ints, n: int) -> bool:
        """True when registers have values in these states that are declared at length n."""
        at = self._view.bound.at(n)
        values = self._view.space_of.decode(codes)
        for register in self._view.carried:
            if register.low is None or register.high is None:
                continue
            if "n" not in names_read(register.low) | names_read(register.high):
                continue
            low = at.constant(register.low)
            high = at.constant(register.high)
            column = values[register.name]
            if column.min(initial=low) < low or column.max(initial=high) > high:
                return False
        return True


def _rows_of(cells: Floats) -> _ShownRows:
    """The rows of feature values, (features, states, labels), none of them shown yet."""
    features, *shape = cells.shape
    table = np.moveaxis(cells, 0, 2).reshape(prod(shape), features)
    table = np.where(table == 0.0, 0.0, table)  # -0.0 becomes 0.0, bits of others stay
    levels = [np.unique(column, return_inverse=True)[1] for column in table.view(np.int64).T]
    first, row = distinct_rows([np.zeros(len(table), np.int64), *levels])
    return _ShownRows(row.reshape(shape), table[first], np.full(len(first), -1))


def _numbered(index: dict[bytes, int], shown: _ShownRows, states: Ints) -> Ints:
    """The number in the index of the row of each step of states; new rows are added.

    Rows of states that are only looked ahead to are not: an amount may be undefined for them.
    """
    places = shown.places[states]
    used = distinct(places)[0]
    for row in used[shown.numbers[used] < 0].tolist():
        shown.numbers[row] = index.setdefault(shown.distinct[row].tobytes(), len(index))
    return shown.numbers[places]


class Tapes:
    """The tapes of a split loss for sequences of length n, or of every length up to n."""

    def __init__(self, form: Split, n: int, ages: Iterable[str] = ()) -> None:
        self.form = form
        self.stop_at_cap = bool(tuple(ages))  # whether there are ages that do
        self.terms = joint_terms(form)
        self.z = Tape(form.z, n, [term.z for term in self.terms], ages)
        self.y = Tape(form.y, n, [term.y for term in self.terms], ages)


def value_coefficients(
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
    current |= {name: form.bound.at(n).starts[name] for name in registers}
    scope = Scope(form.bound, current, current, {})

    def table(expr: Expr) -> Floats:
        return np.where(possible, number(expr, scope, possible), 0.0)

    spec = form.bound.spec
    return [table(spec.slope(register)) for register in registers], table(spec.value)


# -- terms of joint counts -------------------------------------------------------------------------


@dataclass(frozen=True)
class Term:
    """A term of what a joint count adds at a step."""

    count: int  # the number of the joint count among those of the loss
    amount: Expr  # what it adds, an expression of features ``z#k`` and ``y#k``
    z: tuple[int, ...]  # the numbers k of the features of z that it reads
    y: tuple[int, ...]  # the numbers k of the features of y that it reads
    reads_clock: bool  # whether it looks at the position


def joint_terms(form: Split) -> tuple[Term, ...]:
    """The terms of all joint counts of a split loss."""
    terms = []
    for count, joint_count in enumerate(form.joint_counts):
        for sign, amount in terms_of_sum(joint_count.amount):
            signed = amount if sign == "+" else Unary("-", amount)
            read = names_read(amount)
            z, y = (
                tuple(sorted(int(name[2:]) for name in read if name.startswith(f"{tape}#")))
                for tape in "zy"
            )
            terms.append(Term(count, signed, z, y, "i" in read))
    return tuple(terms)


class AmountTable(NamedTuple):
    """What a term adds for pairs of rows of feature values, where that is not 0, by row of z."""

    row: Ints  # the row of z
    feature: Ints  # the row of y
    amount: Floats  # ``UNDEFINED`` where it has no value


class TermAmounts(NamedTuple):
    """What a term adds at each position."""

    tables: list[AmountTable]  # distinct ones, at least one
    table: Ints  # that of each position, (n,)
    common: float  # what is added at each position beside these


def term_amounts(form: Split, term: Term, z_rows: Floats, y_rows: Floats, n: int) -> TermAmounts:
    """What a term adds for each pair of rows of feature values, (rows, features) of each tape.

    A SizeLimitError where there are too many.
    """
    common = _common_amount(form, term, z_rows, y_rows, n)
    kept = 0
    clocks = np.arange(1.0, max(n, 1) + 1.0) if term.reads_clock else np.ones(1)
    index = dict[bytes, int]()
    tables = list[AmountTable]()
    table = np.zeros(len(clocks), np.int64)
    # Blocks of positions where all rows fit, else of rows of a position.
    rows = max(1, limits.AMOUNTS_AT_ONCE // max(1, len(y_rows)))
    size = max(1, limits.AMOUNTS_AT_ONCE // max(1, len(z_rows) * len(y_rows)))
    for begin in range(0, len(clocks), size):
        clock = clocks[begin : begin + size]
        parts = []
        for first in range(0, max(1, len(z_rows)), rows):
            block = _block(form, term, z_rows[first : first + rows], y_rows, clock, n)
            if common:
                block = np.where(is_undefined(block), block, block - common)
            at, row, feature = np.unravel_index(np.flatnonzero(block != 0), block.shape)
            kept += len(at)
            guard_size("decode", kept // limits.AMOUNTS_PER_STATE, least=True)
            parts.append((at, row + first, feature, block[at, row, feature]))
        at, *columns = (np.concatenate(column) for column in zip(*parts, strict=True))
        ends = np.searchsorted(at, np.arange(len(clock) + 1))
        for i, (low, high) in enumerate(pairwise(ends.tolist()), start=begin):
            part = AmountTable(*(column[low:high] for column in columns))
            key = b"".join(column.tobytes() for column in part)
            table[i] = index.setdefault(key, len(tables))
            if table[i] == len(tables):
                tables.append(part)
    return TermAmounts(tables, table[:n] if term.reads_clock else np.zeros(n, np.int64), common)


def _common_amount(form: Split, term: Term, z_rows: Floats, y_rows: Floats, n: int) -> float:
    """What most pairs of very many add, where that is a whole number; else 0."""
    if len(z_rows) * len(y_rows) <= limits.PLAIN_PAIRS or term.reads_clock:
        return 0.0
    amounts, counts = np.unique(
        _block(form, term, z_rows[:1], y_rows, np.ones(1), n), return_counts=True
    )
    most = float(amounts[counts.argmax()])
    return most if most.is_integer() and 2 * counts.max() > len(y_rows) else 0.0


def _block(
    form: Split, term: Term, z_rows: Floats, y_rows: Floats, clock: Floats, n: int
) -> Floats:
    """What a term adds, (positions, rows of z, rows of y)."""
    current: dict[str, Floats | float] = {"i": clock[:, None, None], "n": float(n)}
    current |= {f"z#{k}": column[:, None] for k, column in zip(term.z, z_rows.T, strict=True)}
    current |= {f"y#{k}": column[None, :] for k, column in zip(term.y, y_rows.T, strict=True)}
    table = where_defined(term.amount, Scope(form.bound, current, current, {}))
    amounts = np.broadcast_to(table, (len(clock), len(z_rows), len(y_rows))).astype(np.float64)
    if not (np.isfinite(amounts) | is_undefined(amounts)).all():
        raise LossFileError("decode", "what is counted must be a finite number")
    return amounts


class Amounts(NamedTuple):
    """Amounts (score rows, features) by feature and by row, for every distinct table."""

    table: Ints  # the table of each position, (n,)
    begins: Ints  # where the amounts of each feature begin, (tables, features + 1)
    row: Places  # their score rows
    amount: Floats  # the amounts
    joint: Ints  # the joint count of each score row; -1 for one more, which is none
    row_begins: Ints  # where the amounts of each score row begin, (tables, rows + 2)
    feature: Places  # their features
    row_amount: Floats  # the amounts

    @property
    def features(self) -> int:
        """The number of features of y."""
        return int(self.begins.shape[1]) - 1

    def greatest(self, counts: int, terms: Sequence[Term], sizes: Sequence[int]) -> Floats:
        """Bounds on what joint counts gain by so many positions, signs aside, (counts, n + 1).

        ``sizes`` says how many score rows each of the terms has.
        """
        by_term, by_count = (np.zeros((size, len(self.begins))) for size in (len(terms), counts))
        owner = np.repeat(np.arange(len(terms)), sizes)
        np.maximum.at(by_term, owner, self.without_signs().greatest_of_rows().T[:-1])
        np.add.at(by_count, np.array([term.count for term in terms], np.int64), by_term)
        added = by_count.take(self.table, axis=1)  # in the order of C, as compiled loops expect
        return np.concatenate([np.zeros((counts, 1)), np.cumsum(added, axis=1)], axis=1)

    def without_signs(self) -> Amounts:
        """The sizes of the amounts."""
        return self._replace(amount=np.abs(self.amount), row_amount=np.abs(self.row_amount))

    def greatest_of_rows(self) -> Floats:
        """The greatest amount of each score row, at least 0, (tables, rows + 1)."""
        greatest = np.zeros(len(self.begins) * len(self.joint))
        owner = np.repeat(np.arange(len(greatest)), np.diff(self.row_begins, axis=1).ravel())
        np.maximum.at(greatest, owner, self.row_amount)
        return greatest.reshape(len(self.begins), -1)

    def signs(self, counts: int) -> Bools:
        """Whether some amounts of each joint count are below 0, and above, (2, counts)."""
        signs = np.zeros((2, counts), bool)
        signs[0, self.joint[self.row[self.amount < 0]]] = True
        signs[1, self.joint[self.row[self.amount > 0]]] = True
        return signs


def amounts_of(
    form: Split,
    terms: Sequence[Term],
    pairs: Sequence[tuple[Floats, Floats]],
    n: int,
    met: Callable[[], Iterable[tuple[Bools, Bools]]],
) -> tuple[Amounts, Floats]:
    """The amounts of all terms for sequences of length n, or of every length up to n.

    And what is added to each joint count at every position beside these, (counts,). ``pairs`` has
    for each term the rows of feature values that the tapes of z and y may show, and ``met`` gives
    which rows of z and features of y, of all terms, are shown at each position. A LossFileError
    where an amount has no value although a step asks for it.
    """
    guard_size("decode", sum(len(z) * len(y) for z, y in pairs) // 64)
    by_term = [term_amounts(form, term, *rows, n) for term, rows in zip(terms, pairs, strict=True)]
    columns = [one.table for one in by_term]
    common = np.zeros(len(form.joint_counts))
    np.add.at(common, [term.count for term in terms], [one.common for one in by_term])
    first, table = distinct_rows(columns) if columns and n else (np.zeros(1, int), np.zeros(n, int))
    rows, features = (np.cumsum([0, *(len(pair[tape]) for pair in pairs)]) for tape in (0, 1))
    parts = [(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0))]
    for k, i in enumerate(first.tolist()):
        for one, a, b in zip(by_term, rows, features, strict=False):
            part = one.tables[one.table[i] if n else 0]
            parts.append((np.full(len(part.row), k), part.row + a, part.feature + b, part.amount))
    owner, row, feature, amount = (np.concatenate(column) for column in zip(*parts, strict=True))
    undefined = is_undefined(amount)
    if undefined.any():
        lanes = owner[undefined], row[undefined], feature[undefined]
        asked = _first_asked(*lanes, table, met())
        if asked is not None:
            position, score_row = asked
            term = terms[int(np.searchsorted(rows, score_row, side="right")) - 1]
            raise _no_amount(form, term, position)
        owner, row, feature = (column[~undefined] for column in (owner, row, feature))
        amount = amount[~undefined]
    begins, order = _grouped(owner, feature, len(first), int(features[-1]))
    row_begins, row_order = _grouped(owner, row, len(first), int(rows[-1]) + 1)
    count = np.repeat([term.count for term in terms], np.diff(rows)).astype(np.int64)
    amounts = Amounts(
        table, begins, row[order].astype(np.uint32), amount[order], np.append(count, -1),
        row_begins, feature[row_order].astype(np.uint32), amount[row_order],
    )  # fmt: skip
    return amounts, common


def _first_asked(
    owner: Ints, row: Ints, feature: Ints, table: Ints, met: Iterable[tuple[Bools, Bools]]
) -> tuple[int, int] | None:
    """The first position and score row of these amounts that steps of both tapes ask for."""
    last: tuple[Any, ...] = ()
    for i, ((z_met, y_met), here) in enumerate(zip(met, table.tolist(), strict=True), start=1):
        if last and last[0] is z_met and last[1] is y_met and last[2] == here:
            continue
        last = z_met, y_met, here
        asked = np.flatnonzero(z_met[row] & y_met[feature] & (owner == here))
        if len(asked):
            return i, int(row[asked[0]])
    return None


def _no_amount(form: Split, term: Term, position: int) -> LossFileError:
    """The error of an amount that is asked for at a position and has no value."""
    spec = form.bound.spec
    name = form.joint_counts[term.count].register
    place = next(register.place for register in spec.registers if register.name == name)
    said = f"what {name} adds has no value at position {position}, where its condition holds"
    remedy = "Let its condition exclude this"
    return fault(spec.origin, spec.source, place, said, remedy)


def _grouped(owner: Ints, keys: Ints, tables: int, count: int) -> tuple[Ints, Ints]:
    """Where the entries of each key of each table begin, (tables, count + 1), and their order."""
    keys = owner * count + keys
    order = np.argsort(keys, kind="stable")
    places = np.arange(tables)[:, None] * count + np.arange(count + 1)
    return np.searchsorted(keys[order], places), order
