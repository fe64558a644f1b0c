"""Best paths of z at a price for each item that it counts, and what counts best paths have.

Let A(k) be the best score of a path that counts k items. At a price p, Viterbi's algorithm gives
F(p), the greatest (score - p count) of all paths, and

    A(k)  <=  F(p) + p k        for every price p and count k                 (Lagrangian bound),

with equality for the count of the path found. Let F_i(s; p) be the same for paths to pair s after i
positions, and B_i(s; p) for what follows. A path with c items among the first i positions, k in
all, which goes through s, has at most the score F_i(s; p) + p c + B_i(s; q) + q (k - c), for any
two prices. So if it is to have a score of L or more, and p < q,

    c  <=  (max over s of (F_i(s; p) + B_i(s; q)) + q k - L) / (q - p),

and p and q exchanged give the least c. With one price, pairs s are found through which no path has
such a score. Best scores by count are then looked for among the counts and pairs that are left.

Kernels as those of ``sum_kernels.py``: plain Python, or compiled. Two prices are taken at a time.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from fsmeu.arrays import Floats, Ints
from fsmeu.trellis.batches import BestLayers, CountRanges, Scores
from fsmeu.trellis.best_kernels import (
    best,
    best_ends,
    run_length,
    set_steps,
    trace,
)
from fsmeu.trellis.kernels import jit_entry, jit_helper, jit_small, unsigned
from fsmeu.trellis.z_tables import (
    COUNTED,
    JOIN,
    ONLY,
    PAIR_AFTER,
    PAIR_BEFORE,
    SOURCE_SET,
    ZTables,
)

MOST_PRICES = 48  # prices that are tried for one count, at most
_DOUBLINGS = 20  # after which no price is found at which the best path counts as many, or as few


class PriceBuffers(NamedTuple):
    """Arrays in which priced paths are found; the last axis is that of two prices."""

    steps: Floats  # scores of slots, (n, slots)
    before: Floats  # best sums of paths to each pair, (n + 1, pairs, 2)
    counted: Ints  # counts of these paths in two layers, (2, pairs, 2)
    after: Floats  # best sums of what follows each pair, in two layers, (2, pairs, 2)
    set_best: Floats  # best sums of source sets, (source sets, 2)
    set_counted: Ints  # and counts, (source sets, 2)


class CountsAsked(NamedTuple):
    """Which counts at the end are looked at."""

    first: int
    last: int
    price: float  # at which a best path counts about so many
    spread: float  # what prices differ by from it
    slack: float  # how far below the hull a best score may be, in differences of the prices
    rounding: float  # a bound on the relative error of a sum of scores
    size: float  # a bound on sums of scores, signs aside


class FoundPrices(NamedTuple):
    """Price, value and count of the best paths of prices."""

    tried: Floats  # (prices, 3)
    number: Ints  # how many there are, (1,)
    gap: Floats  # how far below the Lagrangian bound best scores were looked for, (1,)


@jit_helper
def step_sets(z_tables: ZTables, i: int, buffers: PriceBuffers) -> None:
    """Fills the best sums of the source sets of position i, and their counts."""
    kind = z_tables.kind[i]
    now = buffers.before[i]
    counts = buffers.counted[i % 2]
    set_best = buffers.set_best
    set_counted = buffers.set_counted
    first_set = z_tables.source_sets[kind]
    first = z_tables.source_set[first_set]
    for g in range(first_set, z_tables.source_sets[kind + 1]):
        cheap = -np.inf
        dear = -np.inf
        cheap_member = z_tables.source_set[g]
        dear_member = cheap_member
        for m in range(z_tables.source_set[g], z_tables.source_set[g + 1]):
            p = z_tables.member[m, 0]
            if p >= z_tables.width[i]:
                break  # members are sorted by pair, source sets before
            score = buffers.steps[i, m - first]
            before = now[p] if p >= 0 else set_best[z_tables.member[m, 1]]
            at_cheap = before[0] + score
            at_dear = before[1] + score
            cheap_member = m if at_cheap > cheap else cheap_member
            cheap = at_cheap if at_cheap > cheap else cheap
            dear_member = m if at_dear > dear else dear_member
            dear = at_dear if at_dear > dear else dear
        set_best[g - first_set, 0] = cheap
        set_best[g - first_set, 1] = dear
        p = z_tables.member[cheap_member, 0]
        inner = z_tables.member[cheap_member, 1]
        set_counted[g - first_set, 0] = counts[p, 0] if p >= 0 else set_counted[inner, 0]
        p = z_tables.member[dear_member, 0]
        inner = z_tables.member[dear_member, 1]
        set_counted[g - first_set, 1] = counts[p, 1] if p >= 0 else set_counted[inner, 1]


@jit_helper
def before_run(
    z_tables: ZTables, i: int, r: int, cheap: float, dear: float, buffers: PriceBuffers
) -> None:
    """Fills the best priced sums of paths to the pairs of a run of several ways of position i.

    ``cheap`` and ``dear`` are what its ways are charged at both prices.
    """
    w = z_tables.run[r]
    now = buffers.before[i]
    new = buffers.before[i + 1]
    counts = buffers.counted[i % 2]
    new_counts = buffers.counted[(i + 1) % 2]
    scores = buffers.steps[i]
    source = unsigned(z_tables.way[w, PAIR_BEFORE])
    p = unsigned(z_tables.way[w, PAIR_AFTER])
    score = unsigned(w + z_tables.way_slot[z_tables.kind[i]])
    adds = z_tables.way[w, COUNTED]
    for j in range(unsigned(run_length(z_tables, i, r))):
        new[p + j, 0] = now[source + j, 0] + (scores[score + j] - cheap)
        new[p + j, 1] = now[source + j, 1] + (scores[score + j] - dear)
        new_counts[p + j, 0] = counts[source + j, 0] + adds
        new_counts[p + j, 1] = counts[source + j, 1] + adds


@jit_helper
def best_before(
    z_tables: ZTables, n: int, cheap: float, dear: float, buffers: PriceBuffers, found: FoundPrices
) -> None:
    """Fills the best priced sums of paths to each pair, and adds the best paths at both prices."""
    buffers.before[0, 0, 0] = 0.0
    buffers.before[0, 0, 1] = 0.0
    buffers.counted[0, 0, 0] = 0
    buffers.counted[0, 0, 1] = 0
    for i in range(n):
        step_sets(z_tables, i, buffers)
        kind = z_tables.kind[i]
        now = buffers.before[i]
        new = buffers.before[i + 1]
        counts = buffers.counted[i % 2]
        new_counts = buffers.counted[(i + 1) % 2]
        for p in range(z_tables.width[i + 1]):
            new[p, 0] = -np.inf
            new[p, 1] = -np.inf
        slot = z_tables.way_slot[kind]
        for r in range(z_tables.runs[kind], z_tables.runs[kind + 1]):
            w = z_tables.run[r]
            p = z_tables.way[w, PAIR_AFTER]
            if p >= z_tables.width[i + 1]:
                break
            source = z_tables.way[w, PAIR_BEFORE]
            if source >= z_tables.width[i]:
                continue
            adds = z_tables.way[w, COUNTED]
            if z_tables.run[r + 1] > w + 1:
                before_run(z_tables, i, r, cheap * adds, dear * adds, buffers)
                continue
            g = z_tables.way[w, SOURCE_SET]
            score = buffers.steps[i, w + slot]
            before = now[source] if source >= 0 else buffers.set_best[g]
            counted = counts[source] if source >= 0 else buffers.set_counted[g]
            at_cheap = before[0] + (score - cheap * adds)
            at_dear = before[1] + (score - dear * adds)
            is_only = z_tables.way[w, JOIN] == ONLY
            if is_only or at_cheap > new[p, 0]:
                new[p, 0] = at_cheap
                new_counts[p, 0] = counted[0] + adds
            if is_only or at_dear > new[p, 1]:
                new[p, 1] = at_dear
                new_counts[p, 1] = counted[1] + adds
    for c in range(2):
        row = found.tried[found.number[0]]
        row[0] = cheap if c == 0 else dear
        row[1] = -np.inf
        for p in range(z_tables.width[n]):
            if buffers.before[n, p, c] > row[1]:
                row[1] = buffers.before[n, p, c]
                row[2] = buffers.counted[n % 2, p, c]
        found.number[0] += 1


@jit_small
def raise_both(into: Floats, at_cheap: float, at_dear: float) -> None:
    """Raises two sums to others that are greater."""
    into[0] = at_cheap if at_cheap > into[0] else into[0]
    into[1] = at_dear if at_dear > into[1] else into[1]


@jit_helper
def after_run(
    z_tables: ZTables, i: int, r: int, cheap: float, dear: float, buffers: PriceBuffers
) -> None:
    """Raises the best priced sums of what follows the pairs before a run of several ways.

    ``cheap`` and ``dear`` are what its ways are charged at both prices.
    """
    w = z_tables.run[r]
    beyond = buffers.after[(i + 1) % 2]
    back = buffers.after[i % 2]
    scores = buffers.steps[i]
    source = unsigned(z_tables.way[w, PAIR_BEFORE])
    p = unsigned(z_tables.way[w, PAIR_AFTER])
    score = unsigned(w + z_tables.way_slot[z_tables.kind[i]])
    for j in range(unsigned(run_length(z_tables, i, r))):
        back[source + j, 0] = max(
            back[source + j, 0], beyond[p + j, 0] + (scores[score + j] - cheap)
        )
        back[source + j, 1] = max(
            back[source + j, 1], beyond[p + j, 1] + (scores[score + j] - dear)
        )


@jit_helper
def step_back(z_tables: ZTables, i: int, cheap: float, dear: float, buffers: PriceBuffers) -> None:
    """Fills the best priced sums of what follows pairs of layer i, from those of layer i + 1."""
    kind = z_tables.kind[i]
    beyond = buffers.after[(i + 1) % 2]
    back = buffers.after[i % 2]
    set_best = buffers.set_best
    first_set = z_tables.source_sets[kind]
    end = z_tables.source_sets[kind + 1]
    for p in range(z_tables.width[i]):
        back[p, 0] = -np.inf
        back[p, 1] = -np.inf
    for g in range(end - first_set):
        set_best[g, 0] = -np.inf
        set_best[g, 1] = -np.inf
    slot = z_tables.way_slot[kind]
    for r in range(z_tables.runs[kind], z_tables.runs[kind + 1]):
        w = z_tables.run[r]
        p = z_tables.way[w, PAIR_AFTER]
        if p >= z_tables.width[i + 1]:
            break
        source = z_tables.way[w, PAIR_BEFORE]
        if source >= z_tables.width[i]:
            continue
        adds = z_tables.way[w, COUNTED]
        if z_tables.run[r + 1] > w + 1:
            after_run(z_tables, i, r, cheap * adds, dear * adds, buffers)
            continue
        score = buffers.steps[i, w + slot]
        at_cheap = beyond[p, 0] + (score - cheap * adds)
        at_dear = beyond[p, 1] + (score - dear * adds)
        if source >= 0:
            raise_both(back[source], at_cheap, at_dear)
        else:
            raise_both(set_best[z_tables.way[w, SOURCE_SET]], at_cheap, at_dear)
    first = z_tables.source_set[first_set]
    for g in range(end - 1, first_set - 1, -1):  # a set stands before those that it is a member of
        at_cheap = set_best[g - first_set, 0]
        at_dear = set_best[g - first_set, 1]
        for m in range(z_tables.source_set[g], z_tables.source_set[g + 1]):
            p = z_tables.member[m, 0]
            score = buffers.steps[i, m - first]
            if p >= z_tables.width[i]:
                break
            into = back[p] if p >= 0 else set_best[z_tables.member[m, 1]]
            raise_both(into, at_cheap + score, at_dear + score)


@jit_helper
def lagrangian_bound(ask: CountsAsked, found: FoundPrices, k: int) -> float:
    """The least bound on A(k) by the prices that were tried, their roundings in it."""
    least = np.inf
    for r in range(found.number[0]):
        price = found.tried[r, 0]
        off = ask.rounding * (ask.size + abs(price) * max(k, found.tried[r, 2]))
        least = min(least, found.tried[r, 1] + price * k + off)
    return least


@jit_helper
def gap_of(ask: CountsAsked, found: FoundPrices) -> float:
    """How far below the Lagrangian bound best scores may be.

    Between the counts of the last two paths, the concave hull of A is at least the chord.
    """
    cheap = found.tried[found.number[0] - 2]
    dear = found.tried[found.number[0] - 1]
    if cheap[2] < ask.last or dear[2] > ask.first or cheap[2] <= dear[2]:
        return np.inf
    gap = 0.0
    for k in range(ask.first, ask.last + 1):
        t = (k - dear[2]) / (cheap[2] - dear[2])
        chord = t * (cheap[1] + cheap[0] * cheap[2])
        chord += (1.0 - t) * (dear[1] + dear[0] * dear[2])
        gap = max(gap, lagrangian_bound(ask, found, k) - chord)
    return float(gap + ask.slack * (dear[0] - cheap[0]))


@jit_entry
def counts_of_best(
    z_tables: ZTables,
    n: int,
    ask: CountsAsked,
    buffers: PriceBuffers,
    found: FoundPrices,
    ranges: CountRanges,
) -> None:
    """Fills which counts and pairs paths that may be best have, for counts at the end.

    A path is left out only if its score is below the Lagrangian bound of its count by more than
    ``found.gap``.

    Args:
        z_tables: the tape of z.
        n: the length.
        ask: which counts at the end.
        buffers: arrays to work in, with the scores of steps.
        found: what is found at prices.
        ranges: what is filled.
    """
    cheap = ask.price - ask.spread
    dear = ask.price + ask.spread
    found.number[0] = 0
    for _ in range(_DOUBLINGS):
        best_before(z_tables, n, cheap, dear, buffers, found)
        counts_few = found.tried[found.number[0] - 2, 2] < ask.last
        counts_many = found.tried[found.number[0] - 1, 2] > ask.first
        if not counts_few and not counts_many:
            break
        if counts_few:
            cheap = ask.price - 2.0 * (ask.price - cheap)
        if counts_many:
            dear = ask.price + 2.0 * (dear - ask.price)
    cheap = found.tried[found.number[0] - 2, 0]
    dear = found.tried[found.number[0] - 1, 0]
    off = ask.rounding * (ask.size + max(abs(cheap), abs(dear)) * z_tables.columns[n])
    found.gap[0] = gap_of(ask, found)
    least_first = lagrangian_bound(ask, found, ask.first) - found.gap[0] - off
    least_last = lagrangian_bound(ask, found, ask.last) - found.gap[0] - off
    for p in range(z_tables.width[n]):
        buffers.after[n % 2, p, 0] = 0.0
        buffers.after[n % 2, p, 1] = 0.0
    for i in range(n, -1, -1):
        if i < n:
            step_back(z_tables, i, cheap, dear, buffers)
        many = -np.inf
        few = -np.inf
        for p in range(z_tables.width[i]):
            before = buffers.before[i, p]
            after = buffers.after[i % 2, p]
            many = max(many, before[0] + after[1])
            few = max(few, before[1] + after[0])
            # L - p k grows with k at the lower price, and falls at the higher one.
            ranges.alive[i, p] = (
                before[0] + after[0] >= least_first - cheap * ask.first
                and before[1] + after[1] >= least_last - dear * ask.last
            )
        most = min(ask.last, z_tables.columns[i] - 1)
        high = (many + dear * ask.last - least_last) / (dear - cheap)
        low = (least_first - few - cheap * ask.first) / (dear - cheap)
        ranges.high[i] = most if not high < most else max(0, math.floor(high))
        ranges.low[i] = (
            0 if not low > 0.0 else min(ranges.high[i], math.ceil(min(low, float(most))))
        )


@jit_entry
def set_priced_steps(
    z_tables: ZTables, n: int, scores: Scores, factors: Floats, buffers: PriceBuffers
) -> None:
    """Fills the scores of the steps of one sentence, whose lanes are multiplied by factors."""
    set_steps(z_tables, n, scores, 0, factors, buffers.steps)


@jit_entry
def best_in_ranges(
    z_tables: ZTables, n: int, steps: Floats, b: BestLayers, by_count: Floats, labels: Ints
) -> None:
    """Fills the best scores of paths by their count at the end, for what is looked at.

    And the labels, (n,), of a best path with the greatest count that ``by_count`` has a place for;
    where there are none, (0,), they are not asked for.
    """
    best(z_tables, n, steps, b)
    best_ends(z_tables, n, b, by_count)
    if len(labels) > 0:
        trace(z_tables, n, len(by_count) - 1, steps, b, labels)


@jit_entry
def best_at_prices(
    z_tables: ZTables,
    n: int,
    prices: Floats,
    buffers: PriceBuffers,
    found: FoundPrices,
) -> None:
    """Adds the best paths of a sentence at two prices."""
    best_before(z_tables, n, prices[0], prices[1], buffers, found)
