"""Moments of the counts of a corpus: those of its sentences, which are independent.

Cumulants of independent counts add up, and those of all sentences but one are the difference. So
with x = S - E[S] for the total S of the references' counts, E[T x^j] is a sum over sentences of
mixed moments of each with the moments of all others, and the value b T / D^a of totals is a series
in these (``trellis/moments.py``): what is left out is at most B E[(u x)^J], B being the greatest
absolute value that the file declares, D = d (1 + u x).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fsmeu.arrays import Floats, Ints
from fsmeu.expectation.corpus_query import Corpus, sentence_structure
from fsmeu.limits import FEW_COUNTED
from fsmeu.losses.algebra.ratios import Ratio, ratio_of_totals
from fsmeu.losses.semantics.domains import declared_range
from fsmeu.models import arc_weights_many
from fsmeu.trellis.engine import Structure
from fsmeu.trellis.moments import (
    BINOMIAL,
    PROMISED,
    central_moments,
    cumulants_of,
    jet_order,
    needed_order,
    series_of,
)
from fsmeu.trellis.roundings import UNIT, relative_error

_MOST_ORDER = 12
"""The highest order of moments of a corpus."""


@dataclass(frozen=True, eq=False)
class Counts:
    """Moments of the counts of the references of all sentences.

    Attributes:
        means: the expectation of each sentence's count, (sentences,).
        cumulants: its cumulants, (order + 1, sentences).
        most: the greatest count of each sentence, (sentences,).
    """

    means: Floats
    cumulants: Floats
    most: Floats

    @property
    def mean(self) -> float:
        """The expectation of the total."""
        return math.fsum(self.means)

    @property
    def deviation(self) -> float:
        """The standard deviation of the total."""
        return math.sqrt(max(0.0, math.fsum(self.cumulants[2])))

    def others(self, rows: Sequence[int] | slice) -> Floats:
        """Moments of all counts but one's own, centred, less one's own mean, (order + 1, rows).

        With the powers of the own count these make up the moments of x.
        """
        cumulants = self.cumulants
        rest = central_moments(cumulants.sum(axis=1, keepdims=True) - cumulants[:, rows])
        return shifted(rest, -self.means[rows])

    def sizes(self, series: Floats, u: float) -> Floats:
        """What roundings of moments are a part of, (sentences,).

        The sum over j of |series[j] u^j| times a bound on E|x|^j in which all that is added up and
        taken away counts: raw moments of a sentence are at most ``most`` to their power, and the
        cumulant of order r is a sum of at most r! products of them, about the mean.
        """
        reach, order = 2.0 * self.most, len(series)
        worst = [math.factorial(r) * float((reach**r).sum()) for r in range(order)]
        moments = central_moments(np.abs(self.cumulants.sum(axis=1)[:order]) + worst)
        moments[1] = math.sqrt(moments[2])
        found = np.zeros(len(reach))
        for j in range(order):
            terms = (BINOMIAL[j, a] * reach**a * moments[j - a] for a in range(j + 1))
            found += abs(series[j] * u**j) * sum(terms)
        return found


def counts_of(chances: Floats, most: Floats) -> Counts:
    """The moments of counts from E[count^j] / j! times the mass, (sentences, order + 1)."""
    raw = powers_of(chances / chances[:, :1]).T
    return Counts(raw[1], cumulants_of(shifted(raw, -raw[1])), most)


def powers_of(coefficients: Floats) -> Floats:
    """E[... count^j] from coefficients of polynomials, which are divided by j!: the last axis."""
    factors = np.array([float(math.factorial(j)) for j in range(coefficients.shape[-1])])
    found: Floats = coefficients * factors
    return found


def shifted(moments: Floats, by: Floats) -> Floats:
    """Moments of sums and a number, from those of the sums, (order + 1, ...)."""
    found = np.zeros_like(moments)
    for j in range(len(moments)):
        for i in range(j + 1):
            found[j] += BINOMIAL[j, i] * by ** (j - i) * moments[i]
    return found


def moment_value(corpus: Corpus, zs: Sequence[Ints]) -> tuple[float, float] | None:
    """The expected value of a corpus, hypotheses given, and a bound on its error.

    None where the value is no such ratio, or moments do not suffice for the promised precision.
    """
    form, sides = corpus.loss.split, declared_range(corpus.loss.bound, corpus.n)
    if form is None or len(form.joint_counts) != 1 or not all(map(math.isfinite, sides)):
        return None
    if corpus.n < FEW_COUNTED:
        return None
    order = 8  # four seldom suffice
    while order <= _MOST_ORDER:
        hyp, sums = _sums(corpus, zs, order)
        most = float(sums.counts.most.sum())
        ratio = ratio_of_totals(form, corpus.n, np.array([hyp]), most)
        if ratio is None or most < FEW_COUNTED:
            return None
        d = ratio.below[0, 0] + ratio.below[2, 0] * sums.counts.mean
        needed = needed_order(float(abs(ratio.below[2, 0] / d)) * sums.counts.deviation)
        if needed <= order:
            value, error = ratio_value(ratio, sums, order, max(map(abs, sides)))
            return (value, error) if error <= 100 * PROMISED * abs(value) else None
        order = jet_order(needed)
    return None


def ratio_value(ratio: Ratio, sums: Sums, order: int, largest: float) -> tuple[float, float]:
    """The expectation of a ratio of totals, for one total of hypotheses, and a bound on its error.

    The series goes up to ``order``; no absolute value is greater than ``largest``.
    """
    counts, power = sums.counts, ratio.power
    d = float(ratio.below[0, 0] + ratio.below[2, 0] * counts.mean)
    u, slope = float(ratio.below[2, 0]) / d, float(ratio.top[1, 0]) * d**-power
    series, others = series_of(power, 1.0, order), counts.others(slice(None))
    value = 0.0
    for j in range(order):
        terms = [BINOMIAL[j, a] * sums.joint[a] * others[j - a] for a in range(j + 1)]
        value += slope * series[j] * u**j * math.fsum(np.sum(terms, axis=0))
    rest = largest * float(central_moments(counts.cumulants.sum(axis=1))[order]) * u**order
    size = float(sums.roundings @ counts.sizes(series, u))
    return value, rest + abs(slope) * size + 64 * UNIT * abs(value)


@dataclass(frozen=True, eq=False)
class Sums:
    """Moments of all sentences, their hypotheses given.

    Attributes:
        counts: those of the references' counts.
        joint: E[joint count * count^j], (order + 1, sentences).
        roundings: bounds on the errors of joint counts, (sentences,).
    """

    counts: Counts
    joint: Floats
    roundings: Floats


def _sums(corpus: Corpus, zs: Sequence[Ints], order: int) -> tuple[float, Sums]:
    """The total of the hypotheses' counts, and the moments of all sentences up to an order."""
    found, (most, roundings) = np.zeros((len(zs), 2, order + 1)), np.zeros((2, len(zs)))
    hyp = np.zeros(len(zs), np.int64)
    for rows in corpus.alike():
        structure, n = sentence_structure(corpus, rows[0]), corpus.models[rows[0]].n
        most[rows] = structure.most(n)
        roundings[rows] = moment_roundings(structure, n, order) * structure.greatest(n)[0]
        layered = arc_weights_many([corpus.models[row] for row in rows])
        moments = structure.moments(order + 1)
        found[rows], hyp[rows] = moments.sums(layered, [zs[row] for row in rows])
    joint = powers_of(found[:, 1] / found[:, 0, :1]).T
    return float(hyp.sum()), Sums(counts_of(found[:, 0], most), joint, roundings)


def moment_roundings(structure: Structure, n: int, order: int) -> float:
    """A bound on the relative error of moments of sentences, and of series in them.

    A step multiplies by exp(t) once more than it does where counts are kept.
    """
    return relative_error(structure.roundings(n) + (n + 16) * (order + 8))
