"""Oracles of losses whose value looks at up to two counts: one sweep with one count as an axis.

Given where one count ends, the value is monotonic in the other in many a loss: more matches are
better for every number of items that z has. Then all that matters of what follows is, for each
class and each number of further items, the greatest number of further matches:

    best[class, k] = max over labels of  matches(label) + best'[class after it, k - items(label)]

and what can be reached from a state is the best over k of value(matches + best[class, k], items +
k). For the F-score of chunks with 23 tags and 25 words these are some thousand small numbers, where
the states with both counts are 25,000. That the value is monotonic is checked on the values that
can occur, for each reference.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from fsmeu.searn.oracle.checks import guard_bytes, refuse_ended, refuse_strange
from fsmeu.searn.oracle.core import Core
from fsmeu.searn.oracle.ends import end_scores
from fsmeu.searn.oracle.layers import Walked
from fsmeu.searn.oracle.loops import Work
from fsmeu.searn.oracle.pool import NotCountedError, Paths, Pool, pool_layers
from fsmeu.searn.oracle.reached import Ends, Points
from fsmeu.searn.oracle.ties import greatest_tie

__all__ = ["CountedTables", "count_states"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Whole = NDArray[np.signedinteger]

_MOST_STATE = 1 << 62


class CountedTables:
    """Tables of counted oracles; a state is one number: position, class and both counts.

    Args:
        pool: the steps.
        paths: the layers of the machines.
        best: the cells of the sweep.
        ends: scores at the end.
        work: how much was computed so far.
    """

    def __init__(self, pool: Pool, paths: Paths, best: Whole, ends: Ends, work: Work) -> None:
        self._pool, self._paths, self._best, self._ends = pool, paths, best, ends
        self._work = work
        self._lengths = np.diff(paths.begins) - 1
        self._lows: list[int] = paths.least.tolist()
        spans: list[int] = (paths.greatest - paths.least + 1).tolist()
        self._spans = (int(paths.classes.max(initial=1)), spans[0], spans[1])

    @property
    def nbytes(self) -> int:
        """How many bytes they take."""
        return sum(one.nbytes for one in (self._pool, self._paths, self._best, self._ends))

    @property
    def roundings(self) -> Floats:
        """Bounds on differences of values that count as equal, (references,)."""
        begins, number = np.unique(self._ends.begins, return_inverse=True)
        return greatest_tie(self._ends.scores, begins)[number]

    def start(self, sentences: Ints) -> Ints:
        """The first states, (batch,)."""
        zero = np.zeros(len(sentences), np.int64)
        return self._numbered(zero, Points(self._paths.start[sentences], zero, zero))

    def step(self, sentences: Ints, states: Ints, labels: Ints) -> Ints:
        """The states after one more label each, (batch,)."""
        position, points = self._points(sentences, states, 1)
        rows = self._paths.rows[self._paths.begins[sentences] + position] + points.classes
        outcome, pool = self._pool.which[rows, labels], self._pool
        after = Points(
            pool.next[rows, outcome].astype(np.int64),
            points.ridden + pool.ridden[rows, outcome],
            points.counted + pool.counted[rows, outcome],
        )
        return self._numbered(position + 1, after)

    def costs(self, sentences: Ints, states: Ints) -> Floats:
        """The cost of each label, (batch, labels)."""
        position, points = self._points(sentences, states, 1)
        layers = self._paths.begins[sentences] + position
        loops = self._work.loops(states=len(states))
        held = (self._pool, self._paths, self._best, self._ends)
        found = loops.costs(*held, layers, sentences, points)
        refuse_strange(np.isnan(found).any(), states)
        return found

    def scores(self, sentences: Ints, states: Ints) -> Floats:
        """The best value that can be reached, greater being better, (batch,)."""
        position, points = self._points(sentences, states, 0)
        layers = self._paths.begins[sentences] + position
        loops = self._work.loops(states=len(states))
        found = loops.scores(self._paths, self._best, self._ends, layers, sentences, points)
        refuse_strange(np.isinf(found).any(), states)
        return found

    def step_one(self, sentence: int, state: int, label: int) -> int:
        """The state after one more label."""
        layer, first, ridden, counted = self._point(sentence, state, 1)
        row, pool = int(self._paths.rows[layer]) + first, self._pool
        outcome = pool.which[row, label]
        classes, ridden_span, counted_span = self._spans
        ridden += int(pool.ridden[row, outcome]) - self._lows[0]
        counted += int(pool.counted[row, outcome]) - self._lows[1]
        position = layer + 1 - int(self._paths.begins[sentence])
        found = position * classes + int(pool.next[row, outcome])
        return (found * ridden_span + ridden) * counted_span + counted

    def costs_one(self, sentence: int, state: int) -> Floats:
        """The cost of each label in one state, (labels,)."""
        loops = self._work.loops(states=1)
        layer, first, ridden, counted = self._point(sentence, state, 1)
        found = loops.costs_one(
            self._pool, self._paths, self._best, self._ends,
            layer, sentence, first, ridden, counted,
        )  # fmt: skip
        refuse_strange(found[0] != found[0], state)
        return found

    def _point(self, sentence: int, state: int, ahead: int) -> tuple[int, int, int, int]:
        """The layer, class and both counts of a state; there must be positions ahead."""
        refuse_strange(not isinstance(state, int) or state < 0, state)
        classes, ridden_span, counted_span = self._spans
        rest, counted = divmod(state, counted_span)
        rest, ridden = divmod(rest, ridden_span)
        position, first = divmod(rest, classes)
        room = int(self._lengths[sentence]) - position
        refuse_strange(room < 0, state)
        refuse_ended(room < ahead)
        layer = int(self._paths.begins[sentence]) + position
        refuse_strange(first >= self._paths.classes[layer], state)
        return layer, first, ridden + self._lows[0], counted + self._lows[1]

    def _numbered(self, position: Ints, points: Points) -> Ints:
        classes, ridden, counted = self._spans
        found = position * classes + points.classes
        found = found * ridden + (points.ridden - self._lows[0])
        return found * counted + (points.counted - self._lows[1])

    def _points(self, sentences: Ints, states: Ints, ahead: int) -> tuple[Ints, Points]:
        """The position of each state, and the rest of it; there must be positions ahead."""
        refuse_strange(states.shape != sentences.shape or states.dtype.kind != "i", states)
        classes, ridden, counted = self._spans
        rest, last = np.divmod(states, counted)
        rest, middle = np.divmod(rest, ridden)
        position, first = np.divmod(rest, classes)
        room = self._lengths[sentences] - position
        refuse_strange(bool((position < 0).any() or (room < 0).any()), states)
        refuse_ended(bool(room.min(initial=ahead) < ahead))
        refuse_strange(
            (first >= self._paths.classes[self._paths.begins[sentences] + position]).any(), states
        )
        return position, Points(first, middle + self._lows[0], last + self._lows[1])


def count_states(
    cores: Sequence[Core], machines: Sequence[Walked], sign: float, work: Work
) -> CountedTables:
    """The tables of several references.

    Args:
        cores: the loss with the reference given, for each of them.
        machines: their machines.
        sign: 1 for a utility, -1 for a loss.
        work: how much was computed so far.

    Raises:
        NotCountedError: the value looks at more than two counts, or is monotonic in none of two.
        LossFileError: the value of a sequence is not defined.
        SizeLimitError: the tables would take too much room.
    """
    if not machines or any(machine.ends.shape[1] for machine in machines):
        raise NotCountedError
    order = cores[0].sum_order
    roles: dict[int, list[tuple[int | None, int | None]]] = {
        1: [(0, None), (None, 0)],
        2: [(order[0], order[-1]), (order[-1], order[0])] if order else [],
    }
    for ridden, counted in roles.get(len(order), []):
        try:
            return _tables(cores, machines, (ridden, counted), sign, work)
        except NotCountedError:
            continue
    raise NotCountedError


def _tables(
    cores: Sequence[Core],
    machines: Sequence[Walked],
    roles: tuple[int | None, int | None],
    sign: float,
    work: Work,
) -> CountedTables:
    pool, paths = pool_layers(machines, *roles)
    spans = paths.greatest - paths.least + 1
    positions = int(np.diff(paths.begins).max())
    if (
        float(positions) * float(paths.classes.max()) * float(np.prod(spans, dtype=float))
        > _MOST_STATE
    ):
        raise NotCountedError
    reach = int(max(abs(paths.least[0]), paths.greatest[0]))
    kind = np.int16 if reach < np.iinfo(np.int16).max else np.int32
    cells = int(paths.cells[-1])
    guard_bytes(2 * cells * np.dtype(kind).itemsize + pool.nbytes + paths.nbytes)
    loops = work.loops(cells=cells)
    best, least = np.empty(cells, kind), np.empty(cells, kind)
    loops.fill(pool, paths, best, least)
    ends = end_scores(cores, machines, paths, (best, least), roles, sign, work)
    for k in np.flatnonzero(ends.direction < 0):
        at = slice(*paths.cells[paths.begins[k : k + 2]])
        best[at] = least[at]
    return CountedTables(pool, paths, best, ends, work)
