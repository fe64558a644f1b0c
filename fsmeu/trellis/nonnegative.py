"""Proofs that a joint count is at least 0, and that it is 0 where a tape counts nothing.

The F-score of chunks counts two chunks that open together, and takes that back when only one of
them goes on: amounts of -1 that cannot come without a +1 before. Let

    phi(s) = the most that one step from the pair of states s = (z's, y's) can take away.

If phi is 0 at the start, and phi(s) + amount >= phi(s') for every step from s to s', then the count
is at least phi(s) >= 0 in every s that is reached: it starts at phi, and each step keeps it so.
Where phi(s') = 0 that holds by definition; so only steps to states with phi(s') > 0 are looked at,
whether s is reached by a pair of sequences or not. What is not proven in this way is not claimed.

Where one tape counts nothing, the count is at most 0 if its negative is at least 0. That is proven
in the same way from the end to the start, by the steps of that tape which count nothing: a chunk
that was counted too early is taken back later on.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from fsmeu import limits
from fsmeu.arrays import Floats, Ints
from fsmeu.fst.distinct import distinct_rows
from fsmeu.trellis.composed import Composed
from fsmeu.trellis.tapes import Amounts


class _Sparse(NamedTuple):
    """Numbers by ascending keys; those of other keys are 0."""

    keys: Ints
    values: Floats

    def at(self, keys: Ints) -> Floats:
        """The numbers of these keys."""
        place = np.searchsorted(self.keys, keys)
        is_key = np.append(self.keys, -1)[place] == keys
        return np.where(is_key, np.append(self.values, 0.0)[place], 0.0)


def _reduced(keys: Ints, values: Floats, how: np.ufunc) -> _Sparse:
    """Distinct keys, and their values taken together."""
    order = np.argsort(keys, kind="stable")
    distinct_keys, first = np.unique(keys[order], return_index=True)
    return _Sparse(distinct_keys, how.reduceat(values[order], first) if len(first) else np.zeros(0))


class Kinds(NamedTuple):
    """The kinds of positions: that of z's tape, that of y's, and the table of amounts."""

    all: frozenset[tuple[int, ...]]
    last: tuple[int, ...]


def kinds_of_positions(z: Composed, y: Composed, amounts: Amounts, n: int) -> Kinds:
    """The kinds of positions of sequences of length n, at least 1."""
    rows = np.stack([z.kind[:n], y.kind[:n], amounts.table[:n]], axis=1).tolist()
    kinds = [tuple(row) for row in rows]
    return Kinds(frozenset(kinds), kinds[-1])


def stays_nonnegative(z: Composed, y: Composed, amounts: Amounts) -> bool:
    """True when the joint count is proven to be at least 0 for all pairs of sequences.

    All terms must belong to one joint count; z may have more sequences than are allowed.
    """
    n = min(len(z.kind), len(y.kind))
    positions = [
        _Position(_steps(z, a), _steps(y, b), _added(amounts, table))
        for a, b, table in kinds_of_positions(z, y, amounts, n).all
    ]
    phi = _kept_phi(positions, z, y)
    return phi is not None and not (phi.keys < y.width[0]).any()  # both start in first states


def is_nothing_without(
    silent: Composed, z: Composed, y: Composed, amounts: Amounts, kinds: Kinds
) -> bool:
    """True when the joint count is proven to be at most 0 where ``silent``, z or y, counts nothing.

    For pairs of sequences with such positions; all terms must belong to one joint count.
    """
    quiet = _without_counting(silent)
    z = quiet if z is silent else z
    y = quiet if y is silent else y
    positions = []
    for a, b, table in kinds.all:
        z_steps = _steps_back(z, a)
        y_steps = _steps_back(y, b)
        added = _added(amounts, table)
        positions.append(_Position(z_steps, y_steps, added._replace(values=-added.values)))
    phi = _kept_phi(positions, z, y)
    if phi is None:
        return False
    rows, columns = np.divmod(phi.keys, int(y.width[-1]))
    z_ends = _steps_back(z, kinds.last[0])[1]
    y_ends = _steps_back(y, kinds.last[1])[1]
    return not (np.isin(rows, z_ends) & np.isin(columns, y_ends)).any()


def _added(amounts: Amounts, table: int) -> _Sparse:
    """The amounts of a table, by row of z times features, plus feature of y."""
    begins = amounts.row_begins[table]
    row = np.repeat(np.arange(len(begins) - 1), np.diff(begins))
    part = slice(*begins[[0, -1]])
    keys = row * amounts.features + amounts.feature[part]
    return _reduced(keys, amounts.row_amount[part], np.add)


def _kept_phi(positions: Sequence[_Position], z: Composed, y: Composed) -> _Sparse | None:
    """phi by the pair of states, if each step keeps the count at least phi; else None."""
    size = (int(z.width[-1]), int(y.width[-1]))
    parts = [_Sparse(np.zeros(0, np.int64), np.zeros(0))]
    for position in positions:
        taken = _taken(position, z.first_feature, y.first_feature, size)
        if taken is None:
            return None
        parts.append(taken)
    keys, most = (np.concatenate(column) for column in zip(*parts, strict=True))
    phi = _reduced(keys, most, np.maximum)
    features = int(y.first_feature[-1])
    is_kept = all(_kept(position, phi, size[1], features) for position in positions)
    return phi if is_kept else None


class _Position(NamedTuple):
    """The steps of a kind of position: rows of target, source and the feature of each term."""

    z: Ints
    y: Ints
    amounts: _Sparse  # by row of z times features, plus feature of y


def _steps(tape: Composed, kind: int) -> Ints:
    """Distinct steps by target: target, source, feature of each term among those of all."""
    arcs = tape.kinds[kind]
    rows = np.concatenate([arcs[2:3], arcs[:1], arcs[4:-1] + tape.first_feature[:-1, None]])
    return rows[:, distinct_rows(list(rows))[0]]


def _without_counting(tape: Composed) -> Composed:
    """The tape with the arcs alone of sequences that count nothing, from its first states."""
    silent = [arcs[:, arcs[3] == 0] for arcs in tape.kinds]
    is_reached = np.zeros(int(tape.width[-1]), bool)
    is_reached[: tape.width[0]] = True
    count = 0
    while count < is_reached.sum():
        count = int(is_reached.sum())
        for arcs in silent:
            is_reached[arcs[2, is_reached[arcs[0]]]] = True
    return replace(tape, kinds=[arcs[:, is_reached[arcs[0]]] for arcs in silent])


def _steps_back(tape: Composed, kind: int) -> Ints:
    """Distinct steps from targets to sources, by source."""
    arcs = tape.kinds[kind]
    back = arcs.copy()
    back[0] = arcs[2]
    back[2] = arcs[0]
    return _steps(replace(tape, kinds=[back]), 0)


def _pairs(rows: Ints, columns: Ints, z: Ints, y: Ints) -> tuple[Ints, Ints, Ints]:
    """For each (row, column) all pairs of members of both: its number, and places of the members.

    Members of a row, and of a column, begin where z and y say.
    """
    wide = np.diff(y)[columns]
    sizes = np.diff(z)[rows] * wide
    owner = np.repeat(np.arange(len(rows)), sizes)
    place = np.arange(len(owner)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    across = place % wide[owner]
    down = place // wide[owner]
    return owner, z[rows[owner]] + down, y[columns[owner]] + across


def _taken(
    position: _Position, z_terms: Ints, y_terms: Ints, size: tuple[int, int]
) -> _Sparse | None:
    """phi of the steps of a position: for each term the most that is taken, added up."""
    amounts = position.amounts
    below = amounts.values < 0
    holders = []  # states that show each feature
    begins = []
    rows, columns = np.divmod(amounts.keys[below], y_terms[-1])
    for steps, terms in ((position.z, z_terms), (position.y, y_terms)):
        shown = np.stack([steps[2:].ravel(), np.tile(steps[1], len(steps) - 2)])
        shown = shown[:, distinct_rows(list(shown))[0]]
        holders.append(shown[1])
        begins.append(np.searchsorted(shown[0], np.arange(terms[-1] + 1)))
    if (np.diff(begins[0])[rows] * np.diff(begins[1])[columns]).sum() > limits.MOST_SIGNED_PAIRS:
        return None
    owner, down, across = _pairs(rows, columns, *begins)
    term = np.searchsorted(z_terms, rows[owner], "right")
    keys = (term * size[0] + holders[0][down]) * size[1] + holders[1][across]
    most = _reduced(keys, -amounts.values[below][owner], np.maximum)
    return _reduced(most.keys % (size[0] * size[1]), most.values, np.add)


def _kept(position: _Position, phi: _Sparse, width: int, features: int) -> bool:
    """Whether phi + amount >= phi after, for every step of a position."""
    z, y, amounts = position
    rows, columns = np.divmod(phi.keys, width)
    z_begins, y_begins = (
        np.searchsorted(steps[0], np.arange(int(after.max(initial=0)) + 2))
        for steps, after in ((z, rows), (y, columns))
    )
    sizes = np.diff(z_begins)[rows] * np.diff(y_begins)[columns]
    few = sizes <= limits.FEW_SIGNED_STEPS
    many = np.flatnonzero(sizes > limits.FEW_SIGNED_STEPS).tolist()
    if sizes[few].sum() > limits.MOST_SIGNED_PAIRS or len(many) > limits.MOST_APART:
        return False
    owner, down, across = _pairs(rows[few], columns[few], z_begins, y_begins)
    left = z[1:, down]
    right = y[1:, across]
    balance = phi.at(left[0] * width + right[0])
    for row, feature in zip(left[1:], right[1:], strict=True):
        balance = balance + amounts.at(row * features + feature)
    if (balance < phi.values[few][owner]).any():
        return False
    for k in many:
        left = z[2:, z_begins[rows[k]] : z_begins[rows[k] + 1]]
        right = y[2:, y_begins[columns[k]] : y_begins[columns[k] + 1]]
        each = zip(left, right, strict=True)
        if sum(_least(amounts, *terms, features) for terms in each) < phi.values[k]:
            return False
    return True


def _least(amounts: _Sparse, rows: Ints, columns: Ints, features: int) -> float:
    """The least amount of some rows and features."""
    row, feature = np.divmod(amounts.keys, features)
    is_row, is_column = np.zeros((2, 1 + max(rows.max(), row.max(initial=0), features)), bool)
    is_row[rows] = True
    is_column[columns] = True
    listed = amounts.values[is_row[row] & is_column[feature]]
    all_listed = len(listed) == np.count_nonzero(is_row) * np.count_nonzero(is_column)
    return float(listed.min(initial=np.inf if all_listed else 0.0))
