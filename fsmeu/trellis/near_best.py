"""All paths of z whose priced score is near the best one, and of these the best with a count.

At a price p for each item, let F(i, q) be the greatest (score - p count) of what may follow pair q
of layer i, by Viterbi's algorithm backward. A path to q with the priced score a is part of one that
is worth a + F(i, q) and of no better one. So the paths worth at least a threshold are found forward
by keeping (pair, count) where a + F is not below it, and for each the best path alone. Where the
threshold is near F(0, start), few are kept: about one for each layer. If one of them ends with the
count that is asked for, no path with that count is better.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fsmeu.arrays import Floats, Ints
from fsmeu.trellis.best_kernels import score_of_set
from fsmeu.trellis.kernels import jit_entry, kernel
from fsmeu.trellis.paths import Paths

_WIDTH = 256  # counts on either side of those of the best path that are told apart
_ROOM = 512  # prefixes that are kept, for each position: more are given up
_LEAST_ROOM = 1 << 14
_NARROWEST = 1e-7  # the part of the best score that the first gap is
_WIDER = 8.0  # the quotient of two gaps that are tried


class Prefixes(NamedTuple):
    """Best prefixes by pair and count, all layers one after the other."""

    pair: Ints
    counted: Ints
    parent: Ints  # the prefix that it extends
    label: Ints
    score: Floats
    begins: Ints  # where those of each layer begin, (n + 2,)


class Priced(NamedTuple):
    """Which paths are looked at."""

    price: float  # of an item
    least: float  # the least priced score
    after: Floats  # F, (n + 1, pairs)


class NearPath(NamedTuple):
    """The best path with a count, if it is near the best path of all."""

    is_known: bool  # whether all paths that are near were looked at
    gap: float  # how much worse than the best those may be that were looked at
    by_count: Floats  # the best priced scores of these by count, -inf where there are none
    labels: Ints | None = None  # of the path


@jit_entry
def fill_best_after(
    paths: Paths, scores: Floats, price: float, after: Floats, exit_after: Floats
) -> None:
    """Fills ``after``, (n + 1, pairs), with F.

    Args:
        paths: the tape of z.
        scores: scores of score rows, (n, score rows).
        price: of an item.
        after: -inf, to be filled.
        exit_after: the same by exit, to work in.
    """
    n = len(scores)
    arrivals = paths.arrivals
    entries = paths.entries
    for q in range(paths.width[n]):
        after[n, q] = 0.0
    for i in range(n - 1, -1, -1):
        kind = paths.kind[i]
        begin = paths.exits[kind]
        end = paths.exits[kind + 1]
        for h in range(begin, end):
            exit_after[h - begin] = -np.inf
        for a in range(paths.arrivals_at[kind, 0], paths.arrivals_at[kind, paths.width[i + 1]]):
            p = arrivals.source[a]
            if p >= paths.width[i]:
                continue
            score = score_of_set(paths.shown, arrivals.shown[a], scores[i])
            score += after[i + 1, arrivals.target[a]] - price * arrivals.counted[a]
            if p >= 0:
                after[i, p] = max(after[i, p], score)
            else:
                h = arrivals.exit[a] - begin
                exit_after[h] = max(exit_after[h], score)
        for h in range(begin, end):
            for e in range(paths.entries_at[h], paths.entries_at[h + 1]):
                p = entries.source[e]
                if p >= paths.width[i]:
                    break
                score = score_of_set(paths.shown, entries.shown[e], scores[i])
                after[i, p] = max(after[i, p], score + exit_after[h - begin])


@jit_entry
def list_prefixes(
    paths: Paths, scores: Floats, bounds: Priced, prefixes: Prefixes, place: Ints
) -> bool:
    """Fills the prefixes of paths above a threshold; returns whether all have room.

    Args:
        paths: the tape of z.
        scores: scores of score rows, (n, score rows).
        bounds: the threshold, at a price.
        prefixes: what is filled.
        place: -1 everywhere, (pairs, 2 * width + 1), as it is left.
    """
    width = place.shape[1] // 2
    prefixes.begins[0] = 0
    prefixes.begins[1] = 1
    prefixes.pair[0] = 0
    prefixes.counted[0] = 0
    prefixes.score[0] = 0.0
    top = 1
    for i in range(len(scores)):
        step = paths.step[paths.kind[i]]
        first = prefixes.begins[i]
        begin = prefixes.begins[i + 1]
        middle = 0
        has_room = True
        for e in range(first, begin):
            p = prefixes.pair[e]
            for label in range(step.shape[1]):
                q = step[p, label, 0]
                if q < 0 or q >= paths.width[i + 1]:
                    continue
                score = score_of_set(paths.shown, step[p, label, 1], scores[i])
                score += prefixes.score[e]
                score -= bounds.price * step[p, label, 2]
                if score + bounds.after[i + 1, q] < bounds.least:
                    continue
                count = prefixes.counted[e] + step[p, label, 2]
                if top == begin:
                    middle = count
                column = count - middle + width
                if column < 0 or column > 2 * width or top == len(prefixes.pair):
                    has_room = False
                    continue
                own = place[q, column]
                if own < 0:
                    own = top
                    place[q, column] = own
                    top += 1
                    prefixes.pair[own] = q
                    prefixes.counted[own] = count
                    prefixes.score[own] = -np.inf
                if score > prefixes.score[own]:
                    prefixes.score[own] = score
                    prefixes.parent[own] = e
                    prefixes.label[own] = label
        for e in range(begin, top):
            place[prefixes.pair[e], prefixes.counted[e] - middle + width] = -1
        prefixes.begins[i + 2] = top
        if not has_room:
            return False
    return True


class NearBest:
    """Paths of z of one sentence that are near the best at a price."""

    def __init__(self, paths: Paths, scores: Floats, price: float) -> None:
        self.tables = paths
        self.scores = scores
        self.price = price
        self.n = len(scores)
        pairs = int(paths.width[self.n])
        self.after = np.full((self.n + 1, pairs), -np.inf)
        self.work = self.n * len(paths.arrivals.source)
        exits = np.empty(int(np.diff(paths.exits).max(initial=0)))
        run = kernel(fill_best_after, self.work)
        run(paths, scores, price, self.after, exits)

    @property
    def best(self) -> float:
        """The greatest priced score of all paths."""
        return float(self.after[0, 0])

    def path(self, count: int, needed: Floats) -> NearPath:
        """The best path with a count, and the best scores of others.

        Args:
            count: what it counts.
            needed: the score by count that paths must have to be looked at, (counts,): those that
                are nearer to the best price are looked at first, until one has the count.
        """
        price = self.price * np.arange(len(needed))
        gap = float((self.best + price - needed)[np.isfinite(needed)].max(initial=0.0))
        narrow = min(gap, _NARROWEST * max(gap, abs(self.best)))
        found = self._within(count, narrow)
        while found.is_known and found.labels is None and narrow < gap:
            narrow = min(narrow * _WIDER, gap)
            found = self._within(count, narrow)
        if found.labels is not None:  # then others must be better than that
            more = max(0.0, found.by_count[count] + price[count] - needed[count])
            gap = max(gap - more, self.best - float(found.by_count[count]))
            if narrow < gap:
                wider = self._within(count, gap)
                return wider if wider.is_known else found
        return found

    def _within(self, count: int, gap: float) -> NearPath:
        n = self.n
        room = max(_LEAST_ROOM, _ROOM * n)
        pair, counted, parent, label = np.empty((4, room), np.int64)
        begins = np.zeros(n + 2, np.int64)
        prefixes = Prefixes(pair, counted, parent, label, np.empty(room), begins)
        place = np.full((self.after.shape[1], 2 * _WIDTH + 1), -1)
        bounds = Priced(self.price, self.best - gap, self.after)
        run = kernel(list_prefixes, self.work)
        is_known = bool(run(self.tables, self.scores, bounds, prefixes, place))
        by_count = np.full(int(self.tables.columns[n]), -np.inf)
        last = slice(prefixes.begins[n], prefixes.begins[n + 1])
        if is_known:
            np.maximum.at(by_count, prefixes.counted[last], prefixes.score[last])
        found = NearPath(is_known, gap, by_count)
        if by_count[count] == -np.inf:
            return found
        ends = last.start + np.flatnonzero(prefixes.counted[last] == count)
        end = int(ends[prefixes.score[ends].argmax()])
        labels = np.zeros(n, np.int64)
        for i in range(n - 1, -1, -1):
            labels[i] = prefixes.label[end]
            end = int(prefixes.parent[end])
        return found._replace(labels=labels)
