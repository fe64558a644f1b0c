"""How good predicted tags are: chunks as conlleval counts them, tags, whole sequences; intervals.

Counts are kept for each sentence, so that a bootstrap over sentences (Efron and Tibshirani 1993) is
a product of arrays.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fsmeu.errors import InputError, sentence

__all__ = ["Counts", "Interval", "chunks", "counts_of", "interval", "pair_counts"]

Floats = NDArray[np.float64]
Chunk = tuple[int, int, str]


def chunks(tags: Sequence[str]) -> set[Chunk]:
    """The chunks of a tag sequence: first position, the one after the last, type.

    As conlleval does it: ``I-X`` that does not follow a tag of type X opens a chunk too.
    """
    found, begin, kind = set(), 0, None
    for i, tag in enumerate([*tags, "O"]):
        head, _, name = tag.partition("-")
        if kind is not None and (head != "I" or name != kind):
            found.add((begin, i, kind))
            kind = None
        if head != "O" and kind is None:
            begin, kind = i, name
    return found


@dataclass(frozen=True)
class Counts:
    """What was counted in each sentence.

    Attributes:
        amounts: (sentences, 6): chunks that agree, predicted and given ones; tags that agree, tags;
            whether all tags agree.
    """

    amounts: Floats

    def scores(self, weights: Floats | None = None) -> dict[str, Floats]:
        """Precision, recall and F1 of chunks, accuracy of tags, share of right sequences; () each.

        Args:
            weights: how often each sentence counts, (..., sentences); the answers then are (...).
        """
        count = len(self.amounts)
        held = np.ones(count) if weights is None else weights
        right, found, given, same, tags, whole = np.moveaxis(held @ self.amounts, -1, 0)
        with np.errstate(invalid="ignore", divide="ignore"):
            answers = {
                "precision": right / found,
                "recall": right / given,
                "F1": 2 * right / (found + given),
                "accuracy": same / tags,
                "sequences": whole / held.sum(-1),
            }
        return {name: np.nan_to_num(value, nan=0.0) for name, value in answers.items()}


def counts_of(found: Sequence[Sequence[str]], given: Sequence[Sequence[str]]) -> Counts:
    """The counts of predicted tags against given ones.

    Raises:
        InputError: they differ in the number or length of sentences.
    """
    if [len(one) for one in found] != [len(one) for one in given]:
        must = "predicted and given tags must be of the same number and length"
        raise InputError(sentence("tags", must, f"{len(found)} and {len(given)} sentences"))
    rows = []
    for z, y in zip(found, given, strict=True):
        mine, theirs = chunks(z), chunks(y)
        same = sum(one == other for one, other in zip(z, y, strict=True))
        rows.append((len(mine & theirs), len(mine), len(theirs), same, len(y), same == len(y)))
    return Counts(np.array(rows, np.float64).reshape(-1, 6))


def pair_counts(
    found: Sequence[Sequence[tuple[str, str]]], given: Sequence[Sequence[tuple[str, str]]]
) -> Counts:
    """The counts of predicted pairs of labels: tags of both streams, chunks of the second.

    Raises:
        InputError: they differ in the number or length of sentences.
    """
    first, second = (
        counts_of(*([[pair[k] for pair in one] for one in part] for part in (found, given)))
        for k in (0, 1)
    )
    amounts = second.amounts.copy()
    amounts[:, 3:5] += first.amounts[:, 3:5]
    amounts[:, 5] *= first.amounts[:, 5]
    return Counts(amounts)


@dataclass(frozen=True)
class Interval:
    """A value and the interval of its bootstrap distribution that holds 95 of 100 draws.

    Attributes:
        value: as measured.
        low: the quantile at .025.
        high: the quantile at .975.
    """

    value: float
    low: float
    high: float


def interval(several: Sequence[Counts], name: str, draws: int = 1000, seed: int = 0) -> Interval:
    """The mean of a score over runs on the same sentences, with its bootstrap interval.

    Sentences are drawn with replacement, the same ones for all runs.

    Args:
        several: the counts of each run.
        name: the score, as in ``Counts.scores``.
        draws: how many corpora are drawn.
        seed: of the draws.
    """
    count = len(several[0].amounts)
    random = np.random.default_rng(seed)
    means = []
    for begin in range(0, draws, 100):  # (draws, sentences) at most a hundred rows at a time
        rows = min(100, draws - begin)
        weights = random.multinomial(count, np.full(count, 1 / count), rows).astype(np.float64)
        means.append(np.mean([one.scores(weights)[name] for one in several], axis=0))
    value = float(np.mean([one.scores()[name] for one in several]))
    low, high = np.quantile(np.concatenate(means), [0.025, 0.975])
    return Interval(value, float(low), float(high))
