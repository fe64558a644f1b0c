"""ROUGE-N of a summary (Lin 2004): the share of the references' n-grams that it has.

With several references, matches and n-grams are added up over them, as in Lin (2004, section 2). An
n-gram of a reference is matched as often as it stands in the summary, at most as often as in that
reference. A text is one sequence of words: n-grams run across the ends of its sentences.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fsmeu.arrays import Ints
from fsmeu.errors import InputError, check_int, message
from searn.collection import Collection

__all__ = ["Matches", "matches_of", "ngrams", "rouge"]

Words = Sequence[str]


def ngrams(words: Words, n: int) -> Counter[tuple[str, ...]]:
    """How often each sequence of n words stands in a text."""
    return Counter(tuple(words[i : i + n]) for i in range(len(words) - n + 1))


def rouge(summary: Words, references: Iterable[Words], n: int = 2) -> float:
    """ROUGE-N, from 0 to 1; 0 where no reference has n words.

    Args:
        summary: its words.
        references: the words of each reference.
        n: the length of n-grams; 2 as in Daumé et al. (2009, section 6.2.2).

    Raises:
        InputError: n is not a whole number of at least 1, or a text is given in place of words.
    """
    check_int("rouge", "n", n)
    given = list(references)
    for text in (summary, *given):
        if isinstance(text, str):
            raise InputError(message("rouge", "a text must be a list of words", text))
    mine = ngrams(summary, n)
    matched = total = 0
    for reference in given:
        theirs = ngrams(reference, n)
        matched += sum((mine & theirs).values())
        total += sum(theirs.values())
    return matched / total if total else 0.0


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
