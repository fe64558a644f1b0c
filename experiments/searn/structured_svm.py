"""The structured SVM (Tsochantaridis et al. 2005; section 5.4 of Daumé et al. 2009) of a chain.

With the features f(x, z) of a sentence and its labels, weights w minimise

    penalty / 2 |w|^2 + mean over sentences of max over z of (loss(z, y) + w f(x, z) - w f(x, y)).

The inner maximum is the loss-augmented argmax, ``fsmeu.decode(loss, model, augment=y)``, which is
exact for any loss that fsmeu compiles. The weights are found in the dual, one sentence at a time
(block-coordinate Frank and Wolfe; Lacoste-Julien, Jaggi, Schmidt and Pletscher 2013, algorithm 4):
w is the sum of a vector for each sentence, which moves towards that of the sentence's argmax by the
step that is best for the dual. What the dual still lacks is known (the duality gap).

Features are those of positions with the label, and pairs of labels, as a chain of a conditional
random field has them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array

import fsmeu
from fsmeu.arrays import Floats, Ints
from fsmeu.errors import InputError, check_int
from fsmeu.models.potentials import Potentials
from fsmeu.searn.learners.linear import column_table, numbered_columns

__all__ = ["StructuredSVM"]


class _Weights(NamedTuple):
    """Weights of features, of U columns and L labels; before a sentence stands label L."""

    positions: Floats  # of columns and labels, (U, L)
    pairs: Floats  # of a label and the one after it, (L + 1, L)


@dataclass(eq=False)
class _Sentence:
    """A training sentence with its part of the dual.

    Attributes:
        columns: the columns that it has, (u,).
        rows: the features of its positions, by these columns, (n, u).
        y: its labels, (n,).
        part: its vector, which is 0 elsewhere, positions (u, L) and pairs (L + 1, L).
        loss: its part of the dual's linear term.
    """

    columns: Ints
    rows: csr_array
    y: Ints
    part: _Weights
    loss: float = 0.0

    def features(self, z: Ints) -> _Weights:
        """The features of its positions with labels z, in the shapes of its part."""
        size = self.part.pairs.shape[1]
        of_labels = np.zeros((len(z), size))
        of_labels[np.arange(len(z)), z] = 1.0
        pairs = np.zeros_like(self.part.pairs)
        np.add.at(pairs, (np.append(size, z[:-1]), z), 1.0)
        return _Weights(self.rows.T @ of_labels, pairs)

    def chain(self, weights: _Weights) -> Potentials:
        """The chain whose scores are those of the weights."""
        return _chain(self.rows @ weights.positions[self.columns], weights.pairs)


class StructuredSVM:
    """A sequence labeller whose training maximises the margin of whole sentences.

    Args:
        loss: the name or file of a loss or utility over any labels, by which margins are measured;
            it sees the numbers of labels, not their names.
        penalty: of the squared length of the weights.
        epochs: passes over the sentences.
        seed: of the order of sentences.

    Attributes:
        labels: the labels, sorted.
        columns: the columns that have weights, (U,).
        weights: the mean of the weights after each step, later ones weighed more.
        gap: the duality gap in the last pass, each sentence's part as it was visited.
    """

    def __init__(
        self, loss: str = "hamming", penalty: float = 0.01, epochs: int = 10, seed: int = 0
    ) -> None:
        where = type(self).__name__
        self.loss = fsmeu.load(loss)
        if not penalty > 0:
            raise InputError(where, "penalty must be above 0", given=penalty)
        self.penalty = penalty
        self.epochs = check_int(where, "epochs", epochs)
        self.seed = seed

    def fit(self, rows: csr_array, starts: Ints, labels: Sequence[Sequence[str]]) -> StructuredSVM:
        """The labeller itself, after training.

        Args:
            rows: features of positions, (P, columns).
            starts: where each sentence starts, and the end of the last, (S + 1,).
            labels: the labels of each sentence.
        """
        self.labels = sorted({label for one in labels for label in one})
        self.columns, numbers = numbered_columns(rows, 1)
        size = len(self.labels)
        shape = (rows.shape[0], len(self.columns))
        known = csr_array((rows.data.astype(np.float64), numbers, rows.indptr), shape=shape)
        sentences = list(_sentences(known, starts, self._indices(labels), size))
        weights = _Weights(np.zeros((shape[1], size)), np.zeros((size + 1, size)))
        mean = _Weights(*(one.copy() for one in weights))
        source = np.random.default_rng(self.seed)
        steps = 0
        for _ in range(self.epochs):
            self.gap = 0.0
            for number in source.permutation(len(sentences)):
                self.gap += self._step(sentences[number], weights, 1 / len(sentences))
                steps += 1
                for total, last in zip(mean, weights, strict=True):
                    total += 2 / (steps + 1) * (last - total)
        self.weights = mean
        return self

    def predict(self, rows: csr_array, starts: Ints) -> list[list[str]]:
        """The labels of each sentence with the greatest score."""
        numbers = column_table(self.columns, rows.shape[1])[rows.indices]
        unseen = np.zeros((1, len(self.labels)))
        positions = np.concatenate((self.weights.positions, unseen))
        shape = (rows.shape[0], len(positions))
        scores = csr_array((rows.data, numbers, rows.indptr), shape=shape) @ positions
        found = []
        for begin, end in pairwise(starts.tolist()):
            chain = _chain(scores[begin:end], self.weights.pairs)
            best = chain.most_probable(1)[0][0]
            found.append([self.labels[k] for k in best])
        return found

    def _indices(self, labels: Sequence[Sequence[str]]) -> list[Ints]:
        """The labels of each sentence by their numbers."""
        number = {label: k for k, label in enumerate(self.labels)}
        return [np.array([number[label] for label in one], np.int64) for one in labels]

    def _step(self, sentence: _Sentence, weights: _Weights, share: float) -> float:
        """The sentence's part of the duality gap before the step; changes its part and the weights.

        Args:
            sentence: a training sentence.
            weights: the sum of the parts of all sentences.
            share: 1 divided by the number of sentences.
        """
        z = self._argmax(sentence, weights)
        right = sentence.features(sentence.y)
        wrong = sentence.features(z)
        scale = share / self.penalty
        corner = _Weights(*(scale * (a - b) for a, b in zip(right, wrong, strict=True)))
        towards = _Weights(*(a - b for a, b in zip(corner, sentence.part, strict=True)))
        lost = share * self._lost(z, sentence.y) - sentence.loss
        own = _Weights(weights.positions[sentence.columns], weights.pairs)
        gap = lost - self.penalty * _product(towards, own)
        length = self.penalty * _product(towards, towards)
        step = min(1.0, max(0.0, gap / length)) if length > 0 else 0.0
        sentence.loss += step * lost
        for part, direction in zip(sentence.part, towards, strict=True):
            part += step * direction
        weights.positions[sentence.columns] += step * towards.positions
        weights.pairs[...] += step * towards.pairs
        return gap

    def _argmax(self, sentence: _Sentence, weights: _Weights) -> Ints:
        """The labels with the greatest score and loss, (n,)."""
        chain = sentence.chain(weights)
        return np.array(fsmeu.decode(self.loss, chain, augment=sentence.y).labels, np.int64)

    def _lost(self, z: Ints, y: Ints) -> float:
        """The loss of z against y, less that of y itself; for a utility what it has less."""
        more = self.loss(z, y) - self.loss(y, y)
        return more if self.loss.kind == "loss" else -more


def _product(one: _Weights, other: _Weights) -> float:
    """The scalar product of two vectors of weights."""
    return float(sum((a * b).sum() for a, b in zip(one, other, strict=True)))


def _chain(scores: Floats, pairs: Floats) -> Potentials:
    """The chain with scores of positions, (n, L), and of pairs of labels, (L + 1, L)."""
    scores = scores.copy()
    scores[0] += pairs[-1]
    return Potentials(scores, pairs[:-1])


def _sentences(
    rows: csr_array, starts: Ints, labels: Sequence[Ints], size: int
) -> Iterator[_Sentence]:
    """The training sentences, given their features (P, U), with parts that are 0."""
    for (begin, end), y in zip(pairwise(starts.tolist()), labels, strict=True):
        entries = slice(int(rows.indptr[begin]), int(rows.indptr[end]))
        columns, own = np.unique(rows.indices[entries], return_inverse=True)
        ends = rows.indptr[begin : end + 1] - rows.indptr[begin]
        features = csr_array((rows.data[entries], own, ends), shape=(len(y), len(columns)))
        part = _Weights(np.zeros((len(columns), size)), np.zeros((size + 1, size)))
        yield _Sentence(columns, features, y, part)
