"""The terms of joint counts: each a function of features of a step of z and of a step of y.

A joint count that adds A - B at a step is taken apart, because A and B by themselves look at few
features each; together they look at every combination of these.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from fsmeu.arrays import Floats, Ints
from fsmeu.errors import LossFileError, sentence
from fsmeu.limits import AMOUNTS_AT_ONCE
from fsmeu.losses.algebra.rewrite import terms_of_sum
from fsmeu.losses.algebra.split import Split
from fsmeu.losses.language.dependencies import names_read
from fsmeu.losses.language.syntax import Expr, Unary
from fsmeu.losses.semantics.evaluator import Scope, evaluate

__all__ = ["Entries", "Term", "TermAmounts", "joint_terms", "term_amounts"]


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
        raise LossFileError(sentence("decode", "what is counted must be a finite number"))
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
