"""Kernels for counts of long chains of two labels: their moments, and exponentials of them.

The state of a chain of order m is the number whose binary digits are the last m labels:
label y leads from s to (2 s + y) mod 2^m. All chains begin in state 0. ``steps`` are
P(y_i | state before), (n, 2^m, 2), and rows sum to 1. A *jet* of a random sum x is the vector
E[x^0], ..., E[x^J], here restricted to a state of the model: a number of the ring of polynomials
cut off at order J. Sums are centred position by position, so that nothing grows with the length but
what must. Adding an amount d to x is

    E[(x + d)^j] = sum over r of  C(j, r) d^(j - r) E[x^r].
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fsmeu.arrays import Floats, Ints
from fsmeu.trellis.compiled import entry, inner

MAKES_ARRAYS = True  # numba counts references here (``compiled.py``)
UNIT = 1.2e-16


@entry
def chain_marginals(steps: Floats, marginals: Floats) -> float:
    """The probabilities of ones under a chain of two labels, (n,), and a bound on their errors.

    Masses are divided by their sum at every position, so that roundings do not add up. What is off
    at a position fades as the chain forgets: m steps lead all states together with a probability
    of at least the product of  sum over l of min over s of w(l | s).
    """
    states = len(steps[0])
    mass, after = np.zeros(states), np.zeros(states)
    mass[0], together, contexts = 1.0, 1.0, 1
    error = most = 2 * states * UNIT
    for i in range(len(steps)):
        table, least_0, least_1, total = steps[i], 1.0, 1.0, 0.0
        after[:], marginals[i] = 0.0, 0.0
        for s in range(states):
            least_0, least_1 = min(least_0, table[s, 0]), min(least_1, table[s, 1])
            after[(2 * s) % states] += mass[s] * table[s, 0]
            after[(2 * s + 1) % states] += mass[s] * table[s, 1]
        for s in range(states):
            total += after[s]
        for s in range(states):
            mass[s] = after[s] / total
            if s & 1:
                marginals[i] += mass[s]
        together *= least_0 + least_1
        error += (2 * states + 8) * UNIT
        most, contexts = max(most, error), 2 * contexts
        if contexts == states:
            error *= max(0.0, 1.0 - together) * (1.0 + 1e-12)
            together, contexts = 1.0, 1
    return most


@inner
def _powers(amount: float, mean: float, order: int, binomial: Any, powers: Any) -> None:
    """powers[y, j, r] = C(j, r) d^(j - r), d = amount (y - mean), for both labels y."""
    for y in range(2):
        power = 1.0
        for gap in range(order + 1):
            for j in range(gap, order + 1):
                powers[y, j, j - gap] = binomial[j, j - gap] * power
            power *= amount * (y - mean)


@inner
def _shifted(jets: Any, row: int, shift: Any, y: int, order: int, into: Any, goal: int) -> None:
    """Fills a row of ``into`` with the jet of x + d, from a row of jets of x and powers of d."""
    for j in range(order + 1):
        total = 0.0
        for r in range(j + 1):
            total += shift[y, j, r] * jets[row, r]
        into[goal, j] = total


@inner
def _forward(
    steps: Any, marginals: Any, z: Any, amounts: Any, order: int, binomial: Any, jets: Any,
    kept: Any,
) -> float:  # fmt: skip
    """Fills ``jets`` with those at the end, (rows, J + 1); returns the greatest E[(x so far)^J].

    With each label, x adds amounts[0, z_i] (y_i - P(y_i = 1)), and v the same of amounts[1]. Rows
    are E[x^j] of all states, and E[v x^j] where there are as many again. ``kept`` gets the jets of
    x in states with y_i = 1 after each position, (n, 2^m / 2, J + 1), unless it is empty.
    """
    states, greatest = steps.shape[1], 0.0
    layers, after = len(jets) // states, np.zeros(jets.shape)
    mixed, shift = np.zeros((1, order + 1)), np.zeros((2, order + 1, order + 1))
    jets[0, 0] = 1.0
    for i in range(len(steps)):
        _powers(amounts[0, z[i]], marginals[i], order, binomial, shift)
        total = spread = 0.0
        for target in range(states):
            y, low = target & 1, target >> 1
            high = low + (states >> 1)
            u, v = steps[i, low, y], steps[i, high, y]
            for q in range(layers):
                for j in range(order + 1):
                    mixed[0, j] = u * jets[q * states + low, j] + v * jets[q * states + high, j]
                _shifted(mixed, 0, shift, y, order, after, q * states + target)
            total += after[target, 0]
        scale = 1.0 / total
        for s in range(states):
            for j in range(order + 1):
                jets[s, j] = after[s, j] * scale
            if layers == 2:
                gain = amounts[1, z[i]] * ((s & 1) - marginals[i])
                for j in range(order + 1):
                    jets[states + s, j] = (after[states + s, j] + gain * after[s, j]) * scale
            if len(kept) and s & 1:
                kept[i, s >> 1] = jets[s]
            spread += jets[s, order]
        greatest = max(greatest, spread)
    return greatest


@entry
def chain_jets(
    steps: Floats, marginals: Floats, z: Ints, amounts: Floats, order: int, binomial: Floats,
    totals: Floats,
) -> float:  # fmt: skip
    """Jets of a denominator and of its product with a numerator, z given: E[x^j] and E[v x^j].

    Both are centred, ``amounts`` being what x and v add with a one of y where z is 0 and 1, (2, 2).
    The jets are added to ``totals``, (2, J + 1). Returns the greatest E[(x so far)^J].
    """
    states = steps.shape[1]
    jets, none = np.zeros((2 * states, order + 1)), np.zeros((0, 1, order + 1))
    greatest = _forward(steps, marginals, z, amounts, order, binomial, jets, none)
    for row in range(2 * states):
        for j in range(order + 1):
            totals[row // states, j] += jets[row, j]
    return greatest


@entry
def mixed_jets(
    steps: Floats, marginals: Floats, order: int, binomial: Floats, total: Floats, mixed: Floats
) -> float:
    """E[x^j], (J + 1,), and E[y_i x^j] of all positions, (J, n), under a chain, x = ref - E[ref].

    As ``chain_jets``, forwards and backwards; J is even. Returns the greatest E[(x so far)^J].
    """
    n, states = len(steps), steps.shape[1]
    kept, jets = np.zeros((n, states >> 1, order + 1)), np.zeros((states, order + 1))
    z, amounts = np.zeros(n, np.int64), np.ones((1, 1))
    greatest = _forward(steps, marginals, z, amounts, order, binomial, jets, kept)
    after, moved = np.zeros((states, order + 1)), np.zeros((2, order + 1))
    shift = np.zeros((2, order + 1, order + 1))
    for s in range(states):
        for j in range(order + 1):
            total[j] += jets[s, j]
            jets[s, j] = 1.0 if j == 0 else 0.0  # from here on E[(x after i)^j | state]
    for i in range(n - 1, -1, -1):
        mixed[0, i] = marginals[i]  # a recursion that forgets; products of masses drift
        for j in range(1, order):
            x = 0.0
            for row in range(states >> 1):
                for r in range(j + 1):
                    x += binomial[j, r] * kept[i, row, r] * jets[2 * row + 1, j - r]
            mixed[j, i] = x
        _powers(1.0, marginals[i], order, binomial, shift)
        for s in range(states):
            for y in range(2):
                _shifted(jets, (2 * s + y) % states, shift, y, order, moved, y)
            for j in range(order + 1):
                after[s, j] = steps[i, s, 0] * moved[0, j] + steps[i, s, 1] * moved[1, j]
        jets, after = after, jets
    return greatest


@inner
def _farthest(steps: Any, each: float) -> float:
    """A bound on relative errors of masses to which every step adds ``each``, in any direction.

    A step leaves of Hilbert's projective distance of two masses the part tanh(d / 4), d being the
    logarithm of the greatest cross ratio of its weights (Birkhoff 1957). Factors of labels, as
    exp(-t y), cancel in cross ratios.
    """
    forward = backward = most = 0.0
    for i in range(len(steps)):
        for back in range(2):
            table, left = steps[len(steps) - 1 - i if back else i], 1.0
            if len(table) == 2:
                with_0, with_1 = table[0, 0] * table[1, 1], table[0, 1] * table[1, 0]
                if with_0 > 0.0 and with_1 > 0.0:
                    root = np.sqrt(max(with_0 / with_1, with_1 / with_0))
                    left = (root - 1.0) / (root + 1.0) * (1.0 + 1e-12)  # tanh(log(root^2) / 4)
            if back:
                backward = backward * left + each
            else:
                forward = forward * left + each
        most = max(most, forward, backward)
    return most


@entry
def tilted_chain(
    steps: Floats, z: Ints, amounts: Floats, nodes: Floats, logs: Floats, shares: Floats
) -> float:
    """log E[exp(-t S)], (nodes,), and E[y_i exp(-t S)] / E[exp(-t S)], (nodes, n), under a chain.

    S is the sum over i of amounts[z_i] y_i, and amounts, (2,), and the nodes t are at least 0.
    Masses are divided by their sums at every position, 1 less what a one takes: the logarithm is
    a sum of small numbers where ones are rare, and errors are a part of these. Returns a bound on
    the relative errors of ratios; that of a logarithm is twice as large at most.
    """
    n, states = len(steps), len(steps[0])
    kept, back, older = np.zeros((n + 1, states)), np.zeros(states), np.zeros(states)
    kept[0, 0] = 1.0
    for m in range(len(nodes)):
        log_sum = lost = 0.0
        factors, taken = np.exp(-nodes[m] * amounts), -np.expm1(-nodes[m] * amounts)
        for i in range(n):
            table, mass, after, ones, total = steps[i], kept[i], kept[i + 1], 0.0, 0.0
            after[:] = 0.0
            for s in range(states):
                one = mass[s] * table[s, 1]
                ones += one
                after[(2 * s) % states] += mass[s] * table[s, 0]
                after[(2 * s + 1) % states] += one * factors[z[i]]
            term, before = np.log1p(-taken[z[i]] * ones), log_sum
            log_sum = before + term
            lost += (before - log_sum) + term
            for s in range(states):
                total += after[s]
            for s in range(states):
                after[s] /= total
        logs[m] = log_sum + lost
        back[:] = 1.0
        for i in range(n - 1, -1, -1):
            ones = total = lot = 0.0
            for s in range(states):
                product = kept[i + 1, s] * back[s]
                lot += product
                if s & 1:
                    ones += product
            shares[m, i] = ones / lot
            for s in range(states):
                zero, one = back[(2 * s) % states], back[(2 * s + 1) % states] * factors[z[i]]
                older[s] = steps[i, s, 0] * zero + steps[i, s, 1] * one
                total += older[s]
            for s in range(states):
                back[s] = older[s] / total
    return (6 * states + 24) * UNIT + 2.0 * _farthest(steps, (2 * states + 12) * UNIT)
