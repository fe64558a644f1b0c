"""Tables of losses whose value reads up to two counts: one sweep with one count as an axis.

Given where one count ends, the value is monotonic in the other in many a loss: more matches are
better for every number of items that z has. Then all that matters of what follows is, for each
class and each number of further items, the greatest number of further matches:

    best[class, k] = max over labels of  matches(label) + best'[class after it, k - items(label)]

and what can be reached from a state is the best over k of value(matches + best[class, k], items +
k). That the value is monotonic is checked on the values that can occur, for each reference.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fsmeu.arrays import Bools, Floats, Ints
from fsmeu.errors import LossFileError
from fsmeu.searn.oracle.checks import greatest_tie, guard_bytes, refuse, refuse_strange
from fsmeu.searn.oracle.product import ClassLayer, Machine

__all__ = ["CountedTables", "NotCountedError"]

Small = NDArray[np.int32]
Whole = NDArray[np.signedinteger]
Roles = tuple[int | None, int | None]

_MOST_AMOUNT = 1 << 20


class NotCountedError(Exception):
    """The sums that a value reads are not two counts of whole numbers, or it is not monotonic."""


class Outcomes(NamedTuple):
    """The steps of all layers: labels that do the same in a class share an outcome.

    Attributes:
        label_class: the outcome of each label, (rows, labels).
        outcomes: how many outcomes each row has, (rows,).
        goals: the class after each outcome, (rows, outcomes); further ones repeat the first.
        gained: what each outcome adds to the sum of which the best is kept, of the same shape.
        counted: what it adds to the sum that is an axis, of the same shape.
    """

    label_class: Small
    outcomes: Small
    goals: Small
    gained: Small
    counted: Small


class Paths(NamedTuple):
    """The layers of machines, one after the other; a machine of length n has n + 1.

    Attributes:
        begins: where the layers of each machine begin, (machines + 1,).
        rows: the first row of each layer; 0 for the last of a machine, which has no steps.
        classes: the number of classes of each layer.
        low: the least that can be added to the axis from a layer on.
        size: how many values that may have.
        cells: where the cells (classes, size) of each layer begin, (layers + 1,).
    """

    begins: Ints
    rows: Ints
    classes: Ints
    low: Ints
    size: Ints
    cells: Ints


class Ends(NamedTuple):
    """Scores at the end, greater being better; arrays by machine but for ``scores``.

    Attributes:
        scores: those of all machines; of one, (values of the axis, values of the sum gained).
        begins: where those of each machine begin.
        low: the least value of the sum gained.
        width: how many values it has.
        direction: 1 where a greater sum is better, else -1.
    """

    scores: Floats
    begins: Ints
    low: Ints
    width: Ints
    direction: Ints


class CountedTables:
    """Tables of several references; a state is (position, class, sum gained, sum counted).

    Args:
        machines: the machine of each reference.
        sign: 1 for a utility, -1 for a loss.

    Raises:
        NotCountedError: the value reads more than two counts, or is monotonic in none of two.
        SizeLimitError: the tables would take too much room.

    Attributes:
        roundings: bounds on differences of values that count as equal, (references,).
    """

    def __init__(self, machines: Sequence[Machine], sign: float) -> None:
        if not machines or any(machine.ends.shape[1] for machine in machines):
            raise NotCountedError
        order = machines[0].steps.sum_order
        roles: dict[int, list[Roles]] = {1: [(0, None), (None, 0)]}
        if order:
            roles[2] = [(order[0], order[-1]), (order[-1], order[0])]
        self._start = np.array([machine.start for machine in machines], np.int64)
        for pair in roles.get(len(order), []):
            try:
                self._sweep(machines, pair, sign)
            except NotCountedError:
                continue
            begins, number = np.unique(self._ends.begins, return_inverse=True)
            self.roundings = greatest_tie(self._ends.scores, begins)[number]
            return
        raise NotCountedError

    def _sweep(self, machines: Sequence[Machine], roles: Roles, sign: float) -> None:
        from fsmeu.searn.oracle import kernels

        self._kernels: Any = kernels
        layers = {id(layer): layer for machine in machines for layer in machine.layers}
        labels = machines[0].steps.labels
        self._steps, extremes, begins = _packed(list(layers.values()), roles, labels, kernels)
        place = {key: k for k, key in enumerate(layers)}
        self._paths = _paths(machines, place, begins, extremes)
        reach = int(np.abs(extremes[:, :2]).max(initial=0)) * int(np.diff(self._paths.begins).max())
        kind = np.int16 if reach < np.iinfo(np.int16).max else np.int64
        cells = int(self._paths.cells[-1])
        guard_bytes(cells * np.dtype(kind).itemsize + _nbytes(self._steps, self._paths))
        self._best, self._none = np.empty(cells, kind), np.iinfo(kind).min
        held = (self._steps, self._paths, self._none)
        first = self._paths.begins[:-1]
        begins = self._paths.cells[first] + self._start * self._paths.size[first]
        found, up = [], np.ones(len(machines), np.int64)
        for direction in (-up, up):
            kernels.fill(*held, direction, self._best)
            sizes = self._paths.size[first].tolist()
            found.append([self._best[a : a + n].copy() for a, n in zip(begins, sizes, strict=True)])
        self._ends = _end_scores(machines, self._paths, (found[1], found[0]), roles, sign)
        if (self._ends.direction < 0).any():
            kernels.fill(*held, self._ends.direction, self._best)

    @property
    def nbytes(self) -> int:
        """How many bytes they take."""
        return _nbytes(self._steps, self._paths, (self._best,), self._ends)

    def start(self, sentences: Ints) -> Ints:
        """The first states, (batch, 4)."""
        found = np.zeros((len(sentences), 4), np.int64)
        found[:, 1] = self._start[sentences]
        return found

    def step(self, sentences: Ints, states: Ints, labels: Ints) -> Ints:
        """The states after one more label each, (batch, 4)."""
        self._check(sentences, states)
        position, at = states[:, 0], self._paths.begins[sentences]
        room = self._paths.begins[sentences + 1] - 1 - at - position
        refuse_strange(((position < 0) | (room < 0)).any(), states)
        refuse(self._kernels.ENDED if (room < 1).any() else 0, states)
        layers = at + position
        strange = (states[:, 1] < 0) | (states[:, 1] >= self._paths.classes[layers])
        refuse_strange(strange.any(), states)
        rows = self._paths.rows[layers] + states[:, 1]
        outcome, steps = self._steps.label_class[rows, labels], self._steps
        after = np.empty_like(states)
        after[:, 0] = position + 1
        after[:, 1] = steps.goals[rows, outcome]
        after[:, 2] = states[:, 2] + steps.gained[rows, outcome]
        after[:, 3] = states[:, 3] + steps.counted[rows, outcome]
        return after

    def costs(self, sentences: Ints, states: Ints) -> Floats:
        """The cost of each label, (batch, labels)."""
        self._check(sentences, states)
        found = np.empty((len(states), self._steps.label_class.shape[1]))
        held = (self._steps, self._paths, self._best, self._none, self._ends)
        refuse(self._kernels.costs(*held, sentences, states, found), states)
        return found

    def scores(self, sentences: Ints, states: Ints) -> Floats:
        """The best value that can be reached, greater being better, (batch,)."""
        self._check(sentences, states)
        found = np.empty(len(states))
        held = (self._paths, self._best, self._none, self._ends)
        refuse(self._kernels.scores(*held, sentences, states, found), states)
        return found

    def _check(self, sentences: Ints, states: Ints) -> None:
        refuse_strange(states.shape != (len(sentences), 4) or states.dtype.kind != "i", states)


def _nbytes(*groups: Sequence[NDArray[Any]]) -> int:
    return sum(array.nbytes for group in groups for array in group)


def _packed(
    layers: Sequence[ClassLayer], roles: Roles, labels: int, kernels: Any
) -> tuple[Outcomes, Ints, Ints]:
    """The steps, the extremes of both sums in each layer (layers, 4), and where rows begin.

    Raises:
        NotCountedError: a step adds no whole number.
    """
    goals = np.concatenate([np.zeros((0, labels), np.int64), *(one.next for one in layers)])
    zero = np.zeros(goals.shape, np.int64)
    gained, counted = (
        zero
        if k is None or not layers
        else _whole(np.concatenate([one.gains[k] for one in layers]))
        for k in roles
    )
    label_class, outcomes = np.empty(goals.shape, np.int32), np.empty(len(goals), np.int32)
    table = np.empty((3, *goals.shape), np.int32)
    kernels.pack(goals, gained, counted, label_class, outcomes, table)
    width = int(outcomes.max(initial=1))
    parts = [np.ascontiguousarray(part[:, :width]) for part in table]
    begins = np.append(0, np.cumsum([len(one.next) for one in layers])).astype(np.int64)
    extremes = np.zeros((len(layers), 4), np.int64)
    for k, amounts in enumerate((gained, counted)) if layers else ():
        extremes[:, 2 * k] = np.minimum.reduceat(amounts.min(axis=1), begins[:-1])
        extremes[:, 2 * k + 1] = np.maximum.reduceat(amounts.max(axis=1), begins[:-1])
    return Outcomes(label_class, outcomes, *parts), extremes, begins


def _whole(gains: Floats) -> Ints:
    with np.errstate(invalid="ignore"):
        whole: Ints = gains.astype(np.int64)
    if (whole != gains).any() or np.abs(whole).max(initial=0) > _MOST_AMOUNT:
        raise NotCountedError
    return whole


def _paths(
    machines: Sequence[Machine], place: dict[int, int], begins: Ints, extremes: Ints
) -> Paths:
    lengths = np.array([len(machine.layers) for machine in machines], np.int64)
    ends = np.append(0, np.cumsum(lengths + 1)).astype(np.int64)
    rows, classes, low, size = (np.zeros(ends[-1], np.int64) for _ in range(4))
    for machine, begin, end in zip(machines, ends[:-1].tolist(), ends[1:].tolist(), strict=True):
        numbers = np.array([place[id(layer)] for layer in machine.layers], np.int64)
        rows[begin : end - 1] = begins[numbers]
        classes[begin : end - 1] = begins[numbers + 1] - begins[numbers]
        classes[end - 1] = len(machine.ends)
        ahead = np.cumsum(extremes[numbers[::-1], 2:], axis=0)[::-1]
        low[begin : end - 1] = ahead[:, 0]
        size[begin : end - 1] = ahead[:, 1] - ahead[:, 0]
    size += 1
    cells = np.append(0, np.cumsum(classes * size)).astype(np.int64)
    return Paths(ends, rows, classes, low, size, cells)


def _end_scores(
    machines: Sequence[Machine],
    paths: Paths,
    found: tuple[Sequence[Whole], Sequence[Whole]],
    roles: Roles,
    sign: float,
) -> Ends:
    """Scores at the ends of all references.

    References of one length with the same constants share a table: the value depends on nothing
    else but both sums.

    Args:
        machines: their machines.
        paths: the layers of the machines.
        found: of the first states, by the axis: the greatest sum gained, and minus the least.
        roles: the numbers of the sum gained and of the axis, None for none.
        sign: 1 for a utility, -1 for a loss.

    Raises:
        NotCountedError: the value is not monotonic in the sum gained, or not defined between its
            extremes.
        LossFileError: the value of a sequence is not defined.
    """
    members: dict[tuple[Any, ...], list[int]] = {}
    first = paths.begins[:-1]
    for k, machine in enumerate(machines):
        key = (len(machine.layers), int(paths.low[first[k]]), int(paths.size[first[k]]))
        members.setdefault((*key, machine.constants.tobytes()), []).append(k)
    tables: list[Floats] = []
    begins, lows, width, direction = (np.zeros(len(machines), np.int64) for _ in range(4))
    total = 0
    for (_, low, size, _), numbers in members.items():
        most, least = (np.array([one[k] for k in numbers]) for one in found)  # (references, size)
        held = most != np.iinfo(most.dtype).min
        most, least = most.astype(np.int64), -least.astype(np.int64)
        base = int(least[held].min())
        columns = np.arange(base, int(most[held].max()) + 1)
        guard_bytes(8 * (total + size * len(columns) * len(numbers)))
        inside = (columns >= least[..., None]) & (columns <= most[..., None]) & held[..., None]
        some = machines[numbers[0]]
        try:
            table = _scores(some, inside.any(axis=0), roles, (columns, low), sign)
        except LossFileError:
            extreme = (columns == least[..., None]) | (columns == most[..., None])
            reached = (extreme & held[..., None]).any(axis=0)
            _scores(some, reached, roles, (columns, low), sign)  # what sequences do reach is told
            raise NotCountedError from None
        both = inside[..., 1:] & inside[..., :-1]
        falls, rises = table[:, 1:] < table[:, :-1], table[:, 1:] > table[:, :-1]
        down, up = ((both & one).any(axis=(1, 2)) for one in (falls, rises))
        if (down & up).any():
            raise NotCountedError
        begins[numbers], lows[numbers], width[numbers] = total, base, len(columns)
        direction[numbers] = np.where(down, -1, 1)
        tables.append(table)
        total += table.size
    return Ends(np.concatenate([one.ravel() for one in tables]), begins, lows, width, direction)


def _scores(
    machine: Machine, cells: Bools, roles: Roles, sums: tuple[Ints, int], sign: float
) -> Floats:
    """Scores in these cells (values of the axis, values of the sum gained), -inf elsewhere."""
    n, (row, column) = len(machine.layers), np.nonzero(cells)
    totals = np.repeat(machine.steps.begin(n)[:, None], len(row), axis=1)
    for role, amounts in zip(roles, (sums[0][column], sums[1] + row), strict=True):
        if role is not None:
            totals[role] += amounts
    nothing = np.zeros((0, len(row)))
    table = np.full(cells.shape, -np.inf)
    values = machine.steps.values(n, machine.constants, nothing, totals, row.shape)
    table[cells] = sign * values + 0.0
    return table
