"""ROUGE-N of a summary (Lin 2004): the share of the references' n-grams that it has.

With several references, matches and n-grams are added up over them, as in Lin (2004, section 2). An
n-gram of a reference is matched as often as it stands in the summary, at most as often as in that
reference. A text is one sequence of words: n-grams run across the ends of its sentences.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from fsmeu.arrays import Bools, Ints
from fsmeu.errors import InputError, check_int
from fsmeu.jit import jit_entry, jit_helper
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
            raise InputError("rouge", "a text must be a list of words", given=text)
    mine = ngrams(summary, n)
    matched = total = 0
    for reference in given:
        theirs = ngrams(reference, n)
        matched += sum((mine & theirs).values())
        total += sum(theirs.values())
    return matched / total if total else 0.0


@dataclass(frozen=True)
class Matches:
    """What adds up to ROUGE-1 and ROUGE-2, in whole numbers.

    The matches of an n-gram against all references grow by ``gains[gram, k]`` when it is met for
    the k-th time (from 0): by the number of references that have it more than k times.

    Attributes:
        word: the number of each place's word among those of the references, -1 for others, (N,).
        pair: the number of the bigram of two such words among those of the references, or -1,
            (words of references + 1, the same); the last row and column are for other words.
        word_gains: (words of references, K).
        pair_gains: (bigrams of references, K).
        total: the number of bigrams of all references.
    """

    word: Ints
    pair: Ints
    word_gains: Ints
    pair_gains: Ints
    total: int

    def count(self, held: Bools, rows: Ints, begins: Ints, ends: Ints) -> tuple[Ints, Ints]:
        """Matched bigrams and words of summaries, (B, 2), and of what they may grow into, (C, 2).

        Args:
            held: which words stand in each summary, (B, N).
            rows: the summary that each of C others grows out of, never falling, (C,).
            begins: the first place of the words that it has beside, which follow each other, (C,).
            ends: the place after the last of these, (C,).
        """
        own = np.zeros((len(held), 2), np.int64)
        grown = np.zeros((len(rows), 2), np.int64)
        starts = np.searchsorted(rows, np.arange(len(held) + 1))
        tables = (self.word, self.pair, self.word_gains, self.pair_gains)
        _count(held, starts, begins, ends, *tables, own, grown)
        return own, grown


def matches_of(collection: Collection) -> Matches:
    """The tables of a collection."""
    words, word_gains = _numbered(collection, 1)
    pairs, pair_gains = _numbered(collection, 2)
    table = np.full((len(words) + 1, len(words) + 1), -1, np.int64)
    for (first, second), number in pairs.items():
        table[words[first,], words[second,]] = number
    return Matches(
        np.array([words.get((one,), -1) for one in collection.words], np.int64),
        table,
        word_gains,
        pair_gains,
        sum(max(0, len(one) - 1) for one in collection.references),
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


@jit_helper
def _met(counts: Ints, gains: Ints, gram: int) -> Any:
    """What one more occurrence of an n-gram gains; it is counted."""
    if gram < 0:
        return 0
    counts[gram] += 1
    return gains[gram, min(counts[gram] - 1, gains.shape[1] - 1)]


@jit_helper
def _left(counts: Ints, gains: Ints, gram: int) -> Any:
    """What one occurrence less loses; it is counted."""
    if gram < 0:
        return 0
    counts[gram] -= 1
    return gains[gram, min(counts[gram], gains.shape[1] - 1)]


@jit_entry
def _count(  # noqa: ANN202
    held: Bools,
    starts: Ints,
    begins: Ints,
    ends: Ints,
    word: Ints,
    pair: Ints,
    word_gains: Ints,
    pair_gains: Ints,
    own: Ints,
    grown: Ints,
):
    """Fills own (B, 2) and grown (C, 2); see ``Matches.count``."""
    size = held.shape[1]
    words = np.zeros(len(word_gains), np.int64)
    pairs = np.zeros(len(pair_gains), np.int64)
    before, after = np.empty(size, np.int64), np.empty(size, np.int64)
    for row in range(len(held)):
        words[:], pairs[:] = 0, 0
        last = -1
        for place in range(size):
            before[place] = last
            if held[row, place]:
                own[row, 1] += _met(words, word_gains, word[place])
                if last >= 0:
                    own[row, 0] += _met(pairs, pair_gains, pair[word[last], word[place]])
                last = place
        last = -1
        for place in range(size - 1, -1, -1):
            after[place] = last
            if held[row, place]:
                last = place
        for k in range(starts[row], starts[row + 1]):
            begin, end = begins[k], ends[k]
            left, right = before[begin], after[end - 1]
            value, single = own[row, 0], own[row, 1]
            if left >= 0 and right >= 0:
                value -= _left(pairs, pair_gains, pair[word[left], word[right]])
            if left >= 0:
                value += _met(pairs, pair_gains, pair[word[left], word[begin]])
            for place in range(begin, end):
                single += _met(words, word_gains, word[place])
                if place + 1 < end:
                    value += _met(pairs, pair_gains, pair[word[place], word[place + 1]])
            if right >= 0:
                value += _met(pairs, pair_gains, pair[word[end - 1], word[right]])
            grown[k, 0], grown[k, 1] = value, single
            if left >= 0:  # all counts as they were
                _left(pairs, pair_gains, pair[word[left], word[begin]])
            for place in range(begin, end):
                _left(words, word_gains, word[place])
                if place + 1 < end:
                    _left(pairs, pair_gains, pair[word[place], word[place + 1]])
            if right >= 0:
                _left(pairs, pair_gains, pair[word[end - 1], word[right]])
            if left >= 0 and right >= 0:
                _met(pairs, pair_gains, pair[word[left], word[right]])
