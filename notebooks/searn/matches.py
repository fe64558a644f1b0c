"""Matches of n-grams for many partial summaries of a collection at once, in whole numbers.

A summary is a set of places of words. The matches of an n-gram against all references grow by
``gains[gram, k]`` when it is met for the k-th time: by the number of references that have it more
than k times. So the matches of a summary are the sum of these over its n-grams.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from searn.collection import Collection
from searn.rouge import ngrams

__all__ = ["Matches", "matches_of"]

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Matches:
    """What adds up to ROUGE-1 and ROUGE-2.

    Attributes:
        word: the number of each place's word among those of the references, -1 for others, (N,).
        pair: the number of the bigram of two places among those of the references, or -1, (N, N).
        word_gains: (words of references, K).
        pair_gains: (bigrams of references, K).
        total: the number of bigrams of all references.
    """

    word: Ints
    pair: Ints
    word_gains: Ints
    pair_gains: Ints
    total: int

    def count(self, held: NDArray[np.bool_]) -> tuple[Ints, Ints]:
        """Matched bigrams and matched words of each summary, (B,) each.

        Args:
            held: which words stand in each summary, (B, N).
        """
        order = _places(held)
        here, there = order[:, :-1], order[:, 1:]
        both = (here >= 0) & (there >= 0)
        pairs = np.where(both, self.pair[here, there], -1)
        words = np.where(order >= 0, self.word[order], -1)
        return _gained(pairs, self.pair_gains), _gained(words, self.word_gains)


def matches_of(collection: Collection) -> Matches:
    """The tables of a collection."""
    words, word_gains = _numbered(collection, 1)
    pairs, pair_gains = _numbered(collection, 2)
    held = collection.words
    table = [[pairs.get((first, second), -1) for second in held] for first in held]
    total = sum(max(0, len(one) - 1) for one in collection.references)
    return Matches(
        np.array([words.get((one,), -1) for one in held], np.int64),
        np.array(table, np.int64).reshape(len(held), len(held)),
        word_gains,
        pair_gains,
        total,
    )


def _numbered(collection: Collection, n: int) -> tuple[dict[tuple[str, ...], int], Ints]:
    """Numbers of the n-grams of the references, and their gains."""
    seen = [ngrams(one, n) for one in collection.references]
    names = {gram: number for number, gram in enumerate(dict.fromkeys(g for s in seen for g in s))}
    most = max((count for one in seen for count in one.values()), default=0)
    gains = np.zeros((len(names), most + 1), np.int64)
    for one in seen:
        for gram, count in one.items():
            gains[names[gram], :count] += 1
    return names, gains


def _places(held: NDArray[np.bool_]) -> Ints:
    """The places of the words of each summary in order, then -1, (B, most words)."""
    counts = held.sum(axis=1)
    rows, places = np.nonzero(held)
    begins = np.cumsum(counts) - counts
    found = np.full((len(held), int(counts.max(initial=0))), -1, np.int64)
    found[rows, np.arange(len(rows)) - begins[rows]] = places
    return found


def _gained(numbers: Ints, gains: Ints) -> Ints:
    """The sum of the gains of each row, (B,), for numbers (B, T) of which -1 count for nothing."""
    if numbers.shape[1] == 0 or len(gains) == 0:
        return np.zeros(len(numbers), np.int64)
    ordered = np.sort(numbers, axis=1)
    place = np.broadcast_to(np.arange(ordered.shape[1]), ordered.shape)
    fresh = np.ones(ordered.shape, bool)
    fresh[:, 1:] = ordered[:, 1:] != ordered[:, :-1]
    first = np.maximum.accumulate(np.where(fresh, place, 0), axis=1)
    times = np.minimum(place - first, gains.shape[1] - 1)
    found: Ints = np.where(ordered >= 0, gains[ordered, times], 0).sum(axis=1)
    return found
