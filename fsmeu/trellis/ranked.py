"""Expected values of independent labels of two kinds, for all numbers k of ones of z, by products.

The value is a sum of quotients N / D^a of counts (``losses/algebra/value.py``). Let z have ones at
the first k labels of an order, A be the ones of y among them and B those among the others. Given k,
N and D are affine in A and B. Where D falls with a count, zeros of y are counted instead; divided
by a number it is then

    D = v + c_1 A + c_2 B,    v >= 0,  0 <= c_1, c_2 <= 1,

A and B being numbers of *items* now, with probabilities q = p or 1 - p. A rule (``rules.py``) has
D^-a = sum over nodes of w exp(-x D), and labels are independent:

    E[N w exp(-x D)] = w exp(-x v) prod_i f_i (a_0 + a_1 sum of s_i of the first k + a_2 of others),
    f_i = 1 - q_i + q_i t,    s_i = q_i t / f_i,    t = exp(-x c_1) or exp(-x c_2):

running sums have it for all k together. Two tables stand apart, in which y has one label alone:
what the file answers there is multiplied by their probability.

D lies within a window around its mean but for a probability of ``TAIL`` (Bernstein's inequality:
items are independent and count at most 1), so that few nodes serve many labels. Short rows of all
kinds share a rule for every D.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache
from math import ceil, exp, floor, log, log2
from typing import Any, NamedTuple

import numpy as np

from fsmeu import limits
from fsmeu.arrays import Floats, Ints
from fsmeu.losses.algebra.polynomial import NoFormError, Polynomial, at
from fsmeu.losses.algebra.value import Quotient, Value
from fsmeu.trellis.kernels import kernel
from fsmeu.trellis.ranked_kernels import LEAST, LabelsOfRows, Terms, add_terms, fill_sums
from fsmeu.trellis.rules import Rule, rule_for, wide_rule

TAIL = 1e-18  # the probability that D lies outside of its window
_EPS = 1e-13  # what a rule may leave out of a quotient, as a part
_ALIKE = 1e-14  # quotients of coefficients that differ by less are the same
_SKIPPED = 1e-20  # terms of a node that are not looked at, as a part of the sum of all
_SMALL = 0.01  # logarithms and shares are power series in 1 - t where it times all q is so small
_FEW_ROWS = 4  # that are added up by numpy: compiled loops take a second to load
_BLOCK = 1 << 14  # labels that are added up at once
_UNSEEN = 1e-16  # what of a power series is not seen, as a part
_LOOKED_AT = 32  # numbers of ones at which it is asked whether rules serve a value
_MOST_GAUSS = 32  # whole D up to which Gauss's rule on (0, 1) has fewer nodes than a wide one


class UnfitError(Exception):
    """A value that is no sum of quotients of the kind that rules serve."""


# -- quotients whose denominator counts items ------------------------------------------------------


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
        shift = np.where(shift > _ALIKE * n * np.abs(below[:, some]).max(axis=0), shift, 0.0)
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
    low, high = float(piece.least.min()), float(piece.greatest.max())
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
    return wide_rule(low * (1.0 - 1e-12), max(high, 2 * low) * (1.0 + 1e-12), power, _EPS)


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


# -- many short rows -------------------------------------------------------------------------------


class BestOfRows(NamedTuple):
    """The best sequences of rows among those with ones at the most probable labels."""

    indices: Ints  # labels, (rows, n); of equal probabilities the first are ones
    values: Floats  # expected values, (rows,)


@dataclass(frozen=True, eq=False)
class RankedRows:
    """Expected values of all k for rows of n labels, by rules that serve every row."""

    value: Value

    def __post_init__(self) -> None:
        """Looks at some k; an UnfitError where rules do not serve the value."""
        n = self.value.n
        list(pieces_at(self.value, np.unique(np.rint(np.linspace(0.0, n, _LOOKED_AT)))))

    @cached_property
    def _pieces(self) -> list[tuple[Piece, Terms | None]]:
        pieces = pieces_at(self.value, np.arange(self.value.n + 1.0))
        return [(piece, None if piece.is_constant else _terms(piece)) for piece in pieces]

    @cached_property
    def _degenerate(self) -> Floats:
        """What the file answers beside quotients where y has one label alone, (2, n + 1)."""
        return degenerate_at(self.value, np.arange(self.value.n + 1.0))

    def values(self, rows: Floats) -> Floats:
        """Expected values by the number of ones, (rows, n + 1), for P(1) descending, (rows, n)."""
        values = np.prod(1.0 - rows, axis=1)[:, None] * self._degenerate[0]
        values += np.prod(rows, axis=1)[:, None] * self._degenerate[1]
        for piece, terms in self._pieces:
            if terms is None:
                hits = prefix_sums(rows)
                values[:, piece.where] += _known(piece, hits[:, piece.where], hits[:, -1:])
                continue
            scratch = np.empty((2, rows.shape[1] + 1))
            work = rows.size * len(terms.first)
            kernel(add_terms, work)(*_items(piece, rows), terms, scratch, values)
        return values

    def best(self, p: Floats, sign: float) -> BestOfRows:
        """The best sequences for P(1) of rows, (rows, n); the greatest values times the sign."""
        descending = -np.sort(-p, axis=1)
        values = self.values(descending)
        ks = (sign * values).argmax(axis=1)
        return BestOfRows(most_probable(p, descending, ks), values[np.arange(len(p)), ks])


def _terms(piece: Piece) -> Terms:
    """What the kernel reads of a piece."""
    rule = rule_of_all(piece)
    falls = rule.weights[:, None] * np.exp(-np.multiply.outer(rule.nodes, piece.shift))
    # All terms of E[S(D)] are D^-a at least: a node far below that is not seen.
    cutoffs = _SKIPPED * float(piece.greatest.max()) ** -piece.power / falls.max(axis=1)
    first, second = (np.exp(-rule.nodes * amount) for amount in (piece.first, piece.second))
    top = np.ascontiguousarray(piece.top)
    return Terms(falls, top, first, second, cutoffs, int(piece.ks[0]), piece.is_even)


def _items(piece: Piece, p: Floats) -> tuple[Floats, Floats]:
    """The probabilities with which labels are items where z has a one, and where it has none."""
    return (1.0 - p if piece.flips[0] else p), (1.0 - p if piece.flips[1] else p)


def _known(piece: Piece, hits: Floats, mean: Any) -> Floats:
    """Expectations where D is a number, (..., ks), as ``Piece.mean_items``."""
    items = piece.mean_items(hits, mean)
    top = piece.top[0] + piece.top[1] * items[0] + piece.top[2] * items[1]
    known: Floats = top * piece.shift**-piece.power
    return known


def degenerate_at(value: Value, ks: Floats) -> Floats:
    """``Value.degenerate`` for k in ascending order, (2, ks)."""
    parts = ks[ks == 0], ks[(ks > 0) & (ks < value.n)], ks[ks == value.n]
    return np.concatenate([value.degenerate(part) for part in parts if len(part)], axis=1)


def most_probable(p: Floats, descending: Floats, ks: Ints) -> Ints:
    """Labels with ones at the k most probable positions of rows, of equal ones the first."""
    rows = np.arange(len(p))
    least = np.where(ks > 0, descending[rows, np.maximum(ks - 1, 0)], np.inf)
    indices = (p >= least[:, None]).astype(np.int64)
    for row in np.flatnonzero(indices.sum(axis=1) > ks).tolist():
        equal = np.flatnonzero(p[row] == least[row])
        indices[row, equal[ks[row] - int((p[row] > least[row]).sum()) :]] = 0
    return indices


# -- one long row ----------------------------------------------------------------------------------


class Row:
    """Independent labels in descending order of P(1)."""

    def __init__(self, p: Floats) -> None:
        self.p = p
        self.n = len(p)
        self.hits = prefix_sums(p)  # E[A] by k, (n + 1,)
        self.mean = float(self.hits[-1])
        self.reach = reach_of(
            self.mean - np.einsum("i,i->", p, p)
        )  # no threads, as a matrix product has
        self.degenerate = degenerate_probabilities(p[None])[:, 0].tolist()

    def items(self, piece: Piece) -> tuple[Floats, Floats]:
        """The expected numbers of items of both kinds, (ks,) each."""
        return piece.mean_items(self.hits[piece.where], self.mean)

    def tilted(self, flip: bool, x: float, where: slice) -> tuple[Floats, Floats]:
        """log prod f_i and sum s_i, t = exp(-x), of the first k items and of all, (ks + 1,) each.

        Items have the probabilities q = P(1), or P(0) if ``flip``.
        """
        q, sums = self._powers[flip]
        less, t = -np.expm1(-x), exp(-x)
        u = less * float(q.max())
        if u <= _SMALL:  # log(1 - u) = - u - u^2 / 2 - ...
            size = powers_seen(u)
            while len(sums) < size:
                sums.append(prefix_sums(q ** (len(sums) + 1)))
            taken = np.stack([np.append(one[where], one[-1]) for one in sums[:size]])
            powers = np.arange(1.0, size + 1)
            weights = np.stack([-(less**powers) / powers, t * less ** (powers - 1.0)])
            logs, shares = np.einsum("cj,jk->ck", weights, taken)
            return logs, shares
        f = 1.0 - q + q * t + LEAST
        logs = prefix_sums(np.log1p(-less * q) if u < 0.5 else np.log(f))
        shares = prefix_sums(q * t / f)
        return np.append(logs[where], logs[-1]), np.append(shares[where], shares[-1])

    @cached_property
    def _powers(self) -> tuple[tuple[Floats, list[Floats]], tuple[Floats, list[Floats]]]:
        """Items of both kinds, each with the sums of q, q^2, ... of the first k, (n + 1,) each."""
        return (self.p, [self.hits]), (1.0 - self.p, [])


def powers_seen(u: float) -> int:
    """How many powers of u are seen in a power series."""
    return 1 + ceil(log(_UNSEEN) / log(max(u, _UNSEEN)))


def prefix_sums(of: Floats) -> Floats:
    """The sums of the first k numbers of rows, (..., n + 1)."""
    sums = np.zeros((*of.shape[:-1], of.shape[-1] + 1))
    np.cumsum(of, axis=-1, out=sums[..., 1:])
    return sums


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


class RankedValues(NamedTuple):
    """Expected values with ones at the first k labels, for some k, and a bound on those of others.

    Scores are values times the sign of the loss.
    """

    ks: Ints  # (ks,)
    scores: Floats  # (ks,)
    outside: float  # a bound on the scores of all other k; minus infinity where there are none


def ranked_values(value: Value, p: Floats, sign: float) -> RankedValues:
    """The scores of the k that may be best; an UnfitError where rules do not serve the value.

    Args:
        value: the value as a sum of quotients.
        p: probabilities of ones, descending, (n,), n >= 2.
        sign: 1 where greater values are better, -1 where smaller ones are.
    """
    row = Row(p)
    n = row.n
    every = np.arange(n + 1.0)
    if n <= max(limits.FEW_NUMBERS, 3):
        return RankedValues(every.astype(np.int64), sign * _values_at(value, row, every), -np.inf)
    grid = np.unique(np.rint(np.linspace(1.0, n - 1.0, limits.COARSE_BLOCKS + 1)))
    bounds = _grid_bounds(value, row, sign, grid)
    tried = np.array([0, int(grid[bounds.estimates.argmax()]), n])
    scores = np.concatenate([sign * _values_at(value, row, every[k : k + 1]) for k in tried])
    upper = bounds.upper
    near = np.flatnonzero(upper >= scores.max())
    if not len(near):
        return RankedValues(tried, scores, float(upper.max()))
    ks = every[int(grid[near[0]]) : int(grid[near[-1] + 1]) + 1]
    beyond = np.append(upper[: near[0]], upper[near[-1] + 1 :])
    found = np.concatenate([scores[:1], sign * _values_at(value, row, ks), scores[2:]])
    ks = np.concatenate([[0.0], ks, [n]])
    return RankedValues(ks.astype(np.int64), found, float(beyond.max(initial=-np.inf)))


class GridBounds(NamedTuple):
    """What is known of scores on a grid of k."""

    estimates: Floats  # quotients of expectations, (grid,)
    upper: Floats  # bounds on the scores from one k of the grid to the next, (grid less 1,)


def _grid_bounds(value: Value, row: Row, sign: float, grid: Floats) -> GridBounds:
    """Estimates and upper bounds of scores.

    E[N / D^a] is at most E[N+] divided by the least D^a of its window, less E[N-] divided by the
    greatest. What they are made of is monotone in k between two neighbours, if they are near.
    """
    found = GridBounds(np.zeros(len(grid)), np.zeros(len(grid) - 1))
    none, every = row.degenerate
    if max(none, every) > TAIL:
        apart = sign * (np.array([none, every]) @ degenerate_at(value, grid))
        found.upper[:] += np.maximum(apart[:-1], apart[1:])
    for piece in pieces_at(value, grid):
        begin = int(np.searchsorted(grid, piece.ks[0]))
        end = begin + len(piece.ks)
        hits = row.hits[piece.ks.astype(np.int64)]
        items = piece.mean_items(hits, row.mean)
        mean, low, high = piece.window(items, row.reach)
        counts = np.stack([np.ones(len(piece.ks)), *items])
        top = sign * piece.top
        found.estimates[begin:end] += (top * counts).sum(axis=0) * mean**-piece.power
        rates = np.where(top > 0, top * low**-piece.power, top * high**-piece.power)
        sides = [slice(0, -1), slice(1, None)] if len(piece.ks) > 1 else [slice(0, 1)] * 2
        most = np.maximum(*(rates[:, side] for side in sides))
        many = np.maximum(*(counts[:, side] for side in sides))
        few = np.minimum(*(counts[:, side] for side in sides))
        bound = np.where(most > 0, most * many, most * few).sum(axis=0)
        blocks = slice(begin, begin + len(bound))
        found.upper[blocks] += bound[: len(found.upper) - begin]
        if end < len(grid):  # signs change in the next block: what holds before it
            found.upper[end - 1] = max(found.upper[end - 1], found.upper[max(end - 2, 0)])
    return found


def _values_at(value: Value, row: Row, ks: Floats) -> Floats:
    """Expected values with ones at the first k labels, for consecutive k, (ks,)."""
    values = np.zeros(len(ks))
    none, every = row.degenerate
    if max(none, every) > TAIL:
        apart = degenerate_at(value, ks)
        values += none * apart[0] + every * apart[1]
    for piece in pieces_at(value, ks):
        first = int(piece.ks[0] - ks[0])
        values[first : first + len(piece.ks)] += _expected(piece, row)
    return values


def _expected(piece: Piece, row: Row) -> Floats:
    """E[N / D^a] of a piece, (ks,)."""
    if piece.is_constant:
        return _known(piece, row.hits[piece.where], row.mean)
    items = row.items(piece)
    mean, low, high = piece.window(items, row.reach)
    ends = float(low.min()), float(high.max())
    rule = rule_for(*ends, float(np.clip(np.median(mean), *ends)), piece.power, _EPS)
    values = np.zeros(len(piece.ks))
    for x, weight in zip(rule.nodes.tolist(), rule.weights.tolist(), strict=True):
        less = -np.expm1(-x * np.array([piece.first, piece.second]))
        most = -less[0] * items[0] - less[1] * items[1] - x * piece.shift  # 1 - u <= exp(-u)
        if weight * exp(float(most.max())) <= _SKIPPED * ends[1] ** -piece.power:
            continue
        logs, before = row.tilted(piece.flips[0], x * piece.first, piece.where)
        others = (logs, before)
        if not piece.is_even:
            others = row.tilted(piece.flips[1], x * piece.second, piece.where)
        mass = logs[:-1] + (others[0][-1] - others[0][:-1]) - x * piece.shift
        top = piece.top[0] + piece.top[1] * before[:-1]
        top += piece.top[2] * (others[1][-1] - others[1][:-1])
        values += weight * np.exp(mass) * top
    return values


# -- given hypotheses ------------------------------------------------------------------------------


class SizedValues(NamedTuple):
    """Expected values, and the same sums without signs, (rows,) each."""

    values: Floats
    sizes: Floats


def expected_values(value: Value, z: Ints, p: Floats) -> SizedValues:
    """The expected values of hypotheses, (rows, n), labels being ones with probabilities p.

    An UnfitError where rules do not serve the value. Every row has nodes of its own, and sums over
    all of its labels: nothing is shared with what values all k.
    """
    chosen = (z == 1).astype(np.float64)
    hits, mean = np.einsum("rn,rn->r", chosen, p), p.sum(axis=1)
    reach = reach_of(mean - np.einsum("rn,rn->r", p, p))
    ks, place = np.unique(chosen.sum(axis=1), return_inverse=True)
    ends = degenerate_probabilities(p)
    terms = np.zeros((3, len(p)))
    sizes = np.zeros(len(p))
    if ends.any():
        terms[:2] = ends * degenerate_at(value, ks)[:, place]
        sizes += np.abs(terms).sum(axis=0)
    values = terms.sum(axis=0)
    for piece in pieces_at(value, ks):
        first = int(np.searchsorted(ks, piece.ks[0]))
        some = np.flatnonzero((place >= first) & (place < first + len(piece.ks)))
        part = piece.of_some(place[some] - first)
        items = part.mean_items(hits[some], mean[some])
        if part.is_constant:
            terms = part.top * np.stack([np.ones(len(some)), *items]) * part.shift**-part.power
        else:
            window = part.window(items, reach[some])
            terms = _terms_of_rows(part, window, chosen[some], p[some])
        values[some] += terms.sum(axis=0)
        sizes[some] += np.abs(terms).sum(axis=0)
    return SizedValues(values, sizes)


def _terms_of_rows(
    piece: Piece, window: tuple[Floats, Floats, Floats], chosen: Floats, p: Floats
) -> Floats:
    """The three terms of E[N / D^a], (3, rows), for a piece with a k for each row."""
    mean, low, high = window
    centre = np.clip(mean, low, high)
    rule = whole_rule(piece, 1)
    if rule is not None:
        centre = np.ones(len(p))
    else:
        least, greatest = float((low / centre).min()), float((high / centre).max())
        rule = rule_for(least, max(greatest, least), 1.0, piece.power, _EPS)
    q, others = _items(piece, p)
    x = rule.nodes / centre[:, None]
    sums = np.empty((3, *x.shape))
    if len(p) > _FEW_ROWS:
        t = np.exp(-x * piece.first), np.exp(-x * piece.second)
        kernel(fill_sums, p.size * len(rule.nodes))(LabelsOfRows(chosen, q, others, *t), sums)
    else:
        first = item_sums(q * chosen, x * piece.first)  # q = 0 adds nothing
        second = item_sums(others * (1.0 - chosen), x * piece.second)
        sums[:] = first[0] * second[0], first[1], second[1]
    masses = rule.weights * sums[0] * np.exp(-x * piece.shift[:, None])
    sums[0] = 1.0
    terms: Floats = np.einsum("rm,crm->cr", masses, sums)
    return terms * piece.top * centre**-piece.power


def item_sums(q: Floats, x: Floats) -> tuple[Floats, Floats]:
    """The products of f and the sums of s over rows of items, (rows, nodes) each, t = exp(-x)."""
    less, t = -np.expm1(-x), np.exp(-x)
    masses, shares = np.empty((2, *x.shape))
    u = float((less.max(axis=1) * q.max(axis=1, initial=0.0)).max())
    if u <= _SMALL:  # log(1 - u) = - u - u^2 / 2 - ...
        powers = np.arange(1.0, powers_seen(u) + 1)
        terms = moments(q, len(powers)) * less[..., None] ** (powers - 1.0)
        return np.exp(-less * (terms / powers).sum(axis=2)), t * terms.sum(axis=2)
    for m in range(x.shape[1]):
        items = q * t[:, m : m + 1]
        f = 1.0 - q + items + LEAST
        logs = np.log1p(-less[:, m : m + 1] * q) if u < 0.5 else np.log(f)
        masses[:, m] = np.exp(logs.sum(axis=1))
        shares[:, m] = (items / f).sum(axis=1)
    return masses, shares


def moments(q: Floats, size: int) -> Floats:
    """The sums of q, q^2, ... of rows, (rows, 1, size), block by block: each stays in the cache."""
    sums = np.zeros((len(q), 1, size))
    for begin in range(0, q.shape[1], _BLOCK):
        some = q[:, begin : begin + _BLOCK]
        power = some.copy()
        for j in range(size):
            sums[:, 0, j] += power.sum(axis=1)
            power *= some
    return sums
