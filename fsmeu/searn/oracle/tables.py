"""Tables of the best value that every state of machines over z can reach, and their queries.

Given where one count ends, the value is monotonic in another in many a loss: more matches are
better for every number of items that z has (checked on the values that can occur). Then all that
matters of what follows is, for each class and each number of further items, how many can match:

    best[class, k] = max over labels of  matches(label) + best'[class after it, k - items(label)]

Where the value is linear in real amounts, one number for each class is enough (``sums``).
Any other loss is brought to the first form when the sums so far are parts of the states: steps add
nothing, and the last states begin with the rank of their value among all values.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fsmeu import limits
from fsmeu.arrays import Bools, Floats, Ints
from fsmeu.errors import InputError, LossFileError
from fsmeu.searn.oracle.product import CostLayer, Machine, Path, Small, guard_bytes
from fsmeu.trellis.estimate import LOST_DIGITS

Roles = tuple[int | None, int | None]  # numbers of the sum gained and of the axis, None for none


class NotServedError(Exception):
    """The value is not of the form that a kind of tables needs."""


class Tables:
    """Tables of several references; a state is (position, class, two numbers more)."""

    roundings: Floats  # bounds on differences of values that count as equal, (references,)
    nbytes: int  # how many bytes the tables take

    def __init__(self, machines: Sequence[Path | Machine]) -> None:
        self._start = np.array([machine.start for machine in machines], np.int64)
        lengths = [len(machine.layers) + 1 for machine in machines]
        self._begins = np.append(0, np.cumsum(lengths)).astype(np.int64)
        self._classes = np.zeros(self._begins[-1], np.int64)

    def start(self, sentences: Ints) -> Ints:
        """The first states, (batch, 4)."""
        states = np.zeros((len(sentences), 4), np.int64)
        states[:, 1] = self._start[sentences]
        return states

    def _layers(self, sentences: Ints, states: Ints, ahead: int) -> Ints:
        """The layer of each state, (batch,); there must be positions ahead."""
        refuse_states(states.shape != (len(sentences), 4) or states.dtype.kind != "i", states)
        position = states[:, 0]
        begins = self._begins[sentences]
        room = self._begins[sentences + 1] - 1 - begins - position
        refuse_states(((position < 0) | (room < 0)).any(), states)
        if (room < ahead).any():
            must = "there must be a next position"
            raise InputError("cost oracle", must, given="a state after the last one")
        layers = begins + position
        outside = (states[:, 1] < 0) | (states[:, 1] >= self._classes[layers])
        refuse_states(outside.any(), states)
        return np.asarray(layers)


def refuse_states(wrong: bool | np.bool_, states: object) -> None:
    """Raises an InputError where ``wrong`` says that these are no states of the sentence."""
    if wrong:
        must = "a state must be one that start or step returned for this sentence"
        raise InputError("cost oracle", must, given=states)


class Outcomes(NamedTuple):
    """The steps of all layers: labels that do the same in a class share an outcome."""

    label_class: NDArray[Any]  # the outcome of each label, (rows, labels)
    counts: Small  # how many outcomes each row has, (rows,)
    targets: Small  # the class after each, (rows, outcomes); further ones repeat the first
    gained: Small  # what is added to the sum of which the best is kept, (rows, outcomes)
    counted: Small  # what is added to the sum that is an axis, (rows, outcomes)


class Axes(NamedTuple):
    """The axes of all layers, one machine's after another's; a machine of length n has n + 1."""

    begins: Ints  # where the layers of each machine begin, (machines + 1,)
    rows: Ints  # the first row of each layer; 0 for the last of a machine, which has no steps
    classes: Ints  # the number of classes of each layer
    low: Ints  # the least that can be added to the axis from a layer on
    size: Ints  # how many values that may have
    cells: Ints  # where the cells (classes, size) of each layer begin, (layers + 1,)


class Ends(NamedTuple):
    """Scores at the end, greater being better; arrays by machine but for ``scores``."""

    scores: Floats  # of all machines; of one, (values of the axis, values of the sum gained)
    begins: Ints  # where the scores of each machine begin
    low: Ints  # the least value of the sum gained
    width: Ints  # how many values it has
    direction: Ints  # 1 where a greater sum is better, else -1


class Frontiers(NamedTuple):
    """What queries of frontiers read."""

    steps: Outcomes
    axes: Axes
    best: NDArray[Any]  # the cells of all layers, whole numbers
    none: int  # what a cell holds that the axis cannot get to
    ends: Ends


class FrontierTables(Tables):
    """Frontiers; a state ends in (sum gained, sum counted).

    ``amounts`` say what each number of ``CostLayer.kinds`` adds to these, (2, numbers); whole.
    """

    @property
    def _kernels(self) -> Any:  # not kept: modules cannot be pickled
        """The module of compiled loops."""
        from fsmeu.searn.oracle import kernels

        return kernels

    def __init__(self, paths: Sequence[Path], labels: int, amounts: Floats) -> None:
        super().__init__(paths)
        layers = {id(layer): layer for path in paths for layer in path.layers}
        begins = np.append(0, np.cumsum([len(layer.next) for layer in layers.values()])).astype(int)
        self._steps = self._outcomes(list(layers.values()), begins, labels, amounts)
        counted = self._steps.counted
        ranges = np.zeros((2, len(layers)), np.int64)
        place = {key: k for k, key in enumerate(layers)}
        if layers:
            ranges[0] = np.minimum.reduceat(counted.min(axis=1), begins[:-1])
            ranges[1] = np.maximum.reduceat(counted.max(axis=1), begins[:-1])
        rows, low, high = np.zeros((3, self._begins[-1]), np.int64)
        for path, begin, end in zip(paths, self._begins[:-1], self._begins[1:], strict=True):
            numbers = np.array([place[id(layer)] for layer in path.layers], np.int64)
            rows[begin : end - 1] = begins[numbers]
            self._classes[begin : end - 1] = np.diff(begins)[numbers]
            self._classes[end - 1] = len(path.ranks)
            ahead = np.cumsum(ranges[:, numbers[::-1]], axis=1)[:, ::-1]
            low[begin : end - 1], high[begin : end - 1] = ahead
        size = high - low + 1
        cells = np.append(0, np.cumsum(self._classes * size)).astype(np.int64)
        self._axes = Axes(self._begins, rows, self._classes, low, size, cells)
        most = max((int(path.ranks.max(initial=0)) for path in paths), default=0)
        most_gained = int(np.abs(self._steps.gained).max(initial=0))
        most += most_gained * int(np.diff(self._begins).max(initial=0))
        dtype = next(t for t in (np.int8, np.int16, np.int64) if most < np.iinfo(t).max)
        guard_bytes(int(cells[-1]) * dtype(0).itemsize + nbytes_of(*self._steps, *self._axes))
        self._best = np.zeros(cells[-1], dtype)
        self._none = np.iinfo(dtype).min
        for path, last in zip(paths, (self._begins[1:] - 1).tolist(), strict=True):
            self._best[cells[last] : cells[last + 1]] = path.ranks

    def _outcomes(
        self, layers: Sequence[CostLayer], begins: Ints, labels: int, amounts: Floats
    ) -> Outcomes:
        """The steps of layers whose rows begin there; amounts must be whole and not too great."""
        targets, kinds = np.empty((2, begins[-1], labels), np.int32)
        for layer, a, b in zip(layers, begins[:-1], begins[1:], strict=True):
            targets[a:b] = layer.next
            kinds[a:b] = layer.kinds
        label_class = np.empty(targets.shape, np.uint8 if labels <= 1 << 8 else np.int32)
        counts = np.empty(len(targets), np.int32)
        self._kernels.pack(targets, kinds, label_class, counts)
        width = int(counts.max(initial=1))
        sums = amounts[:, kinds[:, :width]]
        if (np.rint(sums) != sums).any() or np.abs(sums).max(initial=0) > limits.MOST_ORACLE_AMOUNT:
            raise NotServedError
        gained, counted = sums.astype(np.int32, order="C")
        targets = np.ascontiguousarray(targets[:, :width])
        return Outcomes(label_class, counts, targets, gained, counted)

    def fill(self, direction: Ints) -> list[Ints]:
        """The frontier of each first state times its direction, (size,) each, after a sweep."""
        self._kernels.fill(self._steps, self._axes, self._none, direction, self._best)
        sizes = self._axes.size[self._begins[:-1]]
        begins = self._axes.cells[self._begins[:-1]] + self._start * sizes
        pairs = zip(begins.tolist(), (begins + sizes).tolist(), strict=True)
        return [self._best[a:b].copy() for a, b in pairs]

    def end(self, ends: Ends) -> FrontierTables:
        """The tables themselves, with scores at the end; they are filled for greater sums.

        Costs that are no greater part of the greatest score than rounding makes them are 0.
        """
        if (ends.direction < 0).any():
            self.fill(ends.direction)
        self._frontiers = Frontiers(self._steps, self._axes, self._best, self._none, ends)
        self.nbytes = nbytes_of(*self._steps, *self._axes, self._best, *ends)
        begins, number = np.unique(ends.begins, return_inverse=True)
        sizes = np.where(np.isfinite(ends.scores), np.abs(ends.scores), 0.0)
        ties = np.maximum.reduceat(sizes, begins) if len(begins) else sizes
        self.roundings = LOST_DIGITS * ties[number]
        return self

    def step(self, sentences: Ints, states: Ints, labels: Ints) -> Ints:
        """The states after one more label each, (batch, 4)."""
        rows = self._axes.rows[self._layers(sentences, states, 1)] + states[:, 1]
        label_class, _, *steps = self._steps
        at = (rows, label_class[rows, labels])
        after = np.stack([states[:, 0] + 1, *(part[at] for part in steps)], axis=1)
        after[:, 2:] += states[:, 2:]
        return after

    def costs(self, sentences: Ints, states: Ints) -> Floats:
        """The cost of each label, (batch, labels)."""
        layers = self._layers(sentences, states, 1)
        costs = np.empty((len(states), self._steps.label_class.shape[1]))
        known = self._kernels.costs(self._frontiers, sentences, layers, states, costs)
        refuse_states(not known, states)
        costs[costs <= self.roundings[sentences][:, None]] = 0.0
        return costs

    def scores(self, sentences: Ints, states: Ints) -> Floats:
        """The best value that can be reached, greater being better, (batch,)."""
        layers = self._layers(sentences, states, 0)
        scores = np.empty(len(states))
        known = self._kernels.scores(self._frontiers, sentences, layers, states, scores)
        refuse_states(not known, states)
        return scores


def nbytes_of(*arrays: NDArray[Any]) -> int:
    """The bytes of all arrays."""
    return sum(array.nbytes for array in arrays)


def ranked_tables(paths: Sequence[Path], labels: int) -> FrontierTables:
    """Tables of machines whose last states have scores of their own."""
    widths = np.array([len(path.scores) for path in paths], np.int64)
    begins = np.append(0, np.cumsum(widths))[:-1].astype(np.int64)
    scores = np.concatenate([np.zeros(0), *(path.scores for path in paths)])
    zero = np.zeros(len(paths), np.int64)
    tables = FrontierTables(paths, labels, np.zeros((2, 1)))
    tables.fill(zero + 1)
    return tables.end(Ends(scores, begins, zero, widths, zero + 1))


def counted_tables(
    machines: Sequence[Machine], amounts: Floats, labels: int, roles: Roles, sign: float
) -> FrontierTables:
    """Tables of machines whose value reads up to two counts: the sum gained, and that of the axis.

    It must be monotonic in the first, and defined between its extremes.
    """
    zero = np.zeros(1, np.int64)
    chosen = np.array([np.zeros(amounts.shape[1]) if k is None else amounts[k] for k in roles])
    paths = [Path(machine.start, machine.layers, zero, np.zeros(0)) for machine in machines]
    tables = FrontierTables(paths, labels, chosen)
    up = np.ones(len(machines), np.int64)
    least = tables.fill(-up)
    most = tables.fill(up)
    members: dict[tuple[Any, ...], list[int]] = {}
    lows = tables._axes.low[tables._begins[:-1]].tolist()
    for k, machine in enumerate(machines):
        key = (len(machine.layers), lows[k], len(most[k]), machine.constants.tobytes())
        members.setdefault(key, []).append(k)
    ends = Ends(np.zeros(0), *np.zeros((4, len(machines)), np.int64))
    scores: list[Floats] = []
    for (_, low, _, _), numbers in members.items():  # the value reads nothing else but both sums
        bounds = [np.array([sums[k] for k in numbers]) for sums in (least, most)]
        machine = machines[numbers[0]]
        begin = sum(part.size for part in scores)
        base, table, down = _end_scores(machine, roles, low, bounds, sign)
        for part, value in zip(ends[1:4], (begin, base, table.shape[1]), strict=True):
            part[numbers] = value
        ends.direction[numbers] = np.where(down, -1, 1)
        scores.append(table)
        guard_bytes(8 * (begin + table.size))
    return tables.end(ends._replace(scores=np.concatenate([part.ravel() for part in scores])))


def _end_scores(
    machine: Machine, roles: Roles, low: int, bounds: Sequence[NDArray[Any]], sign: float
) -> tuple[int, Floats, Bools]:
    """The least sum gained, scores (axis, sums gained), and for which references less is better.

    The axis begins at ``low``; ``bounds`` are minus the least sum and the greatest, (references,
    axis) each. Cells that do not occur have the score -inf.
    """
    n = len(machine.layers)
    reached = bounds[1] != np.iinfo(bounds[1].dtype).min
    least = -bounds[0].astype(np.int64)
    most = bounds[1].astype(np.int64)
    base = int(least[reached].min())
    columns = np.arange(base, int(most[reached].max()) + 1)
    guard_bytes(8 * reached.size * len(columns))
    least = least[..., None]
    most = most[..., None]
    reached = reached[..., None]

    def scores(cells: Bools) -> Floats:
        row, column = np.nonzero(cells.any(axis=0))
        totals = np.repeat(machine.steps.begin(n)[:, None], len(row), axis=1)
        for role, amounts in zip(roles, (columns[column], low + row), strict=True):
            if role is not None:
                totals[role] += amounts
        table = np.full(cells.shape[1:], -np.inf)
        values = machine.steps.values(n, machine.constants, np.zeros((0, len(row))), totals)
        table[row, column] = sign * values + 0.0
        return table

    inside = (columns >= least) & (columns <= most) & reached  # (references, axis, sums gained)
    try:
        table = scores(inside)
    except LossFileError:
        scores(((columns == least) | (columns == most)) & reached)  # these do occur
        raise NotServedError from None
    both = inside[..., 1:] & inside[..., :-1]
    falls = table[:, 1:] < table[:, :-1]
    rises = table[:, 1:] > table[:, :-1]
    down, up = ((both & change).any(axis=(1, 2)) for change in (falls, rises))
    if (down & up).any():
        raise NotServedError
    return base, table, down
