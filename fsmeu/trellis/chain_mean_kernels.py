"""Compiled sweeps over a chain of two labels that add up a second sum N, at four nodes x.

States, masses and blocks are as in ``chain_kernels.py``. N is a sum over positions of gains, which
depend on the labels of z and y.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fsmeu.arrays import Floats
from fsmeu.trellis.chain_kernels import (
    BLOCK,
    LogMasses,
    Sweep,
    close_block,
    fast_entry,
    fast_helper,
    fill_block,
    mean_of,
    set_start,
    spread_of,
)
from fsmeu.trellis.four_lanes import (
    ALL,
    LANES,
    NONE,
    Four,
    absolute,
    four,
    four_at,
    greater,
    minus,
    mixed,
    over,
    plus,
    put,
    put_at,
    scaled,
    times,
)


class Spreads(NamedTuple):
    """Sums over positions that bound what roundings do at four nodes (``chains.py``)."""

    masses: Floats  # of sum_s a |b - mean b| / a.b, (4,)
    numerators: Floats  # of what roundings of a and of h do to E[N exp(-x C)] / G, (4,)


class _Moved(NamedTuple):
    """Sums over states of h after a position."""

    size: Four  # of |h|
    drift: Four  # of h


@fast_helper
def _move_numerators(sweep: Sweep, i: int, after: Floats, h: Floats, new: Floats) -> _Moved:
    """Moves h past position i, given the masses after it, (S, 4)."""
    steps = sweep.steps
    label = sweep.z[i]
    counted = sweep.tilts.counted[label]
    half = steps.shape[1] >> 1
    size = NONE
    drift = NONE
    for low in range(half):
        high = low + half
        from_low = four(h, low)
        from_high = four(h, high)
        for y in range(2):
            target = 2 * low + y
            moved = mixed(steps[i, low, y], from_low, steps[i, high, y], from_high)
            if y == counted:
                moved = times(moved, four(sweep.tilts.factors, label))
            moved = plus(moved, scaled(sweep.tilts.gains[label, y], four(after, target)))
            size = plus(size, absolute(moved))
            drift = plus(drift, moved)
            put(new, target, moved)
    for s in range(2 * half):
        put(h, s, four(new, s))
    return _Moved(size, drift)


@fast_entry
def forward_numerators(sweep: Sweep, logs: LogMasses, sizes: Floats) -> Floats:
    """E[N exp(-x C)] / E[exp(-x C)], (4,); N is the sum of the gains of labels.

    The row h of a state is E[(N so far) exp(-x C so far); state]. At the ends of blocks its part
    that masses explain is taken out and added up, compensated: what is left is as large as the
    chain remembers. ``sizes`` gets, (2, blocks, 4), the sums over positions of sum_s |h| and of
    |sum_s h|; ``logs`` are as of ``forward_masses``.
    """
    states = sweep.steps.shape[1]
    masses = np.empty((BLOCK + 1, states, LANES))
    lost = np.zeros(LANES)
    means = np.zeros(LANES)
    means_lost = np.zeros(LANES)
    h = np.zeros((states, LANES))
    new = np.zeros((states, LANES))
    set_start(sweep.starts)
    for block in range(len(sweep.starts) - 1):
        begin = block * BLOCK
        gone = fill_block(sweep, block, masses)
        size = NONE
        drift = NONE
        for row in range(min(BLOCK, len(sweep.steps) - begin)):
            moved = _move_numerators(sweep, begin + row, masses[row + 1], h, new)
            size = plus(size, moved.size)
            drift = plus(drift, absolute(moved.drift))
        put_at(sizes, 0, block, size)
        put_at(sizes, 1, block, drift)
        divisors = close_block(sweep, block, masses, gone, logs, lost)
        for m in range(LANES):
            shift = 0.0
            for s in range(states):
                h[s, m] /= divisors[m]
                shift += h[s, m]
            for s in range(states):
                h[s, m] -= shift * sweep.starts[block + 1, s, m]
            before = means[m]
            means[m] = before + shift
            means_lost[m] += (before - means[m]) + shift
    for m in range(LANES):
        logs.values[m] += lost[m]
    return means + means_lost


@fast_entry
def backward_spreads(sweep: Sweep, sizes: Floats, spreads: Spreads) -> None:
    """Fills ``spreads``, given masses and sizes of ``forward_numerators``.

    b is E[exp(-x C to come) | state], f is E[(N to come) exp(-x C to come) | state] less a multiple
    of b. At the ends of blocks b is divided by its mean under the masses, and that of f taken out.
    """
    steps = sweep.steps
    tilts = sweep.tilts
    states = steps.shape[1]
    masses = np.empty((BLOCK + 1, states, LANES))
    b = np.ones((states, LANES))
    f = np.zeros((states, LANES))
    older_b = np.ones((states, LANES))
    older_f = np.zeros((states, LANES))
    greatest = ALL  # b at the end of the block
    spread = NONE
    numerators = NONE
    for block in range(len(sweep.starts) - 2, -1, -1):
        begin = block * BLOCK
        size = min(BLOCK, len(steps) - begin)
        fill_block(sweep, block, masses)
        inner = NONE
        inner_numerators = NONE
        farthest = NONE  # |b - 1| in the block
        for s in range(states):
            farthest = greater(farthest, absolute(minus(four(b, s), ALL)))
        for row in range(size - 1, -1, -1):
            i = begin + row
            label = sweep.z[i]
            counted = tilts.counted[label]
            for s in range(states):
                own_b = NONE
                own_f = NONE
                for y in range(2):
                    target = (2 * s + y) & (states - 1)
                    to_b = four(b, target)
                    to_f = plus(four(f, target), scaled(tilts.gains[label, y], to_b))
                    if y == counted:
                        factor = four(tilts.factors, label)
                        to_b = times(factor, to_b)
                        to_f = times(factor, to_f)
                    own_b = plus(own_b, scaled(steps[i, s, y], to_b))
                    own_f = plus(own_f, scaled(steps[i, s, y], to_f))
                put(older_b, s, own_b)
                put(older_f, s, own_f)
            for s in range(states):
                put(b, s, four(older_b, s))
                put(f, s, four(older_f, s))
            if row > 0:
                drift = NONE
                for s in range(states):
                    mass = four_at(masses, row, s)
                    away = absolute(minus(four(b, s), ALL))
                    later = times(mass, four(f, s))
                    farthest = greater(farthest, away)
                    inner = plus(inner, times(mass, away))
                    inner_numerators = plus(inner_numerators, absolute(later))
                    drift = plus(drift, later)
                inner_numerators = plus(inner_numerators, absolute(drift))
        mean = mean_of(masses, 0, b)
        quotient = over(mean_of(masses, 0, f), mean)
        reach = over(plus(greatest, farthest), mean)
        greatest = NONE
        at_begin = NONE
        for s in range(states):
            own_b = over(four(b, s), mean)
            own_f = minus(over(four(f, s), mean), times(quotient, own_b))
            put(b, s, own_b)
            put(f, s, own_f)
            greatest = greater(greatest, own_b)
            at_begin = plus(at_begin, times(four_at(masses, 0, s), absolute(own_f)))
        spread = plus(spread, plus(over(inner, mean), spread_of(masses, 0, b)))
        numerators = plus(numerators, plus(over(inner_numerators, mean), at_begin))
        numerators = plus(numerators, times(four_at(sizes, 0, block), reach))
        numerators = plus(numerators, over(four_at(sizes, 1, block), mean))
    for m in range(LANES):
        spreads.masses[m] = spread[m]
        spreads.numerators[m] = numerators[m]
