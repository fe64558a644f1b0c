"""Expectations of ratios of counts of independent labels, at the nodes of a rule.

The value of a table is a sum of ratios N / D^a (``losses/algebra/ratios.py``). With k ones of z, A
ones of y among them and B among the other positions, N and D are affine in A and B. Counting zeros
of y in place of ones where a coefficient of D is negative, and dividing D by a number, makes it

    D = v + c_1 A + c_2 B,    v >= 0,  0 <= c_1, c_2 <= 1,

A and B being numbers of *items* now, whose probabilities are p or 1 - p. A rule (``rules.py``) has
D^-a = sum over nodes of w exp(-x D) + R(D), and labels are independent, so that

    E[N w exp(-x D)] = w exp(-x v) prod_i f_i (a_0 + a_1 sum_first s_i + a_2 sum_others s_i),
    f_i = 1 - p_i + p_i t,    s_i = p_i t / f_i,    t = exp(-x c_1) or exp(-x c_2):

for all k together, running sums. Kernels: ``independent_kernels.py``.

**Remainder.** Let P(D outside of [l, h]) <= q, and |N| / D^a <= M. For a one-sided rule 0 <= R, and
R <= D^-a, so that |E[N R]| <= E|N| max R over [l, h] + M q. Items are independent and D counts each
at most once, so that Bernstein's inequality gives l and h = E[D] -+ c from the variance s^2 of all
labels: q = 2 exp(-c^2 / (2 (s^2 + c / 3))). Tables with D = 0 have N = 0 and add nothing. A wide
rule is off by a part of E[|N| D^-a], whatever the distribution.

**Roundings**, in units u = 2^-53, to first order. (1) A block of 64 labels lacks e of the mass 1;
e' = e + p q (1 - e), q = -expm1(-x), is a sum of positive terms in four chains of 16 and 3 sums
that join them: its relative error is below 40 u, and that of log1p(-e), e < 1/2, below 60 u. For
e >= 1/2 the product of 64 sums of positive numbers is off by 320 u, and its logarithm, below
-log 2, by a part of 462 u. Blocks are added up compensated. So the logarithm of a mass is off by a
part of 500 u, and |log| is about x E[items], which is a on the average over a rule's terms: in all,
5e-14 whatever the length. (2) A share is a quotient of sums of positive numbers, 7 u; 64 of them
are added plainly, blocks compensated: 75 u. (3) exp(-x v) is off by 8 u x v. Where c_1 and c_2
differ, masses within a block are products, 256 u for each side. Every term of every node adds its
own bound to the error, with N's terms without signs: no digit is taken for granted.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import pairwise
from math import ceil, exp, floor, inf, log, log2, sqrt
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from fsmeu.arrays import Floats, Ints
from fsmeu.losses.algebra.confusion import Confusion, keeps_digits
from fsmeu.losses.algebra.ratio_family import RatioFamily
from fsmeu.losses.algebra.ratios import Ratio, RatioSum, ratios_of_number
from fsmeu.trellis.count_tables import RowValues
from fsmeu.trellis.roundings import BoundedValue, DegenerateProbabilities
from fsmeu.trellis.rules import Rule, rule_for, wide_rule
from fsmeu.twofold import UNIT

if TYPE_CHECKING:
    from fsmeu.trellis.independent_kernels import Items, Numerators, RuleByCount

ENOUGH = 1e-13  # an error that is this part of the value is not made smaller
TAIL = 1e-20  # the probability that D lies outside of the window where a rule is bounded
_EPS = 1e-14  # what a one-sided rule may leave out, as a part of the value
_WIDE_EPS = 1e-14  # what a wide rule may leave out
_EVALUATED = 64 * UNIT  # what rounding of nodes and weights takes from a rule's value, as a part
UNDERFLOW = 1e-290  # a bound on a factor of terms that are too small for doubles
_SKIPPED = 1e-20  # terms of a node that are not looked at, as a part of the sum of all
_ALIKE = 8 * UNIT  # quotients of coefficients that differ by less are the same

_UNEVEN = "the denominator must weigh ones of y alike whatever the number of ones of z"


class UnfitError(Exception):
    """A value that is no sum of ratios of the kind that rules serve."""


# -- ratios whose denominator counts items ---------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Piece:
    """A ratio N / D^power for consecutive k, D = shift + first A + second B counting items.

    Attributes:
        length: n.
        ks: the numbers of ones of z, (ks,).
        power: a.
        shifts: v, (ks,).
        top: coefficients of N on 1 and both numbers of items, (3, ks).
        first: what an item among the first k labels counts, from 0 to 1.
        second: what another item counts.
        flips: whether items of both kinds are zeros of y.
        most: bounds on the absolute value of the ratio, (ks,).
    """

    length: int
    ks: Floats
    power: float
    shifts: Floats
    top: Floats
    first: float
    second: float
    flips: tuple[bool, bool]
    most: Floats

    @property
    def is_constant(self) -> bool:
        """Whether D counts nothing."""
        return not (self.first or self.second)

    @property
    def is_even(self) -> bool:
        """Whether D counts items of both kinds alike."""
        return self.first == self.second == 1.0 and self.flips[0] == self.flips[1]

    @property
    def least(self) -> Floats:
        """The least D that is not 0, (ks,)."""
        return np.where(self.shifts > 0, self.shifts, min(self.first, self.second))

    @property
    def greatest(self) -> Floats:
        """The greatest D, (ks,)."""
        return self.shifts + self.first * self.ks + self.second * (self.length - self.ks)

    def mean_items(self, before: Floats, mean: Any) -> tuple[Floats, Floats]:
        """The expected numbers of items of both kinds, (..., ks) each.

        Given the expected numbers of ones of y among the first k labels, (..., ks), and among all.
        """
        others = mean - before
        n_others = self.length - self.ks
        return (
            self.ks - before if self.flips[0] else before,
            n_others - others if self.flips[1] else others,
        )

    def known_values(self, before: Floats, mean: Any) -> tuple[Floats, Floats]:
        """Expectations where D is constant, and bounds on errors, (..., ks), as ``mean_items``."""
        scale = self.shifts**-self.power
        items = self.mean_items(before, mean)
        values = scale * (self.top[0] + self.top[1] * items[0] + self.top[2] * items[1])
        size = np.abs(self.top)
        # Items of the others are those of all labels without those of the first.
        size = size[0] + size[1] * items[0] + size[2] * mean
        return values, 100 * UNIT * scale * size

    def part(self, which: slice) -> Piece:
        """The piece for some of its k."""
        ks = self.ks[which]
        return Piece(
            self.length, ks, self.power, self.shifts[which], self.top[:, which], self.first,
            self.second, self.flips, self.most[which],
        )  # fmt: skip


def pieces_of(n: int, ks: Floats, ratio: Ratio) -> list[Piece]:
    """The ratio for consecutive k as pieces; an UnfitError where rules do not serve it.

    Args:
        n: the length.
        ks: numbers of ones of z, (ks,).
        ratio: the ratio for these.
    """
    top = ratio.top
    below = ratio.below
    if ks[0] in (0.0, float(n)):  # one of the counts is 0, whatever its coefficient
        used_row = 2 if ks[0] == 0.0 else 1
        top = top[[0, used_row, used_row]]
        below = below[[0, used_row, used_row]]
    scale = np.abs(below[1:]).max(axis=0)
    used = np.where(scale > 0, scale, 1.0)
    amounts = np.abs(below[1:]) / used
    signs = np.sign(below[1:])
    breaks = (np.diff(signs, axis=1) != 0).any(axis=0)
    if (np.abs(np.diff(amounts, axis=1)).max(axis=0, initial=0.0)[~breaks] > _ALIKE).any():
        raise UnfitError(_UNEVEN)
    edges = [0, *(np.flatnonzero(breaks) + 1).tolist(), len(ks)]
    pieces = []
    for begin, end in pairwise(edges):
        at = slice(begin, end)
        flips = (bool(signs[0, begin] < 0), bool(signs[1, begin] < 0))
        numerator = top[:, at].copy()
        shifts = below[0, at].copy()
        for row, (flip, count) in enumerate(zip(flips, (ks[at], n - ks[at]), strict=True), start=1):
            if flip:  # ones are as many as there are labels without zeros
                shifts = shifts + below[row, at] * count
                numerator[0] = numerator[0] + numerator[row] * count
                numerator[row] = -numerator[row]
        terms = np.abs(below[0, at]) + np.abs(below[1, at]) * ks[at]
        terms += np.abs(below[2, at]) * (n - ks[at])
        if ((shifts != 0) & (shifts < _ALIKE * n * terms)).any():
            raise UnfitError(_UNEVEN)
        first = float(amounts[0, begin])
        second = float(amounts[1, begin])
        divisor = np.where(scale[at] > 0, scale[at], shifts)
        if (divisor <= 0).any() or ((shifts == 0) & (min(first, second) == 0)).any():
            if len(ks) > 1 or divisor[0] > 0 or numerator.any():
                raise UnfitError(_UNEVEN)
            continue  # one k, and D is 0 at all of its tables: the ratio is 0
        if not numerator.any():
            continue
        shifts = shifts / divisor
        numerator = numerator / divisor**ratio.power
        most = ratio.most[at]
        piece = Piece(n, ks[at], ratio.power, shifts, numerator, first, second, flips, most)
        pieces.append(piece)
    return pieces


# -- labels ----------------------------------------------------------------------------------------


class Labels:
    """Independent labels in an order: the first k are those where z has ones.

    Attributes:
        ones: P(1) of each label, (n,).
        n: how many there are.
    """

    def __init__(self, ones: Floats) -> None:
        self.ones = np.ascontiguousarray(ones)
        self.n = len(ones)

    @cached_property
    def _items(self) -> tuple[Items, Items]:
        from fsmeu.trellis.independent_kernels import Items

        zeros = 1.0 - self.ones
        return Items(self.ones, zeros), Items(zeros, self.ones)

    def items(self, flip: bool) -> Items:
        """The labels as items: ones, or zeros where ``flip``."""
        return self._items[flip]

    @cached_property
    def _sums(self) -> Floats:
        from fsmeu.trellis.independent_kernels import prefix_sums

        sums: Floats = prefix_sums(self.ones[None])[0]
        return sums

    def ones_before(self, ks: Floats) -> Floats:
        """The expected number of ones among the first k labels, (ks,)."""
        return self._sums[ks.astype(np.int64)]

    @property
    def mean(self) -> float:
        """The expected number of ones."""
        return float(self._sums[-1])

    def mean_items(self, piece: Piece) -> tuple[Floats, Floats]:
        """The expected numbers of items of both kinds, (ks,) each."""
        return piece.mean_items(self.ones_before(piece.ks), self.mean)

    def sizes(self, piece: Piece) -> Floats:
        """Bounds on E|N| of a piece, (ks,)."""
        items = self.mean_items(piece)
        size = np.abs(piece.top)
        bounds: Floats = size[0] + size[1] * items[0] + size[2] * items[1]
        return bounds

    @cached_property
    def reach(self) -> float:
        """How far from its mean a number of items lies, but for a probability of ``TAIL``."""
        items = self.items(False)
        variance = float(np.einsum("i,i->", items.probability, items.other)) * (1.0 + 1e-6)
        logs = log(2 / TAIL)
        return logs / 3 + sqrt(logs * logs / 9 + 2 * variance * logs)

    @cached_property
    def degenerate(self) -> DegenerateProbabilities:
        """The probabilities that no label is a one, and that all are."""
        from fsmeu.trellis.independent_kernels import LOG_UNITS, log_masses

        degenerate = []
        for flip in (False, True):
            total = float(log_masses(self.items(flip), np.array([inf]))[0])
            probability = exp(total)
            degenerate.append(
                BoundedValue(probability, (LOG_UNITS * abs(total) + 4) * UNIT * probability)
            )
        return DegenerateProbabilities(*degenerate)

    def window(self, piece: Piece) -> tuple[Floats, Floats, Floats]:
        """E[D] of a piece, and ends between which D lies but for ``TAIL``, (ks,) each."""
        items = self.mean_items(piece)
        mean = piece.shifts + piece.first * items[0] + piece.second * items[1]
        room = self.reach + 1e-9 * mean  # of the roundings of the mean
        low = np.maximum(mean - room, piece.least)
        high = np.minimum(mean + room, piece.greatest)
        return mean, low, np.maximum(high, low)


# -- the terms of a piece --------------------------------------------------------------------------


def _kernel_arguments(piece: Piece, rule: Rule) -> tuple[RuleByCount, Numerators]:
    """What kernels read of a piece and a rule."""
    from fsmeu.trellis.independent_kernels import Numerators, RuleByCount

    falls = np.exp(-np.multiply.outer(rule.nodes, piece.shifts))
    falls *= rule.weights[:, None]
    off = _EVALUATED if rule.is_one_sided else rule.off
    amounts = (piece.first, piece.second)
    # All terms of E[S(D)] together are D^-a at least, and shares are at most what they are without
    # a tilt: a node whose mass is far below is less than a unit of rounding of the sum.
    cutoffs = _SKIPPED * float(piece.greatest.max()) ** -piece.power / falls.max(axis=1)
    by_count = RuleByCount(rule.nodes, falls, piece.shifts, *amounts, piece.is_even, off, cutoffs)
    return by_count, Numerators(piece.top[0].copy(), piece.top[1].copy(), piece.top[2].copy())


def wide_rule_of(piece: Piece) -> Rule:
    """A wide rule for all D of a piece, whatever the labels are.

    Its ends are powers of 2, so that many lengths share a rule.
    """
    low = 2.0 ** floor(log2(float(piece.least.min())))
    high = 2.0 ** ceil(log2(float(piece.greatest.max())))
    return _wide_rule(low, max(high, 2 * low), piece.power)


@lru_cache(maxsize=256)
def _wide_rule(low: float, high: float, power: float) -> Rule:
    return wide_rule(low * (1.0 - 1e-12), high * (1.0 + 1e-12), power, _WIDE_EPS)


def add_piece(piece: Piece, rule: Rule | None, labels: Labels, out: Floats) -> None:
    """Adds the expectations of a piece, and bounds on their errors, to (2, ks).

    There is no rule where D is constant.
    """
    from fsmeu.trellis.independent_kernels import add_terms

    if rule is None:
        values, errors = piece.known_values(labels.ones_before(piece.ks), labels.mean)
        out[0] += values
        out[1] += errors
        return
    by_count, tops = _kernel_arguments(piece, rule)
    chosen = labels.items(piece.flips[0])
    others = labels.items(piece.flips[1])
    add_terms(chosen, others, by_count, tops, int(piece.ks[0]), out)
    sizes = labels.sizes(piece)
    out[1] += UNDERFLOW * float(rule.weights.sum()) * (sizes + np.abs(piece.top).max(axis=0))
    if rule.is_one_sided:
        _, low, high = labels.window(piece)
        out[1] += (1.0 + 1e-9) * sizes * rule.remainders(low, high) + TAIL * piece.most


def rule_at(piece: Piece, labels: Labels, place: int) -> Rule | None:
    """A rule for a piece that is best at one of its k; None where D is known."""
    if piece.is_constant:
        return None
    mean, low, high = labels.window(piece.part(slice(place, place + 1)))
    centre = min(max(float(mean[0]), float(low[0])), float(high[0]))
    rule = rule_for(float(low[0]), float(high[0]), centre, piece.power, _EPS)
    return rule if rule.is_one_sided else wide_rule_of(piece)


# -- one hypothesis --------------------------------------------------------------------------------


def expected_value(form: Confusion, z: Ints, p: Floats) -> BoundedValue | None:
    """The expected value of z where labels are ones with probabilities p, (n,), n >= 1.

    None where the value is no sum of ratios of the kind that rules serve.
    """
    k = float(np.count_nonzero(z))
    if not keeps_digits(form, len(z), k):
        return None
    ratios = ratios_of_number(form, len(z), k)
    if ratios is None:
        return None
    chosen = z == 1
    labels = Labels(np.concatenate([p[chosen], p[~chosen]]))
    try:
        return value_at(k, ratios, labels)
    except UnfitError:
        return None


def value_at(k: float, ratios: RatioSum, labels: Labels) -> BoundedValue:
    """The expected value of the hypothesis with ones at the first k labels, ratios being its."""
    out = np.zeros((2, 1))
    ks = np.array([k])
    for ratio in ratios.ratios:
        for piece in pieces_of(labels.n, ks, ratio):
            rule = rule_at(piece, labels, 0)
            part = np.zeros((2, 1))
            add_piece(piece, rule, labels, part)
            if rule is not None and rule.is_one_sided and part[1, 0] > ENOUGH * abs(part[0, 0]):
                again = np.zeros((2, 1))
                add_piece(piece, wide_rule_of(piece), labels, again)
                part = min(part, again, key=lambda one: float(one[1, 0]))
            out += part
    out += labels.degenerate.worth(ratios.no_ones, ratios.all_ones)
    return BoundedValue(float(out[0, 0]), float(out[1, 0]))


# -- all numbers of ones, short rows ---------------------------------------------------------------


class _Step(NamedTuple):
    """A piece with its rule, if it needs one, and what kernels read of both."""

    piece: Piece
    by_count: RuleByCount | None
    tops: Numerators | None
    underflow: Floats  # a bound on terms that are too small for doubles, (ks,)


@dataclass(frozen=True, eq=False)
class NodeValues(RowValues):
    """Values by the nodes of rules that serve every row of a length."""

    n: int
    steps: list[_Step]
    degenerate: Floats  # what is added without ones of y, and with nothing else, (2, n + 1)

    def values(self, rows: Floats) -> tuple[Floats, Floats]:
        """Values and bounds on their errors."""
        from fsmeu.trellis.independent_kernels import (
            add_degenerate_of_rows,
            add_terms_of_rows,
            prefix_sums,
        )

        out = np.zeros((len(rows), 2, self.n + 1))
        for step in self.steps:
            first = int(step.piece.ks[0])
            part = out[:, :, first : first + len(step.piece.ks)]
            if step.by_count is None:
                before = prefix_sums(rows)
                ks = slice(first, first + len(step.piece.ks))
                values, errors = step.piece.known_values(before[:, ks], before[:, -1:])
                part[:, 0] += values
                part[:, 1] += errors
            else:
                add_terms_of_rows(rows, step.piece.flips, step.by_count, step.tops, first, part)
                part[:, 1] += step.underflow
        add_degenerate_of_rows(rows, self.degenerate, out)
        return out[:, 0], out[:, 1]


def node_values(family: RatioFamily) -> NodeValues:
    """What values rows of the length of a family; an UnfitError where rules do not serve it."""
    n = family.n
    steps = [
        _step(piece)
        for ks, ratios in _kinds(family)
        for ratio in ratios
        for piece in pieces_of(n, ks, ratio)
    ]
    between = np.zeros((2, 0)) if n == 1 else family.degenerate
    ends = [np.stack([end.no_ones, end.all_ones]) for end in (family.none, family.all)]
    degenerate = np.concatenate([ends[0], between, ends[1]], axis=1)
    return NodeValues(n, steps, degenerate)


def _kinds(family: RatioFamily) -> Iterator[tuple[Floats, list[Ratio]]]:
    """The ratios of no ones, of some, and of nothing else, by numbers of ones."""
    n = family.n
    yield np.zeros(1), family.none.ratios
    is_apart = n == 1 or not family.holds_for_all
    if n > 1:
        ks = np.arange(1.0, n if is_apart else n + 1)
        yield ks, family.ratios_at(ks)
    if is_apart:
        yield np.array([float(n)]), family.all.ratios


def _step(piece: Piece) -> _Step:
    if piece.is_constant:
        return _Step(piece, None, None, np.zeros(1))
    rule = wide_rule_of(piece)
    by_count, tops = _kernel_arguments(piece, rule)
    size = (piece.length + 1) * np.abs(piece.top).max(axis=0)
    underflow = UNDERFLOW * float(rule.weights.sum()) * size
    return _Step(piece, by_count, tops, underflow)
