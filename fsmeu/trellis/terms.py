"""The terms of joint counts: each a function of features of a step of z and of a step of y.

A joint count that adds A - B at a step is taken apart, because A and B by themselves look at few
features each; together they look at every combination of these.

What terms add is held as arrays for kernels. Score rows are the features of z of all terms, one
term after the other, and one more for none; features are those of y. Terms that look at the
position have a table for every position that differs from others.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from fsmeu.arrays import Bools, Floats, Ints
from fsmeu.errors import LossFileError, message
from fsmeu.fst.compose import guard_size
from fsmeu.fst.distinct import distinct_rows
from fsmeu.losses.algebra.split import Split, terms_of_sum
from fsmeu.losses.language.syntax import Expr, Unary, names_read
from fsmeu.losses.semantics.evaluator import Scope, evaluate

AMOUNTS_AT_ONCE = 1 << 20  # amounts of pairs of feature values that are evaluated at once: 8 MB


@dataclass(frozen=True)
class Term:
    """A term of what a joint count adds at a step.

    Attributes:
        count: the number of the joint count among those of the loss.
        amount: what it adds, an expression of features ``z#k`` and ``y#k``.
        z: the numbers k of the features of z that it reads.
        y: the numbers k of the features of y that it reads.
        reads_clock: whether it looks at the position.
    """

    count: int
    amount: Expr
    z: tuple[int, ...]
    y: tuple[int, ...]
    reads_clock: bool


def joint_terms(form: Split) -> tuple[Term, ...]:
    """The terms of all joint counts of a split loss."""
    found = []
    for count, joint_count in enumerate(form.joint_counts):
        for sign, amount in terms_of_sum(joint_count.amount):
            signed = amount if sign == "+" else Unary("-", amount)
            read = names_read(amount)
            z, y = (tuple(sorted(_numbers(read, f"{tape}#"))) for tape in "zy")
            found.append(Term(count, signed, z, y, "i" in read))
    return tuple(found)


def _numbers(names: frozenset[str], prefix: str) -> list[int]:
    return [int(name[len(prefix) :]) for name in names if name.startswith(prefix)]


class Entries(NamedTuple):
    """The amounts that are not 0, as parallel arrays, by row: row of z, row of y, amount."""

    row: Ints
    feature: Ints
    amount: Floats


class TermAmounts(NamedTuple):
    """What a term adds: distinct tables, and the table of each position, (n,)."""

    tables: list[Entries]
    table: Ints


def term_amounts(form: Split, term: Term, z_rows: Floats, y_rows: Floats, n: int) -> TermAmounts:
    """What a term adds at every position, for each pair of rows of feature values.

    Args:
        form: the split loss.
        term: the term.
        z_rows: values of the features of z that it reads, (rows, features).
        y_rows: values of the features of y that it reads, (rows, features).
        n: the length.
    """
    if not term.reads_clock:
        parts = list(_by_rows(form, term, z_rows, y_rows, n))
        joined = Entries(*(np.concatenate(column) for column in zip(*parts, strict=True)))
        return TermAmounts([joined], np.zeros(n, np.int64))
    known: dict[bytes, int] = {}
    tables: list[Entries] = []
    table = np.zeros(max(n, 1), np.int64)
    size = max(1, AMOUNTS_AT_ONCE // max(1, len(z_rows) * len(y_rows)))
    for begin in range(0, len(table), size):
        clock = np.arange(begin + 1, min(len(table), begin + size) + 1, dtype=np.float64)
        block = _block(form, term, z_rows, y_rows, clock[:, None, None], n)
        for i, one in enumerate(block, start=begin):
            table[i] = known.setdefault(one.tobytes(), len(tables))
            if table[i] == len(tables):
                tables.append(_entries(one, 0))
    return TermAmounts(tables, table[:n])


def _by_rows(form: Split, term: Term, z_rows: Floats, y_rows: Floats, n: int) -> Iterator[Entries]:
    """The amounts of a term that does not look at the position, a block of rows at a time."""
    size = max(1, AMOUNTS_AT_ONCE // max(1, len(y_rows)))
    for begin in range(0, max(1, len(z_rows)), size):
        yield _entries(_block(form, term, z_rows[begin : begin + size], y_rows, 1.0, n), begin)


def _entries(table: Floats, first: int) -> Entries:
    """The entries of a table that are not 0, its first row having this number.

    Raises:
        LossFileError: an amount is no finite number.
    """
    if not np.isfinite(table).all():
        raise LossFileError(message("decode", "what is counted must be a finite number"))
    row, feature = np.nonzero(table)
    return Entries(row + first, feature, table[row, feature])


def _block(
    form: Split, term: Term, z_rows: Floats, y_rows: Floats, i: Floats | float, n: int
) -> Floats:
    """What a term adds, (rows of z, rows of y); where i is (positions, 1, 1), of each position."""
    current: dict[str, Floats | float] = {"i": i, "n": float(n)}
    current |= {f"z#{k}": column[:, None] for k, column in zip(term.z, z_rows.T, strict=True)}
    current |= {f"y#{k}": column[None, :] for k, column in zip(term.y, y_rows.T, strict=True)}
    table = evaluate(term.amount, Scope(form.bound, current, current, {}))
    shape = np.broadcast_shapes(np.shape(i), (len(z_rows), len(y_rows)))
    return np.broadcast_to(table, shape).astype(np.float64)


class Amounts(NamedTuple):
    """Amounts (score rows, features) by feature and by row, for every distinct table.

    Attributes:
        table: the table of each position, (n,).
        begins: where the amounts of each feature begin, (tables, features + 1).
        row: their score rows.
        amount: the amounts.
        joint: the joint count of each score row; -1 for one more, which is none.
        row_begins: where the amounts of each score row begin, (tables, rows + 2).
        feature: their features.
        row_amount: the amounts.
    """

    table: Ints
    begins: Ints
    row: Ints
    amount: Floats
    joint: Ints
    row_begins: Ints
    feature: Ints
    row_amount: Floats

    @property
    def features(self) -> int:
        """The number of features of y."""
        return int(self.begins.shape[1]) - 1

    def greatest(self, counts: int, terms: Sequence[Term], sizes: Sequence[int]) -> Floats:
        """Bounds on what joint counts gain by so many positions, signs aside, (counts, n + 1).

        Args:
            counts: the number of joint counts.
            terms: the terms.
            sizes: how many score rows each has.
        """
        owner = np.repeat(np.arange(len(terms)), sizes)
        of_count = np.array([term.count for term in terms], np.int64)
        found = np.zeros((counts, len(self.begins)))
        for t, begins in enumerate(self.row_begins):
            most = np.zeros(len(terms))
            rows = np.repeat(np.arange(len(owner)), np.diff(begins[: len(owner) + 1]))
            np.maximum.at(most, owner[rows], np.abs(self.row_amount[begins[0] : begins[-1]]))
            np.add.at(found[:, t], of_count, most)
        added = found.take(self.table, axis=1)  # in the order of C, as compiled loops expect
        return np.concatenate([np.zeros((counts, 1)), np.cumsum(added, axis=1)], axis=1)

    def greatest_of_rows(self) -> Floats:
        """The greatest amount of each score row, at least 0, (tables, rows + 1)."""
        found = np.zeros((len(self.begins), len(self.joint)))
        for t, begins in enumerate(self.row_begins):
            rows = np.repeat(np.arange(len(self.joint)), np.diff(begins))
            np.maximum.at(found[t], rows, self.row_amount[begins[0] : begins[-1]])
        return found

    def signs(self, counts: int) -> Bools:
        """Whether some amounts of each joint count are below 0, and above, (2, counts)."""
        found = np.zeros((2, counts), bool)
        found[0, self.joint[self.row[self.amount < 0]]] = True
        found[1, self.joint[self.row[self.amount > 0]]] = True
        return found

    @property
    def longest(self) -> int:
        """The greatest number of amounts of a score row."""
        return int(np.diff(self.row_begins, axis=1).max(initial=0))


def amounts_of(
    form: Split,
    terms: Sequence[Term],
    z_rows: Sequence[Floats],
    y_rows: Sequence[Floats],
    n: int,
) -> Amounts:
    """The amounts of all terms for sequences of length n, or of every length up to n.

    Args:
        form: the split loss.
        terms: the terms of its joint counts.
        z_rows: for each term, the rows of feature values that z may show, (rows, features).
        y_rows: the same of y.
        n: the length.
    """
    guard_size("decode", sum(len(z) * len(y) for z, y in zip(z_rows, y_rows, strict=True)) // 64)
    found = [
        term_amounts(form, term, z, y, n) for term, z, y in zip(terms, z_rows, y_rows, strict=True)
    ]
    columns = [one.table for one in found]
    first, table = distinct_rows(columns) if columns and n else (np.zeros(1, int), np.zeros(n, int))
    rows, features = (np.cumsum([0, *map(len, some)]) for some in (z_rows, y_rows))
    joined = [
        Entries(
            *(
                np.concatenate([np.zeros(0, kind), *parts])
                for kind, parts in (
                    (np.int64, [one.row + at for one, at in zip(held, rows, strict=False)]),
                    (np.int64, [one.feature + at for one, at in zip(held, features, strict=False)]),
                    (np.float64, [one.amount for one in held]),
                )
            )
        )
        for held in ([one.tables[one.table[i] if n else 0] for one in found] for i in first)
    ]
    count = np.repeat([term.count for term in terms], np.diff(rows)).astype(np.int64)
    begins, order = _grouped([one.feature for one in joined], int(features[-1]))
    row_begins, row_order = _grouped([one.row for one in joined], int(rows[-1]) + 1)
    row, feature, amount = (np.concatenate(column) for column in zip(*joined, strict=True))
    return Amounts(
        table=table,
        begins=begins,
        row=row[order],
        amount=amount[order],
        joint=np.append(count, -1),
        row_begins=row_begins,
        feature=feature[row_order],
        row_amount=amount[row_order],
    )


def _grouped(keys: Sequence[Ints], count: int) -> tuple[Ints, Ints]:
    """Where the entries of each key begin, (tables, count + 1), and the order of all entries."""
    begins, orders, known = [], [], 0
    for one in keys:
        order = np.argsort(one, kind="stable")
        begins.append(known + np.searchsorted(one[order], np.arange(count + 1)))
        orders.append(known + order)
        known += len(one)
    return np.array(begins, np.int64), np.concatenate(orders)
