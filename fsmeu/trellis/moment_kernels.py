"""Kernels for counts of long sequences of two labels: their moments, and exponentials of them.

Independent labels: cumulants are added up, compensated, and the moments of all numbers of ones
follow from running sums; or the values are sums of exponentials, products over labels.
``polynomials`` are the cumulants of one label as polynomials of p, (J + 1, J + 1).

Chains: the state of a chain of order m is the number whose binary digits are the last m labels:
label y leads from s to (2 s + y) mod 2^m. All chains begin in state 0. ``steps`` are
P(y_i | state before), (n, 2^m, 2), and rows sum to 1. A *jet* of a random sum x is the vector
E[x^0], ..., E[x^J], here restricted to a state of the model: a number of the ring of polynomials
cut off at order J. Sums are centred position by position, so that nothing grows with the length but
what must. Adding an amount d to x is

    E[(x + d)^j] = sum over r of  C(j, r) d^(j - r) E[x^r].
"""

# ruff: noqa: D417

from __future__ import annotations

from typing import Any

import numpy as np

from fsmeu.arrays import Floats, Ints
from fsmeu.trellis.compiled import entry, inner

MAKES_ARRAYS = True  # numba counts references here (``compiled.py``)
UNIT = 1.2e-16


@inner
def _add(total: Any, lost: Any, row: int, term: float) -> None:
    """Adds a term to a compensated sum (Neumaier)."""
    before = total[row]
    after = before + term
    if abs(before) >= abs(term):
        lost[row] += (before - after) + term
    else:
        lost[row] += (term - after) + before
    total[row] = after


@inner
def _cumulant(q: float, r: int, polynomials: Any) -> float:
    """The cumulant of order r of a label that is a one with probability q."""
    value = 0.0
    for power in range(r, -1, -1):
        value = value * q + polynomials[r, power]
    return value


@entry
def cumulant_sums(p: Floats, polynomials: Floats, sums: Floats) -> None:
    """Adds up cumulants of independent labels with these probabilities of ones, compensated.

    ``sums`` are the sums, what they lost, and the sums of all terms without signs, (3, J + 1).
    """
    sizes = np.abs(polynomials)
    for i in range(len(p)):
        for r in range(1, sums.shape[1]):
            _add(sums[0], sums[1], r, _cumulant(p[i], r, polynomials))
            sums[2, r] += _cumulant(p[i], r, sizes)


@inner
def _central(cumulants: Any, order: int, binomial: Any, moments: Any) -> None:
    """Central moments 0, ..., order from cumulants 1, ..., order (the first is not looked at)."""
    moments[0], moments[1] = 1.0, 0.0
    for r in range(1, order):
        total = 0.0
        for i in range(1, r + 1):
            total += binomial[r, i] * cumulants[i + 1] * moments[r - i]
        moments[r + 1] = total


@entry
def ranked_series(
    p: Floats, begin: int, carried: Floats, totals: Floats, sizes: Floats, polynomials: Floats,
    binomial: Floats, ratios: Any, order: int, values: Floats, errors: Floats,
) -> None:  # fmt: skip
    """Expected sums of ratios where z has its ones at the first k positions, by central moments.

    Args:
        p: probabilities of ones, descending, (n,).
        begin: the first k.
        carried: sums of cumulants of the first ``begin`` labels, and what they lost, (2, J + 1);
            left as those of the last k.
        totals: cumulants of the sum of all labels, (J + 1,).
        sizes: bounds on its absolute moments, (J + 1,).
        ratios: numerators (R, 3, ks), denominators (R, 3, ks), powers (R,), bounds (R, ks).
        order: J, even.
        values: the expected values, (ks,).
        errors: bounds on remainders and roundings, (ks,).
    """
    tops, belows, powers, mosts = ratios
    first, last = np.zeros(order + 2), np.zeros(order + 2)
    ma, mb = np.zeros(order + 2), np.zeros(order + 2)
    x, xa, xb = np.zeros(order + 1), np.zeros(order + 1), np.zeros(order + 1)
    one, zero = np.ones(order + 1), np.ones(order + 1)
    for index in range(len(values)):
        k = begin + index
        if index > 0:
            q = p[k - 1]
            for r in range(1, order + 1):
                _add(carried[0], carried[1], r, _cumulant(q, r, polynomials))
        for r in range(1, order + 1):
            first[r] = carried[0, r] + carried[1, r]
            last[r] = totals[r] - first[r]
        _central(first, order, binomial, ma)
        _central(last, order, binomial, mb)
        values[index], errors[index] = 0.0, 0.0
        for ratio in range(len(powers)):
            top, below, power = tops[ratio, :, index], belows[ratio, :, index], powers[ratio]
            mean = top[0] + top[1] * first[1] + top[2] * last[1]
            size = abs(top[0]) + abs(top[1]) * first[1] + abs(top[2]) * totals[1]
            d = below[0] + below[1] * first[1] + below[2] * last[1]
            if d <= 0.0:
                errors[index] = np.inf
                continue
            wide = (abs(below[0]) + abs(below[1]) * first[1] + abs(below[2]) * totals[1]) / d
            deep = max(abs(below[1]), abs(below[2])) / d
            steep = abs(top[1]) + abs(top[2])
            for j in range(1, order + 1):
                one[j] = one[j - 1] * below[1] / d
                zero[j] = zero[j - 1] * below[2] / d
            for j in range(order + 1):
                s = sa = sb = 0.0
                for i in range(j + 1):
                    weight = binomial[j, i] * one[i] * zero[j - i]
                    s += weight * ma[i] * mb[j - i]
                    if j < order:
                        sa += weight * ma[i + 1] * mb[j - i]
                        sb += weight * ma[i] * mb[j - i + 1]
                x[j], xa[j], xb[j] = s, sa, sb
            factor, value, rounding, reach = d**-power, 0.0, 0.0, 1.0
            for j in range(order):
                value += factor * (mean * x[j] + top[1] * xa[j] + top[2] * xb[j])
                if j == 0:
                    rounding = 16.0 * wide * abs(factor) * size
                else:
                    reach *= deep
                    more = size * sizes[j] + steep * sizes[j + 1]
                    rounding += (64.0 + 16.0 * order) * wide * abs(factor) * reach * more
                factor *= -(power + j) / (j + 1)
            values[index] += value
            rest = abs(x[order]) + (64.0 + 16.0 * order) * UNIT * reach * deep * sizes[order]
            errors[index] += mosts[ratio, index] * rest + UNIT * rounding


@inner
def _tilted(p: Any, t: float, amount: float, forwards: bool, logs: Any, shares: Any) -> None:
    """Running sums over labels of log E[exp(-t amount y)] and of E[y exp(..)] / E[exp(..)]."""
    factor, less, n = np.exp(-t * amount), np.expm1(-t * amount), len(p)
    total, lost = np.zeros(2), np.zeros(2)
    for i in range(n):
        q = p[i] if forwards else p[n - 1 - i]
        _add(total, lost, 0, np.log1p(q * less) if less > -0.5 else np.log((1.0 - q) + q * factor))
        _add(total, lost, 1, q * factor / ((1.0 - q) + q * factor))
        logs[i + 1], shares[i + 1] = total[0] + lost[0], total[1] + lost[1]


@entry
def ranked_exponentials(
    p: Floats, nodes: Floats, weights: Floats, off: float, top: Floats, below: Floats,
    amounts: Floats, values: Floats, errors: Floats,
) -> None:  # fmt: skip
    """Adds the same for one ratio N / D^power, by a sum of exponentials: E[N exp(-t D)] of nodes t.

    ``top`` has coefficients of N on 1, A and B, (3, n + 1), ``below`` D without A and B, (n + 1,),
    and ``amounts`` those of D on A and B, the same for all k. The sum is off by a part of ``off``.
    """
    n = len(p)
    logs, shares = np.zeros((2, n + 1)), np.zeros((2, n + 1))
    for m in range(len(nodes)):
        t = nodes[m]
        _tilted(p, t, amounts[0], True, logs[0], shares[0])
        _tilted(p, t, amounts[1], False, logs[1], shares[1])
        for k in range(n + 1):
            a, b = logs[0, k], logs[1, n - k]
            exponent = a + b - t * below[k]
            if exponent < -700.0:
                continue
            mass = weights[m] * np.exp(exponent)
            with_a, with_b = top[1, k] * shares[0, k], top[2, k] * shares[1, n - k]
            values[k] += mass * (top[0, k] + with_a + with_b)
            size = abs(top[0, k]) + abs(with_a) + abs(with_b)
            digits = 32.0 + 4.0 * (abs(a) + abs(b) + t * abs(below[k]))
            errors[k] += (off + UNIT * digits) * mass * size


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
