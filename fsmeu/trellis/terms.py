"""The terms of joint counts: each a function of features of a step of z and of a step of y.

A joint count that adds A - B at a step is taken apart, because A and B by themselves look at few
features each; together they look at every combination of these.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, vstack

from fsmeu.fst.compose import guard_size
from fsmeu.limits import AMOUNTS_AT_ONCE, DENSE_AMOUNTS
from fsmeu.losses.algebra.separate import terms_of_sum
from fsmeu.losses.algebra.split import Split
from fsmeu.losses.language.dependencies import names_read
from fsmeu.losses.language.syntax import Expr, Unary
from fsmeu.losses.semantics.evaluator import Scope, evaluate

__all__ = ["Amounts", "Term", "amounts", "join_terms", "joint_terms", "part_of"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


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


@dataclass(frozen=True, eq=False)
class Amounts:
    """What all terms add where a step of z meets a step of y.

    Attributes:
        matrix: the amounts, (score rows of z, features of y), those of a term in a block.
        counts: the number of joint counts.
        greatest: the greatest absolute value for each joint count.
        count: the joint count of each score row.
        term_count: the joint count of each term.
        longest_row: the greatest number of amounts of a score row.
        dense: for each term its amounts as a plain array, None where most are 0.
        begins: for each term the first of its score rows.
    """

    matrix: csr_array
    counts: int
    greatest: Floats
    count: Ints
    term_count: Ints
    longest_row: int
    dense: tuple[Floats | None, ...]
    begins: Ints

    @cached_property
    def is_sparse(self) -> bool:
        """Whether most amounts of every term are 0."""
        return all(table is None for table in self.dense)

    @cached_property
    def loops(self) -> tuple[NDArray[Any], ...]:
        """Where the amounts of each score row begin, their features, and the amounts."""
        return self.matrix.indptr, self.matrix.indices, self.matrix.data

    @cached_property
    def absolute(self) -> csr_array:
        """The absolute values of the amounts."""
        return abs(self.matrix)

    @cached_property
    def greatest_of_rows(self) -> Floats:
        """The greatest absolute value of the amounts of each score row."""
        found: Floats = self.absolute.max(axis=1).toarray().ravel()
        return found

    @cached_property
    def signs(self) -> NDArray[np.bool_]:
        """Whether some amounts of each joint count are below 0, and above, (2, joint counts)."""
        count = np.repeat(self.count, np.diff(self.matrix.indptr))  # of each amount
        found = [np.bincount(count, side, self.counts) for side in _sides(self.matrix.data)]
        return np.array(found) > 0


def _sides(numbers: Floats) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Which numbers are below 0, and which are above."""
    return numbers < 0, numbers > 0


def join_terms(terms: Sequence[Term], blocks: Sequence[csr_array], counts: int) -> Amounts:
    """The amounts of all terms together.

    Args:
        terms: the terms.
        blocks: what each adds, (its score rows, its features of y).
        counts: the number of joint counts.
    """
    matrix = _diagonal(blocks)
    sizes = [block.shape[0] for block in blocks]
    term_count = np.array([term.count for term in terms], np.int64)
    greatest = np.zeros(counts)
    for term, block in zip(terms, blocks, strict=True):
        greatest[term.count] += np.abs(block.data).max(initial=0.0)
    longest = int(np.diff(matrix.indptr).max(initial=0))
    begins = np.cumsum(sizes, dtype=np.int64) - sizes
    dense = tuple(
        block.toarray() if block.nnz > DENSE_AMOUNTS * block.shape[0] * block.shape[1] else None
        for block in blocks
    )
    count = np.repeat(term_count, np.array(sizes, np.int64))
    return Amounts(matrix, counts, greatest, count, term_count, longest, dense, begins)


def _diagonal(blocks: Sequence[csr_array]) -> csr_array:
    """The matrix with these blocks along its diagonal, (rows of all, columns of all)."""
    data, indices, pointers = [np.zeros(0)], [np.zeros(0, np.int32)], [np.zeros(1, np.int32)]
    width = entries = 0
    for block in blocks:
        data.append(block.data)
        indices.append(block.indices + width)
        pointers.append(block.indptr[1:] + entries)
        width, entries = width + block.shape[1], entries + block.nnz
    held = (np.concatenate(data), np.concatenate(indices), np.concatenate(pointers))
    return csr_array(held, shape=(len(held[2]) - 1, width))


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


def amounts(form: Split, term: Term, z_rows: Floats, y_rows: Floats, i: int, n: int) -> csr_array:
    """What a term adds for each pair of rows of feature values, (rows of z, rows of y).

    Args:
        form: the split loss.
        term: the term.
        z_rows: values of the features of z that it reads, (rows, features).
        y_rows: values of the features of y that it reads, (rows, features).
        i: the position, from 1.
        n: the length.
    """
    guard_size("decode", len(z_rows) * len(y_rows) // 64)
    size = max(1, AMOUNTS_AT_ONCE // max(1, len(y_rows)))
    blocks = [
        csr_array(_block(form, term, z_rows[begin : begin + size], y_rows, i, n))
        for begin in range(0, len(z_rows), size)
    ]
    return csr_array(vstack(blocks)) if blocks else csr_array((0, len(y_rows)))


def part_of(table: csr_array, rows: Ints, columns: Ints) -> csr_array:
    """The part of a table with these rows and columns, (rows, columns); itself where all are asked.

    Indexing a sparse table takes far longer than all else that is done with the small ones of many
    terms.
    """
    for axis, asked in enumerate((rows, columns)):
        if not np.array_equal(asked, np.arange(table.shape[axis])):
            table = table[asked] if axis == 0 else table[:, asked]
    return table


def _block(form: Split, term: Term, z_rows: Floats, y_rows: Floats, i: int, n: int) -> Floats:
    current: dict[str, Floats | float] = {"i": float(i), "n": float(n)}
    current |= {f"z#{k}": column[:, None] for k, column in zip(term.z, z_rows.T, strict=True)}
    current |= {f"y#{k}": column[None, :] for k, column in zip(term.y, y_rows.T, strict=True)}
    table = evaluate(term.amount, Scope(form.bound, current, current, {}))
    return np.broadcast_to(table, (len(z_rows), len(y_rows))).astype(np.float64)
