"""Compiled sweeps over a chain of two labels, at several nodes x side by side.

The state of a chain of order m is the number whose binary digits are the last m labels: label y
leads from s to (2 s + y) mod S, S = 2^m, and all chains begin in state 0. ``steps`` are
P(y_i | state before), (n, S, 2); the rows of states that are reached sum to 1.

What is counted, C, is the sum over positions of a cost at least 0, for one of the two labels; the
cost depends on z_i. The *mass* of a state at a node is E[exp(-x C so far); state]. Masses stay as
they are for ``BLOCK`` positions and are then divided by their sum. As rows sum to 1, mass is lost
by counting alone: 1 - sum is the sum of (1 - exp(-x cost)) (mass that is counted), all positive,
whose logarithm keeps digits that a sum next to 1 has lost.

A node whose mass falls below ``NO_MASS`` within a block is given up: its logarithm is -inf.
"""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import numpy as np

from fsmeu.arrays import Floats, Ints
from fsmeu.jit import jit_entry, jit_helper

BLOCK = 64
NO_MASS = 1e-250
STRONG = 0.5  # the part of the mass that a block may lose before it is no small number any more

# Products and sums in one operation, and products with reciprocals: fewer roundings, or one more
# for each block. Sums keep their order: some are compensated.
fast_entry = partial(jit_entry, fastmath={"contract", "arcp"})


class Tilts(NamedTuple):
    """Factors of labels at M nodes, by the label of z."""

    counted: Ints  # the label of y that costs something, (2,)
    factors: Floats  # exp(-x cost) of that label, (2, M)
    taken: Floats  # 1 less these, (2, M)
    gains: Floats  # what the labels of y add to a second sum N, (2, 2)


class LogMasses(NamedTuple):
    """Logarithms of E[exp(-x C)], and what their roundings depend on, (M,) each."""

    values: Floats  # the logarithms
    deficits: Floats  # sums over blocks of the mass lost, as a part of what is left
    strong: Floats  # how many blocks lost so much that the sum of masses itself was taken


class Spreads(NamedTuple):
    """Sums over positions that bound what roundings do at M nodes (``chains.py``)."""

    masses: Floats  # of sum_s a |b - mean b| / a.b, (M,)
    numerators: Floats  # of what roundings of a and of h do to E[N exp(-x C)] / G, (M,)
    tiny: Floats  # of greatest b / a.b: what an absolute error of masses does, (M,)


class ShareSpreads(NamedTuple):
    """Sums over positions that bound what roundings do to shares at M nodes (``chains.py``)."""

    masses: Floats  # of sum_s a |b - mean b| / a.b, (M,)
    shares: Floats  # of (share + probability of all states but 0) (labels that depend on it), (M,)
    totals: Floats  # of the shares, (M,)


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


@jit_helper
def _close_block(node: int, gone: float, total: float, logs: LogMasses, lost: Floats) -> float:
    """Adds the logarithm of a block's mass, compensated; returns what masses are divided by."""
    if total < NO_MASS:
        logs.values[node] = -np.inf
        lost[node] = 0.0
        return np.inf
    if abs(gone) < STRONG:
        term = np.log1p(-gone)
        logs.deficits[node] += abs(gone) / (1.0 - gone)
    else:
        term = np.log(total)
        logs.strong[node] += 1.0
    before = logs.values[node]
    after = before + term
    if np.isfinite(after):
        lost[node] += (before - after) + term
    logs.values[node] = after
    return total


@fast_entry
def forward_masses(steps: Floats, z: Ints, tilts: Tilts, kept: Floats, logs: LogMasses) -> None:
    """Fills ``logs``, and ``kept`` with the masses before each position and at the end.

    ``kept`` is (n + 1, S, M), or has fewer rows, of which each position uses the next in turn. At
    the ends of blocks masses are kept after they were divided.
    """
    n = len(steps)
    states = steps.shape[1]
    nodes = kept.shape[2]
    loss = np.zeros(nodes)
    lost = np.zeros(nodes)
    kept[0] = 0.0
    kept[0, 0] = 1.0
    half = states >> 1
    row = 0
    for i in range(n):
        before = row
        row = row + 1 if row + 1 < len(kept) else 0
        label = z[i]
        counted = tilts.counted[label]
        for target in range(states):
            y = target & 1
            low = target >> 1
            high = low + half
            p_low = steps[i, low, y]
            p_high = steps[i, high, y]
            if y == counted:
                for m in range(nodes):
                    mass = kept[before, low, m] * p_low + kept[before, high, m] * p_high
                    loss[m] += mass * tilts.taken[label, m]
                    kept[row, target, m] = mass * tilts.factors[label, m]
            else:
                for m in range(nodes):
                    mass = kept[before, low, m] * p_low + kept[before, high, m] * p_high
                    kept[row, target, m] = mass
        if (i + 1) % BLOCK == 0 or i == n - 1:
            for m in range(nodes):
                total = 0.0
                for s in range(states):
                    total += kept[row, s, m]
                scale = _close_block(m, loss[m], total, logs, lost)
                loss[m] = 0.0
                for s in range(states):
                    kept[row, s, m] /= scale
    for m in range(nodes):
        logs.values[m] += lost[m]


@fast_entry
def backward_shares(
    steps: Floats, factors: Floats, kept: Floats, shares: Floats, spreads: ShareSpreads
) -> None:
    """Fills ``shares``, (n, M), with E[y_i exp(-x C)] / E[exp(-x C)], given all masses.

    C counts ones of y alike at all positions, or zeros: ``factors`` are those of the two labels,
    (2, M). Two paths of the tilted chain that agree in m labels are in one state: ``memory`` bounds
    how many labels after a position depend on the state there (``chains.py``).
    """
    n = len(steps)
    states = steps.shape[1]
    nodes = kept.shape[2]
    order = 0
    while 1 << order < states:
        order += 1
    back = np.ones((states, nodes))
    older = np.ones((states, nodes))
    memory = np.zeros(nodes)
    agreeing = np.ones(nodes)
    sums = np.zeros(nodes)
    for i in range(n - 1, -1, -1):
        is_inner = (i + 1) % BLOCK != 0 and i != n - 1
        has_agreed = i % order == 0
        for m in range(nodes):
            ones = 0.0
            zeros = 0.0
            for s in range(0, states, 2):
                zeros += kept[i + 1, s, m] * back[s, m]
                ones += kept[i + 1, s + 1, m] * back[s + 1, m]
            inverse = 1.0 / (zeros + ones)
            share = ones * inverse
            shares[i, m] = share
            spreads.totals[m] += share
            elsewhere = 1.0 - kept[i + 1, 0, m] * back[0, m] * inverse
            spreads.shares[m] += (share + elsewhere) * (order + memory[m])
            if is_inner:
                away = 0.0
                for s in range(states):
                    away += kept[i + 1, s, m] * abs(back[s, m] - 1.0)
                sums[m] += away
            least = 1.0
            most = 0.0
            for s in range(states):
                target = (2 * s) & (states - 1)
                one = steps[i, s, 1] * factors[1, m] * back[target + 1, m]
                value = steps[i, s, 0] * factors[0, m] * back[target, m] + one
                older[s, m] = value
                if kept[i, s, m] > 0.0:
                    chance = one / value
                    least = min(least, chance)
                    most = max(most, chance)
            agreeing[m] *= max(0.0, 1.0 - (most - least))
            if has_agreed:
                memory[m] = order + (1.0 - agreeing[m]) * memory[m]
                agreeing[m] = 1.0
            if i % BLOCK == 0:
                mean = 0.0
                for s in range(states):
                    mean += kept[i, s, m] * older[s, m]
                away = 0.0
                for s in range(states):
                    older[s, m] /= mean
                    away += kept[i, s, m] * abs(older[s, m] - 1.0)
                spreads.masses[m] += sums[m] / mean + away
                sums[m] = 0.0
        back, older = older, back


@fast_entry
def forward_numerators(
    steps: Floats, z: Ints, tilts: Tilts, kept: Floats, logs: LogMasses, sizes: Floats
) -> Floats:
    """E[N exp(-x C)] / E[exp(-x C)], (M,); N is the sum of the gains of labels.

    The row h of a state is E[(N so far) exp(-x C so far); state]. At the ends of blocks its part
    that masses explain is taken out and added up, compensated: what is left is as large as the
    chain remembers. ``kept`` gets all masses, (n + 1, S, M), in single precision; ``sizes``,
    (2, blocks, M), the sums over positions of sum_s |h| and of |sum_s h|; ``logs`` are as of
    ``forward_masses``.
    """
    n = len(steps)
    states = steps.shape[1]
    nodes = kept.shape[2]
    loss = np.zeros(nodes)
    lost = np.zeros(nodes)
    means = np.zeros(nodes)
    means_lost = np.zeros(nodes)
    mass = np.zeros((states, nodes))
    mass_after = np.zeros((states, nodes))
    h = np.zeros((states, nodes))
    h_after = np.zeros((states, nodes))
    mass[0] = 1.0
    kept[0] = mass
    half = states >> 1
    for i in range(n):
        label = z[i]
        block = i // BLOCK
        counted = tilts.counted[label]
        gain = tilts.gains[label, counted]
        gain_other = tilts.gains[label, 1 - counted]
        for m in range(nodes):
            factor = tilts.factors[label, m]
            ones = 0.0
            size = 0.0
            drift = 0.0
            for low in range(half):
                high = low + half
                target = 2 * low + counted
                p_low = steps[i, low, counted]
                p_high = steps[i, high, counted]
                arrived = mass[low, m] * p_low + mass[high, m] * p_high
                h_arrived = h[low, m] * p_low + h[high, m] * p_high
                h_new = (h_arrived + gain * arrived) * factor
                ones += arrived
                size += abs(h_new)
                drift += h_new
                mass_after[target, m] = arrived * factor
                h_after[target, m] = h_new
                target = 2 * low + 1 - counted
                p_low = steps[i, low, 1 - counted]
                p_high = steps[i, high, 1 - counted]
                arrived = mass[low, m] * p_low + mass[high, m] * p_high
                h_new = h[low, m] * p_low + h[high, m] * p_high + gain_other * arrived
                size += abs(h_new)
                drift += h_new
                mass_after[target, m] = arrived
                h_after[target, m] = h_new
            loss[m] += ones * tilts.taken[label, m]
            sizes[0, block, m] += size
            sizes[1, block, m] += abs(drift)
        if (i + 1) % BLOCK == 0 or i == n - 1:
            for m in range(nodes):
                total = 0.0
                for s in range(states):
                    total += mass_after[s, m]
                scale = _close_block(m, loss[m], total, logs, lost)
                loss[m] = 0.0
                shift = 0.0
                for s in range(states):
                    mass_after[s, m] /= scale
                    h_after[s, m] /= scale
                    shift += h_after[s, m]
                for s in range(states):
                    h_after[s, m] -= shift * mass_after[s, m]
                before = means[m]
                means[m] = before + shift
                means_lost[m] += (before - means[m]) + shift
        for s in range(states):
            for m in range(nodes):
                kept[i + 1, s, m] = mass_after[s, m]
        mass, mass_after = mass_after, mass
        h, h_after = h_after, h
    for m in range(nodes):
        logs.values[m] += lost[m]
    return means + means_lost


@fast_entry
def backward_spreads(
    steps: Floats, z: Ints, tilts: Tilts, kept: Floats, sizes: Floats, spreads: Spreads
) -> None:
    """Fills ``spreads``, given masses and sizes of ``forward_numerators``.

    b is E[exp(-x C to come) | state], f is E[(N to come) exp(-x C to come) | state] less a multiple
    of b. At the ends of blocks b is divided by its mean under the masses, and that of f taken out.
    """
    n = len(steps)
    states = steps.shape[1]
    nodes = kept.shape[2]
    b = np.ones((states, nodes))
    f = np.zeros((states, nodes))
    b_older = np.ones((states, nodes))
    f_older = np.zeros((states, nodes))
    mass_sums = np.zeros(nodes)
    numerator_sums = np.zeros(nodes)
    greatest = np.ones(nodes)  # b at the end of the block
    farthest = np.zeros(nodes)  # |b - 1| in the block
    for i in range(n - 1, -1, -1):
        # The position after i: within a block; its end was summed up when b was divided.
        if (i + 1) % BLOCK != 0 and i != n - 1:
            for m in range(nodes):
                away_sum = 0.0
                later_sum = 0.0
                drift = 0.0
                far = farthest[m]
                for s in range(states):
                    mass = np.float64(kept[i + 1, s, m])
                    away = abs(b[s, m] - 1.0)
                    later = mass * f[s, m]
                    far = max(far, away)
                    away_sum += mass * away
                    later_sum += abs(later)
                    drift += later
                farthest[m] = far
                mass_sums[m] += away_sum
                numerator_sums[m] += later_sum + abs(drift)
        label = z[i]
        counted = tilts.counted[label]
        gain_other = tilts.gains[label, 1 - counted]
        gain = tilts.gains[label, counted]
        for s in range(states):
            other_target = (2 * s + 1 - counted) & (states - 1)
            target = (2 * s + counted) & (states - 1)
            p_other = steps[i, s, 1 - counted]
            p = steps[i, s, counted]
            for m in range(nodes):
                ones = p * tilts.factors[label, m]
                b_other = b[other_target, m]
                b_one = b[target, m]
                b_older[s, m] = p_other * b_other + ones * b_one
                f_older[s, m] = p_other * (f[other_target, m] + gain_other * b_other) + ones * (
                    f[target, m] + gain * b_one
                )
        b, b_older = b_older, b
        f, f_older = f_older, f
        if i % BLOCK == 0:
            for m in range(nodes):
                mean = 0.0
                mean_f = 0.0
                for s in range(states):
                    mean += kept[i, s, m] * b[s, m]
                    mean_f += kept[i, s, m] * f[s, m]
                reach = (greatest[m] + farthest[m]) / mean
                at_end_b = 0.0
                at_end_f = 0.0
                top = 0.0
                for s in range(states):
                    b[s, m] /= mean
                    f[s, m] = f[s, m] / mean - (mean_f / mean) * b[s, m]
                    at_end_b += kept[i, s, m] * abs(b[s, m] - 1.0)
                    at_end_f += kept[i, s, m] * abs(f[s, m])
                    top = max(top, b[s, m])
                spreads.masses[m] += mass_sums[m] / mean + at_end_b
                spreads.numerators[m] += numerator_sums[m] / mean + at_end_f
                spreads.numerators[m] += sizes[0, i // BLOCK, m] * reach
                spreads.numerators[m] += sizes[1, i // BLOCK, m] / mean
                spreads.tiny[m] += reach
                mass_sums[m] = 0.0
                numerator_sums[m] = 0.0
                greatest[m] = top
                farthest[m] = 0.0
                for s in range(states):
                    farthest[m] = max(farthest[m], abs(b[s, m] - 1.0))
