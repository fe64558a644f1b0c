"""Linear chains given by log-potentials, normalised exactly, many of one length at a time.

A chain gives a sequence y the score sum_i unary[i, y_i] + sum_i pairwise[i, y_i, y_{i+1}]; a score
of -inf forbids it. ``conditionals`` turns the scores into P(y_1) and P(y_{i+1} | y_i): by sums of
products of potentials where these stay far from the limits of doubles, else with logarithms
throughout.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fsmeu.fst.layers import Floats

__all__ = ["Conditionals", "conditionals", "first_impossible", "marginals"]

_MOST_SPREAD = 150.0
"""Scores that differ by no more than this are multiplied as they are: the least product of four of
them is far above the least double."""

_LEAST_REST = 1e-150
"""What follows a label, as a part of the greatest at its position, may weigh as little as this: its
product with two potentials is still above the least double, so that no sum becomes 0 by itself."""


@dataclass(frozen=True, eq=False)
class Conditionals:
    """A chain of conditional probabilities.

    Attributes:
        first: P(y_1), shape (L,).
        steps: P(y_{i+1} | y_i), shape (n - 1, L, L); a row of zeros where y_i is a dead end.
        log_partition: logarithm of the sum of exp(score) over all sequences.
    """

    first: Floats
    steps: Floats
    log_partition: float


def conditionals(unary: Floats, pairwise: Floats) -> list[Conditionals]:
    """The conditional probabilities of each chain of a batch.

    The chains have one length, at least 1, and each allows some sequence.

    Args:
        unary: log-potentials, shape (batch, n, L).
        pairwise: log-potentials, shape (batch, tables, L, L): one table for all positions of a
            chain, or n - 1 of them.
    """
    products = _products(unary, pairwise)
    found = {row: one for part in products for row, one in _conditionals(part).items()}
    return [
        found[k] if k in found else _by_logarithms(unary[k], pairwise[k]) for k in range(len(unary))
    ]


def marginals(unary: Floats, pairwise: Floats) -> Floats:
    """P(y_i = l) under each chain of a batch, (batch, n, L); arguments as for ``conditionals``."""
    found, left = np.empty(unary.shape), np.ones(len(unary), bool)
    for part in _products(unary, pairwise):
        rows, held = part.rows[part.held], part.held
        found[rows, 0], left[rows] = part.first[held], False
        for i in range(1, unary.shape[1]):
            known = found[rows, i - 1] / part.sums[i - 1, held]
            table = part.double[:, (i - 1) % part.double.shape[1]]
            shared = table if len(table) == 1 else table[held]
            found[rows, i] = np.matmul(known[:, None], shared)[:, 0] * part.ahead[i, held]
    for row in np.flatnonzero(left).tolist():
        chain = _by_logarithms(unary[row], pairwise[row])
        found[row, 0] = chain.first
        for i, table in enumerate(chain.steps):
            found[row, i + 1] = found[row, i] @ table
    return found


def _spread(scores: Floats) -> Floats:
    """The difference between the greatest and the least finite score of each chain, (batch,)."""
    if not scores.size:
        return np.zeros(len(scores))
    flat = scores.reshape(len(scores), -1)
    top, least = flat.max(axis=1), flat.min(axis=1)
    if least.min() == -np.inf:
        least = np.where(flat == -np.inf, top[:, None], flat).min(axis=1)
    difference: Floats = top - least
    return difference


@dataclass(frozen=True, eq=False)
class _Products:
    """Sums of products of potentials, of chains whose scores do not differ much.

    P(y_1) is ``first``, and P(y_{i+1} | y_i) is ``double`` times what may follow y_{i+1}
    (``ahead``), divided by the sum of that over y_{i+1} (``sums``).

    Attributes:
        rows: the places of the chains in the batch.
        double: potentials of neighbours, (chains, tables, L, L), or one for all.
        first: (chains, L).
        ahead: (n, chains, L).
        sums: (n - 1, chains, L); 1 for a dead end.
        logs: logarithms of the sums over all sequences, (chains,).
        held: whether all sums stay within doubles, (chains,).
    """

    rows: NDArray[np.intp]
    double: Floats
    first: Floats
    ahead: Floats
    sums: Floats
    logs: Floats
    held: NDArray[np.bool_]


def _products(unary: Floats, pairwise: Floats) -> list[_Products]:
    """The sums for all chains of which scores do not differ much; none where there are none."""
    if unary.shape[1] == 1:
        pairwise = pairwise[:, :0]
    rows = np.flatnonzero(_spread(unary) + _spread(pairwise) <= _MOST_SPREAD)
    if not len(rows):
        return []
    if len(rows) < len(unary):
        unary, pairwise = unary[rows], pairwise[rows]
    if (pairwise[1:] == pairwise[:1]).all():
        pairwise = pairwise[:1]
    n = unary.shape[1]
    tops, link_tops = unary.max(axis=2), pairwise.max(axis=(2, 3))
    single = np.exp(unary - tops[:, :, None]).transpose(1, 0, 2)
    double = np.exp(pairwise - link_tops[:, :, None, None])
    with np.errstate(divide="ignore", invalid="ignore"):  # where sums became 0, which is seen below
        ahead, sums, factors = _sums_ahead(single, double)
        totals = ahead[0].sum(axis=1)
        logs = np.log(factors).sum(axis=(0, 2)) + np.log(totals) + tops.sum(axis=1)
        logs = logs + link_tops.sum(axis=1) * ((n - 1) / max(1, link_tops.shape[1]))
        first = ahead[0] / totals[:, None]
    none = sums == 0
    held = ((sums >= _LEAST_REST * factors) | none).all(axis=(0, 2))
    sums[none] = 1.0
    return [_Products(rows, double, first, ahead, sums, logs, held)]


def _conditionals(part: _Products) -> dict[int, Conditionals]:
    """The conditional probabilities, by the row, of chains whose sums stay within doubles."""
    n, _, labels = part.ahead.shape
    found = {}
    for k in np.flatnonzero(part.held).tolist():
        steps = np.empty((n - 1, labels, labels))
        np.multiply(part.double[k % len(part.double)], part.ahead[1:, k, None], out=steps)
        steps /= part.sums[:, k, :, None]
        found[int(part.rows[k])] = Conditionals(part.first[k], steps, float(part.logs[k]))
    return found


def _sums_ahead(single: Floats, double: Floats) -> tuple[Floats, Floats, Floats]:
    """What the rest of a sequence weighs from each position on, up to a factor.

    Args:
        single: potentials of labels, shape (n, batch, L).
        double: potentials of neighbours, shape (batch, tables, L, L), or those of one chain for
            all, (1, tables, L, L).

    Returns:
        The weight of each label with all that may follow it, divided by the factors of later
        positions, (n, batch, L); the sum over what may follow it, (n - 1, batch, L); and the
        factors, the greatest of these sums, (n - 1, batch, 1).
    """
    n, batch, labels = single.shape
    ahead, sums = np.empty((n, batch, labels)), np.empty((n - 1, batch, labels))
    factors = np.empty((n - 1, batch, 1))
    rest: Floats | float = 1.0
    for i in range(n - 2, -1, -1):
        after = np.multiply(single[i + 1], rest, out=ahead[i + 1])
        table = double[:, i % double.shape[1]]
        # A product for each chain: one for all of them would round as their number has it.
        np.matmul(table, after[:, :, None], out=sums[i, :, :, None])
        np.maximum.reduce(sums[i], axis=1, keepdims=True, out=factors[i])
        rest = sums[i] / factors[i]
    np.multiply(single[0], rest, out=ahead[0])
    return ahead, sums, factors


def _by_logarithms(unary: Floats, pairwise: Floats) -> Conditionals:
    """The conditional probabilities of one chain, whatever its potentials.

    Args:
        unary: log-potentials, shape (n, L).
        pairwise: log-potentials, shape (tables, L, L).
    """
    n, labels = unary.shape
    steps = np.empty((n - 1, labels, labels))
    rest = np.zeros(labels)
    shifts = np.zeros(n)
    for i in range(n - 2, -1, -1):
        steps[i], logs = _softmax(pairwise[i % len(pairwise)] + (unary[i + 1] + rest))
        shifts[i + 1] = logs.max()
        rest = logs - shifts[i + 1]
    first, shifts[0] = _softmax(unary[0] + rest)
    return Conditionals(first, steps, float(shifts.sum()))


def first_impossible(unary: Floats, pairwise: Floats) -> int | None:
    """The first position (from 0) that no allowed sequence reaches, or None.

    Args:
        unary: log-potentials, shape (n, L).
        pairwise: log-potentials, shape (L, L) for all positions, or (n - 1, L, L).
    """
    allowed, linked = np.isfinite(unary), np.isfinite(pairwise)
    if linked.all():
        return _first_without(allowed)
    linked = np.broadcast_to(linked, (max(0, len(unary) - 1), *linked.shape[-2:]))
    reached = allowed.copy()
    for i in range(1, len(unary)):
        reached[i] &= (linked[i - 1] & reached[i - 1, :, None]).any(axis=0)
    return _first_without(reached)


def _first_without(true: NDArray[np.bool_]) -> int | None:
    """The first row without a true entry, or None."""
    rows = np.flatnonzero(~true.any(axis=1))
    return int(rows[0]) if len(rows) else None


def _softmax(scores: Floats) -> tuple[Floats, Floats]:
    """Rows of exp(scores) divided by their sums, and the logarithms of the sums.

    A row of -inf becomes a row of zeros with logarithm -inf.
    """
    top = scores.max(axis=-1)
    shift = np.where(np.isfinite(top), top, 0.0)
    weights = np.exp(scores - shift[..., None])
    sums = weights.sum(axis=-1)
    alive = sums > 0
    divisor = np.where(alive, sums, 1.0)
    logs = np.where(alive, np.log(divisor) + shift, -np.inf)
    return weights / divisor[..., None], logs
