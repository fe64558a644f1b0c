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
from fsmeu.trellis.ranked_kernels import LEAST, OneTerm, Terms, add_one, add_terms
from fsmeu.trellis.rules import Rule, rule_for, wide_rule

TAIL = 1e-18  # the probability that D lies outside of its window
_EPS = 1e-13  # what a rule may leave out of a quotient, as a part
_AGAIN = 1e-11  # the same where values are looked at again
_ALIKE = 1e-14  # quotients of coefficients that differ by less are the same
_SKIPPED = 1e-20  # terms of a node that are not looked at, as a part of the sum of all
_SMALL = 0.01  # logarithms and shares are power series in 1 - t where it times all q is so small
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


def pieces_between(value: Value, begin: int, end: int) -> Iterator[Piece]:
    """The pieces of all quotients for k from ``begin`` to ``end``; or an UnfitError."""
    for run, quotients in value.runs():
        ks = np.arange(max(run.start, begin), min(run.stop, end + 1), dtype=np.float64)
        if len(ks):
            for quotient in quotients:
                yield from pieces_of(quotient, value.n, ks)


def rule_of_all(piece: Piece) -> Rule:
    """A rule for all D of a piece, whatever the labels are."""
    low = float(piece.least.min())
    high = float(piece.greatest.max())
    numbers = np.append(piece.shift, [piece.first, piece.second])
    if piece.power == 1.0 and high <= _MOST_GAUSS and (numbers == np.rint(numbers)).all():
        return _gauss_rule(ceil(high / 2))
    return _wide_rule(2.0 ** floor(log2(low)), 2.0 ** max(ceil(log2(high)), 1), piece.power)


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
    descending: Floats  # P(1) in descending order, (rows, n)
    ks: Ints  # numbers of ones, (rows,)
    values: Floats  # expected values, (rows,)


@dataclass(frozen=True, eq=False)
class RankedRows:
    """Expected values of all k for rows of n labels, by rules that serve every row."""

    value: Value

    def __post_init__(self) -> None:
        """Looks at some k; an UnfitError where rules do not serve the value."""
        for run, quotients in self.value.runs():
            ks = np.unique(np.rint(np.linspace(run.start, run.stop - 1.0, _LOOKED_AT)))
            for quotient in quotients:
                list(pieces_of(quotient, self.value.n, ks))

    @cached_property
    def _pieces(self) -> list[tuple[Piece, Terms | None]]:
        pieces = pieces_between(self.value, 0, self.value.n)
        return [(piece, None if piece.is_constant else _terms(piece)) for piece in pieces]

    @cached_property
    def _degenerate(self) -> Floats:
        """What the file answers beside quotients where y has one label alone, (2, n + 1)."""
        return degenerate_between(self.value, 0, self.value.n)

    def values(self, rows: Floats) -> Floats:
        """Expected values by the number of ones, (rows, n + 1), for P(1) descending, (rows, n)."""
        values = np.prod(1.0 - rows, axis=1)[:, None] * self._degenerate[0]
        values += np.prod(rows, axis=1)[:, None] * self._degenerate[1]
        for piece, terms in self._pieces:
            if terms is None:
                ks = piece.ks.astype(np.int64)
                hits = np.cumsum(np.pad(rows, ((0, 0), (1, 0))), axis=1)
                values[:, ks] += _known(piece, hits[:, ks], hits[:, -1:])
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
        best = values[np.arange(len(p)), ks]
        return BestOfRows(most_probable(p, descending, ks), descending, ks, best)

    def again(self, rows: Floats, ks: Ints) -> Floats:
        """The expected values of hypotheses with ones at the first k labels of rows, (rows,).

        By rules of their own: what was found for all k is looked at again.
        """
        values = np.prod(1.0 - rows, axis=1) * self._degenerate[0, ks]
        values += np.prod(rows, axis=1) * self._degenerate[1, ks]
        every = np.cumsum(np.pad(rows, ((0, 0), (1, 0))), axis=1)
        hits = every[np.arange(len(rows)), ks]
        variance = np.einsum("rn,rn->r", rows, 1.0 - rows)
        for piece, terms in self._pieces:
            at_k = ks - int(piece.ks[0])
            some = np.flatnonzero((at_k >= 0) & (at_k < len(piece.ks)))
            if not len(some):
                continue
            part = piece.of_some(at_k[some])
            if terms is None:
                values[some] += _known(part, hits[some], every[some, -1])
                continue
            window = part.window(
                part.mean_items(hits[some], every[some, -1]), reach_of(variance[some], _AGAIN)
            )
            found = np.zeros(len(some))
            term = _one_term(part, *window)
            add = kernel(add_one, rows[some].size * len(term.nodes))
            add(*_items(part, rows[some]), part.ks, term, found)
            values[some] += found
        return values


def _terms(piece: Piece) -> Terms:
    """What the kernel reads of a piece."""
    rule = rule_of_all(piece)
    falls = rule.weights[:, None] * np.exp(-np.multiply.outer(rule.nodes, piece.shift))
    # All terms of E[S(D)] are D^-a at least: a node far below that is not seen.
    cutoffs = _SKIPPED * float(piece.greatest.max()) ** -piece.power / falls.max(axis=1)
    first, second = (np.exp(-rule.nodes * amount) for amount in (piece.first, piece.second))
    top = np.ascontiguousarray(piece.top)
    return Terms(falls, top, first, second, cutoffs, int(piece.ks[0]), piece.is_even)


def _one_term(piece: Piece, mean: Floats, low: Floats, high: Floats) -> OneTerm:
    """What the kernel reads of a piece with one k for each row, given windows of D, (rows,)."""
    centre = np.clip(mean, low, high)
    rule = rule_for(
        float((low / centre).min()), float((high / centre).max()), 1.0, piece.power, _AGAIN
    )
    scaled = np.ascontiguousarray(piece.top * centre**-piece.power)
    first, second = (amount / centre for amount in (piece.first, piece.second))
    return OneTerm(rule.nodes, rule.weights, first, second, piece.shift / centre, scaled)


def _items(piece: Piece, p: Floats) -> tuple[Floats, Floats]:
    """The probabilities with which labels are items where z has a one, and where it has none."""
    return (1.0 - p if piece.flips[0] else p), (1.0 - p if piece.flips[1] else p)


def _known(piece: Piece, hits: Floats, mean: Any) -> Floats:
    """Expectations where D is a number, (..., ks), as ``Piece.mean_items``."""
    items = piece.mean_items(hits, mean)
    top: Floats = piece.top[0] + piece.top[1] * items[0] + piece.top[2] * items[1]
    return top * piece.shift**-piece.power


def degenerate_between(value: Value, begin: int, end: int) -> Floats:
    """``Value.degenerate`` for k from ``begin`` to ``end``, (2, ks)."""
    n = value.n
    parts = [range(begin, 1), range(max(begin, 1), min(end + 1, n)), range(max(begin, n), end + 1)]
    found = [value.degenerate(np.array(part, np.float64)) for part in parts if len(part)]
    return np.concatenate(found, axis=1)


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
        self._powers: dict[bool, list[tuple[Floats, Floats]]] = {False: [], True: []}
        self.hits = self.power_sums(False, 1)[0]  # E[A] by k, (n + 1,)
        self.mean = float(self.hits[-1])
        self.reach = float(reach_of(self.mean - float(p @ p)))

    @cached_property
    def degenerate(self) -> tuple[float, float]:
        """The probabilities that no label is a one, and that all are."""
        return degenerate_probabilities(self.p)

    def power_sums(self, flip: bool, size: int) -> list[Floats]:
        """The sums of q, q^2, ... of the first k, (n + 1,) each, q being P(1), or P(0) if flip."""
        known = self._powers[flip]
        q = known[0][0] if known else (1.0 - self.p if flip else self.p)
        while len(known) < size:
            power = known[-1][0] * q if known else q
            sums = np.zeros(self.n + 1)
            np.cumsum(power, out=sums[1:])
            known.append((power, sums))
        return [sums for _, sums in known[:size]]

    def items(self, piece: Piece) -> tuple[Floats, Floats]:
        """The expected numbers of items of both kinds, (ks,) each."""
        return piece.mean_items(self.hits[piece.where], self.mean)

    def window(self, piece: Piece) -> tuple[Floats, Floats, Floats]:
        """E[D], and ends between which D lies but for ``TAIL``, (ks,) each."""
        return piece.window(self.items(piece), self.reach)

    def tilted(self, flip: bool, x: float, where: slice) -> TiltedSums:
        """Sums over items of q tilted by t = exp(-x), for the k of a slice."""
        less, t = -np.expm1(-x), exp(-x)
        most = less * float(1.0 - self.p[-1] if flip else self.p[0])
        if most <= _SMALL:  # log(1 - u) = - u - u^2 / 2 - ...
            sums = self.power_sums(flip, powers_needed(most))
            logs = np.zeros(where.stop - where.start)
            shares = np.zeros(len(logs))
            all_logs = all_shares = 0.0
            for j, some in enumerate(sums, start=1):
                logs -= less**j / j * some[where]
                shares += t * less ** (j - 1) * some[where]
                all_logs -= less**j / j * some[-1]
                all_shares += t * less ** (j - 1) * some[-1]
            return TiltedSums(logs, shares, float(all_logs), float(all_shares))
        q = 1.0 - self.p if flip else self.p
        f = 1.0 - q + q * t + LEAST
        log_sums, share_sums = np.zeros((2, self.n + 1))
        np.cumsum(np.log1p(-less * q) if most < 0.5 else np.log(f), out=log_sums[1:])
        np.cumsum(q * t / f, out=share_sums[1:])
        ends = float(log_sums[-1]), float(share_sums[-1])
        return TiltedSums(log_sums[where], share_sums[where], *ends)


class TiltedSums(NamedTuple):
    """Logarithms of masses and shares of items, summed over the first k and over all."""

    logs: Floats  # (ks,)
    shares: Floats  # (ks,)
    all_logs: float
    all_shares: float


def powers_needed(u: float) -> int:
    """How many powers of u <= 0.01 are seen beside the first."""
    return 1 + ceil(log(_UNSEEN) / log(max(u, _UNSEEN)))


def degenerate_probabilities(p: Floats) -> tuple[float, float]:
    """The probabilities that no label is a one, and that all are, P(1) being p."""
    ends = []
    for q in (p, 1.0 - p):  # a product of 1 - q is at most exp(- the sum of q)
        sure = float(q.sum()) > -2 * log(TAIL) or float(q.max(initial=0.0)) == 1.0
        ends.append(0.0 if sure else exp(float(np.log1p(-q).sum())))
    return ends[0], ends[1]


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
    if n <= max(limits.FEW_NUMBERS, 3):
        return RankedValues(np.arange(n + 1), sign * _values_between(value, row, 0, n), -np.inf)
    grid = np.unique(np.rint(np.linspace(1.0, n - 1.0, limits.COARSE_BLOCKS + 1)))
    middle = int(grid[_estimates(value, row, sign, grid).argmax()])
    tried = np.array([0, middle, n])
    scores = [sign * _values_between(value, row, k, k)[0] for k in tried.tolist()]
    upper = _upper_bounds(value, row, sign, grid)
    near = np.flatnonzero(upper >= max(scores))
    if not len(near):
        return RankedValues(tried, np.array(scores), float(upper.max()))
    begin, end = int(grid[near[0]]), int(grid[near[-1] + 1])
    beyond = np.append(upper[: near[0]], upper[near[-1] + 1 :])
    ks = np.concatenate([[0], np.arange(begin, end + 1), [n]])
    found = sign * _values_between(value, row, begin, end)
    found = np.concatenate([scores[:1], found, scores[-1:]])
    return RankedValues(ks, found, float(beyond.max(initial=-np.inf)))


def _estimates(value: Value, row: Row, sign: float, ks: Floats) -> Floats:
    """The quotients of expectations times the sign, (ks,)."""
    hits = row.hits[ks.astype(np.int64)]
    counts = np.stack([np.ones(len(ks)), hits, row.mean - hits])
    scores = np.zeros(len(ks))
    for quotient in value.quotients:
        top, below = (
            (_by_counts(side, row.n, ks) * counts).sum(axis=0)
            for side in (quotient.top, quotient.below)
        )
        scores += sign * top * np.maximum(below, 1e-300) ** -quotient.power
    return scores


def _upper_bounds(value: Value, row: Row, sign: float, grid: Floats) -> Floats:
    """Upper bounds on scores between two neighbours of a grid of k, (grid less 1,).

    With E[D] - reach <= D <= E[D] + reach, E[N / D^a] is at most E[N+] divided by the least D^a
    less E[N-] by the greatest. Coefficients are polynomials in k: what they are at both ends of a
    block, they are between.
    """
    hits = row.hits[grid.astype(np.int64)]
    few = np.stack([np.ones(len(grid) - 1), hits[:-1], row.mean - hits[1:]])
    many = np.stack([np.ones(len(grid) - 1), hits[1:], row.mean - hits[:-1]])
    bounds = np.zeros(len(grid) - 1)
    for top, below, power in value.quotients:
        rows = sign * _by_counts(top, row.n, grid)
        most = np.maximum(rows[:, :-1], rows[:, 1:])
        above = np.maximum(most, 0.0) * many
        less = np.minimum(most, 0.0) * few
        rows = _by_counts(below, row.n, grid)
        low, high = np.minimum(rows[:, :-1], rows[:, 1:]), np.maximum(rows[:, :-1], rows[:, 1:])
        room = row.reach * np.abs(rows[1:]).max(axis=0)
        room = np.maximum(room[:-1], room[1:])
        least = (np.maximum(low, 0.0) * few + np.minimum(low, 0.0) * many).sum(axis=0) - room
        greatest = (np.maximum(high, 0.0) * many + np.minimum(high, 0.0) * few).sum(axis=0) + room
        least = np.maximum(least, _least_below(rows, row.n, grid))
        bounds += above.sum(axis=0) * least**-power
        bounds += less.sum(axis=0) * np.maximum(greatest, least) ** -power
    none, every = row.degenerate
    if max(none, every) > TAIL:
        apart = sign * value.degenerate(grid)
        bounds += none * np.maximum(apart[0, :-1], apart[0, 1:])
        bounds += every * np.maximum(apart[1, :-1], apart[1, 1:])
    return bounds


def _least_below(rows: Floats, n: int, grid: Floats) -> Floats:
    """The least D that is not 0 between neighbours of a grid, given its coefficients, about."""
    least = rows[0] + np.minimum(rows[1], 0.0) * grid + np.minimum(rows[2], 0.0) * (n - grid)
    size = np.abs(rows[1:])
    step = np.where(size > 0, size, np.inf).min(axis=0)
    least = np.where(least > _ALIKE * n * np.abs(rows).max(axis=0), least, step)
    return np.minimum(least[:-1], least[1:])


def _values_between(value: Value, row: Row, begin: int, end: int) -> Floats:
    """Expected values with ones at the first k labels, k from ``begin`` to ``end``, (ks,)."""
    values = np.zeros(end - begin + 1)
    none, every = row.degenerate
    if max(none, every) > TAIL:
        apart = degenerate_between(value, begin, end)
        values += none * apart[0] + every * apart[1]
    for piece in pieces_between(value, begin, end):
        first = int(piece.ks[0]) - begin
        values[first : first + len(piece.ks)] += _expected(piece, row)
    return values


def _expected(piece: Piece, row: Row) -> Floats:
    """E[N / D^a] of a piece, (ks,)."""
    if piece.is_constant:
        return _known(piece, row.hits[piece.where], row.mean)
    mean, low, high = row.window(piece)
    ends = float(low.min()), float(high.max())
    rule = rule_for(*ends, min(max(float(np.median(mean)), ends[0]), ends[1]), piece.power, _EPS)
    items = row.items(piece)
    values = np.zeros(len(piece.ks))
    for x, weight in zip(rule.nodes.tolist(), rule.weights.tolist(), strict=True):
        less = -np.expm1(-x * np.array([piece.first, piece.second]))
        most = -less[0] * items[0] - less[1] * items[1] - x * piece.shift  # 1 - u <= exp(-u)
        if weight * exp(float(most.max())) <= _SKIPPED * ends[1] ** -piece.power:
            continue
        before = row.tilted(piece.flips[0], x * piece.first, piece.where)
        after = before
        mass: Any = before.all_logs
        if not piece.is_even:
            after = row.tilted(piece.flips[1], x * piece.second, piece.where)
            mass = before.logs + (after.all_logs - after.logs)
        mass = np.exp(mass - x * piece.shift)
        top = piece.top[0] + piece.top[1] * before.shares
        top += piece.top[2] * (after.all_shares - after.shares)
        values += weight * mass * top
    return values


# -- one hypothesis --------------------------------------------------------------------------------


class SizedValue(NamedTuple):
    """An expected value, and the same sum without signs."""

    value: float
    size: float


def expected_value(value: Value, z: Ints, p: Floats) -> SizedValue:
    """The expected value of z where labels are ones with probabilities p, (n,).

    An UnfitError where rules do not serve the value. Sums over all labels at once, at nodes of
    their own: nothing of them is shared with those for all k.
    """
    chosen = (z == 1).astype(np.float64)
    k = int(chosen.sum())
    hits, mean = float(chosen @ p), float(p.sum())
    reach = float(reach_of(mean - float(p @ p)))
    terms = [np.zeros(1)]
    for piece in pieces_between(value, k, k):
        top = piece.top[:, 0]
        items = piece.mean_items(np.array([hits]), mean)
        if piece.is_constant:
            terms.append(
                top * np.array([1.0, items[0][0], items[1][0]]) * piece.shift**-piece.power
            )
            continue
        centre, low, high = (float(end[0]) for end in piece.window(items, reach))
        rule = rule_for(low, high, min(max(centre, low), high), piece.power)
        q, others = _items(piece, p)
        most = float(rule.nodes.max())  # an item of probability 0 adds nothing
        first = ItemSums(q * chosen, most * piece.first)
        second = ItemSums(others * (1.0 - chosen), most * piece.second)
        for x, weight in zip(rule.nodes.tolist(), rule.weights.tolist(), strict=True):
            log_first, share_first = first.at(x * piece.first)
            log_second, share_second = second.at(x * piece.second)
            mass = weight * exp(log_first + log_second - x * float(piece.shift[0]))
            terms.append(mass * top * np.array([1.0, share_first, share_second]))
    ends = degenerate_probabilities(p)
    if max(ends) > TAIL:
        terms.append(np.array(ends) * degenerate_between(value, k, k)[:, 0])
    every = np.concatenate(terms)
    return SizedValue(float(every.sum()), float(np.abs(every).sum()))


class ItemSums:
    """Logarithms of masses and sums of shares of items with these probabilities.

    They are asked for at x from 0 to a greatest.
    """

    def __init__(self, q: Floats, greatest: float) -> None:
        self.q = q
        self.most = float(q.max(initial=0.0))
        self.moments = np.zeros(0)  # the sums of q, q^2, ... where a power series serves
        if (less := -np.expm1(-greatest)) * self.most <= _SMALL:
            self.moments = moments(q, powers_needed(less * self.most))

    def at(self, x: float) -> tuple[float, float]:
        """The sums of log f and of s for t = exp(-x)."""
        less, t = -np.expm1(-x), exp(-x)
        if len(self.moments):  # log(1 - u) = - u - u^2 / 2 - ...
            powers = np.arange(1.0, len(self.moments) + 1)
            log = -(less**powers / powers) @ self.moments
            return float(log), float(t * less ** (powers - 1.0) @ self.moments)
        f = 1.0 - self.q + self.q * t + LEAST
        logs = np.log1p(-less * self.q) if less * self.most < 0.5 else np.log(f)
        return float(logs.sum()), float(t * (self.q / f).sum())


def moments(q: Floats, size: int) -> Floats:
    """The sums of q, q^2, ..., (size,), block by block: each stays in the cache."""
    sums = np.zeros(size)
    for begin in range(0, len(q), _BLOCK):
        some = q[begin : begin + _BLOCK]
        power = some.copy()
        for j in range(size):
            sums[j] += power.sum()
            power *= some
    return sums
