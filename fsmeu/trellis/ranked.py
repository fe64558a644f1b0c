"""Expected values of ranked independent labels of two kinds, for all numbers k of ones of z.

z has ones at the first k labels in descending order of P(1). At a node of a rule the expectation is
a product of sums over the first k labels and over the others (``item_quotients.py``): running sums
have it for all k together. Short rows of one length share a rule for every D, many rows are valued
in one loop. Of a long row, k that are bounded below the best are not valued, and the others share a
rule for the window of their D.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import exp
from typing import NamedTuple

import numpy as np

from fsmeu import limits
from fsmeu.arrays import Floats, Ints
from fsmeu.losses.algebra.value import Value
from fsmeu.trellis.item_quotients import (
    LEFT_OUT,
    SMALL,
    TAIL,
    Piece,
    degenerate_at,
    degenerate_probabilities,
    pieces_at,
    powers_seen,
    prefix_sums,
    reach_of,
    rule_of_all,
)
from fsmeu.trellis.kernels import kernel
from fsmeu.trellis.ranked_kernels import LEAST, Terms, add_terms
from fsmeu.trellis.rules import rule_for

_SKIPPED = 1e-20  # terms of a node that are not looked at, as a part of the sum of all
_LOOKED_AT = 32  # numbers of ones at which it is asked whether rules serve a value


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
        values: Floats = np.prod(1.0 - rows, axis=1)[:, None] * self._degenerate[0]
        values += np.prod(rows, axis=1)[:, None] * self._degenerate[1]
        for piece, terms in self._pieces:
            if terms is None:
                hits = prefix_sums(rows)
                items = piece.mean_items(hits[:, piece.where], hits[:, -1:])
                values[:, piece.where] += piece.known(items)
                continue
            scratch = np.empty((2, rows.shape[1] + 1))
            work = rows.size * len(terms.first)
            kernel(add_terms, work)(*piece.items(rows), terms, scratch, values)
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
        self._sums: dict[bool, list[Floats]] = {False: [self.hits], True: []}
        self._taken: dict[tuple[bool, int, int], Floats] = {}  # power sums for some k, and for all

    def items(self, piece: Piece) -> tuple[Floats, Floats]:
        """The expected numbers of items of both kinds, (ks,) each."""
        return piece.mean_items(self.hits[piece.where], self.mean)

    def tilted(self, flip: bool, x: float, where: slice) -> tuple[Floats, Floats]:
        """log prod f_i and sum s_i, t = exp(-x), of the first k items and of all, (ks + 1,) each.

        Items have the probabilities q = P(1), or P(0) if ``flip``.
        """
        q = 1.0 - self.p if flip else self.p
        less = -np.expm1(-x)
        t = exp(-x)
        u = less * float(q.max())
        if u <= SMALL:  # log(1 - u) = - u - u^2 / 2 - ...
            taken = self._power_sums(flip, powers_seen(u), where)
            powers = np.arange(1.0, len(taken) + 1)
            weights = np.stack([-(less**powers) / powers, t * less ** (powers - 1.0)])
            logs, shares = np.einsum("cj,jk->ck", weights, taken)
            return logs, shares
        f = 1.0 - q + q * t + LEAST
        logs = prefix_sums(np.log1p(-less * q) if u < 0.5 else np.log(f))
        shares = prefix_sums(q * t / f)
        return np.append(logs[where], logs[-1]), np.append(shares[where], shares[-1])

    def _power_sums(self, flip: bool, size: int, where: slice) -> Floats:
        """The sums of q, q^2, ..., (at least ``size``, ks + 1), of the first k and of all."""
        sums = self._sums[flip]
        while len(sums) < size:
            q = 1.0 - self.p if flip else self.p
            sums.append(prefix_sums(q ** (len(sums) + 1)))
        key = flip, where.start, where.stop
        taken = self._taken.get(key)
        if taken is None or len(taken) < size:
            taken = np.stack([np.append(one[where], one[-1]) for one in sums])
            self._taken[key] = taken
        return taken


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
    items = row.items(piece)
    if piece.is_constant:
        return piece.known(items)
    mean, low, high = piece.window(items, row.reach)
    ends = float(low.min()), float(high.max())
    rule = rule_for(*ends, float(np.clip(np.median(mean), *ends)), piece.power, LEFT_OUT)
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
