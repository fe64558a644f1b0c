"""Branch and bound over the total of the hypothesis's count.

For hypotheses with a given total k the expected value is a sum over sentences and steps: what a
step is worth is known from the joint distribution of its sentence with its reference's count, and
from the distribution of all other sentences' counts. One dynamic program gives the best worth of
every sentence for each count of its own, Lagrangian relaxation (``corpus_hulls``) the best sums for
every total. Near k the value of other totals is nearly a multiple of that (``corpus_values``), so
that one such *cut* at k bounds the best value of every total from above, and that of many from
below. The total of the greatest upper bound is cut next, until no bound exceeds the best value that
is known.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fsmeu.decoding.clock import Clock
from fsmeu.decoding.corpus_hulls import Hulls, best_with_total, hulls_of
from fsmeu.decoding.corpus_parts import Parts, tables_of, worths_at
from fsmeu.decoding.corpus_values import (
    Totals,
    in_window,
    slopes_at,
    spread,
    totals_of,
)
from fsmeu.decoding.precision import PRECISION
from fsmeu.limits import CORPUS_TOTALS
from fsmeu.losses.semantics.domains import declared_range
from fsmeu.trellis.roundings import relative_error

__all__ = ["Bracket", "best_of_corpus"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(eq=False)
class Bracket:
    """What is known of the best expected value, greater being better.

    Attributes:
        upper: a bound on the best value for each total of the hypothesis, (K + 1,).
        lower: a bound from below on the best value.
        total: the total at which the best hypotheses that are known were found.
        ends: the counts of their sentences.
        cuts: the totals that were cut.
    """

    upper: Floats
    lower: float
    total: int
    ends: Ints
    cuts: list[int]


@dataclass(frozen=True, eq=False)
class _Cut:
    """The best hypotheses at a total.

    Attributes:
        total: the total.
        slopes: g_q(total, r) for r in the window, (counts, width).
        sums: bounds on the sum of worths of hypotheses with each total, (K + 1,).
        error: a bound on their error.
    """

    total: int
    slopes: Floats
    sums: Floats
    error: float


def best_of_corpus(
    parts: Parts, sign: float, gap: float, clock: Clock, tell: Callable[[float, float], None]
) -> Bracket:
    """The bracket of the best expected value.

    Args:
        parts: the sentences.
        sign: 1 where greater values are better, -1 where smaller ones are.
        gap: how far apart both bounds may stay.
        clock: the time that there is.
        tell: called after each cut with both bounds.
    """
    totals = totals_of(parts, sign)
    most = max(sign * side for side in declared_range(parts.corpus.loss.bound, parts.corpus.n))
    known = Bracket(np.where(parts.hyp, most, -np.inf), -np.inf, 0, np.zeros(0, np.int64), [])
    mean = float(parts.whole.counts @ parts.whole.tables[0])
    possible = np.flatnonzero(parts.hyp)
    k = int(possible[np.abs(possible - mean).argmin()])
    cuts: list[_Cut] = []
    while True:
        guess = _cut(parts, totals, known, cuts, k, sign)
        known.cuts.append(k)
        tell(known.lower, float(known.upper.max()))
        left = known.upper.copy()
        left[known.cuts] = -np.inf
        reach = known.lower + max(gap, PRECISION * abs(known.lower))
        # A total that was cut keeps its bound: where it is the greatest, others change nothing.
        if known.upper.max() <= reach or left.max() < known.upper.max():
            return known
        if len(known.cuts) >= CORPUS_TOTALS or clock.over():
            return known
        k = guess if left[guess] > reach else int(left.argmax())


def _cut(
    parts: Parts, totals: Totals, known: Bracket, cuts: list[_Cut], k: int, sign: float
) -> int:
    """Bounds the values of all totals by those of the best hypotheses at k.

    Returns:
        The total that seems best.
    """
    at = slopes_at(parts, k, sign)
    worths = worths_at(parts, at)
    tables = tables_of(parts, worths)
    hulls = hulls_of(tables)
    error = worths.error + relative_error(2 * len(hulls.knots) + 8) * hulls.size
    cut = _Cut(k, in_window(parts, at), hulls.bounds(len(parts.hyp)), error)
    active = np.flatnonzero(known.upper > known.lower)
    values, loose = _bounds(parts, totals, [cut], active, sign)
    known.upper[active] = np.minimum(known.upper[active], values + loose + totals.above)
    is_knot = np.isin(active, hulls.knots)
    reached = np.where(is_knot, values - loose + totals.below, -np.inf)
    best = int(reached.argmax())
    if reached[best] > known.lower:
        known.lower, known.total = float(reached[best]), k
        known.ends = hulls.ends(hulls.piece(int(active[best])))
    if known.upper[k] > known.lower and k not in hulls.knots:
        _meet(known, totals, tables, hulls, k, error)
    _between(parts, totals, known, cuts, cut, sign)
    cuts.append(cut)
    return int(active[values.argmax()])


def _between(
    parts: Parts, totals: Totals, known: Bracket, cuts: list[_Cut], cut: _Cut, sign: float
) -> None:
    """Lowers the bounds of totals between a new cut and its neighbours."""
    below = [one for one in cuts if one.total < cut.total]
    above = [one for one in cuts if one.total > cut.total]
    for near in (max(below, key=_total, default=None), min(above, key=_total, default=None)):
        if near is not None:
            low, high = sorted((near.total, cut.total))
            ks = low + 1 + np.flatnonzero(known.upper[low + 1 : high] > known.lower)
            values, loose = _bounds(parts, totals, [near, cut], ks, sign)
            known.upper[ks] = np.minimum(known.upper[ks], values + loose + totals.above)


def _total(cut: _Cut) -> int:
    return cut.total


def _bounds(
    parts: Parts, totals: Totals, cuts: Sequence[_Cut], ks: Ints, sign: float
) -> tuple[Floats, Floats]:
    """The best value of each total by one or two cuts, and how far off it may be."""
    near = spread(parts, ks, [cut.slopes for cut in cuts], sign)
    values, loose = totals.ends[ks], near.away + totals.errors[ks]
    for factor, cut in zip(near.factors, cuts, strict=True):
        values = values + factor * cut.sums[ks]
        loose = loose + factor * cut.error
    return values, loose


def _meet(
    known: Bracket, totals: Totals, tables: list[Floats], hulls: Hulls, k: int, error: float
) -> None:
    """Closes the gap between the relaxation and hypotheses with the total k, if that is quick."""
    loose = error + float(totals.errors[k])
    ends = float(totals.ends[k])
    enough = known.lower - ends + loose - totals.below
    found = best_with_total(tables, hulls, k, enough)
    if found is None:
        return
    best, counts = found
    known.upper[k] = min(known.upper[k], ends + best + loose + totals.above)
    if counts is not None:
        known.lower, known.total, known.ends = ends + best - loose + totals.below, k, counts
