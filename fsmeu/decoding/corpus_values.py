"""The value of a corpus by the totals of both sides, as bounds over totals of the hypothesis need.

For a total k of the hypothesis and r of the reference the value is

    sum over q of  c_q g_q(k, r)  +  h(k, r)

with joint counts c_q. Losses are taken with the opposite sign, so that greater is better.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fsmeu.decoding.corpus_parts import Parts
from fsmeu.errors import SizeLimitError, message
from fsmeu.limits import CORPUS_VALUES, WINDOW_CELLS
from fsmeu.losses.semantics.domains import declared_range
from fsmeu.trellis.roundings import relative_error
from fsmeu.trellis.tapes import values_at

__all__ = ["Spread", "Totals", "in_window", "slopes_at", "spread", "totals_of"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


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
