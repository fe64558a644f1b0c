"""Quotients N / D^a of counts of independent labels, D counting items, and rules for D^-a.

The value is a sum of quotients (``losses/algebra/value.py``). Let z have k ones, A be the ones of y
where z has a one and B those where it has none. Given k, N and D are affine in A and B. Where D
falls with a count, zeros of y are counted instead; divided by a number it is then

    D = v + c_1 A + c_2 B,    v >= 0,  0 <= c_1, c_2 <= 1,

A and B being numbers of *items* now, with probabilities q = p or 1 - p. A rule (``rules.py``) has
D^-a = sum over nodes of w exp(-x D), and labels are independent, so that

    E[N w exp(-x D)] = w exp(-x v) prod_i f_i (a_0 + a_1 sum of s_i of z's ones + a_2 of others),
    f_i = 1 - q_i + q_i t,    s_i = q_i t / f_i,    t = exp(-x c_1) or exp(-x c_2).

Two tables stand apart, in which y has one label alone: what the file answers there is multiplied by
their probability. D lies within a window around its mean but for a probability of ``TAIL``
(Bernstein's inequality: items are independent and count at most 1): few nodes serve many labels.

``ranked.py`` values all k of ranked labels, ``given_labels.py`` given hypotheses.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from functools import lru_cache
from math import ceil, floor, log, log2
from typing import Any, NamedTuple

import numpy as np

from fsmeu.arrays import Floats, Ints
from fsmeu.losses.algebra.polynomial import NoFormError, Polynomial, at
from fsmeu.losses.algebra.value import Quotient, Value
from fsmeu.trellis.rules import Rule, wide_rule

TAIL = 1e-18  # the probability that D lies outside of its window
LEFT_OUT = 1e-13  # what a rule may leave out of a quotient, as a part
SMALL = 0.01  # logarithms and shares are power series in 1 - t where it times all q is so small
_ROUGH = 1e-11  # the same where all k are compared: the best is looked at again
_ALIKE = 1e-14  # quotients of coefficients that differ by less are the same
_UNSEEN = 1e-16  # what of a power series is not seen, as a part
_MOST_GAUSS = 32  # whole D up to which Gauss's rule on (0, 1) has fewer nodes than a wide one


class UnfitError(Exception):
    """A value that is no sum of quotients of the kind that rules serve."""


class Piece(NamedTuple):
    """A quotient N / D^power for consecutive k, D = shift + first A + second B counting items."""

    n: int
    ks: Floats  # the numbers of ones of z, (ks,)
    power: float
    shift: Floats  # v, (ks,)
    top: Floats  # coefficients of N on 1 and on both numbers of items, (3, ks)
    first: float  # what an item among the first k labels counts, from 0 to 1
    second: float  # what another item counts
    flips: tuple[bool, bool]  # whether items of both kinds are zeros of y

    @property
    def where(self) -> slice:
        """The k as a slice of 0, ..., n."""
        return slice(int(self.ks[0]), int(self.ks[-1]) + 1)

    @property
    def is_constant(self) -> bool:
        """Whether D counts nothing."""
        return not (self.first or self.second)

    @property
    def is_even(self) -> bool:
        """Whether D counts items of both kinds alike."""
        return self.first == self.second and self.flips[0] == self.flips[1]

    @property
    def least(self) -> Floats:
        """The least D that is not 0, (ks,)."""
        amounts = [amount for amount in (self.first, self.second) if amount]
        return np.where(self.shift > 0, self.shift, min(amounts, default=1.0))

    @property
    def greatest(self) -> Floats:
        """The greatest D, (ks,)."""
        return self.shift + self.first * self.ks + self.second * (self.n - self.ks)

    def mean_items(self, hits: Floats, mean: Any) -> tuple[Floats, Floats]:
        """The expected numbers of items of both kinds, (..., ks) each.

        Given the expected numbers of ones of y among the first k labels, (..., ks), and among all.
        """
        others = mean - hits
        return (
            self.ks - hits if self.flips[0] else hits,
            self.n - self.ks - others if self.flips[1] else others,
        )

    def window(self, items: tuple[Floats, Floats], reach: Any) -> tuple[Floats, Floats, Floats]:
        """E[D], and ends between which D lies but for ``TAIL``, (..., ks) each."""
        mean = self.shift + self.first * items[0] + self.second * items[1]
        low = np.maximum(mean - reach, self.least)
        high = np.minimum(mean + reach, self.greatest)
        return mean, low, np.maximum(high, low)

    def known(self, items: tuple[Floats, Floats]) -> Floats:
        """The expected value where D is a number, (..., ks), given the expected items."""
        top = self.top[0] + self.top[1] * items[0] + self.top[2] * items[1]
        known: Floats = top * self.shift**-self.power
        return known

    def items(self, p: Floats) -> tuple[Floats, Floats]:
        """P(label is an item) where z has a one, and where it has none, given P(1)."""
        return (1.0 - p if self.flips[0] else p), (1.0 - p if self.flips[1] else p)

    def of_some(self, which: slice | Ints) -> Piece:
        """The piece for some of its k."""
        return self._replace(ks=self.ks[which], shift=self.shift[which], top=self.top[:, which])


def pieces_of(quotient: Quotient, n: int, ks: Floats) -> Iterator[Piece]:
    """A quotient for consecutive k as pieces; an UnfitError where rules do not serve it."""
    try:
        top, below = (_by_counts(side, n, ks) for side in (quotient.top, quotient.below))
    except NoFormError as error:
        raise UnfitError from error
    scale = np.abs(below[1:]).max(axis=0)
    amounts = np.abs(below[1:]) / np.where(scale > 0, scale, 1.0)
    signs = np.sign(below[1:])
    breaks = np.flatnonzero((np.diff(signs, axis=1) != 0).any(axis=0)) + 1
    edges = [0, *breaks.tolist(), len(ks)]
    for begin, end in itertools.pairwise(edges):
        some = slice(begin, end)
        if not top[:, some].any():
            continue
        first, second = amounts[:, begin].tolist()
        if (np.abs(amounts[:, some] - amounts[:, begin : begin + 1]) > _ALIKE).any():
            raise UnfitError
        flips = (bool(signs[0, begin] < 0), bool(signs[1, begin] < 0))
        numerator = _in_items(top[:, some], flips, ks[some], n)
        shift = _in_items(below[:, some], flips, ks[some], n)[0]
        is_seen = shift > _ALIKE * n * np.abs(below[:, some]).max(axis=0)
        if not any(flips) and (shift[~is_seen] != 0).any():
            raise UnfitError  # D may be next to 0
        shift = np.where(is_seen, shift, 0.0)
        divisor = np.where(scale[some] > 0, scale[some], shift)
        numerator = numerator / divisor**quotient.power
        yield Piece(n, ks[some], quotient.power, shift / divisor, numerator, first, second, flips)


def _by_counts(of: Polynomial, n: int, ks: Floats) -> Floats:
    """Coefficients on 1, A and B for each k, (3, ks); one that cannot matter is the other."""
    rows = np.stack([np.broadcast_to(at(row, ks), ks.shape) for row in of.rows()])
    rows[1] += rows[2]  # A adds to tp and to ref
    if ks[-1] == 0.0:
        rows[1] = rows[2]
    if ks[0] == n:
        rows[2] = rows[1]
    return rows


def _in_items(rows: Floats, flips: tuple[bool, bool], ks: Floats, n: int) -> Floats:
    """Coefficients on 1 and on ones of y as those on 1 and on items."""
    rows = rows.copy()
    for row, (flip, count) in enumerate(zip(flips, (ks, n - ks), strict=True), start=1):
        if flip:  # ones are as many as there are labels without zeros
            rows[0] += rows[row] * count
            rows[row] *= -1.0
    return rows


def pieces_at(value: Value, ks: Floats) -> Iterator[Piece]:
    """The pieces of all quotients for k in ascending order; or an UnfitError."""
    for run, quotients in value.runs():
        some = ks[(ks >= run.start) & (ks < run.stop)]
        if len(some):
            for quotient in quotients:
                yield from pieces_of(quotient, value.n, some)


def rule_of_all(piece: Piece) -> Rule:
    """A rule for all D of a piece, whatever the labels are."""
    low = float(piece.least.min())
    high = float(piece.greatest.max())
    wide = 2.0 ** floor(log2(low)), 2.0 ** max(ceil(log2(high)), 1)
    return whole_rule(piece, 0) or _wide_rule(*wide, piece.power)


def whole_rule(piece: Piece, more: int) -> Rule | None:
    """A rule of few nodes, and some more, where all D are small whole numbers; else None."""
    high = float(piece.greatest.max())
    numbers = np.append(piece.shift, [piece.first, piece.second])
    if piece.power != 1.0 or high > _MOST_GAUSS or (numbers != np.rint(numbers)).any():
        return None
    return _gauss_rule(ceil(high / 2) + more)


@lru_cache(maxsize=256)
def _wide_rule(low: float, high: float, power: float) -> Rule:
    """A wide rule, its ends powers of 2, so that many lengths share it."""
    return wide_rule(low * (1.0 - 1e-12), max(high, 2 * low) * (1.0 + 1e-12), power, _ROUGH)


@lru_cache(maxsize=64)
def _gauss_rule(size: int) -> Rule:
    """Gauss and Legendre's rule: 1 / D is the integral of t^(D - 1), D = 1, ..., 2 size."""
    places, weights = np.polynomial.legendre.leggauss(size)
    t = (places + 1.0) / 2.0
    return Rule(-np.log(t), weights / (2.0 * t), 1.0)


def reach_of(variance: Any, tail: float = TAIL) -> Any:
    """How far from its mean a number of items lies, but for a probability (Bernstein)."""
    logs = log(2.0 / tail)
    return logs / 3 + np.sqrt(logs * logs / 9 + 2 * logs * variance)


# -- labels ----------------------------------------------------------------------------------------


def degenerate_at(value: Value, ks: Floats) -> Floats:
    """``Value.degenerate`` for k in ascending order, (2, ks)."""
    parts = ks[ks == 0], ks[(ks > 0) & (ks < value.n)], ks[ks == value.n]
    return np.concatenate([value.degenerate(part) for part in parts if len(part)], axis=1)


def degenerate_probabilities(p: Floats) -> Floats:
    """The probabilities that no label is a one, and that all are, (2, rows), P(1) being (rows, n).

    Those that are not seen beside others are 0.
    """
    ends = np.zeros((2, len(p)))
    for end, q in zip(ends, (p, 1.0 - p), strict=True):
        seen = (q.sum(axis=1) < -2.0 * log(TAIL)) & (q.max(axis=1) < 1.0)  # 1 - q <= exp(-q)
        if seen.any():
            end[seen] = np.exp(np.log1p(-q[seen]).sum(axis=1))
    return ends


def prefix_sums(of: Floats) -> Floats:
    """The sums of the first k numbers of rows, (..., n + 1)."""
    sums = np.zeros((*of.shape[:-1], of.shape[-1] + 1))
    np.cumsum(of, axis=-1, out=sums[..., 1:])
    return sums


def powers_seen(u: float) -> int:
    """How many powers of u are seen in a power series."""
    return 1 + ceil(log(_UNSEEN) / log(max(u, _UNSEEN)))
