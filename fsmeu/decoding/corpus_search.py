"""Branch and bound over the total of the hypothesis's count.

For hypotheses with a given total k the expected value is a sum over sentences and steps: what a
step is worth is known from the joint distribution of its sentence with its reference's count, and
from the distribution of all other sentences' counts. One dynamic program gives the best worth of
every sentence for each count of its own, Lagrangian relaxation (``corpus_hulls``) the best sums for
every total. Near k the value of other totals is nearly a multiple of that (``spread``), so
that one such *cut* at k bounds the best value of every total from above, and that of many from
below. The total of the greatest upper bound is cut next, until no bound exceeds the best value that
is known.

The value of a corpus by the totals of both sides, as bounds over totals of the hypothesis need.

For a total k of the hypothesis and r of the reference the value is

    sum over q of  c_q g_q(k, r)  +  h(k, r)

with joint counts c_q. Losses are taken with the opposite sign, so that greater is better.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from fsmeu.arrays import Floats, Ints
from fsmeu.decoding.corpus_hulls import Hulls, best_with_total, hulls_of
from fsmeu.decoding.corpus_parts import Parts, tables_of, worths_at
from fsmeu.decoding.precision import PRECISION
from fsmeu.decoding.problem import Clock
from fsmeu.errors import SizeLimitError, message
from fsmeu.limits import WINDOW_CELLS
from fsmeu.losses.semantics.domains import declared_range
from fsmeu.trellis.roundings import relative_error
from fsmeu.trellis.tapes import values_at

__all__ = [
    "Bracket",
    "Spread",
    "Totals",
    "best_of_corpus",
    "in_window",
    "slopes_at",
    "spread",
    "totals_of",
]

CORPUS_VALUES = 1 << 31  # pairs of totals of both sides that are valued, block by block: a minute
CORPUS_TOTALS = 64  # totals that are decided one by one: near the best they hardly differ


@dataclass(frozen=True, eq=False)
class Totals:
    """What is known of the value for each total k of the hypothesis.

    Attributes:
        ends: E[h(k, R)] over the window of R, -inf where no hypothesis has this total, (K + 1,).
        slopes: E[g_q(k, R)], (counts, K + 1).
        errors: bounds on the error of ``ends`` by rounding, (K + 1,).
        below: what the references outside of the window may take from a value, at most 0.
        above: what they may add, at least 0.
    """

    ends: Floats
    slopes: Floats
    errors: Floats
    below: float
    above: float


def totals_of(parts: Parts, sign: float) -> Totals:
    """What is known of the value for each total of the hypothesis.

    Raises:
        SizeLimitError: there are very many totals.
    """
    size, joint = len(parts.hyp), parts.greatest.shape[1]
    chances = parts.whole.tables[0]
    if size * len(chances) > CORPUS_VALUES:
        must = f"the totals of both sides may make up to {CORPUS_VALUES:,} pairs"
        remedy = "Decide parts of the corpus"
        got = f"{size * len(chances):,}"
        raise SizeLimitError(message("decode_corpus", must, got, remedy))
    ends, absolute, slopes = np.zeros(size), np.zeros(size), np.zeros((joint, size))
    for ks, tables, offset in _tables(parts, np.arange(size), sign):
        ends[ks], absolute[ks] = offset @ chances, np.abs(offset) @ chances
        for mean, table in zip(slopes, tables, strict=True):
            mean[ks] = table @ chances
    ends[~parts.hyp] = -np.inf
    errors = relative_error(parts.whole.operations + len(chances) + 8) * absolute
    low, high = 0.0, 0.0
    if parts.whole.lost:
        sides = declared_range(parts.corpus.loss.bound, parts.corpus.n)
        low, high = min(sign * side for side in sides), max(sign * side for side in sides)
    lost = parts.whole.lost
    return Totals(ends, slopes, errors, lost * min(0.0, low), lost * max(0.0, high))


def slopes_at(parts: Parts, k: int, sign: float) -> Floats:
    """g_q(k, r) for every total r of the reference, (counts, R + 1)."""
    ref = np.arange(len(parts.ref))
    tables, _ = values_at(parts.form, parts.corpus.n, k, ref, parts.ref)
    return sign * np.array(tables).reshape(parts.greatest.shape[1], len(ref))


def in_window(parts: Parts, at: Floats) -> Floats:
    """The part of a table by totals of the reference that has mass, 0 elsewhere: its last axis."""
    low, width = parts.whole.low, parts.whole.tables.shape[1]
    found: Floats = at[:, low : low + width] * (parts.whole.tables[0] > 0)
    return found


@dataclass(frozen=True, eq=False)
class Spread:
    """Sums of g_q(k, .) E[c_q] are within ``away`` of sums of multiples of those at other totals.

    Attributes:
        factors: at least 0, one for each of the others and each k, (others, totals).
        away: one for each k.
    """

    factors: Floats
    away: Floats


def spread(parts: Parts, ks: Ints, others: Sequence[Floats], sign: float) -> Spread:
    """How g(k, .) is bounded by multiples of g at one or two other totals.

    Multiples of one other are the more exact the nearer it is; those of two, one on each side, are
    so to the second order. All that a bound needs is that no factor is negative.

    Args:
        parts: the sentences.
        ks: the totals.
        others: g_q(k', r) for each of the others and r in the window, (counts, width).
        sign: what values are multiplied by.
    """
    most = parts.expected.sum(axis=0) * (1.0 + 1e-9)  # bounds on E|c_q|
    factors, away = np.zeros((len(others), len(ks))), np.zeros(len(ks))
    if not len(most):
        return Spread(factors, away)
    weights = most * (np.abs(others[0]) @ parts.whole.tables[0])
    heaviest, begin = int(weights.argmax()), 0
    for some, tables, _ in _tables(parts, ks, sign):
        part = slice(begin, begin + len(some))
        begin += len(some)
        factors[:, part] = _factors(parts, tables[heaviest], [one[heaviest] for one in others])
        for q, (table, weight) in enumerate(zip(tables, most.tolist(), strict=True)):
            left = table.copy()
            for factor, other in zip(factors[:, part], others, strict=True):
                left -= np.multiply.outer(factor, other[q])
            rounding = relative_error(16) * np.abs(table).max(axis=1, initial=0.0)
            away[part] += weight * (np.abs(left).max(axis=1, initial=0.0) + rounding)
    return Spread(factors, away)


def _factors(parts: Parts, table: Floats, others: Sequence[Floats]) -> Floats:
    """The multiples of one other that has the same mean, or of two with the same two values.

    Args:
        parts: the sentences.
        table: g(k, r) for some k and r in the window, (totals, width).
        others: g(k', r) for each of the others, (width,).
    """
    chances = parts.whole.tables[0]
    if len(others) == 1:
        mean = float(others[0] @ chances)
        return np.maximum(
            0.0, (table @ chances)[None] / mean if mean else np.zeros((1, len(table)))
        )
    mass = np.cumsum(chances)
    places = np.searchsorted(mass, [0.16 * mass[-1], 0.84 * mass[-1]])
    pair = np.stack([other[places] for other in others], axis=1)  # (places, others)
    if abs(np.linalg.det(pair)) <= 1e-12 * np.abs(pair).max() ** 2:
        return np.zeros((2, len(table)))
    return np.maximum(0.0, np.linalg.solve(pair, table[:, places].T))


def _tables(parts: Parts, ks: Ints, sign: float) -> Iterator[tuple[Ints, list[Floats], Floats]]:
    """Blocks of totals with g_q(k, r) and h(k, r) for r in the window, (totals, width) each."""
    width = parts.whole.tables.shape[1]
    ref = np.arange(parts.whole.low, parts.whole.low + width)
    seen = parts.ref[ref] & (parts.whole.tables[0] > 0)
    size = max(1, WINDOW_CELLS // width)
    for begin in range(0, len(ks), size):
        some = ks[begin : begin + size]
        possible = parts.hyp[some][:, None] & seen
        slopes, offset = values_at(parts.form, parts.corpus.n, some[:, None], ref, possible)
        yield some, [sign * slope for slope in slopes], sign * offset


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
