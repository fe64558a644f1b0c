"""The incremental perceptron (Collins and Roark 2004; section 5.3 of Daumé et al. 2009).

A structured perceptron whose argmax is a beam search from left to right. As soon as the gold prefix
is no longer among the partial outputs that are held, the weights are moved towards its features and
away from those of the best partial output, and the rest of the sentence is left out (early update).
Features are those of positions with the label, and pairs and triples of labels; weights are
averaged over all sentences of all passes. The compiled loops take arrays by position:
``Sentences`` and ``Weights`` say what they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from fsmeu.arrays import Floats, Ints
from fsmeu.errors import check_int
from fsmeu.jit import jit_entry, jit_helper
from fsmeu.searn.learners.linear import column_table, numbered_columns

__all__ = ["IncrementalPerceptron", "Sentences", "Weights"]


class Sentences(NamedTuple):
    """Features of positions, P in number, sentences laid end to end."""

    ends: Ints  # where the entries of each position begin, and the end of the last, (P + 1,)
    columns: NDArray[np.int32]  # the number of each entry's column; the last is of unseen ones
    values: Floats  # the value of each entry
    starts: Ints  # where each sentence starts, and the end of the last, (S + 1,)


class Weights(NamedTuple):
    """Weights of features, L labels; before the first label of a sentence stands label L."""

    positions: Floats  # of columns and labels, (U + 1, L); the last row is of unseen columns: 0
    pairs: Floats  # of a label and the one after it, (L + 1, L)
    triples: Floats  # of two labels and the one after them, ((L + 1)^2, L)


class IncrementalPerceptron:
    """A sequence labeller with weights that are averaged.

    Args:
        epochs: passes over the sentences.
        beam: how many partial outputs are held, in training as at test time.
        history: 1 for pairs of labels alone, 2 for triples, too.
        seed: of the order of sentences.

    Attributes:
        labels: the labels, sorted.
        columns: the columns that have weights, (U,).
        weights: the averaged weights.
    """

    def __init__(self, epochs: int = 10, beam: int = 10, history: int = 2, seed: int = 0) -> None:
        where = type(self).__name__
        self.epochs = check_int(where, "epochs", epochs)
        self.beam = check_int(where, "beam", beam)
        self.history = check_int(where, "history", history)
        self.seed = seed

    def fit(
        self, rows: csr_array, starts: Ints, labels: Sequence[Sequence[str]]
    ) -> IncrementalPerceptron:
        """The labeller itself, after training.

        Args:
            rows: features of positions, (P, columns).
            starts: where each sentence starts, and the end of the last, (S + 1,).
            labels: the labels of each sentence.
        """
        self.labels = sorted({label for one in labels for label in one})
        number = {label: k for k, label in enumerate(self.labels)}
        gold = np.array([number[label] for one in labels for label in one], np.int64)
        self.columns, numbers = numbered_columns(rows, 1)
        given = _sentences(rows, numbers, starts)
        count = len(self.labels)
        shapes = ((len(self.columns) + 1, count), (count + 1, count), ((count + 1) ** 2, count))
        weights = Weights(*(np.zeros(shape) for shape in shapes))
        delays = Weights(*(np.zeros(shape) for shape in shapes))
        source = np.random.default_rng(self.seed)
        for k in range(self.epochs):
            order = source.permutation(len(labels))
            _learn(*given, gold, order, *weights, *delays, k * len(labels), self.beam, self.history)
        seen = max(1, self.epochs * len(labels))
        self.weights = Weights(*(w - d / seen for w, d in zip(weights, delays, strict=True)))
        return self

    def predict(self, rows: csr_array, starts: Ints) -> list[list[str]]:
        """The labels of each sentence that the beam search finds best."""
        numbers = column_table(self.columns, rows.shape[1])[rows.indices]
        found = np.empty(rows.shape[0], np.int64)
        _decide(*_sentences(rows, numbers, starts), *self.weights, self.beam, self.history, found)
        spans = pairwise(starts.tolist())
        return [[self.labels[k] for k in found[begin:end].tolist()] for begin, end in spans]


def _sentences(rows: csr_array, numbers: NDArray[np.int32], starts: Ints) -> Sentences:
    """Sentences as the compiled loops take them."""
    ends = rows.indptr.astype(np.int64)
    return Sentences(ends, numbers, rows.data.astype(np.float64), starts.astype(np.int64))


@jit_helper
def _searched(
    ends: Ints, columns: NDArray[np.int32], values: Floats, begin: int, end: int, gold: Ints,
    positions: Floats, pairs: Floats, triples: Floats, history: int, labels: Ints, back: Ints,
) -> tuple[int, bool]:  # fmt: skip
    """How many positions were searched, and whether the gold prefix is the best partial output.

    ``labels`` and ``back`` are filled for each position with the label of each partial output that
    is held, best first, and the place of the one before it, (longest, beam) each. With ``gold``,
    the labels of the sentence, the search ends where gold's prefix is lost; it may be empty.
    """
    size = labels.shape[1]
    count = positions.shape[1]
    scores = np.empty(count)
    totals = np.zeros(size)
    new_totals = np.empty(size)
    last = np.full(size, count, np.int64)
    before = np.full(size, count, np.int64)
    held = 1
    gold_place = 0
    for t in range(end - begin):
        scores[:] = 0.0
        for k in range(ends[begin + t], ends[begin + t + 1]):
            for a in range(count):
                scores[a] += positions[columns[k], a] * values[k]
        found = 0
        for place in range(held):
            context = before[place] * (count + 1) + last[place]
            for a in range(count):
                total = totals[place] + scores[a] + pairs[last[place], a]
                if history > 1:
                    total += triples[context, a]
                if found == size and total <= new_totals[size - 1]:
                    continue
                at = min(found, size - 1)
                while at > 0 and new_totals[at - 1] < total:
                    new_totals[at] = new_totals[at - 1]
                    labels[t, at] = labels[t, at - 1]
                    back[t, at] = back[t, at - 1]
                    at -= 1
                new_totals[at] = total
                labels[t, at] = a
                back[t, at] = place
                found = min(found + 1, size)
        new_last = labels[t, :found].copy()
        new_before = last[back[t, :found]]
        if len(gold) > 0:
            kept = -1
            for place in range(found):
                if back[t, place] == gold_place and labels[t, place] == gold[t]:
                    kept = place
            gold_place = kept
            if kept < 0:
                return t + 1, False
        last[:found] = new_last
        before[:found] = new_before
        totals[:found] = new_totals[:found]
        held = found
    return end - begin, gold_place == 0


@jit_helper
def _backtracked(labels: Ints, back: Ints, length: int) -> Ints:
    """The labels of the best partial output, (length,)."""
    found = np.empty(length, np.int64)
    place = 0
    for t in range(length - 1, -1, -1):
        found[t] = labels[t, place]
        place = back[t, place]
    return found


@jit_helper
def _add(
    ends: Ints, columns: NDArray[np.int32], values: Floats, begin: int, line: Ints, sign: float,
    positions: Floats, pairs: Floats, triples: Floats, history: int,
) -> None:  # fmt: skip
    """Adds the features of a line of labels from position ``begin`` on, times ``sign``."""
    count = positions.shape[1]
    unseen = len(positions) - 1
    last = count
    before = count
    for t in range(len(line)):
        label = line[t]
        for k in range(ends[begin + t], ends[begin + t + 1]):
            if columns[k] != unseen:
                positions[columns[k], label] += sign * values[k]
        pairs[last, label] += sign
        if history > 1:
            triples[before * (count + 1) + last, label] += sign
        before = last
        last = label


@jit_entry
def _learn(
    ends: Ints, columns: NDArray[np.int32], values: Floats, starts: Ints, gold: Ints, order: Ints,
    positions: Floats, pairs: Floats, triples: Floats,
    position_delays: Floats, pair_delays: Floats, triple_delays: Floats,
    seen: int, beam: int, history: int,
) -> int:  # fmt: skip
    """The number of updates of one pass; changes weights and delays.

    Delays are steps times the number of sentences before them, ``seen`` before this pass: the mean
    of the weights after t sentences is ``weights - delays / t``.
    """
    longest = 0
    for s in range(len(starts) - 1):
        longest = max(longest, starts[s + 1] - starts[s])
    labels = np.zeros((longest, beam), np.int64)
    back = np.zeros((longest, beam), np.int64)
    updates = 0
    for number in range(len(order)):
        begin = starts[order[number]]
        end = starts[order[number] + 1]
        line = gold[begin:end]
        length, right = _searched(
            ends, columns, values, begin, end, line, positions, pairs, triples, history,
            labels, back,
        )  # fmt: skip
        if right:
            continue
        updates += 1
        wrong = _backtracked(labels, back, length)
        for sign, chosen in ((1.0, line[:length]), (-1.0, wrong)):
            _add(
                ends, columns, values, begin, chosen, sign, positions, pairs, triples, history
            )  # fmt: skip
            _add(
                ends, columns, values, begin, chosen, sign * (seen + number),
                position_delays, pair_delays, triple_delays, history,
            )  # fmt: skip
    return updates


@jit_entry
def _decide(
    ends: Ints, columns: NDArray[np.int32], values: Floats, starts: Ints,
    positions: Floats, pairs: Floats, triples: Floats, beam: int, history: int, found: Ints,
) -> None:  # fmt: skip
    """Fills ``found`` with the label of each position, (P,)."""
    longest = 0
    for s in range(len(starts) - 1):
        longest = max(longest, starts[s + 1] - starts[s])
    labels = np.zeros((longest, beam), np.int64)
    back = np.zeros((longest, beam), np.int64)
    nothing = np.empty(0, np.int64)
    for s in range(len(starts) - 1):
        begin = starts[s]
        end = starts[s + 1]
        _searched(
            ends, columns, values, begin, end, nothing, positions, pairs, triples, history,
            labels, back,
        )  # fmt: skip
        found[begin:end] = _backtracked(labels, back, end - begin)
