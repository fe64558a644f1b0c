"""The log-likelihood of linear-chain conditional random fields, for all sentences at once.

Forward and backward recursions with numbers scaled to sum to one (Rabiner 1989, section V.A). The
sentences are sorted by their lengths; at a position only those move that are long enough, so that
each position of the longest sentence is one product of matrices.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["ChainMarginals", "Lengths", "chain_marginals", "log_likelihood"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_LEAST_SCORE = -300.0
"""A score this far below the greatest counts as this: products of two are above the least double,
and what they weigh is far below rounding."""


class Lengths:
    """Where the positions of sentences stand, when those of all are listed one after another.

    Args:
        lengths: the length of each sentence.

    Attributes:
        begins: the first position of each sentence, and the number of all positions.
        at: for each position of the longest sentence, where it stands in those that have it, the
            longest sentence first.
    """

    def __init__(self, lengths: Sequence[int]) -> None:
        self.begins: Ints = np.append(0, np.cumsum(lengths, dtype=np.int64))
        order = np.argsort(-np.asarray(lengths, np.int64), kind="stable")
        sizes = np.asarray(lengths, np.int64)[order]
        starts = self.begins[:-1][order]
        longest = int(sizes[0]) if len(sizes) else 0
        self.at: list[Ints] = [starts[sizes > i] + i for i in range(longest)]

    @property
    def follows(self) -> Ints:
        """The positions that are not the first of their sentence."""
        return np.concatenate([np.zeros(0, np.int64), *self.at[1:]])

    def split(self, rows: NDArray[Any]) -> list[NDArray[Any]]:
        """The rows of each sentence."""
        return [rows[a:b] for a, b in zip(self.begins[:-1], self.begins[1:], strict=True)]


@dataclass(frozen=True, eq=False)
class ChainMarginals:
    """What a conditional random field says of sentences.

    Attributes:
        log_partition: the sum, over sentences, of the logarithm of the sum of exp(score).
        single: the probability of each label at each position, (positions, L).
        double: the expected number of times a label (last axis) follows another, (L, L).
    """

    log_partition: float
    single: Floats
    double: Floats


def chain_marginals(unary: Floats, pairwise: Floats, lengths: Lengths) -> ChainMarginals:
    """The marginal probabilities of all sentences.

    Args:
        unary: scores of labels at the positions of all sentences, (positions, L).
        pairwise: scores of a label (last axis) after another, (L, L).
        lengths: where the sentences stand.
    """
    tops, top = unary.max(axis=1, initial=_LEAST_SCORE), float(pairwise.max())
    emit = np.exp(np.maximum(unary - tops[:, None], _LEAST_SCORE))
    move = np.exp(np.maximum(pairwise - top, _LEAST_SCORE))
    ahead, scales = np.empty(emit.shape), np.ones(len(emit))
    before = np.zeros(0)
    for i, rows in enumerate(lengths.at):
        arrived = emit[rows] * (before[: len(rows)] @ move) if i else emit[rows]
        scales[rows] = arrived.sum(axis=1)
        before = ahead[rows] = arrived / scales[rows, None]
    behind, double = np.ones(emit.shape), np.zeros(pairwise.shape)
    for i in range(len(lengths.at) - 1, 0, -1):
        rows = lengths.at[i]
        sources = lengths.at[i - 1][: len(rows)]
        leaving = emit[rows] * behind[rows] / scales[rows, None]
        behind[sources] = leaving @ move.T
        double += ahead[sources].T @ leaving
    following = len(emit) - (len(lengths.at[0]) if lengths.at else 0)
    total = float(np.log(scales).sum() + tops.sum()) + top * following
    return ChainMarginals(total, ahead * behind, double * move)


def log_likelihood(
    unary: Floats, pairwise: Floats, lengths: Lengths, y: Ints
) -> tuple[float, Floats, Floats]:
    """The log-likelihood of label sequences, and its derivatives for both tables of scores.

    Args:
        unary: scores of labels at the positions of all sentences, (positions, L).
        pairwise: scores of a label (last axis) after another, (L, L).
        lengths: where the sentences stand.
        y: label indices at the positions of all sentences, (positions,).
    """
    found = chain_marginals(unary, pairwise, lengths)
    places, after = np.arange(len(y)), lengths.follows
    score = unary[places, y].sum() + pairwise[y[after - 1], y[after]].sum()
    single, double = -found.single, -found.double
    single[places, y] += 1.0
    np.add.at(double, (y[after - 1], y[after]), 1.0)
    return float(score) - found.log_partition, single, double
