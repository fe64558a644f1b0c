"""Kernels for moments of counts of long sequences of two labels.

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

__all__ = [
    "chain_jets",
    "chain_marginals",
    "cumulant_sums",
    "mixed_jets",
    "ranked_exponentials",
    "ranked_series",
]

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
    found = 0.0
    for power in range(r, -1, -1):
        found = found * q + polynomials[r, power]
    return found


@entry
def cumulant_sums(p: Floats, polynomials: Floats, sums: Floats) -> None:
    """Adds up cumulants of independent labels, compensated, and bounds of what they are summed of.

    Args:
        p: probabilities of ones, (n,).
        polynomials: cumulants of one label as polynomials of p, (J + 1, J + 1).
        sums: the sums, what they lost, and the sums of all terms without signs, (3, J + 1).
    """
    for i in range(len(p)):
        for r in range(1, sums.shape[1]):
            cumulant = _cumulant(p[i], r, polynomials)
            _add(sums[0], sums[1], r, cumulant)
            size = 0.0
            for power in range(r, -1, -1):
                size = size * p[i] + abs(polynomials[r, power])
            sums[2, r] += size


@inner
def _central(cumulants: Any, order: int, binomial: Any, found: Any) -> None:
    """Central moments 0, ..., order from cumulants 1, ..., order (the first is not looked at)."""
    found[0], found[1] = 1.0, 0.0
    for r in range(1, order):
        total = 0.0
        for i in range(1, r + 1):
            total += binomial[r, i] * cumulants[i + 1] * found[r - i]
        found[r + 1] = total


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
        polynomials: cumulants of one label as polynomials of p, (J + 1, J + 1).
        binomial: binomial coefficients.
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
    total = lost = share = more = 0.0
    for i in range(n):
        q = p[i] if forwards else p[n - 1 - i]
        term = np.log1p(q * less) if less > -0.5 else np.log((1.0 - q) + q * factor)
        after = total + term
        lost += (total - after) + term if abs(total) >= abs(term) else (term - after) + total
        total = after
        logs[i + 1] = total + lost
        term = q * factor / ((1.0 - q) + q * factor)
        after = share + term
        more += (share - after) + term if share >= term else (term - after) + share
        share = after
        shares[i + 1] = share + more


@entry
def ranked_exponentials(
    p: Floats, nodes: Floats, weights: Floats, off: float, top: Floats, below: Floats,
    amounts: Floats, values: Floats, errors: Floats,
) -> None:  # fmt: skip
    """The same for one ratio N / D^power by a sum of exponentials: E[N exp(-t D)] for each node t.

    Args:
        p: probabilities of ones, descending, (n,).
        nodes: the nodes t, (nodes,).
        weights: their weights, (nodes,).
        off: the relative error of the sum of exponentials.
        top: coefficients of N on 1, A and B, (3, n + 1).
        below: D without A and B, (n + 1,).
        amounts: the coefficients of D on A and B, the same for all k, (2,).
        values: the expected values are added here, (n + 1,).
        errors: bounds on their errors are added here, (n + 1,).
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
