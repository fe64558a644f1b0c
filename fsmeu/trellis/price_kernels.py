"""Best paths of z at a price for each item that it counts.

Let A(k) be the best score of a path that counts k items. At a price p, Viterbi's algorithm gives
F(p), the greatest (score - p count) of all paths, and

    A(k)  <=  F(p) + p k        for every price p and count k                 (Lagrangian bound),

with equality for the count of the path found.

Kernels as those of ``sum_kernels.py``: plain Python, or compiled. Two prices are taken at a time.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fsmeu.arrays import Floats, Ints
from fsmeu.trellis.batches import Scores
from fsmeu.trellis.best_kernels import run_length, set_steps
from fsmeu.trellis.kernels import jit_entry, jit_helper, unsigned
from fsmeu.trellis.z_tables import (
    COUNTED,
    JOIN,
    ONLY,
    PAIR_AFTER,
    PAIR_BEFORE,
    SOURCE_SET,
    ZTables,
)


class PriceBuffers(NamedTuple):
    """Arrays in which priced paths are found; the last axis is that of two prices."""

    steps: Floats  # scores of slots, (n, slots)
    before: Floats  # best sums of paths to each pair, in two layers, (2, pairs, 2)
    counted: Ints  # counts of these paths, (2, pairs, 2)
    set_best: Floats  # best sums of source sets, (source sets, 2)
    set_counted: Ints  # and counts, (source sets, 2)


@jit_helper
def step_sets(z_tables: ZTables, i: int, buffers: PriceBuffers) -> None:
    """Fills the best sums of the source sets of position i, and their counts."""
    kind = z_tables.kind[i]
    now = buffers.before[i % 2]
    counts = buffers.counted[i % 2]
    set_best = buffers.set_best
    set_counted = buffers.set_counted
    first_set = z_tables.source_sets[kind]
    first = z_tables.source_set[first_set]
    for g in range(first_set, z_tables.source_sets[kind + 1]):
        cheap = -np.inf
        dear = -np.inf
        cheap_member = -1
        dear_member = -1
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
        if cheap_member >= 0:  # else all members lie outside of this layer
            p = z_tables.member[cheap_member, 0]
            inner = z_tables.member[cheap_member, 1]
            set_counted[g - first_set, 0] = counts[p, 0] if p >= 0 else set_counted[inner, 0]
        if dear_member >= 0:
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
    now = buffers.before[i % 2]
    new = buffers.before[(i + 1) % 2]
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
    z_tables: ZTables, n: int, cheap: float, dear: float, buffers: PriceBuffers
) -> None:
    """Fills the best priced sums of paths to each pair, and their counts."""
    buffers.before[0, 0, 0] = 0.0
    buffers.before[0, 0, 1] = 0.0
    buffers.counted[0, 0, 0] = 0
    buffers.counted[0, 0, 1] = 0
    for i in range(n):
        step_sets(z_tables, i, buffers)
        kind = z_tables.kind[i]
        now = buffers.before[i % 2]
        new = buffers.before[(i + 1) % 2]
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


@jit_entry
def set_priced_steps(
    z_tables: ZTables, n: int, scores: Scores, factors: Floats, buffers: PriceBuffers
) -> None:
    """Fills the scores of the steps of one sentence, whose lanes are multiplied by factors."""
    set_steps(z_tables, n, scores, 0, factors, buffers.steps)


@jit_entry
def best_at_prices(z_tables: ZTables, n: int, buffers: PriceBuffers, lines: Floats) -> None:
    """Fills price, value and count of the best paths of a sentence at two prices.

    Args:
        z_tables: the tape of z.
        n: the length.
        buffers: arrays to work in, with the scores of steps.
        lines: a row for each price, which it begins with, (2, 3).
    """
    best_before(z_tables, n, lines[0, 0], lines[1, 0], buffers)
    for c in range(2):
        lines[c, 1] = -np.inf
        for p in range(z_tables.width[n]):
            if buffers.before[n % 2, p, c] > lines[c, 1]:
                lines[c, 1] = buffers.before[n % 2, p, c]
                lines[c, 2] = buffers.counted[n % 2, p, c]
