"""Best paths of z at a price for each item that it counts (Viterbi 1967, on ``paths.py``).

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
from fsmeu.trellis.best_kernels import score_of_set, set_scores
from fsmeu.trellis.kernels import jit_entry, jit_helper, unsigned
from fsmeu.trellis.paths import Paths


class PriceBuffers(NamedTuple):
    """Arrays in which priced paths are found; the last axis is that of two prices."""

    score: Floats  # scores of score rows, (n, score rows)
    value: Floats  # best sums of paths to each pair, in two layers, (2, pairs, 2)
    counted: Ints  # counts of these paths, (2, pairs, 2)
    exit_value: Floats  # best sums of paths to exits, (exits, 2)
    exit_counted: Ints  # counts of these, (exits, 2)


@jit_helper
def enter_at_prices(paths: Paths, i: int, buffers: PriceBuffers) -> None:
    """Fills the best sums of the exits of position i, and their counts."""
    now = buffers.value[i % 2]
    counted = buffers.counted[i % 2]
    score = buffers.score[i]
    begin = paths.exits[paths.kind[i]]
    for h in range(begin, paths.exits[paths.kind[i] + 1]):
        cheap = -np.inf
        dear = -np.inf
        cheap_source = 0
        dear_source = 0
        for e in range(paths.entries_at[h], paths.entries_at[h + 1]):
            p = paths.entries.source[e]
            if p >= paths.width[i]:
                break
            shown = score_of_set(paths.shown, paths.entries.shown[e], score)
            at_cheap = now[unsigned(p), 0] + shown
            at_dear = now[unsigned(p), 1] + shown
            cheap_source = p if at_cheap > cheap else cheap_source
            cheap = at_cheap if at_cheap > cheap else cheap
            dear_source = p if at_dear > dear else dear_source
            dear = at_dear if at_dear > dear else dear
        buffers.exit_value[h - begin, 0] = cheap
        buffers.exit_value[h - begin, 1] = dear
        buffers.exit_counted[h - begin, 0] = counted[cheap_source, 0]
        buffers.exit_counted[h - begin, 1] = counted[dear_source, 1]


@jit_helper
def arrive_at_prices(
    paths: Paths, i: int, cheap: float, dear: float, buffers: PriceBuffers
) -> None:
    """Fills the best sums of pairs after position i at two prices, and their counts."""
    kind = paths.kind[i]
    arrivals = paths.arrivals
    now = buffers.value[i % 2]
    counts = buffers.counted[i % 2]
    value = buffers.value[(i + 1) % 2]
    count = buffers.counted[(i + 1) % 2]
    wide = paths.width[i + 1]
    for p in range(wide):
        value[p, 0] = -np.inf
        value[p, 1] = -np.inf
    for a in range(paths.arrivals_at[kind, 0], paths.arrivals_at[kind, wide]):
        source = arrivals.source[a]
        if source >= paths.width[i]:
            continue
        p = unsigned(arrivals.target[a])
        counted = arrivals.counted[a]
        shown = score_of_set(paths.shown, arrivals.shown[a], buffers.score[i])
        before = now[unsigned(source)]
        so_far = counts[unsigned(source)]
        if source < 0:
            before = buffers.exit_value[arrivals.exit[a] - paths.exits[kind]]
            so_far = buffers.exit_counted[arrivals.exit[a] - paths.exits[kind]]
        at_cheap = before[0] + (shown - cheap * counted)
        at_dear = before[1] + (shown - dear * counted)
        if at_cheap > value[p, 0]:
            value[p, 0] = at_cheap
            count[p, 0] = so_far[0] + counted
        if at_dear > value[p, 1]:
            value[p, 1] = at_dear
            count[p, 1] = so_far[1] + counted


@jit_entry
def set_priced_steps(
    paths: Paths, n: int, scores: Scores, factors: Floats, buffers: PriceBuffers
) -> None:
    """Fills the scores of one sentence, whose lanes are multiplied by factors."""
    set_scores(n, scores, 0, factors, buffers.score)


@jit_entry
def best_at_prices(paths: Paths, n: int, buffers: PriceBuffers, lines: Floats) -> None:
    """Fills price, value and count of the best paths of a sentence at two prices.

    Args:
        paths: the tape of z.
        n: the length.
        buffers: arrays to work in, with the scores of steps.
        lines: a row for each price, which it begins with, (2, 3).
    """
    for m in range(2):
        buffers.value[0, 0, m] = 0.0
        buffers.counted[0, 0, m] = 0
    for i in range(n):
        enter_at_prices(paths, i, buffers)
        arrive_at_prices(paths, i, lines[0, 0], lines[1, 0], buffers)
    for m in range(2):
        lines[m, 1] = -np.inf
        for p in range(paths.width[n]):
            if buffers.value[n % 2, p, m] > lines[m, 1]:
                lines[m, 1] = buffers.value[n % 2, p, m]
                lines[m, 2] = buffers.counted[n % 2, p, m]
