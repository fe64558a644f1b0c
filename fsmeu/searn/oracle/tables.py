"""Tables of what can be reached from every state of machines over z, and how they are asked.

Given where one count ends, the value is monotonic in another in many a loss: more
matches are better for every number of items that z has. Then all that matters of what follows is,
for each class and each number of further items, the greatest number of further matches:

    best[class, k] = max over labels of  matches(label) + best'[class after it, k - items(label)]

and what can be reached from a state is the best over k of value(matches + best[class, k], items +
k). That the value is monotonic is checked on the values that can occur, for each reference. Any
other loss is brought to this form when the sums so far are parts of the states: steps add nothing,
and the last states begin with the rank of their value among all values.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fsmeu.arrays import Bools, Floats, Ints
from fsmeu.errors import InputError, LossFileError, message
from fsmeu.fst.compose import guard_arcs
from fsmeu.fst.distinct import distinct_rows
from fsmeu.searn.oracle.product import Layer, Machine, Small, equal_rows, guard_bytes

Roles = tuple[int | None, int | None]

_ROUNDING = 2 * np.finfo(np.float64).eps  # as in ``fst.distinct``
_MOST_AMOUNT = 1 << 20


class NotServedError(Exception):
    """The value is not of the form that a kind of tables needs."""


class Path(NamedTuple):
    """The layers of a machine of one reference."""

    start: int  # the class of the first state
    layers: list[Layer]  # the steps of positions 0, ..., n - 1
    ranks: Ints  # what the classes after the last position begin with, (classes,)
    scores: Floats  # the scores, greater being better, that ranks stand for, if any


class Tables:
    """What tables of several references share: states are (position, class, two numbers more)."""

    roundings: Floats  # bounds on differences of values that count as equal, (references,)
    nbytes: int  # how many bytes the tables take

    def __init__(self, machines: Sequence[Path | Machine]) -> None:
        self._start = np.array([one.start for one in machines], np.int64)
        lengths = [len(one.layers) + 1 for one in machines]
        self._begins = np.append(0, np.cumsum(lengths)).astype(np.int64)
        self._classes = np.zeros(self._begins[-1], np.int64)

    def start(self, sentences: Ints) -> Ints:
        """The first states, (batch, 4)."""
        found = np.zeros((len(sentences), 4), np.int64)
        found[:, 1] = self._start[sentences]
        return found

    def _layers(self, sentences: Ints, states: Ints, ahead: int) -> Ints:
        """The layer of each state, (batch,); there must be positions ahead."""
        refuse_strange(states.shape != (len(sentences), 4) or states.dtype.kind != "i", states)
        position, begins = states[:, 0], self._begins[sentences]
        room = self._begins[sentences + 1] - 1 - begins - position
        refuse_strange(((position < 0) | (room < 0)).any(), states)
        if (room < ahead).any():
            must = "there must be a next position"
            raise InputError(message("cost oracle", must, "a state after the last one"))
        layers = begins + position
        outside = (states[:, 1] < 0) | (states[:, 1] >= self._classes[layers])
        refuse_strange(outside.any(), states)
        return np.asarray(layers)


def refuse_strange(strange: bool | np.bool_, states: object) -> None:
    """Refuses what is no state of the sentence."""
    if strange:
        must = "a state must be one that start or step returned for this sentence"
        raise InputError(message("cost oracle", must, states))


class Outcomes(NamedTuple):
    """The steps of all layers: labels that do the same in a class share an outcome."""

    label_class: NDArray[Any]  # the outcome of each label, (rows, labels)
    counts: Small  # how many outcomes each row has, (rows,)
    goals: Small  # the class after each, (rows, outcomes); further ones repeat the first
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


class FrontierTables(Tables):
    """Frontiers; a state ends in (sum gained, sum counted).

    ``amounts`` say what each number of ``Layer.kinds`` adds to these, (2, numbers).

    Raises:
        NotServedError: amounts are no whole numbers.
        SizeLimitError: the tables would take too much room.
    """

    def __init__(self, paths: Sequence[Path], labels: int, amounts: Floats) -> None:
        from fsmeu.searn.oracle import kernels

        super().__init__(paths)
        self._kernels: Any = kernels
        layers = {id(layer): layer for path in paths for layer in path.layers}
        begins = np.append(0, np.cumsum([len(one.next) for one in layers.values()])).astype(int)
        shape = (int(begins[-1]), labels)
        goals, kinds = np.empty((2, *shape), np.int32)
        for layer, a, b in zip(layers.values(), begins[:-1], begins[1:], strict=True):
            goals[a:b], kinds[a:b] = layer
        small = np.int16 if labels < 1 << 15 else np.int32
        label_class, counts = np.empty(shape, small), np.empty(shape[0], np.int32)
        kernels.pack(goals, kinds, label_class, counts)
        width = int(counts.max(initial=1))
        sums = amounts[:, kinds[:, :width]]
        if (np.rint(sums) != sums).any() or np.abs(sums).max(initial=0) > _MOST_AMOUNT:
            raise NotServedError
        goals, whole = np.ascontiguousarray(goals[:, :width]), sums.astype(np.int32)
        self._steps = Outcomes(label_class, counts, goals, *whole)
        self._axes = self._all_axes(paths, {key: k for k, key in enumerate(layers)}, begins)
        most = max((int(path.ranks.max(initial=0)) for path in paths), default=0)
        most += int(np.abs(whole[0]).max(initial=0)) * int(np.diff(self._begins).max(initial=0))
        kind = np.int16 if most < np.iinfo(np.int16).max else np.int64
        cells = int(self._axes.cells[-1])
        guard_bytes(cells * np.dtype(kind).itemsize + _nbytes(*self._steps, *self._axes))
        self._best, self._none = np.zeros(cells, kind), np.iinfo(kind).min
        for path, last in zip(paths, (self._begins[1:] - 1).tolist(), strict=True):
            if path.ranks.any():
                self._best[self._axes.cells[last] : self._axes.cells[last + 1]] = path.ranks

    def _all_axes(self, paths: Sequence[Path], place: dict[int, int], begins: Ints) -> Axes:
        ranges = np.zeros((2, len(place)), np.int64)
        if place:
            ranges[0] = np.minimum.reduceat(self._steps.counted.min(axis=1), begins[:-1])
            ranges[1] = np.maximum.reduceat(self._steps.counted.max(axis=1), begins[:-1])
        rows, low, high = np.zeros((3, self._begins[-1]), np.int64)
        for path, begin, end in zip(paths, self._begins[:-1], self._begins[1:], strict=True):
            numbers = np.array([place[id(layer)] for layer in path.layers], np.int64)
            rows[begin : end - 1] = begins[numbers]
            self._classes[begin : end - 1] = begins[numbers + 1] - begins[numbers]
            self._classes[end - 1] = len(path.ranks)
            ahead = np.cumsum(ranges[:, numbers[::-1]], axis=1)[:, ::-1]
            low[begin : end - 1], high[begin : end - 1] = ahead
        size = high - low + 1
        cells = np.append(0, np.cumsum(self._classes * size)).astype(np.int64)
        return Axes(self._begins, rows, self._classes, low, size, cells)

    def fill(self, direction: Ints) -> list[Ints]:
        """The frontier of each first state times its direction, (size,) each, after a sweep."""
        self._kernels.fill(self._steps, self._axes, self._none, direction, self._best)
        first = self._begins[:-1]
        sizes = self._axes.size[first]
        begins = self._axes.cells[first] + self._start * sizes
        pairs = zip(begins.tolist(), (begins + sizes).tolist(), strict=True)
        return [self._best[a:b].copy() for a, b in pairs]

    def end(self, ends: Ends) -> FrontierTables:
        """The tables themselves, with scores at the end; they are filled for greater sums."""
        self._ends = ends
        if (ends.direction < 0).any():
            self.fill(ends.direction)
        self.nbytes = _nbytes(*self._steps, *self._axes, self._best, *ends)
        begins, number = np.unique(ends.begins, return_inverse=True)
        sizes = np.where(np.isfinite(ends.scores), np.abs(ends.scores), 0.0)
        ties = np.maximum.reduceat(sizes, begins) if len(begins) else sizes
        self.roundings = _ROUNDING * ties[number]
        return self

    def step(self, sentences: Ints, states: Ints, labels: Ints) -> Ints:
        """The states after one more label each, (batch, 4)."""
        rows = self._axes.rows[self._layers(sentences, states, 1)] + states[:, 1]
        steps, outcome = self._steps, self._steps.label_class[rows, labels]
        added = [part[rows, outcome] for part in (steps.gained, steps.counted)]
        after = np.stack([states[:, 0] + 1, steps.goals[rows, outcome], *added], axis=1)
        after[:, 2:] += states[:, 2:]
        return after

    def costs(self, sentences: Ints, states: Ints) -> Floats:
        """The cost of each label, (batch, labels)."""
        layers = self._layers(sentences, states, 1)
        found = np.empty((len(states), self._steps.label_class.shape[1]))
        held = (self._steps, self._axes, self._best, self._none, self._ends)
        refuse_strange(not self._kernels.costs(*held, sentences, layers, states, found), states)
        return found

    def scores(self, sentences: Ints, states: Ints) -> Floats:
        """The best value that can be reached, greater being better, (batch,)."""
        layers = self._layers(sentences, states, 0)
        found = np.empty(len(states))
        held = (self._axes, self._best, self._none, self._ends)
        refuse_strange(not self._kernels.scores(*held, sentences, layers, states, found), states)
        return found


def _nbytes(*arrays: NDArray[Any]) -> int:
    return sum(array.nbytes for array in arrays)


def ranked_tables(paths: Sequence[Path], labels: int) -> FrontierTables:
    """Tables of machines whose last states have scores of their own."""
    widths = np.array([len(path.scores) for path in paths], np.int64)
    begins = np.append(0, np.cumsum(widths))[:-1].astype(np.int64)
    scores = np.concatenate([np.zeros(0), *(path.scores for path in paths)])
    zero = np.zeros(len(paths), np.int64)
    made = FrontierTables(paths, labels, np.zeros((2, 1)))
    made.fill(zero + 1)
    return made.end(Ends(scores, begins, zero, widths, zero + 1))


def ranked_path(start: int, following: Sequence[Ints], scores: Floats) -> Path:
    """The path of a machine whose last states have these scores, (states,).

    ``following`` has for each position the state after each step, (states, labels).
    """
    known, ranks = np.unique(scores + 0.0, return_inverse=True)
    zero = np.zeros((), np.int32)
    layers = [Layer(one.astype(np.int32), np.broadcast_to(zero, one.shape)) for one in following]
    return Path(start, layers, ranks, known)


def unfolded(machine: Machine, sign: float) -> Path:
    """The machine whose states hold the sums so far, with scores at its end, merged backwards."""
    n, amounts = len(machine.layers), machine.steps.amounts()
    classes, sums = np.array([machine.start], np.int64), machine.steps.begin(n)[:, None]
    steps: list[Ints] = []
    arcs = 0
    for layer in machine.layers:
        arcs += len(classes) * machine.steps.labels
        guard_arcs("cost oracle", arcs)
        goals = layer.next[classes].astype(np.int64)
        after = sums[:, :, None] + amounts[:, layer.kinds[classes]]
        ranks = [np.unique(total.ravel(), return_inverse=True)[1] for total in after]
        first, number = distinct_rows([goals.ravel(), *ranks])
        steps.append(number.reshape(goals.shape))
        classes, sums = goals.ravel()[first], after.reshape(len(sums), goals.size)[:, first]
    values = machine.steps.values(n, machine.constants, machine.ends[classes].T, sums)
    scores, merged = np.unique(sign * values + 0.0, return_inverse=True)
    layers: list[Ints] = []
    for targets in reversed(steps):
        first, before = equal_rows(merged[targets])
        layers.append(merged[targets[first]])
        merged = before
    return ranked_path(0, layers[::-1], scores)


def counted_tables(
    machines: Sequence[Machine], labels: int, roles: Roles, sign: float
) -> FrontierTables:
    """Tables of machines whose value reads up to two counts.

    ``roles`` are the numbers of the sum gained and of the axis, None for none; ``sign`` is 1 for a
    utility, -1 for a loss.

    Raises:
        NotServedError: a sum is no count of whole numbers, or the value is not monotonic in the
            sum gained, or not defined between its extremes.
    """
    amounts, one = machines[0].steps.amounts(), np.zeros(1, np.int64)
    chosen = np.array([np.zeros(amounts.shape[1]) if k is None else amounts[k] for k in roles])
    paths = [Path(each.start, each.layers, one, np.zeros(0)) for each in machines]
    made, up = FrontierTables(paths, labels, chosen), np.ones(len(machines), np.int64)
    least, most = made.fill(-up), made.fill(up)
    members: dict[tuple[Any, ...], list[int]] = {}
    lows = made._axes.low[made._begins[:-1]].tolist()
    for k, machine in enumerate(machines):
        key = (len(machine.layers), lows[k], len(most[k]), machine.constants.tobytes())
        members.setdefault(key, []).append(k)
    ends = Ends(np.zeros(0), *np.zeros((4, len(machines)), np.int64))
    scores: list[Floats] = []
    for (_, low, _, _), numbers in members.items():  # the value reads nothing else but both sums
        bounds = [np.array([held[k] for k in numbers]) for held in (least, most)]
        some, begin = machines[numbers[0]], sum(one.size for one in scores)
        base, table, down = _end_scores(some, roles, low, bounds, sign)
        for part, value in zip(ends[1:4], (begin, base, table.shape[1]), strict=True):
            part[numbers] = value
        ends.direction[numbers] = np.where(down, -1, 1)
        scores.append(table)
        guard_bytes(8 * (begin + table.size))
    return made.end(ends._replace(scores=np.concatenate([one.ravel() for one in scores])))


def _end_scores(
    machine: Machine, roles: Roles, low: int, bounds: Sequence[NDArray[Any]], sign: float
) -> tuple[int, Floats, Bools]:
    """The least sum gained, scores (axis, sums gained), and for which references less is better.

    ``low`` is the first value of the axis; ``bounds`` are minus the least and the greatest sum
    gained, (references, axis) each.
    """
    held = bounds[1] != np.iinfo(bounds[1].dtype).min
    least, most = -bounds[0].astype(np.int64), bounds[1].astype(np.int64)
    base = int(least[held].min())
    columns = np.arange(base, int(most[held].max()) + 1)
    guard_bytes(8 * held.size * len(columns))
    least, most, held = least[..., None], most[..., None], held[..., None]
    inside = (columns >= least) & (columns <= most) & held  # (references, axis, sums gained)
    try:
        table = _scores(machine, inside.any(axis=0), roles, (columns, low), sign)
    except LossFileError:
        extreme = ((columns == least) | (columns == most)) & held
        _scores(machine, extreme.any(axis=0), roles, (columns, low), sign)  # these do occur
        raise NotServedError from None
    both = inside[..., 1:] & inside[..., :-1]
    falls, rises = table[:, 1:] < table[:, :-1], table[:, 1:] > table[:, :-1]
    down, up = ((both & one).any(axis=(1, 2)) for one in (falls, rises))
    if (down & up).any():
        raise NotServedError
    return base, table, down


def _scores(
    machine: Machine, cells: Bools, roles: Roles, sums: tuple[Ints, int], sign: float
) -> Floats:
    """Scores in these cells (values of the axis, values of the sum gained), -inf elsewhere."""
    n, (row, column) = len(machine.layers), np.nonzero(cells)
    totals = np.repeat(machine.steps.begin(n)[:, None], len(row), axis=1)
    for role, amounts in zip(roles, (sums[0][column], sums[1] + row), strict=True):
        if role is not None:
            totals[role] += amounts
    table = np.full(cells.shape, -np.inf)
    values = machine.steps.values(n, machine.constants, np.zeros((0, len(row))), totals)
    table[cells] = sign * values + 0.0
    return table
