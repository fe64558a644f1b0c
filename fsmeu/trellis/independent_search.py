"""Expected values of the numbers of ones that may be best, of many independent labels.

The ones of z are at the k most probable labels, and the value is a sum of ratios N / D^a of counts
(``independent.py`` has its expectation for given k). With P(D outside of [l, h]) <= q and
|N| / D^a <= M, E[N^+ / D^a] <= E[N^+] / l^a + M q for the terms of N that are positive, and as much
the other way round for those that are negative: bounds for whole blocks of k, from intervals of
their coefficients, exclude all but a neighbourhood of the best k, and only these are valued.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf, isfinite
from typing import NamedTuple

import numpy as np

from fsmeu import limits
from fsmeu.arrays import Floats, Ints
from fsmeu.losses.algebra.functions import Interval, known, rows_at
from fsmeu.losses.algebra.ratio_family import RatioFamily
from fsmeu.losses.algebra.ratios import degenerate_corners
from fsmeu.trellis.independent import (
    ENOUGH,
    TAIL,
    UNDERFLOW,
    Labels,
    UnfitError,
    add_piece,
    pieces_of,
    rule_at,
    value_at,
    wide_rule_of,
)
from fsmeu.trellis.roundings import LEAST
from fsmeu.trellis.rules import Rule

_CLOSE = 1e-10  # values whose bounds exceed the best by less than this part are not told apart
_SLOW = 0.7  # a part of the numbers that must be excluded for bounds to be looked at again
UNSEEN = 1e-25  # terms that are not seen beside a value


@dataclass(frozen=True, eq=False)
class RankedValues:
    """Expected values with ones at the k most probable labels, for some k, and bounds on others.

    Attributes:
        ks: the numbers of ones that are valued, (ks,).
        values: their expected values, (ks,).
        errors: bounds on their errors, (ks,).
        outside: a bound on the values of all other k, from above for a utility, which is the
            greater of them with the sign of the loss; minus infinity where there are none.
    """

    ks: Ints
    values: Floats
    errors: Floats
    outside: float


def ranked_values(
    family: RatioFamily, p: Floats, sign: float, unseen: float = UNSEEN
) -> RankedValues:
    """The expected values of the k that may be best; an UnfitError where rules do not serve.

    Args:
        family: the value as a sum of ratios.
        p: probabilities of ones, descending, (n,), n >= 2.
        sign: 1 where greater values are better, -1 where smaller ones are.
        unseen: terms of sequences without ones of y, or with nothing else, need not be computed up
            to this size: a bound on them is enough.
    """
    labels = Labels(p)
    degenerate = _degenerate_terms(family, labels, sign, unseen)
    near = _neighbourhood(family, labels, sign, degenerate)
    out = _values_between(family, labels, near, exact=False)
    _add_terms(degenerate, near, out)
    if not np.isfinite(out).all():
        raise UnfitError("expectations of ratios must be numbers that doubles hold")
    scores = sign * out[0]
    best = int(scores.argmax())
    enough = scores[best] - out[1, best] + _CLOSE * abs(scores[best])
    above = scores + out[1] > enough
    above[best] = True
    if out[1, best] > ENOUGH * abs(scores[best]) or np.count_nonzero(above) > 1:
        # A wide rule leaves out no more than it rounds, whatever the distance from the centre.
        rows = np.flatnonzero(above)
        some = slice(int(rows[0]), int(rows[-1]) + 1)
        fewer = near._replace(begin=near.begin + some.start, end=near.begin + some.stop - 1)
        again = _values_between(family, labels, fewer, exact=True)
        _add_terms(degenerate, fewer, again)
        out[:, some] = np.where(again[1] < out[1, some], again, out[:, some])
    ends = (value_at(0.0, family.none, labels), value_at(float(labels.n), family.all, labels))
    ks = np.concatenate([[0], np.arange(near.begin, near.end + 1), [labels.n]])
    values = np.concatenate([[ends[0].value], out[0], [ends[1].value]])
    errors = np.concatenate([[ends[0].error], out[1], [ends[1].error]])
    return RankedValues(ks, values, errors, near.outside)


class _Near(NamedTuple):
    """The k from ``begin`` to ``end``, one that seems best, and a bound on scores of all others."""

    begin: int
    end: int
    middle: int
    outside: float


def _values_between(family: RatioFamily, labels: Labels, near: _Near, *, exact: bool) -> Floats:
    """Values of ratios, and bounds on errors, (2, ks); by rules for all D if ``exact``."""
    out = np.zeros((2, near.end - near.begin + 1))
    rules: dict[tuple[int, tuple[bool, bool]], Rule | None] = {}  # those that serve every D
    for begin in range(near.begin, near.end + 1, limits.NUMBERS_AT_ONCE):
        end = min(begin + limits.NUMBERS_AT_ONCE, near.end + 1)
        ks = np.arange(begin, end, dtype=np.float64)
        for row, ratio in enumerate(family.ratios_at(ks)):
            for piece in pieces_of(labels.n, ks, ratio):
                first = int(piece.ks[0])
                key = (row, piece.flips)
                rule = rules.get(key)
                if piece.is_constant:
                    rule = None
                elif exact:
                    rule = wide_rule_of(piece)
                elif rule is None:
                    place = min(max(near.middle - first, 0), len(piece.ks) - 1)
                    rule = rule_at(piece, labels, place)
                    if rule is not None and rule.is_one_sided:
                        rules[key] = rule
                at = first - near.begin
                add_piece(piece, rule, labels, out[:, at : at + len(piece.ks)])
    return out


class _DegenerateTerms(NamedTuple):
    """What tables without ones of y, or with nothing else, add to values for k from 1 to n - 1."""

    sign: float
    terms: Floats  # (n - 1,), or (1,) where they are too small to be seen
    error: Floats  # bounds on their errors, of the same shape

    def at(self, begin: int, end: int) -> slice:
        """Where the terms of k from ``begin`` to ``end`` are."""
        return slice(0, 1) if len(self.terms) == 1 else slice(begin - 1, end)

    def least_score(self, k: int) -> float:
        """A lower bound on the term of k with the sign of the score."""
        at = self.at(k, k)
        return float((self.sign * self.terms[at] - self.error[at])[0])

    def greatest_scores(self, blocks: Interval) -> Floats:
        """Upper bounds on the terms of blocks of k with the sign of the score, (blocks,)."""
        scores = self.sign * self.terms + self.error
        if len(scores) == 1:
            return scores
        last = int(blocks.high[-1])
        return np.maximum.reduceat(scores[:last], blocks.low.astype(np.int64) - 1)


def _degenerate_terms(
    family: RatioFamily, labels: Labels, sign: float, unseen: float
) -> _DegenerateTerms:
    """The terms, computed where they can be seen or no bound is declared."""
    ends = family.form.bound.at(family.n).range
    greatest = max(map(abs, ends)) + sum(float(bounds.most.max()) for bounds in family.bounds)
    out = np.zeros((2, 1))
    for row, probability in enumerate(labels.degenerate):
        if isfinite(greatest) and probability.value * greatest <= unseen:
            out[1] += probability.value * greatest + UNDERFLOW
            continue
        out = out + np.stack(probability.times(family.degenerate[row]))
    return _DegenerateTerms(sign, out[0], out[1])


def _add_terms(degenerate: _DegenerateTerms, near: _Near, out: Floats) -> None:
    """Adds terms and bounds on their errors to (2, ks)."""
    at = degenerate.at(near.begin, near.end)
    out[0] += degenerate.terms[at]
    out[1] += degenerate.error[at]


def _neighbourhood(
    family: RatioFamily, labels: Labels, sign: float, degenerate: _DegenerateTerms
) -> _Near:
    """The numbers of ones, from 1 to n - 1, that are not excluded by bounds on blocks of them."""
    begin = 1
    end = labels.n - 1
    outside = -inf
    while True:
        width = -(-(end - begin + 1) // limits.COARSE_BLOCKS)
        lows = np.arange(begin, end + 1, width, dtype=np.float64)
        blocks = Interval(lows, np.minimum(lows + width - 1, end))
        middles = np.floor((blocks.low + blocks.high) / 2)
        middle = int(middles[_estimates(family, labels, sign, middles).argmax()])
        if end - begin < limits.FEW_NUMBERS:
            return _Near(begin, end, middle, outside)
        level = -float(_upper_bounds(family, labels, -sign, known(np.array([float(middle)])))[0])
        level += degenerate.least_score(middle)
        upper = _upper_bounds(family, labels, sign, blocks) + degenerate.greatest_scores(blocks)
        near = np.flatnonzero(upper >= level)
        first = int(near[0])
        last = int(near[-1])
        beyond = np.append(upper[:first], upper[last + 1 :])
        outside = max(outside, float(beyond.max(initial=-inf)))
        before = end - begin
        begin = int(blocks.low[first])
        end = int(blocks.high[last])
        if width == 1 or end - begin > _SLOW * before:
            return _Near(begin, end, middle, outside)


def _estimates(family: RatioFamily, labels: Labels, sign: float, ks: Floats) -> Floats:
    """The ratios of expectations with the sign of the score, (ks,)."""
    before = labels.ones_before(ks)
    scores = np.zeros(len(ks))
    for part in family.parts:
        counts = np.stack([np.ones(len(ks)), before, labels.mean - before])
        d = (rows_at(part.below, ks) * counts).sum(axis=0)
        top = (rows_at(part.top, ks) * counts).sum(axis=0)
        scores += sign * top * np.maximum(d, LEAST) ** -part.power
    return scores


def _upper_bounds(family: RatioFamily, labels: Labels, sign: float, ks: Interval) -> Floats:
    """Upper bounds on scores without what stands apart, for blocks of k, (blocks,)."""
    ones = Interval(labels.ones_before(ks.low), labels.ones_before(ks.high))
    mean = known(labels.mean)
    counts = (known(np.ones(1)), ones, mean - ones)
    bounds = np.zeros(len(ks.low))
    ends = degenerate_corners(family.n)
    for row, part in enumerate(family.parts):
        below = part.below.at(ks)
        uneven = (part.below.row(1) - part.below.row(2)).at(ks)[0]
        d = below[0] + below[2] * mean + uneven * ones
        room = labels.reach * below.size[1:].max(axis=0) * (1.0 + 1e-9) + 1e-9 * d.size
        least = family.least_of_blocks(row, ks)
        low = np.maximum(d.low - room, least) ** -part.power
        high = np.maximum(d.high + room, least) ** -part.power
        # Where D is 0, at a table that stands apart, N is 0, but its terms need not be.
        is_zero = ends.values(below, ks).low <= 0.0
        no_ones, all_ones = (
            np.where(zero, probability.value + probability.error, 0.0)
            for zero, probability in zip(is_zero, labels.degenerate, strict=True)
        )
        missing = (no_ones + all_ones, all_ones * ks.high, all_ones * (labels.n - ks.low))
        rows = zip(_signed(part.top.at(ks), sign), counts, missing, strict=True)
        for coefficient, count, less in rows:
            most = coefficient.high
            fewer = count.low * (1.0 - 1e-12) - TAIL * labels.n - less
            fewer = np.maximum(fewer, 0.0)
            bounds += np.maximum(most, 0.0) * count.high * (1.0 + 1e-12) * low
            bounds += np.minimum(most, 0.0) * fewer * high
        bounds += TAIL * family.most_of_blocks(row, ks)
    return bounds


def _signed(top: Interval, sign: float) -> Sequence[Interval]:
    """The coefficients of N with the sign of the score."""
    rows = [top[row] for row in range(3)]
    return rows if sign > 0 else [-row for row in rows]
