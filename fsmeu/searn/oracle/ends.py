"""Scores at the ends that counted oracles can reach.

References of one length with the same constants share a table: the value depends on nothing else
but both sums.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fsmeu.errors import LossFileError
from fsmeu.searn.oracle.checks import guard_bytes
from fsmeu.searn.oracle.core import Core
from fsmeu.searn.oracle.layers import Walked
from fsmeu.searn.oracle.loops import Work
from fsmeu.searn.oracle.pool import NotCountedError, Paths
from fsmeu.searn.oracle.reached import Ends

__all__ = ["end_scores"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
Whole = NDArray[np.signedinteger]

Roles = tuple[int | None, int | None]


@dataclass(frozen=True, eq=False)
class _Group:
    """References that share a table; arrays are (references, values of the axis).

    Attributes:
        numbers: which references.
        n: their length.
        low: the least value of the axis.
        least: the least value of the other sum for each value of the axis.
        most: the greatest.
        held: whether the axis can end there.
    """

    numbers: list[int]
    n: int
    low: int
    least: Ints
    most: Ints
    held: Bools

    @property
    def base(self) -> int:
        """The least value of the other sum."""
        return int(self.least[self.held].min())

    @property
    def columns(self) -> Ints:
        """All values of the other sum."""
        return np.arange(self.base, int(self.most[self.held].max()) + 1)

    def inside(self, k: int) -> Bools:
        """What one reference may end in or pass, (values of the axis, values of the other sum)."""
        columns = self.columns
        least, most = self.least[k][:, None], self.most[k][:, None]
        found: Bools = (columns >= least) & (columns <= most) & self.held[k][:, None]
        return found

    def extreme(self, k: int) -> Bools:
        """What one reference does reach: the least and the greatest sum, of the same shape."""
        columns = self.columns
        ends = (columns == self.least[k][:, None]) | (columns == self.most[k][:, None])
        found: Bools = ends & self.held[k][:, None]
        return found


def end_scores(
    cores: Sequence[Core],
    machines: Sequence[Walked],
    paths: Paths,
    found: tuple[Whole, Whole],
    roles: Roles,
    sign: float,
    work: Work,
) -> Ends:
    """Scores at the ends of all references.

    Args:
        cores: the loss with the reference given, for each of them.
        machines: their machines.
        paths: the layers of the machines.
        found: the cells of the sweep: the greatest sum that rides, and minus the least.
        roles: the numbers of the sum that rides and of the axis, None for none.
        sign: 1 for a utility, -1 for a loss.
        work: what is kept for the loss.

    Raises:
        NotCountedError: the value is not monotonic in the sum that rides.
        LossFileError: the value of a sequence is not defined.
    """
    tables: list[Floats] = []
    begins, low, width, direction = (np.zeros(len(machines), np.int64) for _ in range(4))
    size = 0
    for group in _groups(machines, paths, found):
        first = group.numbers[0]
        table = _table(cores[first], machines[first], group, roles, sign, work)
        begins[group.numbers], low[group.numbers] = size, group.base
        width[group.numbers] = table.shape[1]
        for k, number in enumerate(group.numbers):
            direction[number] = _direction(table, group.inside(k))
        tables.append(table)
        size += table.size
        guard_bytes(8 * size)
    return Ends(np.concatenate([one.ravel() for one in tables]), begins, low, width, direction)


def _groups(machines: Sequence[Walked], paths: Paths, found: tuple[Whole, Whole]) -> list[_Group]:
    none = np.iinfo(found[0].dtype).min
    members: dict[tuple[int, int, int, bytes], list[int]] = {}
    for k, machine in enumerate(machines):
        first = paths.begins[k]
        key = (len(machine.layers), int(paths.low[first]), int(paths.size[first]))
        members.setdefault((*key, machine.constants.tobytes()), []).append(k)
    groups = []
    for (n, low, size, _), numbers in members.items():
        first = paths.begins[numbers]
        begin = paths.cells[first] + paths.start[numbers] * size
        cells = begin[:, None] + np.arange(size)
        most, least = (one[cells].astype(np.int64) for one in found)
        groups.append(_Group(numbers, n, low, -least, most, most != none))
    return groups


def _table(
    core: Core, machine: Walked, group: _Group, roles: Roles, sign: float, work: Work
) -> Floats:
    """Scores (values of the axis, values of the other sum); what is not defined is not reached."""
    rows, columns = group.least.shape[1], group.columns
    guard_bytes(8 * rows * len(columns))
    n, constants = group.n, machine.constants.tobytes()
    key = (roles, sign, n, group.low, rows, group.base, len(columns), constants)
    table = work.tables.get(key)
    inside = np.logical_or.reduce([group.inside(k) for k in range(len(group.numbers))])
    if table is None:
        everything = np.ones((rows, len(columns)), bool)
        try:
            table = _scores(core, machine, group, roles, sign, everything)
            work.keep(key, table)
        except LossFileError:
            table = _inside(core, machine, group, roles, sign, inside)
    extreme = np.logical_or.reduce([group.extreme(k) for k in range(len(group.numbers))])
    core.check(n, sign * table[extreme])
    return table


def _inside(
    core: Core, machine: Walked, group: _Group, roles: Roles, sign: float, inside: Bools
) -> Floats:
    """The same where not all cells have a value."""
    try:
        return _scores(core, machine, group, roles, sign, inside)
    except LossFileError:
        for k in range(len(group.numbers)):  # what sequences do reach must have one
            _scores(core, machine, group, roles, sign, group.extreme(k))
        raise NotCountedError from None


def _scores(
    core: Core, machine: Walked, group: _Group, roles: Roles, sign: float, cells: Bools
) -> Floats:
    """Scores in these cells, -inf elsewhere."""
    row, column = np.nonzero(cells)
    sums = np.repeat(core.begin(group.n)[:, None], len(row), axis=1)
    for role, amounts in zip(roles, (group.columns[column], group.low + row), strict=True):
        if role is not None:
            sums[role] += amounts
    nothing = np.zeros((0, len(row)))
    table = np.full(cells.shape, -np.inf)
    values = core.values(group.n, machine.constants, nothing, sums, row.shape)
    table[cells] = sign * values + 0.0
    return table


def _direction(table: Floats, inside: Bools) -> int:
    """1 where scores never fall from one column to the next, -1 where they never rise."""
    both = inside[:, 1:] & inside[:, :-1]
    left, right = table[:, :-1][both], table[:, 1:][both]
    if (right >= left).all():
        return 1
    if (right <= left).all():
        return -1
    raise NotCountedError
