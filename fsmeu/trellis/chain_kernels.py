"""Compiled sweeps over a chain of two labels, at four nodes x side by side.

The state of a chain of order m is the number whose binary digits are the last m labels: label y
leads from s to (2 s + y) mod S, S = 2^m, and all chains begin in state 0. ``steps`` are
P(y_i | state before), (n, S, 2); the rows of states that are reached sum to 1.

What is counted, C, is the sum over positions of a cost at least 0, for one of the two labels; the
cost depends on z_i. The *mass* of a state at a node is E[exp(-x C so far); state]. Masses stay as
they are for ``BLOCK`` positions and are then divided by their sum. As rows sum to 1, mass is lost
by counting alone: 1 - sum is the sum of (1 - exp(-x cost)) (mass that is counted), all positive,
whose logarithm keeps digits that a sum next to 1 has lost.

Sweeps with a second sum: ``chain_mean_kernels.py``.

Only the masses at the beginnings of blocks are kept, and at the end: sweeps backward find those of
a block again, where they are at hand.

A node whose mass falls below ``NO_MASS`` within a block is given up: its logarithm is -inf.
"""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import numpy as np

from fsmeu.arrays import Floats, Ints
from fsmeu.jit import jit_entry, jit_helper
from fsmeu.trellis.four_lanes import (
    ALL,
    LANES,
    NONE,
    Four,
    absolute,
    any_positive,
    four,
    four_at,
    greater,
    lesser,
    minus,
    mixed,
    over,
    plus,
    put,
    put_at,
    scaled,
    times,
)

BLOCK = 64
NO_MASS = 1e-250
STRONG = 0.5  # the part of the mass that a block may lose before it is no small number any more

# Products and sums in one operation, and products with reciprocals: fewer roundings, or one more
# for each block. Sums keep their order: some are compensated.
fast_entry = partial(jit_entry, fastmath={"contract", "arcp"})
fast_helper = partial(jit_helper, fastmath={"contract", "arcp"})


class Tilts(NamedTuple):
    """Factors of labels at four nodes, by the label of z."""

    counted: Ints  # the label of y that costs something, (2,)
    factors: Floats  # exp(-x cost) of that label, (2, 4)
    taken: Floats  # 1 less these, (2, 4)
    gains: Floats  # what the labels of y add to a second sum N, (2, 2)


class Sweep(NamedTuple):
    """What is swept over."""

    steps: Floats  # P(y_i | state before), (n, S, 2)
    z: Ints  # (n,)
    tilts: Tilts
    starts: Floats  # masses before each block and at the end, (blocks + 1, S, 4)


class LogMasses(NamedTuple):
    """Logarithms of E[exp(-x C)], and what their roundings depend on, (4,) each."""

    values: Floats  # the logarithms
    deficits: Floats  # sums over blocks of the mass lost, as a part of what is left
    strong: Floats  # how many blocks lost so much that the sum of masses itself was taken


class ShareSpreads(NamedTuple):
    """Sums over positions that bound what roundings do to shares at four nodes (``chains.py``)."""

    masses: Floats  # of sum_s a |b - mean b| / a.b, (4,)
    shares: Floats  # of (share + probability of all states but 0) (labels that depend on it), (4,)
    totals: Floats  # of the shares, (4,)


@jit_entry
def count_variance(steps: Floats, z: Ints, amounts: Floats, marginals: Floats) -> float:
    """The variance of the sum of amounts[z_i] y_i; P(y_i = 1) goes to ``marginals``, (n,)."""
    states = steps.shape[1]
    mass = np.zeros(states)
    first = np.zeros(states)
    second = np.zeros(states)
    mass_after = np.zeros(states)
    first_after = np.zeros(states)
    second_after = np.zeros(states)
    mass[0] = 1.0
    for i in range(len(steps)):
        marginal = 0.0
        for s in range(states):
            marginal += mass[s] * steps[i, s, 1]
        marginals[i] = marginal
        amount = amounts[z[i]]
        half = states >> 1
        for target in range(states):
            y = target & 1
            low = target >> 1
            high = low + half
            gain = amount * (y - marginal)
            p_low = steps[i, low, y]
            p_high = steps[i, high, y]
            m = p_low * mass[low] + p_high * mass[high]
            f = p_low * first[low] + p_high * first[high]
            g = p_low * second[low] + p_high * second[high]
            mass_after[target] = m
            first_after[target] = f + gain * m
            second_after[target] = g + gain * (2.0 * f + gain * m)
        mass, mass_after = mass_after, mass
        first, first_after = first_after, first
        second, second_after = second_after, second
    return float(second.sum())


# -- masses ----------------------------------------------------------------------------------------


@fast_helper
def fill_block(sweep: Sweep, block: int, masses: Floats) -> Four:
    """What counting takes from the masses of a block, which fill ``masses``, (BLOCK + 1, S, 4)."""
    steps = sweep.steps
    tilts = sweep.tilts
    half = steps.shape[1] >> 1
    begin = block * BLOCK
    loss = NONE
    for s in range(steps.shape[1]):
        put_at(masses, 0, s, four_at(sweep.starts, block, s))
    for row in range(min(BLOCK, len(steps) - begin)):
        i = begin + row
        label = sweep.z[i]
        counted = tilts.counted[label]
        other = 1 - counted
        factor = four(tilts.factors, label)
        ones = NONE
        for low in range(half):
            high = low + half
            from_low = four_at(masses, row, low)
            from_high = four_at(masses, row, high)
            arrived = mixed(steps[i, low, counted], from_low, steps[i, high, counted], from_high)
            ones = plus(ones, arrived)
            put_at(masses, row + 1, 2 * low + counted, times(arrived, factor))
            arrived = mixed(steps[i, low, other], from_low, steps[i, high, other], from_high)
            put_at(masses, row + 1, 2 * low + other, arrived)
        loss = plus(loss, times(ones, four(tilts.taken, label)))
    return loss


@jit_helper
def _close_lane(m: int, gone: float, total: float, logs: LogMasses, lost: Floats) -> float:
    """Adds the logarithm of a block's mass, compensated; returns what masses are divided by."""
    if total < NO_MASS:
        logs.values[m] = -np.inf
        lost[m] = 0.0
        return np.inf
    if abs(gone) < STRONG:
        term = np.log1p(-gone)
        logs.deficits[m] += abs(gone) / (1.0 - gone)
    else:
        term = np.log(total)
        logs.strong[m] += 1.0
    before = logs.values[m]
    after = before + term
    if np.isfinite(after):
        lost[m] += (before - after) + term
    logs.values[m] = after
    return total


@fast_helper
def close_block(
    sweep: Sweep, block: int, masses: Floats, gone: Four, logs: LogMasses, lost: Floats
) -> Four:
    """Adds the logarithms of a block's masses, and keeps the last ones, divided by their sums.

    Args:
        sweep: where they are kept.
        block: the block.
        masses: its masses.
        gone: what counting took from them.
        logs: the logarithms.
        lost: what these lack, (4,).

    Returns:
        what masses are divided by.
    """
    row = min(BLOCK, len(sweep.steps) - block * BLOCK)
    totals = NONE
    for s in range(masses.shape[1]):
        totals = plus(totals, four_at(masses, row, s))
    divisors = (
        _close_lane(0, gone[0], totals[0], logs, lost),
        _close_lane(1, gone[1], totals[1], logs, lost),
        _close_lane(2, gone[2], totals[2], logs, lost),
        _close_lane(3, gone[3], totals[3], logs, lost),
    )
    for s in range(masses.shape[1]):
        put_at(sweep.starts, block + 1, s, over(four_at(masses, row, s), divisors))
    return divisors


@jit_helper
def set_start(starts: Floats) -> None:
    """Sets the masses before the first position."""
    starts[0] = 0.0
    starts[0, 0] = 1.0


@fast_entry
def forward_masses(sweep: Sweep, logs: LogMasses) -> None:
    """Fills ``logs``, and the masses that are kept."""
    masses = np.empty((BLOCK + 1, sweep.steps.shape[1], LANES))
    lost = np.zeros(LANES)
    set_start(sweep.starts)
    for block in range(len(sweep.starts) - 1):
        gone = fill_block(sweep, block, masses)
        close_block(sweep, block, masses, gone, logs, lost)
    for m in range(LANES):
        logs.values[m] += lost[m]


# -- one position ----------------------------------------------------------------------------------


@fast_helper
def spread_of(masses: Floats, row: int, back: Floats) -> Four:
    """The sum over states of a |b - 1|."""
    spread = NONE
    for s in range(len(back)):
        away = absolute(minus(four(back, s), ALL))
        spread = plus(spread, times(four_at(masses, row, s), away))
    return spread


@fast_helper
def mean_of(masses: Floats, row: int, back: Floats) -> Four:
    """The sum over states of a b."""
    mean = NONE
    for s in range(len(back)):
        mean = plus(mean, times(four_at(masses, row, s), four(back, s)))
    return mean


@fast_entry
def backward_shares(sweep: Sweep, shares: Floats, spreads: ShareSpreads) -> None:
    """Fills ``shares``, (n, 4), with E[y_i exp(-x C)] / E[exp(-x C)], given masses.

    Two paths of the tilted chain that agree in m labels are in one state: ``memory`` bounds how
    many labels after a position depend on the state there (``chains.py``).
    """
    steps = sweep.steps
    tilts = sweep.tilts
    states = steps.shape[1]
    order = 0
    while 1 << order < states:
        order += 1
    own = scaled(float(order), ALL)
    masses = np.empty((BLOCK + 1, states, LANES))
    back = np.ones((states, LANES))
    older = np.ones((states, LANES))
    memory = NONE
    agreeing = ALL
    dependent = NONE
    totals = NONE
    spread = NONE
    for block in range(len(sweep.starts) - 2, -1, -1):
        begin = block * BLOCK
        size = min(BLOCK, len(steps) - begin)
        fill_block(sweep, block, masses)
        inner = NONE
        for row in range(size - 1, -1, -1):
            i = begin + row
            zeros = NONE
            ones = NONE
            for s in range(0, states, 2):
                zeros = plus(zeros, times(four_at(masses, row + 1, s), four(back, s)))
                ones = plus(ones, times(four_at(masses, row + 1, s + 1), four(back, s + 1)))
            inverse = over(ALL, plus(zeros, ones))
            share = times(ones, inverse)
            put(shares, i, share)
            totals = plus(totals, share)
            in_first = times(times(four_at(masses, row + 1, 0), four(back, 0)), inverse)
            elsewhere = plus(share, minus(ALL, in_first))
            dependent = plus(dependent, times(elsewhere, plus(own, memory)))
            if row + 1 < size:
                inner = plus(inner, spread_of(masses, row + 1, back))
            label = sweep.z[i]
            factor = four(tilts.factors, label)
            least = ALL
            most = NONE
            for s in range(states):
                target = (2 * s) & (states - 1)
                zero = scaled(steps[i, s, 0], four(back, target))
                one = scaled(steps[i, s, 1], four(back, target + 1))
                if tilts.counted[label] == 1:
                    one = times(one, factor)
                else:
                    zero = times(zero, factor)
                value = plus(zero, one)
                put(older, s, value)
                if any_positive(four_at(masses, row, s)):
                    chance = over(one, value)
                    least = lesser(least, chance)
                    most = greater(most, chance)
            for s in range(states):
                put(back, s, four(older, s))
            agreeing = times(agreeing, greater(NONE, minus(ALL, minus(most, least))))
            if i % order == 0:
                memory = plus(own, times(minus(ALL, agreeing), memory))
                agreeing = ALL
        mean = mean_of(masses, 0, back)
        for s in range(states):
            put(back, s, over(four(back, s), mean))
        spread = plus(spread, plus(over(inner, mean), spread_of(masses, 0, back)))
    for m in range(LANES):
        spreads.masses[m] = spread[m]
        spreads.shares[m] = dependent[m]
        spreads.totals[m] = totals[m]
