"""Linear-chain conditional random fields, for all sentences at once.

Forward and backward recursions with numbers scaled to sum to one (Rabiner 1989, section V.A). The
sentences are sorted by their lengths; at a position only those move that are long enough, so that
each position of the longest sentence is one product of matrices.

Throughout, ``unary`` has the scores of labels at the positions of all sentences, (positions, L),
``pairwise`` those of a label (last axis) after another, (L, L), and ``lengths`` says where the
sentences stand.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from fsmeu.arrays import Floats, Ints
from fsmeu.expectation.gradient import value_and_gradient_many
from fsmeu.learning.base import Objective
from fsmeu.learning.features import feature_matrix
from fsmeu.losses.protocol import Loss
from fsmeu.models import Potentials, from_potentials

_LEAST_SCORE = -300.0
"""A score this far below the greatest counts as this: products of two are above the least double,
and what they weigh is far below rounding."""


class Lengths:
    """Where the positions of sentences stand, when those of all are listed one after another.

    Attributes:
        begins: the first position of each sentence, and the number of all positions.
        at: for each position of the longest sentence, where it stands in those that have it, the
            longest sentence first.
    """

    def __init__(self, lengths: Sequence[int]) -> None:
        self.begins: Ints = np.append(0, np.cumsum(lengths, dtype=np.int64))
        order = np.argsort(-np.asarray(lengths, np.int64), kind="stable")
        sizes, starts = np.asarray(lengths, np.int64)[order], self.begins[:-1][order]
        self.at: list[Ints] = [starts[sizes > i] + i for i in range(max(lengths, default=0))]

    def split(self, rows: NDArray[Any]) -> list[NDArray[Any]]:
        """The rows of each sentence."""
        return [rows[a:b] for a, b in zip(self.begins[:-1], self.begins[1:], strict=True)]


def chain_marginals(
    unary: Floats, pairwise: Floats, lengths: Lengths
) -> tuple[float, Floats, Floats]:
    """The sum of log partition functions, probabilities of labels, and numbers of transitions.

    The probabilities are (positions, L); the expected number of times that a label (last axis)
    follows another is (L, L).
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
    return total, ahead * behind, double * move


def log_likelihood(
    unary: Floats, pairwise: Floats, lengths: Lengths, y: Ints
) -> tuple[float, Floats, Floats]:
    """The log-likelihood of label indices, (positions,), and its derivatives for both tables."""
    log_partition, single, double = chain_marginals(unary, pairwise, lengths)
    places = np.arange(len(y))
    after = np.setdiff1d(places, lengths.begins)  # positions that are not the first of a sentence
    score = unary[places, y].sum() + pairwise[y[after - 1], y[after]].sum()
    single, double = -single, -double
    single[places, y] += 1.0
    np.add.at(double, (y[after - 1], y[after]), 1.0)
    return float(score) - log_partition, single, double


def models_of(
    unary: Floats, pairwise: Floats, lengths: Lengths, labels: Sequence[Any]
) -> list[Potentials]:
    """The conditional random field of each sentence over these labels."""
    return [from_potentials(scores, pairwise, labels) for scores in lengths.split(unary)]


def expected_values(
    loss: Loss, unary: Floats, pairwise: Floats, lengths: Lengths, y: Sequence[Sequence[Any]]
) -> tuple[Floats, Floats, Floats]:
    """E[value(Z, y)] of each sentence, and the derivatives of their sum for both tables of scores.

    Z follows the conditional random field, the labels y of each sentence are given: the expectation
    of the loss with its tapes exchanged (Jansche 2007, section 1.3, for sequences).
    """
    models = models_of(unary, pairwise, lengths, loss.alphabet.labels)
    values, slopes = value_and_gradient_many(loss.swapped, y, models)
    single, double = np.zeros(unary.shape), np.zeros(pairwise.shape)
    for rows, one in zip(lengths.split(single), slopes, strict=True):
        assert isinstance(one, dict)
        rows[:] = one["unary"]
        double += one["pairwise"]
    return values, single, double


class TrainingSentences:
    """The training sentences as arrays; weights are one vector, (features + L) x L."""

    def __init__(
        self,
        sentences: Sequence[Sequence[Any]],
        tags: list[list[Any]],
        names: list[str],
        classes: NDArray[Any],
    ) -> None:
        self.rows = feature_matrix(sentences, names)
        self.columns = csr_array(self.rows.T)
        self.lengths = Lengths([len(one) for one in sentences])
        self.labels = len(classes)
        index = {tag: k for k, tag in enumerate(classes.tolist())}
        self.y: Ints = np.array([index[tag] for one in tags for tag in one], np.int64)

    def tables(self, weights: Floats) -> tuple[Floats, Floats]:
        """The weights of features, (features, L), and of transitions, (L, L)."""
        both = weights.reshape(-1, self.labels)
        return both[: -self.labels], both[-self.labels :]

    def _scores(self, weights: Floats) -> tuple[Floats, Floats]:
        """Scores of tags, (positions, L), and of transitions, (L, L)."""
        states, moves = self.tables(weights)
        return self.rows @ states, moves

    def _gradient(self, single: Floats, double: Floats) -> Floats:
        """Derivatives for the weights, from those for both tables of scores."""
        return np.concatenate((self.columns @ single, double)).ravel()

    def likelihood(self, c2: float) -> Objective:
        """The log-likelihood less the penalty, as a function of the weights."""

        def objective(weights: Floats) -> tuple[float, Floats]:
            value, single, double = log_likelihood(*self._scores(weights), self.lengths, self.y)
            slopes = self._gradient(single, double) - 2 * c2 * weights
            return value - c2 * float(weights @ weights), slopes

        return objective

    def utility(self, loss: Loss, sign: float, centre: Floats, c2: float) -> Objective:
        """The signed sum of expected values less the penalty, as a function of the weights."""
        y = [loss.alphabet.decode(one) for one in self.lengths.split(self.y)]

        def objective(weights: Floats) -> tuple[float, Floats]:
            moved, scores = weights - centre, self._scores(weights)
            values, single, double = expected_values(loss, *scores, self.lengths, y)
            slopes = sign * self._gradient(single, double) - 2 * c2 * moved
            return sign * float(values.sum()) - c2 * float(moved @ moved), slopes

        return objective
