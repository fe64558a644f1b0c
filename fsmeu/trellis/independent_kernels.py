"""Compiled sums over independent labels at the nodes of a rule (``independent.py`` has the proofs).

Labels are given by P(1) and P(0), both to their last digit: where items are ones of y, a label that
is an item with probability p and counts c at node x has the mass P(0) + p exp(-x c), and its
*share*, p exp(-x c) divided by that, is the expectation of the item tilted by the node.
"""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import numpy as np

from fsmeu.arrays import Floats
from fsmeu.jit import jit_entry, jit_helper
from fsmeu.twofold import UNIT

BLOCK = 64  # labels that are added up without compensation
LOG_UNITS = 500.0  # units of rounding of a logarithm of a mass, as a part of it
_EVEN_UNITS = 128.0  # of a term but for its exponents, where items count alike
_UNEVEN_UNITS = 640.0  # where they do not, and masses are products of a block
_SHIFT_UNITS = 8.0  # of x v in an exponent
_FEW = 1024  # labels whose mass is a plain product: 3.4e-13 at most
_NEGLIGIBLE = 800.0  # the exponential of less than its negative is 0

_entry = partial(jit_entry, fastmath={"contract"})
_helper = partial(jit_helper, fastmath={"contract"})


class Items(NamedTuple):
    """The probabilities with which labels are items, (n,), and with which they are not, (n,)."""

    probability: Floats
    other: Floats


class Numerators(NamedTuple):
    """Coefficients of N on 1, items of the first k labels, and items of the others, (ks,) each."""

    constant: Floats
    chosen: Floats
    others: Floats


class RuleByCount(NamedTuple):
    """The nodes of a rule, (M,), and what an item counts among the first k labels and the others.

    ``shifts`` are v, D without items, (ks,), and ``falls`` the weight of each node times
    exp(-x v), (M, ks). ``is_even`` says that all labels are items alike and count 1,
    and ``off`` is what the rule is off by, as a part of its value. ``cutoffs`` are masses up to
    which a node need not be looked at, (M,).
    """

    nodes: Floats
    falls: Floats
    shifts: Floats
    first: float
    second: float
    is_even: bool
    off: float
    cutoffs: Floats


@_helper
def _plus(total: float, lost: float, term: float) -> Any:
    """A sum with one more term, and what was lost of it (Knuth)."""
    after = total + term
    second = after - total
    return after, lost + ((total - (after - second)) + (term - second))


@_helper
def _product(probability: Any, other: Any, keep: float) -> float:
    """The product of other + probability * keep over labels."""
    even = 1.0
    odd = 1.0
    n = len(probability)
    for i in range(0, n - 1, 2):
        even *= other[i] + probability[i] * keep
        odd *= other[i + 1] + probability[i + 1] * keep
    if n % 2:
        even *= other[n - 1] + probability[n - 1] * keep
    return even * odd


@_helper
def _lack(probability: Any, less: float) -> float:
    """1 less the product of 1 - probability * less over labels, a sum of positive terms."""
    e0 = 0.0
    e1 = 0.0
    e2 = 0.0
    e3 = 0.0
    n = len(probability)
    fours = n - n % 4
    for i in range(0, fours, 4):
        e0 += probability[i] * less * (1.0 - e0)
        e1 += probability[i + 1] * less * (1.0 - e1)
        e2 += probability[i + 2] * less * (1.0 - e2)
        e3 += probability[i + 3] * less * (1.0 - e3)
    for i in range(fours, n):
        e0 += probability[i] * less * (1.0 - e0)
    e0 += e1 * (1.0 - e0)
    e2 += e3 * (1.0 - e2)
    return e0 + e2 * (1.0 - e0)


@_helper
def _log_mass(probability: Any, other: Any, begin: int, end: int, x: float) -> float:
    """The sum of log(other + probability exp(-x)) over labels, compensated between blocks.

    What a block lacks of 1 keeps its digits however small it is; where it is 1/2 or more, the
    product itself is taken.
    """
    less = -np.expm1(-x)
    keep = np.exp(-x)
    total = 0.0
    lost = 0.0
    for low in range(begin, end, BLOCK):
        high = min(low + BLOCK, end)
        chances = probability[low:high]
        others = other[low:high]
        lack = _lack(chances, less)
        if lack < 0.5:
            term = np.log1p(-lack)
        else:
            product = _product(chances, others, keep)
            term = np.log(product) if product > 1e-290 else -_NEGLIGIBLE
        total, lost = _plus(total, lost, term)
        if total < -_NEGLIGIBLE:
            return -_NEGLIGIBLE
    return total + lost


@_helper
def _mass(probability: Any, other: Any, x: float) -> Any:
    """The product of other + probability exp(-x) over labels, and the units of rounding of it.

    A product of few factors is taken as it is: three roundings each.
    """
    n = len(probability)
    if n <= _FEW:
        return _product(probability, other, np.exp(-x)), 3.0 * n
    log = _log_mass(probability, other, 0, n, x)
    return np.exp(log), LOG_UNITS * abs(log)


@_helper
def _share_sum(probability: Any, other: Any, begin: int, end: int, keep: float) -> float:
    """The sum of shares divided by exp(-x) = ``keep``, compensated between blocks."""
    total = 0.0
    lost = 0.0
    for low in range(begin, end, BLOCK):
        part = 0.0
        for i in range(low, min(low + BLOCK, end)):
            part += probability[i] / (other[i] + probability[i] * keep)
        total, lost = _plus(total, lost, part)
    return total + lost


@_entry
def log_masses(items: Items, nodes: Floats) -> Floats:
    """The logarithm of the probability generating function of the number of items, (M,)."""
    logs = np.empty(len(nodes))
    for m in range(len(nodes)):
        logs[m] = _log_mass(items.probability, items.other, 0, len(items.probability), nodes[m])
    return logs


@_entry
def prefix_sums(rows: Floats) -> Floats:
    """The sums of the first k numbers of rows, none below 0, k from 0 on, (rows, n + 1).

    Compensated between blocks, so that errors are 70 units of rounding at most.
    """
    sums = np.zeros((len(rows), rows.shape[1] + 1))
    for row in range(len(rows)):
        total = 0.0
        lost = 0.0
        for low in range(0, rows.shape[1], BLOCK):
            base = total + lost
            part = 0.0
            for i in range(low, min(low + BLOCK, rows.shape[1])):
                part += rows[row, i]
                sums[row, i + 1] = base + part
            total, lost = _plus(total, lost, part)
    return sums


@_helper
def _add_even(items: Any, rule: Any, tops: Any, first: int, values: Any, errors: Any) -> None:
    """Adds the terms of all nodes where items count alike, and bounds on their roundings.

    k goes from ``first`` on; rule.first is 1.
    """
    probability = items.probability
    other = items.other
    n = len(probability)
    count = len(values)
    quotients = np.zeros(BLOCK)
    shares = np.empty(BLOCK)
    has_others = tops.others.any()
    is_plain = not has_others and not tops.constant.any() and tops.chosen.min() >= 0.0
    mean = probability.sum()
    for m in range(len(rule.nodes)):
        x = rule.nodes[m]
        keep = np.exp(-x)
        if np.exp(0.99 * mean * np.expm1(-x)) <= rule.cutoffs[m]:  # 1 - p q <= exp(-p q)
            continue
        mass, units = _mass(probability, other, x)
        if mass <= rule.cutoffs[m]:
            continue
        digits = rule.off + UNIT * (_EVEN_UNITS + units)
        steep = UNIT * _SHIFT_UNITS * x
        total = _share_sum(probability, other, 0, first, keep)
        lost = 0.0
        whole = 0.0
        if has_others:
            whole = keep * (total + _share_sum(probability, other, first, n, keep))
        for begin in range(0, count, BLOCK):
            size = min(BLOCK, count - begin)
            used = min(size, n - first - begin)
            low = first + begin
            chances = probability[low : low + used]  # indices from 0 on: loops that need no checks
            others = other[low : low + used]
            for j in range(used):
                quotients[j] = chances[j] / (others[j] + chances[j] * keep)
            base = total + lost
            part = 0.0
            for j in range(used):
                shares[j] = (base + part) * keep
                part += quotients[j]
            if used < size:  # k = n
                shares[used] = (base + part) * keep
            if is_plain:
                falls = rule.falls[m, begin : begin + size]
                chosen = tops.chosen[begin : begin + size]
                shifts = rule.shifts[begin : begin + size]
                sums = values[begin : begin + size]
                bounds = errors[begin : begin + size]
                for j in range(size):
                    term = mass * falls[j] * shares[j] * chosen[j]
                    sums[j] += term
                    bounds[j] += (digits + steep * shifts[j]) * term
            else:
                for j in range(size):
                    k = begin + j
                    weight = mass * rule.falls[m, k]
                    with_a = tops.chosen[k] * shares[j]
                    with_b = tops.others[k] * (whole - shares[j])
                    values[k] += weight * (tops.constant[k] + with_a + with_b)
                    terms = abs(tops.constant[k]) + abs(with_a) + abs(tops.others[k]) * whole
                    errors[k] += (digits + steep * rule.shifts[k]) * weight * terms
            total, lost = _plus(total, lost, part)


@_helper
def _walk_chosen(items: Any, x: float, first: int, masses: Any, shares: Any) -> Any:
    """Fills masses and sums of shares of the first k labels, (ks,); the last logarithm of these."""
    probability = items.probability
    other = items.other
    n = len(probability)
    keep = np.exp(-x)
    log = _log_mass(probability, other, 0, first, x)
    log_lost = 0.0
    total = _share_sum(probability, other, 0, first, keep)
    lost = 0.0
    for begin in range(0, len(masses), BLOCK):
        end = min(begin + BLOCK, len(masses))
        mass = np.exp(log + log_lost)
        part = 0.0
        for k in range(begin, end):
            masses[k] = mass
            shares[k] = (total + lost + part) * keep
            i = first + k
            if i < n:
                weight = other[i] + probability[i] * keep
                mass *= weight
                part += probability[i] / weight
        total, lost = _plus(total, lost, part)
        term = _log_mass(probability, other, first + begin, min(first + end, n), x)
        log, log_lost = _plus(log, log_lost, term)
    return log


@_helper
def _walk_others(items: Any, x: float, first: int, masses: Any, shares: Any) -> Any:
    """Multiplies masses by those of labels after the first k, fills their shares, (ks,).

    Returns the greatest of the logarithms of the latter masses, without signs.
    """
    probability = items.probability
    other = items.other
    keep = np.exp(-x)
    count = len(masses)
    log = _log_mass(probability, other, first + count - 1, len(probability), x)
    log_lost = 0.0
    total = _share_sum(probability, other, first + count - 1, len(probability), keep)
    lost = 0.0
    for end in range(count, 0, -BLOCK):  # the numbers from begin to end - 1
        begin = max(0, end - BLOCK)
        mass = np.exp(log + log_lost)
        part = 0.0
        for k in range(end - 1, begin - 1, -1):
            masses[k] *= mass
            shares[k] = (total + lost + part) * keep
            i = first + k - 1
            if i >= 0:
                weight = other[i] + probability[i] * keep
                mass *= weight
                part += probability[i] / weight
        total, lost = _plus(total, lost, part)
        term = _log_mass(probability, other, max(first + begin - 1, 0), first + end - 1, x)
        log, log_lost = _plus(log, log_lost, term)
    return log


@_helper
def _add_uneven(chosen: Any, others: Any, rule: Any, tops: Any, first: int, out: Any) -> None:
    """Adds the same where items of the first k labels and of the others count differently.

    ``chosen`` and ``others`` are the items among the former and among the latter; ``out`` has the
    values and their errors, (2, ks).
    """
    count = out.shape[1]
    masses = np.empty(count)
    with_a = np.empty(count)
    with_b = np.empty(count)
    for m in range(len(rule.nodes)):
        x = rule.nodes[m]
        far = _walk_chosen(chosen, x * rule.first, first, masses, with_a)
        rest = _walk_others(others, x * rule.second, first, masses, with_b)
        far = min(abs(far) + abs(rest), 2 * _NEGLIGIBLE)
        digits = rule.off + UNIT * (_UNEVEN_UNITS + LOG_UNITS * far)
        steep = UNIT * _SHIFT_UNITS * x
        for k in range(count):
            weight = rule.falls[m, k] * masses[k]
            a = tops.chosen[k] * with_a[k]
            b = tops.others[k] * with_b[k]
            out[0, k] += weight * (tops.constant[k] + a + b)
            terms = abs(tops.constant[k]) + abs(a) + abs(b)
            out[1, k] += (digits + steep * rule.shifts[k]) * weight * terms


@_entry
def add_terms(
    chosen: Items, others: Items, rule: RuleByCount, tops: Numerators, first: int, out: Floats
) -> None:
    """Adds the sum over nodes of E[N weight exp(-x D)], and bounds on its roundings, to (2, ks).

    Args:
        chosen: the labels as items where they are among the first k.
        others: the same labels as items where they are not.
        rule: the nodes.
        tops: the numerators, for k = first, first + 1, ...
        first: the first k.
        out: values and errors.
    """
    if rule.is_even:
        _add_even(chosen, rule, tops, first, out[0], out[1])
    else:
        _add_uneven(chosen, others, rule, tops, first, out)


@_entry
def add_terms_of_rows(
    rows: Floats, flips: Any, rule: RuleByCount, tops: Numerators, first: int, out: Floats
) -> None:
    """Adds the same for rows of labels, P(1) descending, (rows, n), to (rows, 2, ks).

    ``flips`` says whether items of the first k labels and of all others are zeros of y.
    """
    for row in range(len(rows)):
        ones = rows[row]
        zeros = 1.0 - ones
        plain = Items(ones, zeros)
        turned = Items(zeros, ones)
        chosen = turned if flips[0] else plain
        others = turned if flips[1] else plain
        if rule.is_even:
            _add_even(chosen, rule, tops, first, out[row, 0], out[row, 1])
        else:
            _add_uneven(chosen, others, rule, tops, first, out[row])


@_entry
def add_degenerate_of_rows(rows: Floats, degenerate: Floats, out: Floats) -> None:
    """Adds what a value is more without ones of y, and with nothing else, to (rows, 2, n + 1)."""
    for row in range(len(rows)):
        ones = rows[row]
        zeros = 1.0 - ones
        for flip in range(2):
            probability = zeros if flip else ones
            other = ones if flip else zeros
            more = degenerate[flip]
            log = _log_mass(probability, other, 0, len(ones), np.inf)
            mass = np.exp(log)
            digits = UNIT * (LOG_UNITS * abs(log) + 8.0) * mass
            for k in range(len(more)):
                out[row, 0, k] += mass * more[k]
                out[row, 1, k] += digits * abs(more[k])
