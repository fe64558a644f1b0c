"""Decisions of sentences: one value k of z's counter at a time (the lazy k).

Let the value be  sum of g_q(k, s) T_q + h(k, s)  for joint counts T_q, and let z's counter end at k
and y's at s. One sweep backward over y with the weights g(k, .), and one for the maximum over z,
give A_k(j), the best sum over hypotheses that end at j, for every j. It is exact for j = k; other
ends j are bounded from it, where T >= 0 (``decoding/split.py``), so that few k are tried.

Kernels as those of ``sum_kernels.py``: plain Python, or compiled.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fsmeu.arrays import Floats, Ints
from fsmeu.trellis.batches import Batch, DecisionBuffers, Flow, Sentence, Values
from fsmeu.trellis.best_kernels import all_counts, best, best_ends, trace
from fsmeu.trellis.kernels import jit_entry, jit_helper, jit_inline
from fsmeu.trellis.paths import Paths
from fsmeu.trellis.rows import fill
from fsmeu.trellis.score_kernels import flows
from fsmeu.trellis.sum_kernels import ending, forward, sentence_of
from fsmeu.trellis.tapes import Amounts
from fsmeu.trellis.y_tables import YTables

_CLOSED = 1e-11  # ends whose bounds are above the best value by less than this part are closed
_HALVINGS = 40  # after which a factor is known to 1e-11 of the greatest
_SURE = 0.4  # P(y's likeliest count) from which that is tried first for z: it is mostly the best


class DecisionTables(NamedTuple):
    """What decisions of sentences of one length read."""

    y: YTables  # the tape of y with the model
    uncounted: YTables  # the same, nothing being counted
    z: Paths  # the tape of z
    amounts: Amounts  # what terms add
    values: Values  # the values of the length


@jit_helper
def bound(
    reached: float, enough: float, masses: Floats, slope: Floats, other: Floats, cap: float
) -> float:
    """An upper bound on what hypotheses with an end j can have beside its offset.

    It is the least value of  theta * reached + sum over s of P * cap * max(0, slope - theta *
    other),  a convex function of theta >= 0, by halves. A bound below ``enough`` is as good as any.

    Args:
        reached: the best score of this end where scores are those of another end k, at least 0.
        enough: as above.
        masses: P(y's counter ends at s).
        slope: g(j, s).
        other: g(k, s).
        cap: the most that the joint count can be.
    """
    high = 0.0
    for s in range(len(masses)):
        if masses[s] > 0.0 and slope[s] > high * other[s] and other[s] > 0.0:
            high = slope[s] / other[s]
    low = 0.0
    theta = high
    least = np.inf
    for _ in range(_HALVINGS):
        total = theta * reached
        rise = reached
        for s in range(len(masses)):
            over = slope[s] - theta * other[s]
            if over > 0.0:
                total += masses[s] * cap * over
                rise -= masses[s] * cap * other[s]
        least = min(least, total)
        if least < enough or low == high:
            break
        if rise > 0.0:
            high = theta
        else:
            low = theta
        theta = 0.5 * (low + high)
    return least


@jit_helper
def sweep(
    tables: DecisionTables, sentence: Sentence, k: int, last: int, buffers: DecisionBuffers
) -> None:
    """Fills ``reached`` with A_k(j) for ends j up to ``last``; for k = -1, all weights being 1."""
    score = buffers.score
    values = tables.values
    for i in range(sentence.n):
        fill(score[i], 0, score.shape[1], 0.0)
    back = buffers.back
    group = values.group
    if k < 0:
        buffers.reached[0] = 1.0
        f = buffers.uncounted
        flow = Flow(f, back, group, group[0], buffers.reached, values.prune_below)
        flows(tables.uncounted, tables.amounts, sentence, flow, score)
    else:
        for q in range(len(group)):
            if group[q] == q:
                ends = values.slope[q, k]
                flow = Flow(buffers.f, back, group, q, ends, values.prune_below)
                flows(tables.y, tables.amounts, sentence, flow, score)
    all_counts(tables.z, sentence.n, last, buffers.best)
    best(tables.z, sentence.n, score, buffers.best)
    best_ends(tables.z, sentence.n, buffers.best, buffers.reached)


@jit_helper
def first_end(
    tables: DecisionTables, sentence: Sentence, masses: Floats, buffers: DecisionBuffers
) -> int:
    """The end that is tried first: y's likeliest count, or what seems best without counts.

    The latter would be best if the joint count did not depend on where y's counter ends.
    """
    values = tables.values
    size = tables.z.columns[sentence.n]
    end = 0
    mass = 0.0
    for s in range(len(masses)):
        if masses[s] > masses[end]:
            end = s
        mass += masses[s]
    if not values.prunes or masses[end] >= _SURE * mass:
        return int(min(end, size - 1))
    sweep(tables, sentence, -1, size, buffers)
    end = 0
    most = -np.inf
    for k in range(size):
        slope = 0.0
        for s in range(len(masses)):
            slope += masses[s] * values.slope[0, k, s]
        if buffers.reached[k] > -np.inf and slope * buffers.reached[k] + buffers.offset[k] > most:
            end = k
            most = slope * buffers.reached[k] + buffers.offset[k]
    return end


@jit_helper
def next_end(
    values: Values, masses: Floats, buffers: DecisionBuffers, k: int, top: float, upper: Floats
) -> int:
    """Closes ends that cannot be best, given A_k; returns the one to be tried next, or -1.

    Args:
        values: the values of the length.
        masses: P(y's counter ends at s).
        buffers: ``reached`` has A_k; ``is_open`` is changed.
        k: the end that was tried.
        top: the best value so far.
        upper: upper bounds by end.
    """
    following = -1
    enough = top + _CLOSED * abs(top)
    for j in range(len(upper)):
        if not buffers.is_open[j]:
            continue
        if buffers.reached[j] == -np.inf:  # no hypothesis ends there
            buffers.is_open[j] = False
            upper[j] = -np.inf
            continue
        if values.prunes:
            reached = max(buffers.reached[j], 0.0)
            most = enough - buffers.offset[j]
            slopes = values.slope[0]
            at_most = bound(reached, most, masses, slopes[j], slopes[k], values.cap[j])
            upper[j] = min(upper[j], buffers.offset[j] + at_most)
            if upper[j] <= enough:
                buffers.is_open[j] = False
                continue
        if following < 0 or upper[j] > upper[following]:
            following = j
    return following


@jit_inline
def decide(
    tables: DecisionTables, sentence: Sentence, most: int, ends: Floats, buffers: DecisionBuffers
) -> int:
    """Fills the labels, and ``ends`` (2, k): value, whether tried, of each end; returns the best.

    The value of an end that was not tried is an upper bound, which is not above the best, up to
    ``_CLOSED``, unless ``most`` ends were tried.
    """
    values = tables.values
    n = sentence.n
    size = tables.z.columns[n]
    masses = buffers.count_probability[: tables.y.columns[n]]
    forward(tables.y, sentence, buffers.f, values.prune_below)
    fill(masses, 0, len(masses), 0.0)
    ending(tables.y, sentence, buffers.f, masses)
    for k in range(size):
        offset = 0.0
        for s in range(len(masses)):
            offset += masses[s] * values.offset[k, s]
        buffers.offset[k] = offset
        buffers.is_open[k] = True
        ends[0, k] = np.inf
        ends[1, k] = 0.0
    k = first_end(tables, sentence, masses, buffers)
    top = -np.inf
    best_k = -1
    while k >= 0:
        buffers.is_open[k] = False
        last = k
        for j in range(size):
            if buffers.is_open[j]:
                last = max(last, j)
        sweep(tables, sentence, k, last, buffers)
        ends[0, k] = buffers.reached[k] + buffers.offset[k]
        ends[1, k] = 1.0
        if ends[0, k] > top or (ends[0, k] == top and k < best_k):
            top = ends[0, k]
            best_k = k
            trace(tables.z, n, k, buffers.score, buffers.best, sentence.labels)
        k = next_end(values, masses, buffers, k, top, ends[0])
        most -= 1
        if most <= 0:
            k = -1
    return best_k


@jit_entry
def decide_batch(
    tables: DecisionTables,
    batch: Batch,
    most: int,
    ends: Floats,
    best_of: Ints,
    buffers: DecisionBuffers,
) -> None:
    """Fills labels, ``ends`` (batch, 2, k) and the best ends of all sentences, see ``decide``."""
    for s in range(len(batch.weights)):
        sentence = sentence_of(batch, s)
        best_of[s] = decide(tables, sentence, most, ends[s], buffers)
