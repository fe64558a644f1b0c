"""Examples streamed through an online learner: its running measure against examples seen.

The measure after t examples is that of the t predictions that were made before their labels were
used, as in the figures of Liu et al. (2018), section 5.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fsmeu.errors import InputError, sentence, whole
from fsmeu.learning.base import Rows
from fsmeu.learning.online.base import OnlineClassifier
from fsmeu.learning.online.state import GAIN, KNOWN, MATCHED, coefficients, values_of
from fsmeu.limits import STREAMED_EXAMPLES

__all__ = ["Streamed", "measured_on", "places", "running_measure", "stream"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Tell = Callable[[int, float], None]
"""Is told how many examples were seen since the last call, and the measure so far."""


@dataclass(frozen=True, eq=False)
class Streamed:
    """A learner after a stream of examples.

    Attributes:
        learner: the learner.
        seen: numbers of examples, ascending, (points,).
        values: its measure after so many, (points,).
        seconds: the processor time that it took.
    """

    learner: OnlineClassifier
    seen: Ints
    values: Floats
    seconds: float


def running_measure(predicted: Any, positive: Any, measure: str = "f", beta: float = 1.0) -> Floats:
    """The measure of the first t predictions, for every t from 1, (examples,); 0 where it is 0/0.

    Args:
        predicted: 1 or True where the prediction is positive, (examples,).
        positive: 1 or True where the label is, (examples,).
        measure: "f" or "jaccard".
        beta: of F_beta.
    """
    chosen, known = np.asarray(predicted, bool), np.asarray(positive, bool)
    counts = (np.cumsum(part) for part in (chosen & known, chosen, known))
    return values_of(coefficients(measure, beta), *counts)


def places(total: int, most: int = 200) -> Ints:
    """At most so many numbers of examples, at equal distances, the last of them the total."""
    steps = np.arange(1, min(total, most) + 1)
    return np.asarray(steps * total // len(steps), np.int64)


def stream(
    learner: OnlineClassifier,
    rows: Rows,
    labels: NDArray[Any],
    *,
    passes: int = 1,
    random: np.random.Generator | None = None,
    tell: Tell | None = None,
) -> Streamed:
    """The learner after it has seen all examples, with its running measure.

    Examples are given to it piece by piece, so that memory does not grow with their number.

    Args:
        learner: an online learner, which goes on from where it is.
        rows: examples, (examples, features), an array or a ``csr_array``.
        labels: their classes, (examples,), two in all.
        passes: how often they are seen.
        random: gives the order of each pass; None for the order in which they stand.
        tell: is told now and then how far it has come.

    Raises:
        InputError: there are no examples, or not two classes.
    """
    classes = np.unique(labels)
    if len(classes) != 2:
        found = f"{len(classes)} class{'es' if len(classes) != 1 else ''}"
        raise InputError(sentence("stream", "the labels must be of two classes", found))
    seen = places(len(labels) * whole("stream", "passes", passes))
    totals, parts, done, took = np.zeros(3, np.int64), [], 0, 0.0
    for piece in _pieces(len(labels), passes, random):
        given, known = rows[piece], labels[piece]
        start = time.process_time()
        predicted = learner.predict_then_fit(given, known, classes=classes)
        took += time.process_time() - start
        chosen, positive = predicted == classes[1], known == classes[1]
        counts = np.cumsum([chosen & positive, chosen, positive], axis=1) + totals[:, None]
        values = values_of(learner.state_[[GAIN, KNOWN, MATCHED]], *counts)
        parts.append(values[_within(seen, done, len(piece))])
        totals, done = counts[:, -1], done + len(piece)
        if tell is not None:
            tell(len(piece), float(values[-1]))
    return Streamed(learner, seen, np.concatenate(parts), took)


def measured_on(learner: OnlineClassifier, rows: Rows, labels: NDArray[Any]) -> float:
    """The learner's measure of what it predicts for other examples; 0 where it is 0/0.

    Args:
        learner: an online learner that has seen examples.
        rows: examples, (examples, features).
        labels: their classes, (examples,).
    """
    chosen, positive = learner.predict(rows) == learner.classes_[1], labels == learner.classes_[1]
    counts = (float(part.sum()) for part in (chosen & positive, chosen, positive))
    return float(values_of(learner.state_[[GAIN, KNOWN, MATCHED]], *counts))


def _pieces(count: int, passes: int, random: np.random.Generator | None) -> Iterator[Ints]:
    """Indices of the examples, a piece of each pass after the other."""
    for _ in range(passes):
        order = np.arange(count) if random is None else random.permutation(count)
        for begin in range(0, count, STREAMED_EXAMPLES):
            yield order[begin : begin + STREAMED_EXAMPLES]


def _within(seen: Ints, done: int, more: int) -> Ints:
    """The numbers of examples that are reached by the next piece, as places in it."""
    first, last = np.searchsorted(seen, (done, done + more), side="right")
    return np.asarray(seen[first:last] - done - 1)
