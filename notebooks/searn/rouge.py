"""ROUGE-N of a summary (Lin 2004): the share of the references' n-grams that it has.

With several references, matches and n-grams are added up over them, as in Lin (2004, section 2). An
n-gram of a reference is matched as often as it stands in the summary, at most as often as in that
reference. A text is one sequence of words: n-grams run across the ends of its sentences.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from fsmeu.errors import InputError, check_int, message

__all__ = ["ngrams", "rouge"]

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
