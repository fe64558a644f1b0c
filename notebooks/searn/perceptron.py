"""The structured averaged perceptron (Collins 2002) on linear chains, a baseline.

The score of a label sequence is the sum of weights of features with labels and of labels with those
before them; Viterbi finds the best. Where it is wrong, the features of the right sequence are added
to the weights and those of the predicted one subtracted (Daumé et al. 2009, equation 15). The
answer is the average of the weights after every sentence.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

__all__ = ["ChainModel", "best_labels", "perceptron"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True)
class ChainModel:
    """Weights of a linear chain.

    Attributes:
        columns: the columns of features that have weights, (U,), sorted.
        weights: of features and labels, (U, L).
        transitions: of a label (last axis) after another, (L + 1, L); the last row is the start.
    """

    columns: Ints
    weights: Floats
    transitions: Floats


def perceptron(
    rows: csr_array,
    starts: Ints,
    labels: Sequence[Ints],
    count: int,
    epochs: int = 10,
    seed: int = 0,
    progress: Callable[[int], None] | None = None,
) -> ChainModel:
    """The averaged weights after training.

    Args:
        rows: features of all positions, sentences laid end to end, (positions, columns).
        starts: where each sentence starts and the last ends, (sentences + 1,).
        labels: label indices of each sentence.
        count: the number of labels, L.
        epochs: passes over the sentences, each in an order of its own.
        seed: of these orders.
        progress: called with the number of each finished pass.
    """
    columns = np.unique(rows.indices)
    pieces = _pieces(rows, starts, columns)
    weights = np.zeros((len(columns), count))
    moves = np.zeros((count + 1, count))
    late_weights, late_moves = np.zeros_like(weights), np.zeros_like(moves)
    random, clock = np.random.default_rng(seed), 0
    for epoch in range(epochs):
        for number in random.permutation(len(pieces)):
            piece, gold = pieces[number], np.asarray(labels[number], np.int64)
            found = _viterbi(piece @ weights, moves)
            clock += 1
            if (found == gold).all():
                continue
            for sequence, sign in ((gold, 1.0), (found, -1.0)):
                wrong = np.flatnonzero(found != gold)
                at, amounts = _entries(piece, wrong, sequence)
                np.add.at(weights, at, sign * amounts)
                np.add.at(late_weights, at, sign * clock * amounts)
                before = np.concatenate([[count], sequence[:-1]])
                np.add.at(moves, (before, sequence), sign)
                np.add.at(late_moves, (before, sequence), sign * clock)
        if progress is not None:
            progress(epoch)
    # the mean over all times: an update at time c is missing from the c times before it
    scale = 1.0 / (clock + 1)
    return ChainModel(columns, weights - scale * late_weights, moves - scale * late_moves)


def best_labels(model: ChainModel, rows: csr_array, starts: Ints) -> list[Ints]:
    """The best label indices of each sentence; arguments as in ``perceptron``."""
    pieces = _pieces(rows, starts, model.columns)
    return [_viterbi(piece @ model.weights, model.transitions) for piece in pieces]


def _pieces(rows: csr_array, starts: Ints, columns: Ints) -> list[csr_array]:
    """The rows of each sentence, over the given columns alone."""
    place = np.full(rows.shape[1], -1, np.int64)
    place[columns] = np.arange(len(columns))
    numbers = place[rows.indices]
    kept = numbers >= 0
    ends = np.concatenate([[0], np.cumsum(kept)])[rows.indptr]
    numbers, values = numbers[kept], rows.data[kept].astype(np.float64)
    found = []
    for begin, end in zip(starts[:-1].tolist(), starts[1:].tolist(), strict=True):
        part = ends[begin : end + 1]
        held = (values[part[0] : part[-1]], numbers[part[0] : part[-1]], part - part[0])
        found.append(csr_array(held, shape=(end - begin, len(columns))))
    return found


def _entries(piece: csr_array, positions: Ints, sequence: Ints) -> tuple[tuple[Ints, Ints], Floats]:
    """Where the features of positions meet their labels in the weights, and the values."""
    taken = [np.arange(piece.indptr[i], piece.indptr[i + 1]) for i in positions]
    entries = np.concatenate(taken)
    labels = np.repeat(sequence[positions], [len(one) for one in taken])
    return (piece.indices[entries], labels), piece.data[entries]


def _viterbi(scores: Floats, moves: Floats) -> Ints:
    """The best label indices, (n,), for scores (n, L) and moves (L + 1, L) from the last row."""
    n, count = scores.shape
    if not n:
        return np.empty(0, np.int64)
    best = scores[0] + moves[count]
    back = np.empty((n, count), np.int64)
    for i in range(1, n):
        options = best[:, None] + moves[:count]
        back[i] = options.argmax(axis=0)
        best = options.max(axis=0) + scores[i]
    found = np.empty(n, np.int64)
    found[-1] = int(best.argmax())
    for i in range(n - 1, 0, -1):
        found[i - 1] = back[i, found[i]]
    return found
