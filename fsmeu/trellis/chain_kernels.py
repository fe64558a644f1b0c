"""Kernels for moments of counts, and exponentials of them, under chains of two labels.

A *jet* of a random sum x is the vector E[x^0], ..., E[x^J], here restricted to a state of the
model: a number of the ring of polynomials cut off at order J. Sums are centred position by
position, so that nothing grows with the length but what must. Adding an amount d to x is

    E[(x + d)^j] = sum over r of  C(j, r) d^(j - r) E[x^r].
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fsmeu.arrays import Floats, Ints
from fsmeu.trellis.compiled import entry, inner

__all__ = ["chain_jets", "chain_marginals", "mixed_jets", "tilted_chain"]

UNIT = 1.2e-16


@entry
def chain_marginals(first: Floats, steps: Floats, n: int, marginals: Floats) -> float:
    """The probabilities of ones under a chain of two labels, and a bound on their errors.

    Rows count as normalised: masses are divided by their sum at every position, so that roundings
    do not add up. What is off at a position fades as the chain forgets: m steps lead all states
    together with a probability of at least the product of  sum over l of min over s of w(l | s).

    Args:
        first: the distribution of the first m labels, (S,), S = 2^m.
        steps: probabilities of the next label, (n - m or 1, S, 2).
        n: the length, at least m.
        marginals: P(y_i = 1), (n,).
    """
    states, order = len(first), 0
    while 1 << order < states:
        order += 1
    mass, after = first / first.sum(), np.zeros(states)
    for i in range(order):
        marginals[i] = 0.0
        for s in range(states):
            if (s >> (order - 1 - i)) & 1:
                marginals[i] += mass[s]
    error = most = states * UNIT
    together, taken = 1.0, 0
    for i in range(order, n):
        table = steps[0] if len(steps) == 1 else steps[i - order]
        after[:] = 0.0
        least_0 = least_1 = 1.0
        for s in range(states):
            row = table[s, 0] + table[s, 1]
            w0, w1 = table[s, 0] / row, table[s, 1] / row
            least_0, least_1 = min(least_0, w0), min(least_1, w1)
            after[(2 * s) % states] += mass[s] * w0
            after[(2 * s + 1) % states] += mass[s] * w1
        total = after.sum()
        marginals[i] = 0.0
        for s in range(states):
            mass[s] = after[s] / total
            if s & 1:
                marginals[i] += mass[s]
        together *= least_0 + least_1
        taken += 1
        error += (2 * states + 8) * UNIT
        most = max(most, error)
        if taken == order:
            error *= max(0.0, 1.0 - together) * (1.0 + 1e-12)
            together, taken = 1.0, 0
    return most


@inner
def _powers(d: float, order: int, binomial: Any, found: Any) -> None:
    """found[j, r] = C(j, r) d^(j - r)."""
    power = 1.0
    for gap in range(order + 1):
        for j in range(gap, order + 1):
            found[j, j - gap] = binomial[j, j - gap] * power
        power *= d


@entry
def chain_jets(
    first: Floats, steps: Floats, marginals: Floats, z: Ints, below: Floats, top: Floats,
    order: int, binomial: Floats, found: Floats,
) -> float:  # fmt: skip
    """Jets of a denominator and of its product with a numerator, z given, under a chain.

    Both are centred: x adds below[z_i] (y_i - P(y_i = 1)), and v adds top[z_i] (y_i - P(y_i = 1)).

    Args:
        first: the distribution of the first m labels, (S,), S = 2^m.
        steps: probabilities of the next label, (n - m or 1, S, 2).
        marginals: P(y_i = 1), (n,).
        z: the labels of the hypothesis, (n,).
        below: what a one of y adds to D where z has label 0 or 1, (2,).
        top: what it adds to N, (2,).
        order: J.
        binomial: binomial coefficients.
        found: E[x^j] and E[v x^j], (2, J + 1).

    Returns:
        The greatest E[(x so far)^J].
    """
    states, n, bits = len(first), len(z), 0
    while 1 << bits < states:
        bits += 1
    jets, after = np.zeros((2, states, order + 1)), np.zeros((2, states, order + 1))
    mixed, shift = np.zeros((2, order + 1)), np.zeros((2, order + 1, order + 1))
    mass = first / first.sum()
    for s in range(states):
        x = v = 0.0
        for i in range(bits):
            d = ((s >> (bits - 1 - i)) & 1) - marginals[i]
            x += below[z[i]] * d
            v += top[z[i]] * d
        power = mass[s]
        for j in range(order + 1):
            jets[0, s, j], jets[1, s, j] = power, v * power
            power *= x
    greatest = 0.0
    for i in range(bits, n):
        table = steps[0] if len(steps) == 1 else steps[i - bits]
        for y in range(2):
            _powers(below[z[i]] * (y - marginals[i]), order, binomial, shift[y])
        total = 0.0
        for target in range(states):
            y, low, high = target & 1, target >> 1, (target >> 1) + (states >> 1)
            w_low = table[low, y] / (table[low, 0] + table[low, 1])
            w_high = table[high, y] / (table[high, 0] + table[high, 1])
            for j in range(order + 1):
                mixed[0, j] = w_low * jets[0, low, j] + w_high * jets[0, high, j]
                mixed[1, j] = w_low * jets[1, low, j] + w_high * jets[1, high, j]
            gain = top[z[i]] * (y - marginals[i])
            for j in range(order + 1):
                x = v = 0.0
                for r in range(j + 1):
                    x += shift[y, j, r] * mixed[0, r]
                    v += shift[y, j, r] * mixed[1, r]
                after[0, target, j] = x
                after[1, target, j] = v + gain * x
            total += after[0, target, 0]
        spread = 0.0
        for s in range(states):
            for j in range(order + 1):
                jets[0, s, j] = after[0, s, j] / total
                jets[1, s, j] = after[1, s, j] / total
            spread += jets[0, s, order]
        greatest = max(greatest, spread)
    for s in range(states):
        for j in range(order + 1):
            found[0, j] += jets[0, s, j]
            found[1, j] += jets[1, s, j]
    return greatest


@entry
def mixed_jets(
    first: Floats, steps: Floats, marginals: Floats, order: int, binomial: Floats, total: Floats,
    mixed: Floats,
) -> float:  # fmt: skip
    """E[x^j] and E[y_i x^j] of all positions under a chain, x = ref - E[ref].

    As ``chain_jets``, forwards and backwards.

    Args:
        first: the distribution of the first m labels, (S,), S = 2^m.
        steps: probabilities of the next label, (n - m or 1, S, 2).
        marginals: P(y_i = 1), (n,).
        order: J, even.
        binomial: binomial coefficients.
        total: E[x^j], (J + 1,).
        mixed: E[y_i x^j], (J, n).

    Returns:
        The greatest E[(x so far)^J].
    """
    states, n, bits = len(first), len(marginals), 0
    while 1 << bits < states:
        bits += 1
    half = max(1, states >> 1)
    kept = np.zeros((n, half, order + 1))  # E[(x up to i)^j; state], states that end in a one
    start = np.zeros((states, order + 1))
    mass = first / first.sum()
    for s in range(states):
        x = 0.0
        for i in range(bits):
            x += ((s >> (bits - 1 - i)) & 1) - marginals[i]
        power = mass[s]
        for j in range(order + 1):
            start[s, j] = power
            power *= x
    jets, after = start.copy(), np.zeros((states, order + 1))
    combined, shift = np.zeros(order + 1), np.zeros((2, order + 1, order + 1))
    before = 0.0
    for i in range(bits, n):
        table = steps[0] if len(steps) == 1 else steps[i - bits]
        for y in range(2):
            _powers(y - marginals[i], order, binomial, shift[y])
        sum_of_masses = spread = 0.0
        for target in range(states):
            y, low = target & 1, target >> 1
            high = low + (states >> 1)
            w_low = table[low, y] / (table[low, 0] + table[low, 1])
            w_high = table[high, y] / (table[high, 0] + table[high, 1])
            for j in range(order + 1):
                combined[j] = w_low * jets[low, j] + w_high * jets[high, j]
            for j in range(order + 1):
                x = 0.0
                for r in range(j + 1):
                    x += shift[y, j, r] * combined[r]
                after[target, j] = x
            sum_of_masses += after[target, 0]
        for s in range(states):
            for j in range(order + 1):
                jets[s, j] = after[s, j] / sum_of_masses
                if s & 1:
                    kept[i, s >> 1, j] = jets[s, j]
            spread += jets[s, order]
        before = max(before, spread)
    for s in range(states):
        for j in range(order + 1):
            total[j] += jets[s, j]
    back, older = np.zeros((states, order + 1)), np.zeros((states, order + 1))
    moved = np.zeros((2, order + 1))
    back[:, 0] = 1.0  # E[(x after i)^j | state]
    for i in range(n - 1, bits - 1, -1):
        for j in range(order):
            x = 0.0
            for row in range(half):
                s = 2 * row + 1
                for r in range(j + 1):
                    x += binomial[j, r] * kept[i, row, r] * back[s, j - r]
            mixed[j, i] = x
        table = steps[0] if len(steps) == 1 else steps[i - bits]
        for y in range(2):
            _powers(y - marginals[i], order, binomial, shift[y])
        for s in range(states):
            for y in range(2):
                target = (2 * s + y) % states
                for j in range(order + 1):
                    x = 0.0
                    for r in range(j + 1):
                        x += shift[y, j, r] * back[target, r]
                    moved[y, j] = x
            row_sum = table[s, 0] + table[s, 1]
            w0, w1 = table[s, 0] / row_sum, table[s, 1] / row_sum
            for j in range(order + 1):
                older[s, j] = w0 * moved[0, j] + w1 * moved[1, j]
        for s in range(states):
            for j in range(order + 1):
                back[s, j] = older[s, j]
    for i in range(bits):
        for j in range(order):
            x = 0.0
            for s in range(states):
                if (s >> (bits - 1 - i)) & 1:
                    for r in range(j + 1):
                        x += binomial[j, r] * start[s, r] * back[s, j - r]
            mixed[j, i] = x
    for i in range(n):
        mixed[0, i] = marginals[i]  # a recursion that forgets; products of masses drift
    return before


@inner
def _farthest(steps: Any, n: int, order: int, each: float) -> float:
    """A bound on relative errors of masses to which every step adds ``each``, whatever the way.

    A step leaves of Hilbert's projective distance of two masses the part tanh(d / 4), d being the
    logarithm of the greatest cross ratio of its weights (Birkhoff 1957). Factors of labels, as
    exp(-t y), cancel in cross ratios.
    """
    forward = backward = most = 0.0
    for i in range(n - order):
        for back in range(2):
            place = n - order - 1 - i if back else i
            table, left = steps[min(place, len(steps) - 1)], 1.0
            if len(table) == 2 and min(table[0].min(), table[1].min()) > 0.0:
                cross = table[0, 0] * table[1, 1] / (table[0, 1] * table[1, 0])
                root = np.sqrt(max(cross, 1.0 / cross))
                left = (root - 1.0) / (root + 1.0) * (1.0 + 1e-12)  # tanh(log(cross) / 4)
            if back:
                backward = backward * left + each
            else:
                forward = forward * left + each
        most = max(most, forward, backward)
    return most


@entry
def tilted_chain(
    first: Floats, steps: Floats, z: Ints, amounts: Floats, nodes: Floats, logs: Floats,
    shares: Floats,
) -> float:  # fmt: skip
    """log E[exp(-t S)], and E[y_i exp(-t S)] / E[exp(-t S)], under a chain.

    S is the sum over i of amounts[z_i] y_i.

    Masses are divided by their sums at every position, 1 less what a one takes: the logarithm is
    a sum of small numbers where ones are rare, and errors are a part of these.

    Args:
        first: the distribution of the first m labels, (S,), S = 2^m.
        steps: probabilities of the next label, (n - m or 1, S, 2).
        z: the labels of the hypothesis, (n,).
        amounts: what a one of y adds where z has label 0 or 1, at least 0, (2,).
        nodes: the numbers t, at least 0, (nodes,).
        logs: the logarithms, (nodes,).
        shares: the ratios, (nodes, n).

    Returns:
        A bound on the relative errors of ratios; that of a logarithm is twice as large at most.
    """
    states, n, order = len(first), len(z), 0
    while 1 << order < states:
        order += 1
    kept, back, older = np.zeros((n, states)), np.zeros(states), np.zeros(states)
    far = (6 * states + 24) * UNIT + 2.0 * _farthest(steps, n, order, (2 * states + 12) * UNIT)
    for m in range(len(nodes)):
        t, found, more = nodes[m], 0.0, 0.0
        factors, taken = np.exp(-t * amounts), -np.expm1(-t * amounts)
        mass, after = first / first.sum(), np.zeros(states)
        total = 0.0
        for s in range(states):
            counted = 0.0
            for i in range(order):
                counted += amounts[z[i]] * ((s >> (order - 1 - i)) & 1)
            total += mass[s] * np.expm1(-t * counted)
            mass[s] *= np.exp(-t * counted)
        found = np.log1p(total)
        for s in range(states):
            mass[s] /= 1.0 + total
            kept[order - 1, s] = mass[s]
        for i in range(order, n):
            table = steps[0] if len(steps) == 1 else steps[i - order]
            factor, lost = factors[z[i]], taken[z[i]]
            after[:], ones = 0.0, 0.0
            for s in range(states):
                row = table[s, 0] + table[s, 1]
                w1 = mass[s] * (table[s, 1] / row)
                ones += w1
                after[(2 * s) % states] += mass[s] * (table[s, 0] / row)
                after[(2 * s + 1) % states] += w1 * factor
            term = np.log1p(-lost * ones)
            before = found
            found = before + term
            more += (before - found) + term
            total = after.sum()
            for s in range(states):
                mass[s] = after[s] / total
                kept[i, s] = mass[s]
        logs[m] = found + more
        back[:] = 1.0
        for i in range(n - 1, order - 1, -1):
            _share(kept[i], back, 0, shares, m, i)
            table = steps[0] if len(steps) == 1 else steps[i - order]
            factor, total = factors[z[i]], 0.0
            for s in range(states):
                row = table[s, 0] + table[s, 1]
                zero, one = back[(2 * s) % states], back[(2 * s + 1) % states] * factor
                older[s] = (table[s, 0] / row) * zero + (table[s, 1] / row) * one
                total += older[s]
            for s in range(states):
                back[s] = older[s] / total
        for i in range(order):
            _share(kept[order - 1], back, order - 1 - i, shares, m, i)
    return far


@inner
def _share(mass: Any, back: Any, bit: int, shares: Any, m: int, i: int) -> None:
    """The part of all masses times what follows that has a one at a bit of the state."""
    ones = total = 0.0
    for s in range(len(mass)):
        product = mass[s] * back[s]
        total += product
        if (s >> bit) & 1:
            ones += product
    shares[m, i] = ones / total
