"""Kernels for values of long sequences of independent labels of two kinds.

Cumulants of labels are added up, compensated, and the moments of all numbers of ones follow from
running sums; or the values are sums of exponentials, products over labels. ``polynomials`` are the
cumulants of one label as polynomials of p, (J + 1, J + 1).
"""

# ruff: noqa: D417

from __future__ import annotations

from typing import Any

import numpy as np

from fsmeu.arrays import Floats
from fsmeu.trellis.compiled import entry, inner

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
    """Adds up cumulants of independent labels with these probabilities of ones, compensated.

    ``sums`` are the sums, what they lost, and the sums of all terms without signs, (3, J + 1).
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
