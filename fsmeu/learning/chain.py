"""Linear-chain conditional random fields, for all sentences at once.

Forward and backward recursions with numbers scaled to sum to one (Rabiner 1989, section V.A), and
that of Viterbi (1967). The sentences are sorted by their lengths; at a position only those move
that are long enough, so that each position of the longest sentence is one product of matrices.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from fsmeu.arrays import Floats, Ints
from fsmeu.expectation.gradient import value_and_gradient_many
from fsmeu.learning.features import feature_matrix
from fsmeu.losses.protocol import Loss
from fsmeu.models import Potentials, from_potentials

__all__ = [
    "Lengths",
    "TrainingSentences",
    "chain_marginals",
    "expected_values",
    "log_likelihood",
    "models_of",
    "most_probable",
]

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


def most_probable(unary: Floats, pairwise: Floats, lengths: Lengths) -> Ints:
    """Indices of the most probable labels at the positions of all sentences, (positions,).

    Of label sequences that are equally probable one is taken.

    Args:
        unary: scores of labels at the positions of all sentences, (positions, L).
        pairwise: scores of a label (last axis) after another, (L, L).
        lengths: where the sentences stand.
    """
    best = unary.copy()  # the greatest score of labels up to a position that end in each label
    came = np.zeros(unary.shape, np.int64)  # the label before it
    for i in range(1, len(lengths.at)):
        rows = lengths.at[i]
        ways = best[lengths.at[i - 1][: len(rows)], :, None] + pairwise  # (sentences, L, L)
        came[rows] = ways.argmax(axis=1)
        best[rows] += ways.max(axis=1)
    # Right where a sentence ends; the other labels follow from the next one.
    found: Ints = best.argmax(axis=1)
    for i in range(len(lengths.at) - 1, 0, -1):
        rows = lengths.at[i]
        found[lengths.at[i - 1][: len(rows)]] = came[rows, found[rows]]
    return found


def models_of(
    unary: Floats, pairwise: Floats, lengths: Lengths, labels: Sequence[Any]
) -> list[Potentials]:
    """The conditional random field of each sentence.

    Args:
        unary: scores of labels at the positions of all sentences, (positions, L).
        pairwise: scores of a label (last axis) after another, (L, L).
        lengths: where the sentences stand.
        labels: the labels.
    """
    return [from_potentials(scores, pairwise, labels) for scores in lengths.split(unary)]


def expected_values(
    loss: Loss, unary: Floats, pairwise: Floats, lengths: Lengths, y: Sequence[Sequence[Any]]
) -> tuple[Floats, Floats, Floats]:
    """E[value(Z, y)] of each sentence, and the derivatives of their sum for both tables of scores.

    Z follows the conditional random field, y is given: the expectation of the loss with its tapes
    exchanged (Jansche 2007, section 1.3, for sequences).

    Args:
        loss: a loss over the labels.
        unary: scores of labels at the positions of all sentences, (positions, L).
        pairwise: scores of a label (last axis) after another, (L, L).
        lengths: where the sentences stand.
        y: the labels of each sentence.
    """
    models = models_of(unary, pairwise, lengths, loss.alphabet.labels)
    values, slopes = value_and_gradient_many(loss.swapped, y, models)
    single, double = np.zeros(unary.shape), np.zeros(pairwise.shape)
    for begin, one in zip(lengths.begins[:-1], slopes, strict=True):
        assert isinstance(one, dict)
        single[begin : begin + len(one["unary"])] = one["unary"]
        double += one["pairwise"]
    return values, single, double


Sentences = Sequence[Sequence[Any]]


class TrainingSentences:
    """The training sentences as arrays; weights are one vector of both tables.

    Attributes:
        rows: values of the features, (positions, features), and its transpose.
        lengths: where the sentences stand.
        tags: the tags of each sentence.
        y: indices of the tags at the positions of all sentences.
        size: the number of weights.
    """

    def __init__(
        self, sentences: Sentences, tags: list[list[Any]], names: list[str], classes: NDArray[Any]
    ) -> None:
        self.rows = feature_matrix(sentences, names)
        self.columns = csr_array(self.rows.T)
        self.lengths = Lengths([len(one) for one in sentences])
        self.tags, self.labels = tags, len(classes)
        index = {tag: k for k, tag in enumerate(classes.tolist())}
        self.y: Ints = np.array([index[tag] for one in tags for tag in one], np.int64)
        self.size = (len(names) + self.labels) * self.labels

    def tables(self, weights: Floats) -> tuple[Floats, Floats]:
        """The weights of features, (features, L), and of transitions, (L, L)."""
        both = weights.reshape(-1, self.labels)
        return both[: -self.labels], both[-self.labels :]

    def scores(self, weights: Floats) -> tuple[Floats, Floats]:
        """Scores of tags, (positions, L), and of transitions, (L, L)."""
        states, moves = self.tables(weights)
        return self.rows @ states, moves

    def weight_gradient(self, single: Floats, double: Floats) -> Floats:
        """Derivatives for the weights, from those for both tables of scores."""
        return np.concatenate((self.columns @ single, double)).ravel()
