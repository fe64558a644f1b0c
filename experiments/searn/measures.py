"""How good predicted tags are: chunks as conlleval counts them, tags, whole sequences; intervals.

Counts are kept for each sentence, so that a bootstrap over sentences is a product of arrays.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fsmeu.arrays import Floats, Ints
from fsmeu.bootstrap import drawn_weights, percentiles
from fsmeu.errors import InputError

__all__ = [
    "MEASURES",
    "Counts",
    "Interval",
    "Means",
    "Measure",
    "chunks",
    "counts_of",
    "interval",
    "pair_counts",
]

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
class Measure:
    """What was measured for each example, and the scores made of it.

    Attributes:
        amounts: (examples, k).
    """

    amounts: Floats

    def scores(self, weights: Floats | None = None) -> dict[str, Floats]:
        """The scores by name, () each.

        Args:
            weights: how often each example counts, (..., examples); the answers then are (...).
        """
        raise NotImplementedError


class Means(Measure):
    """ROUGE-2 of each summary, of which the mean is taken; ``amounts`` is (summaries, 1)."""

    def scores(self, weights: Floats | None = None) -> dict[str, Floats]:
        """The mean, (); with weights (...)."""
        held = np.ones(len(self.amounts)) if weights is None else weights
        return {"ROUGE-2": np.asarray(held @ self.amounts[:, 0] / held.sum(-1))}


class Counts(Measure):
    """What was counted in each sentence.

    Attributes:
        amounts: (sentences, 6): chunks that agree, predicted and given ones; tags that agree, tags;
            whether all tags agree.
    """

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
        raise InputError("tags", must, given=f"{len(found)} and {len(given)} sentences")
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


MEASURES: dict[str, type[Measure]] = {"counts": Counts, "means": Means}
"""Measures by the names under which results are kept."""


def interval(
    several: Sequence[Measure],
    name: str,
    draws: int = 1000,
    seed: int = 0,
    examples: Ints | None = None,
    less: Sequence[Measure] = (),
) -> Interval:
    """The mean of a score over runs on the same examples, with its bootstrap interval.

    Examples are drawn with replacement, the same ones for all runs.

    Args:
        several: what was measured in each run.
        name: the score, as in ``Measure.scores``.
        draws: how many corpora are drawn.
        seed: of the draws.
        examples: the number of each row's example, (rows,), where several folds predict the same
            one: rows of an example are drawn together. None if all rows are different examples.
        less: other runs on the same examples, of which the mean is subtracted.
    """
    rows = len(several[0].amounts)
    numbers = np.arange(rows) if examples is None else np.unique(examples, return_inverse=True)[1]
    count = int(numbers.max(initial=-1)) + 1
    means = []
    for drawn in drawn_weights(count, draws, seed):
        weights = drawn[:, numbers]
        means.append(_mean(several, name, weights) - _mean(less, name, weights))
    value = float(_mean(several, name) - _mean(less, name))
    return Interval(value, *percentiles(np.concatenate(means)))


def _mean(runs: Sequence[Measure], name: str, weights: Floats | None = None) -> Floats:
    """The mean of a score over runs, (), or (...) with weights (..., examples); 0 without runs."""
    if not runs:
        return np.zeros(())
    return np.asarray(np.mean([one.scores(weights)[name] for one in runs], axis=0))
