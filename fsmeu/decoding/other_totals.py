"""Bounds on the values of all totals, by the best sums of scores at one of them.

At the total k of hypotheses the value is gain E[T (v + S)^-a] + offset; see ``decoding/lanes.py``.
Let the greatest A(k) of E[T (v_1 + S)^-a] be known by total for the v_1 of one total. With
r(S) = ((v_1 + S) / (v + S))^a,

    E[T (v + S)^-a]  =  E[T (v_1 + S)^-a r(S)]
                    <=  A(k) max r                                                             (i)

over the range of S. That is enough to exclude totals that are far. Near k_1, where r is almost the
same for all S, let m be about the mean of S, x = S - m and l the least S. By Taylor's theorem, for
r and for (v_1 + S)^-a,

    E[T (v + S)^-a]  <=  r(m) A(k)  +  |r'(m)| (v_1 + m)^-a |E[T x]|
                         +  (|r'(m)| a (v_1 + l)^(-a - 1)  +  max |r''| (v_1 + l)^-a / 2) E[T x^2],

    |E[T x]|  <=  sqrt(Var T) sqrt(E x^2)  +  E[T] |E x|                                      (ii)

by the inequality of Cauchy and Schwarz. Sentences are independent, and T_s of each is between 0 and
some g_s, so that Var T <= sum of E[T_s^2] <= E[T] max g_s: for many sentences, the correlation of T
and S is small beside E[T]. What (ii) adds to A(k) falls with the distance of k from k_1, as does
what the values lose, but by its square: mostly, no other total is left to be tried.

With w = v + S and d = v - v_1, r = (1 - d / w)^a,

    r'  = a (1 - d / w)^(a - 1) d / w^2,
    r'' = a (a - 1) (1 - d / w)^(a - 2) d^2 / w^4  -  2 a (1 - d / w)^(a - 1) d / w^3,

and 1 / (1 - d / w) = 1 + d / (v_1 + S) is at most q = max(1, 1 + d / (v_1 + l)).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fsmeu.arrays import Floats
from fsmeu.expectation.totals import RatioByTotal
from fsmeu.trellis.lanes import TAIL


@dataclass(frozen=True, eq=False)
class JointCounts:
    """What is known of T, the joint counts of all sentences."""

    expected: Floats  # bounds on E[T] by total, (k,)
    greatest: float  # a bound on T
    greatest_of_one: float  # a bound on that of each sentence
    labels: int  # those of all sentences: no count is greater


def values_by_one(ratio: RatioByTotal, joint: JointCounts, one: int, best: Floats) -> Floats:
    """Upper bounds on values by total, (k,), their errors of offsets and ages aside.

    Args:
        ratio: the value; its power is at most 1.
        joint: what is known of joint counts.
        one: the total whose v_1 the best sums belong to.
        best: upper bounds on E[T (v_1 + S)^-power] by total, (k,).
    """
    best = np.maximum(best, 0.0)
    bounds = np.minimum(best * _greatest_ratio(ratio, one), _by_moments(ratio, joint, one, best))
    values: Floats = ratio.gain * bounds + ratio.offset + TAIL * ratio.largest
    return values


def _greatest_ratio(ratio: RatioByTotal, one: int) -> Floats:
    """The greatest r(S) by total, (k,): that of the greatest S where v > v_1, of the least else."""
    end = np.where(ratio.v > ratio.v[one], ratio.reach.high, ratio.reach.low)
    factors: Floats = (ratio.v[one] + end) / np.maximum(ratio.v + end, 1e-300)
    return factors**ratio.power


def _by_moments(ratio: RatioByTotal, joint: JointCounts, one: int, best: Floats) -> Floats:
    """The right-hand side of the second inequality by total, (k,)."""
    a = ratio.power
    reach = ratio.reach
    v = ratio.v
    first = float(ratio.v[one])
    away = np.abs(v - first)  # |d|, (k,)
    low = np.maximum(v + reach.low, 1e-300)
    first_low = max(first + reach.low, 1e-300)
    centre = v + reach.mean
    first_centre = first + reach.mean
    most = np.maximum(1.0, 1.0 + (v - first) / first_low)  # q, (k,)
    slope = a * (centre / first_centre) ** (1.0 - a) * away / centre**2  # |r'(m)|
    bend = a * (1.0 - a) * most ** (2.0 - a) * away**2 / low**4
    bend += 2.0 * a * most ** (1.0 - a) * away / low**3  # at least |r''|
    # What lies outside of the range of S is no part of E[T x]; there, |T x| is at most this.
    outside = TAIL * joint.greatest * joint.labels
    first_moment = np.sqrt(joint.greatest_of_one * joint.expected) * reach.deviation
    first_moment += joint.expected * reach.bias + outside
    second_moment = joint.greatest * reach.deviation**2
    curved = slope * a * first_low ** (-a - 1.0) + bend * first_low**-a / 2.0
    bounds: Floats = (first_centre / centre) ** a * best
    bounds += slope * first_centre**-a * first_moment
    bounds += curved * second_moment
    return bounds * (1.0 + 1e-14)
