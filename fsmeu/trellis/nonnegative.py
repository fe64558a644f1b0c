"""A proof that a joint count stays at least 0, where some of its amounts are negative.

The F-score of chunks counts two chunks that open together, and takes that back when only one of
them goes on: amounts of -1 that cannot come without a +1 before. Let

    phi(s) = the most that one step from the pair of states s = (z's, y's) can take away.

If phi is 0 at the start, and phi(s) + amount >= phi(s') for every step from s to s', then the count
is at least phi(s) >= 0 in every s that is reached: it starts at phi, and each step keeps it so.
Where phi(s') = 0 that holds by definition; so only steps to states with phi(s') > 0 are looked at,
whether s is reached by a pair of sequences or not. What is not proven in this way is not claimed.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.sparse import coo_array, csr_array

from fsmeu.arrays import Floats, Ints
from fsmeu.fst.distinct import distinct_rows
from fsmeu.trellis.composed import Composed
from fsmeu.trellis.terms import Amounts

_MOST = 1 << 18
"""Pairs of states, or of steps, that are looked at; where there are more, nothing is proven."""
_FEW = 64
"""Pairs of steps to one pair of states that are listed; of more, the least amounts are added."""


def stays_nonnegative(z: Composed, y: Composed, amounts: Amounts) -> bool:
    """True when the joint count is proven to be at least 0 for all pairs of sequences.

    Requires that all terms belong to one joint count.

    Args:
        z: the tape of z with all sequences, or more than are allowed.
        y: the tape of y with a model.
        amounts: what terms add.
    """
    n = min(len(z.kind), len(y.kind))
    kinds = {(int(z.kind[i]), int(y.kind[i]), int(amounts.table[i])) for i in range(n)}
    positions = [
        _Position(z.kinds[a], y.kinds[b], _terms(amounts, table, z, y)) for a, b, table in kinds
    ]
    shape = (int(z.width[-1]), int(y.width[-1]))
    phi = csr_array(shape)
    for one in positions:
        taken = _taken(one, shape)
        if taken is None:
            return False
        phi = csr_array(phi.maximum(taken))
    starts = phi[:1, : int(y.width[0])]
    return starts.nnz == 0 and all(_kept(one, phi) for one in positions)


class _Position(NamedTuple):
    """The steps of both tapes at a position, and for each term what it adds, (rows, features)."""

    z: Ints
    y: Ints
    terms: list[csr_array]


def _terms(amounts: Amounts, table: int, z: Composed, y: Composed) -> list[csr_array]:
    """The amounts of each term by its own rows and features."""
    begins = amounts.row_begins[table][:-1]
    part = slice(int(begins[0]), int(begins[-1]))
    held = (amounts.row_amount[part], amounts.feature[part], begins - begins[0])
    matrix = csr_array(held, shape=(len(begins) - 1, amounts.features))
    blocks = zip(
        z.first_feature, z.first_feature[1:], y.first_feature, y.first_feature[1:], strict=False
    )
    return [csr_array(matrix[a:b, c:d]) for a, b, c, d in blocks]


def _taken(one: _Position, shape: tuple[int, int]) -> csr_array | None:
    """phi of the steps of a position: for each term the most that is taken, added up."""
    total = csr_array(shape)
    for t, matrix in enumerate(one.terms):
        left = _holders(one.z, t, shape[0], matrix.shape[0])
        right = _holders(one.y, t, shape[1], matrix.shape[1])
        below = csr_array(matrix.minimum(csr_array(matrix.shape)))
        below.eliminate_zeros()
        pairs = left.sum(axis=0) @ abs(below).sign() @ right.sum(axis=0)
        if pairs > _MOST:
            return None
        most = csr_array(shape)
        for amount in np.unique(below.data).tolist():
            these = csr_array((below.data == amount, below.indices, below.indptr), below.shape)
            some = (left @ these.astype(np.float64) @ right.T).sign() * -amount
            most = csr_array(most.maximum(csr_array(some)))
        total = csr_array(total + most)
    return total


def _holders(arcs: Ints, term: int, states: int, features: int) -> csr_array:
    """Which states show which features of a term, (states, features): ones."""
    held = (np.ones(arcs.shape[1]), (arcs[0], arcs[4 + term]))
    return csr_array(coo_array(held, shape=(states, features)).tocsr().sign())


def _kept(one: _Position, phi: csr_array) -> bool:
    """Whether phi + amount >= phi after, for every step of a position."""
    z, z_begins = _incoming(one.z, phi.shape[0])
    y, y_begins = _incoming(one.y, phi.shape[1])
    after = phi.tocoo()
    rows, columns = after.coords
    sizes = (np.diff(z_begins)[rows], np.diff(y_begins)[columns])
    steps = sizes[0] * sizes[1]
    few = (steps > 0) & (steps <= _FEW)
    if steps[few].sum() > _MOST or np.count_nonzero(steps > _FEW) > _FEW:
        return False
    owner = np.repeat(np.flatnonzero(few), steps[few])
    begins = np.repeat(np.cumsum(steps[few]) - steps[few], steps[few])
    place = np.arange(len(owner)) - begins
    left = z[:, z_begins[rows[owner]] + place // sizes[1][owner]]
    right = y[:, y_begins[columns[owner]] + place % sizes[1][owner]]
    held = _at(phi, left[0], right[0])
    for t, matrix in enumerate(one.terms):
        held = held + _at(matrix, left[1 + t], right[1 + t])
    if (held < after.data[owner]).any():
        return False
    for k in np.flatnonzero(steps > _FEW).tolist():
        left = z[:, z_begins[rows[k]] : z_begins[rows[k] + 1]]
        right = y[:, y_begins[columns[k]] : y_begins[columns[k] + 1]]
        least = sum(
            _least(matrix, np.unique(left[1 + t]), np.unique(right[1 + t]))
            for t, matrix in enumerate(one.terms)
        )
        if least < after.data[k]:
            return False
    return True


def _incoming(arcs: Ints, states: int) -> tuple[Ints, Ints]:
    """Distinct (source, features) by target, (columns, arcs), and where those of each begin."""
    rows = np.concatenate([arcs[2:3], arcs[:1], arcs[4:-1]])
    rows = rows[:, distinct_rows(list(rows))[0]]
    return rows[1:], np.searchsorted(rows[0], np.arange(states + 1))


def _at(matrix: csr_array, rows: Ints, columns: Ints) -> Floats:
    """The numbers at so many places of a matrix."""
    return np.asarray(matrix[rows, columns], np.float64).ravel() if len(rows) else np.zeros(0)


def _least(matrix: csr_array, rows: Ints, columns: Ints) -> float:
    """The least number in some rows and columns of a matrix."""
    part = csr_array(matrix[rows][:, columns])
    return float(part.min()) if part.nnz or part.shape[0] * part.shape[1] else 0.0
