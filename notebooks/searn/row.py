"""A row of a table of results."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

__all__ = ["Difference", "Row", "Told"]

Told = Callable[[str, float], None]
"""Is called with the name of a run and its score."""


@dataclass(frozen=True)
class Row:
    """A method's results on a task.

    Attributes:
        task: the name of the task.
        method: the name of the method.
        iteration: of SEARN, from 0.
        score: the name of the score that is compared.
        value: its mean over seeds, all folds taken together.
        low: the lower end of its bootstrap interval.
        high: the upper end.
        scores: means of all scores.
        by_seed: the score that is compared for each seed.
        folds: how many folds were taken together.
        training: seconds of processor time for training, the mean over folds and seeds.
        predicting: the same for predictions.
        memory: the peak of memory in megabytes, the greatest of folds and seeds.
    """

    task: str
    method: str
    iteration: int
    score: str
    value: float
    low: float
    high: float
    scores: dict[str, float]
    by_seed: tuple[float, ...]
    folds: int
    training: float
    predicting: float
    memory: float


@dataclass(frozen=True)
class Difference:
    """How much better one method is than another on the same examples.

    Attributes:
        task: the name of the task.
        method: the name of the method.
        other: the name of the other one.
        score: the name of the score that is compared.
        value: the mean of the score over seeds less that of the other.
        low: the lower end of its bootstrap interval.
        high: the upper end.
    """

    task: str
    method: str
    other: str
    score: str
    value: float
    low: float
    high: float
