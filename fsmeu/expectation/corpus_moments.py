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

from fsmeu.arrays import Floats
from fsmeu.expectation.corpus_query import Corpus
from fsmeu.expectation.corpus_sums import SentenceSums
from fsmeu.losses.algebra.ratios import ratio_of_totals
from fsmeu.losses.semantics.domains import declared_range
from fsmeu.trellis.moments import (
    BINOMIAL,
    PROMISED,
    central_moments,
    cumulants_of,
    needed_order,
    series_of,
)
from fsmeu.trellis.roundings import UNIT, relative_error

__all__ = ["Counts", "counts_of", "moment_value"]

_MOST_ORDER = 12
"""The highest order of moments of a corpus."""


@dataclass(frozen=True, eq=False)
class Counts:
    """The counts of the references of all sentences.

    Attributes:
        own: the distribution of the count of each sentence.
        means: its expectation, (sentences,).
        mean: that of the total.
        deviation: the standard deviation of the total.
    """

    own: list[Floats]
    means: Floats
    mean: float
    deviation: float

    def cumulants(self, order: int) -> Floats:
        """The cumulants of the sentences' counts, (order + 1, sentences)."""
        found = np.array([cumulants_of(_central(one, order)) for one in self.own])
        return np.ascontiguousarray(found.T)

    def others(self, cumulants: Floats, rows: Sequence[int] | slice, origin: Floats) -> Floats:
        """Moments of all counts but one's own, centred, plus origin less the own mean.

        An array (order + 1, rows): with the powers of the own count less the origin, these make up
        the moments of x.
        """
        rest = central_moments(cumulants.sum(axis=1, keepdims=True) - cumulants[:, rows])
        return shifted(rest, origin - self.means[rows])


def counts_of(sums: SentenceSums) -> Counts:
    """The counts of the references."""
    own = [window.tables[0] / window.tables[0].sum() for window in sums.windows]
    means = np.array([float(one @ np.arange(len(one))) for one in own])
    variance = math.fsum(float(_central(one, 2)[2]) for one in own)
    return Counts(own, means, math.fsum(means), math.sqrt(variance))


def _central(chances: Floats, order: int) -> Floats:
    """Central moments 0, ..., order of a count with these chances, (order + 1,)."""
    counts = np.arange(len(chances))
    powers = (counts - chances @ counts) ** np.arange(order + 1)[:, None]
    found: Floats = powers @ chances
    return found


def shifted(moments: Floats, by: Floats) -> Floats:
    """Moments of sums and a number, from those of the sums, (order + 1, ...)."""
    found = np.zeros_like(moments)
    for j in range(len(moments)):
        for i in range(j + 1):
            found[j] += BINOMIAL[j, i] * by ** (j - i) * moments[i]
    return found


def moment_value(corpus: Corpus, sums: SentenceSums) -> tuple[float, float] | None:
    """The expected value of a corpus, hypotheses given, and a bound on its error.

    None where the value is no such ratio, or moments do not suffice for the promised precision.
    """
    form, sides = corpus.loss.split, declared_range(corpus.loss.bound, corpus.n)
    if form is None or not sums.windows or not all(map(math.isfinite, sides)):
        return None
    most = float(sum(len(window.tables[0]) - 1 for window in sums.windows))
    ratio = ratio_of_totals(form, corpus.n, np.array([float(sums.hyp.sum())]), most)
    if ratio is None:
        return None
    counts, power = counts_of(sums), ratio.power
    d = float(ratio.below[0, 0] + ratio.below[2, 0] * counts.mean)
    u, slope = float(ratio.below[2, 0]) / d, float(ratio.top[1, 0]) * d**-power
    order = needed_order(abs(u) * counts.deviation, least=4)
    if order > _MOST_ORDER:
        return None
    cumulants = counts.cumulants(order)
    others = counts.others(cumulants, slice(None), counts.means)
    mixed, size = np.zeros(order), 0.0
    for row, window in enumerate(sums.windows):
        powers = (window.counts - counts.means[row]) ** np.arange(order)[:, None]
        own = powers @ window.tables[1] / window.tables[0].sum()
        size += float(np.abs(window.tables[1]).sum()) + float(sums.cancelled[row, 0])
        for j in range(order):
            mixed[j] += float((BINOMIAL[j, : j + 1] * own[: j + 1]) @ others[j::-1, row])
    value = slope * float((series_of(power, 1.0, order) * u ** np.arange(order)) @ mixed)
    rest = max(map(abs, sides)) * float(central_moments(cumulants.sum(axis=1))[order]) * u**order
    roundings = max(window.operations for window in sums.windows) + 32 * order + 64
    error = rest + 2 * relative_error(roundings) * abs(slope) * size + 64 * UNIT * abs(value)
    return (value, error) if error <= 100 * PROMISED * abs(value) else None
