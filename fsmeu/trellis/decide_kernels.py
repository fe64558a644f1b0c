"""Decisions: one value k of z's counter at a time.

One sweep at k bounds all other ends of the counter (``decoding/split.py``). Kernels as those of
``sum_kernels.py``: plain Python, or compiled.
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
    reached: float,
    enough: float,
    count_probability: Floats,
    slope: Floats,
    other: Floats,
    cap: float,
) -> float:
    """An upper bound on what an end can have beside its offset (``decoding/split.py``).

    It is the least value of  theta * reached + sum over s of P * cap * max(0, slope - theta *
    other),  a convex function of theta >= 0, by halves. A bound below ``enough`` is as good as any.

    Args:
        reached: at least the best score of this end where scores are those of another end.
        enough: as above.
        count_probability: P(y's counter ends at s).
        slope: g(j, s) of this end j.
        other: g(k, s) of the other.
        cap: the most that the joint count can be.
    """
    theta = 0.0
    for s in range(len(count_probability)):  # the greatest ratio, if that is enough
        if count_probability[s] > 0.0 and slope[s] > theta * other[s]:
            theta = slope[s] / other[s] if other[s] > 0.0 else np.inf
    if theta * reached < enough:
        return theta * reached
    low = 0.0
    high = 0.0
    least = np.inf
    for s in range(len(count_probability)):
        if count_probability[s] >= 1e-14 and other[s] > 0.0:
            high = max(high, slope[s] / other[s])
    for step in range(_HALVINGS):
        theta = high if step == 1 else 0.5 * (low + high) if step > 1 else low
        total = theta * reached
        rise = reached
        for r in range(len(count_probability)):
            over = slope[r] - theta * other[r]
            if over > 0.0:
                total += count_probability[r] * cap * over
                rise -= count_probability[r] * cap * other[r]
        least = min(least, total)
        if least < enough or low == high:
            break
        if rise > 0.0:
            high = theta
        else:
            low = theta
    return least


@jit_helper
def first_bounds(
    values: Values,
    count_probability: Floats,
    buffers: DecisionBuffers,
    error: Floats,
    dropped: float,
) -> bool:
    """Fills offsets and bounds on errors by end, and the share of what was dropped.

    Returns whether that share is the greater one for some end.

    Args:
        values: the values of the length.
        count_probability: P(y's counter ends at s).
        buffers: ``offset`` and ``lost`` are filled.
        error: bounds on errors, by end.
        dropped: a bound on the mass that was dropped.
    """
    counts = len(count_probability)
    much = False
    for k in range(len(error)):
        offset = 0.0
        rounded = values.underflow
        lost = 0.0
        for s in range(counts):
            cell = k * counts + s
            part = values.rounding * count_probability[s]
            offset += count_probability[s] * values.offset[cell]
            rounded += part * abs(values.offset[cell])
            worth = dropped * abs(values.offset[cell])
            for q in range(values.slope.shape[0]):
                rounded += part * values.greatest[q] * abs(values.slope[q, cell])
                worth += dropped * values.greatest[q] * abs(values.slope[q, cell])
            lost = max(lost, worth)
        much = much or lost > rounded
        buffers.offset[k] = offset
        buffers.lost[k] = lost
        error[k] = rounded + lost
    return much


@jit_helper
def likely_end(
    values: Values, size: int, count_probability: Floats, offset: Floats, reached: Floats
) -> int:
    """The end that would be best if the joint count did not depend on where y's counter ends.

    Args:
        values: the values of the length.
        size: how many ends there are.
        count_probability: P(y's counter ends at s).
        offset: expected offsets by end.
        reached: the greatest expected joint count of each end.
    """
    counts = len(count_probability)
    end = 0
    most = -np.inf
    for k in range(size):
        slope = 0.0
        for s in range(counts):
            slope += count_probability[s] * values.slope[0, k * counts + s]
        if reached[k] > -np.inf and slope * reached[k] + offset[k] > most:
            end = k
            most = slope * reached[k] + offset[k]
    return end


@jit_helper
def first_end(tables: DecisionTables, sentence: Sentence, buffers: DecisionBuffers) -> int:
    """The end that is tried first: y's likeliest count, or what seems best without counts."""
    values = tables.values
    n = sentence.n
    counts = tables.y.columns[n]
    size = tables.z.columns[n]
    count_probability = buffers.count_probability[:counts]
    k = 0
    mass = 0.0
    for s in range(counts):
        if count_probability[s] > count_probability[k]:
            k = s
        mass += count_probability[s]
    if values.prunes and count_probability[k] < _SURE * mass:
        score = buffers.score
        for i in range(n):
            fill(score[i], 0, score.shape[1], 0.0)
        buffers.reached[0] = 1.0
        ask = Flow(values.group, values.group[0], buffers.reached, values.prune_below)
        back = buffers.back
        flows(tables.uncounted, tables.amounts, sentence, buffers.uncounted, ask, back, score)
        all_counts(tables.z, n, size, buffers.best)
        best(tables.z, n, score, buffers.best)
        best_ends(tables.z, n, buffers.best, buffers.reached)
        k = likely_end(values, size, count_probability, buffers.offset, buffers.reached)
    return int(min(k, size - 1))


@jit_helper
def exclude_ends(
    values: Values,
    count_probability: Floats,
    buffers: DecisionBuffers,
    k: int,
    top: float,
    ends: Floats,
) -> int:
    """Closes ends that cannot be best, given the scores at k; returns the one to be tried next.

    Args:
        values: the values of the length.
        count_probability: P(y's counter ends at s).
        buffers: ``reached`` has the best scores by end; ``is_open`` is changed.
        k: the end that was tried.
        top: the best value so far.
        ends: upper bounds, and bounds on errors, by end, (2 or more, k).
    """
    counts = len(count_probability)
    following = -1
    for j in range(ends.shape[1]):
        if not buffers.is_open[j]:
            continue
        if buffers.reached[j] == -np.inf:  # no hypothesis ends there
            buffers.is_open[j] = False
            ends[0, j] = -np.inf
            continue
        if values.prunes:
            base = buffers.offset[j] + ends[1, j]
            at_most = base + bound(
                max(buffers.reached[j], 0.0) + ends[1, k],
                top - base,
                count_probability,
                values.slope[0, j * counts : (j + 1) * counts],
                values.slope[0, k * counts : (k + 1) * counts],
                values.cap[j],
            )
            ends[0, j] = min(ends[0, j], at_most)
            if ends[0, j] < top:
                buffers.is_open[j] = False
                continue
        if following < 0 or ends[0, j] > ends[0, following]:
            following = j
    return following


@jit_inline
def decide(
    tables: DecisionTables,
    sentence: Sentence,
    most: int,
    ends: Floats,
    buffers: DecisionBuffers,
) -> int:
    """Fills the labels, and ``ends`` (3, k): value, error, tried of each end k; returns the best.

    The value of an end that was not tried is an upper bound, which is not above the best unless
    ``most`` ends were tried.
    """
    y_tables = tables.y
    paths = tables.z
    values = tables.values
    n = sentence.n
    f = buffers.f
    score = buffers.score
    size = paths.columns[n]
    counts = y_tables.columns[n]
    count_probability = buffers.count_probability[:counts]
    prune_below = values.prune_below
    forward(y_tables, sentence, f, prune_below)
    fill(count_probability, 0, counts, 0.0)
    ending(y_tables, sentence, f, count_probability)
    if first_bounds(values, count_probability, buffers, ends[1], values.lost):
        prune_below = 0.0
        forward(y_tables, sentence, f, prune_below)
        fill(count_probability, 0, counts, 0.0)
        ending(y_tables, sentence, f, count_probability)
        first_bounds(values, count_probability, buffers, ends[1], 0.0)
    for k in range(size):
        ends[0, k] = np.inf
        ends[2, k] = 0.0
        buffers.is_open[k] = True
    k = first_end(tables, sentence, buffers)
    top = -np.inf
    best_k = -1
    while k >= 0:
        buffers.is_open[k] = False
        ends[2, k] = 1.0
        for i in range(n):
            fill(score[i], 0, score.shape[1], 0.0)
        for q in range(values.slope.shape[0]):
            if values.group[q] == q:
                ask = Flow(values.group, q, values.slope[q, k * counts :], prune_below)
                flows(y_tables, tables.amounts, sentence, f, ask, buffers.back, score)
        last = k
        for j in range(size):
            if buffers.is_open[j]:
                last = max(last, j)
        all_counts(paths, n, last, buffers.best)
        best(paths, n, score, buffers.best)
        best_ends(paths, n, buffers.best, buffers.reached)
        ends[0, k] = buffers.reached[k] + buffers.offset[k]
        if values.one_sign:  # errors of sums that cancel nothing are a part of these
            rounded = values.rounding * abs(ends[0, k]) + buffers.lost[k] + values.underflow
            ends[1, k] = min(ends[1, k], rounded)
        if ends[0, k] > top or (ends[0, k] == top and k < best_k):
            top = ends[0, k]
            best_k = k
            trace(paths, n, k, score, buffers.best, sentence.labels)
        k = exclude_ends(values, count_probability, buffers, k, top, ends)
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
    """Fills labels, ``ends`` (batch, 3, k) and the best ends of all sentences, see ``decide``."""
    for s in range(len(batch.weights)):
        sentence = sentence_of(batch, s)
        best_of[s] = decide(tables, sentence, most, ends[s], buffers)
