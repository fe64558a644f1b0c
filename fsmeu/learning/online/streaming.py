"""Examples streamed through online learners: running measures, over several orders.

The measure after t examples is that of the t predictions that were made before their labels were
used, as in the figures of Liu et al. (2018), section 5.
"""

from __future__ import annotations

import csv
import io
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from fsmeu.arrays import Floats, Ints
from fsmeu.errors import InputError, message
from fsmeu.learning.examples import Examples
from fsmeu.learning.given_loss import check_classes, plain
from fsmeu.learning.online import OnlineClassifier, coefficients, values_of

STREAMED_EXAMPLES = 1 << 15  # examples given to a learner at once: enough for compiled loops


def running_measure(predicted: Any, positive: Any, measure: str = "f", beta: float = 1.0) -> Floats:
    """The measure of the first t predictions, for every t from 1, (examples,); 0 where it is 0/0.

    Predictions and labels are 1 or True where they are positive; the measure is "f" or "jaccard".
    """
    chosen, known = np.asarray(predicted, bool), np.asarray(positive, bool)
    counts = (np.cumsum(part) for part in (chosen & known, chosen, known))
    return values_of(coefficients(measure, beta), *counts)


def places(total: int, most: int = 200) -> Ints:
    """At most so many numbers of examples, at equal distances, the last of them the total."""
    steps = np.arange(1, min(total, most) + 1)
    return np.asarray(steps * total // len(steps), np.int64)


class Task(NamedTuple):
    """Rows of examples, (examples, features), their classes, (examples,), and both classes."""

    rows: Any
    labels: NDArray[Any]
    classes: NDArray[Any]

    @property
    def positive(self) -> int:
        """How many are of the positive class, the last of both."""
        return int((self.labels == self.classes[1]).sum())


def two_classes(name: str, data: Examples, positive: str | None, like: Task | None = None) -> Task:
    """The examples of a file with labels of two classes; an InputError where these are others.

    They are a positive label against all others, where it is given, or those of other examples.
    """
    labels = data.labels
    assert labels is not None
    if labels.ndim != 1:
        raise InputError(message(name, "an example must have one label", f"{labels.shape[1]}"))
    if labels.dtype.kind == "f" and not np.isfinite(labels).all():
        raise InputError(message(name, "labels must be finite numbers or texts", "nan or inf"))
    known = np.unique(labels)
    words = ", ".join(str(plain(one)) for one in known[:8]) + (", ..." if len(known) > 8 else "")
    if positive is not None:
        chosen = [one for one in known if _is_written(one, positive)]
        if not chosen and like is None:
            raise InputError(message(name, f"--positive must be one of {words}", positive))
        labels = np.isin(labels, chosen).astype(np.int64)
        known = np.unique(labels)
    if like is not None:
        check_classes(name, known, like.classes)
        known = like.classes
    if len(known) != 2:
        remedy = "--positive LABEL sets one against all others" if len(known) > 2 else ""
        must = "the labels must be of two classes"
        raise InputError(message(name, must, f"{len(known)}: {words}", remedy))
    return Task(data.rows, labels, known)


def _is_written(label: Any, text: str) -> bool:
    """Whether a text stands for a label: 2, 2.0 and 2e0 are one number."""
    try:
        return str(plain(label)) == text.strip() or float(label) == float(text)
    except ValueError:
        return False


class Outcome(NamedTuple):
    """A learner over all orders, by its name as it was written."""

    name: str
    measure: str  # "F1", "F2", ... or "Jaccard"
    seen: Ints  # numbers of examples, (points,)
    curves: Floats  # its measure after so many, (orders, points)
    tests: Floats | None  # its measure on other examples afterwards, (orders,)
    speed: float  # examples a second of processor time, in the fastest order
    first: OnlineClassifier  # after the first order


def run_orders(
    name: str,
    learner: OnlineClassifier,
    data: Task,
    others: Task | None,
    *,
    passes: int,
    shuffles: int,
    seed: int,
    tell: Callable[[int, str], None],
) -> Outcome:
    """What copies of a learner reached, one for each random order; 0 is the order of the file.

    Each sees the data so many times in its order, and is measured on the others afterwards. A copy
    that asks for the number of examples is told. ``tell`` is called with the number of examples
    seen since the last call, and the measure in words.
    """
    count = len(data.labels) * passes
    seen, measure = places(count), "Jaccard"
    if learner.measure != "jaccard":
        measure = f"F{learner.beta:g}" if isinstance(learner.beta, int | float) else "F"
    ended, curves, tests, seconds = [], [], [], []

    def measured(chosen: Any, positive: Any) -> Floats:
        return running_measure(chosen, positive, learner.measure, learner.beta)

    for k in range(max(shuffles, 1)):
        made, taken, pairs = clone(learner), 0.0, []
        if getattr(made, "horizon", count) is None:
            made.set_params(horizon=count)
        random = np.random.default_rng((seed, k)) if shuffles else None
        for piece in _pieces(len(data.labels), passes, random):
            given, known = data.rows[piece], data.labels[piece]
            start = time.process_time()
            pairs.append((made.predict_then_fit(given, known, classes=data.classes), known))
            taken += time.process_time() - start
            tell(len(piece), f"{measure} {made.score_:.4f}")
        both = np.concatenate(pairs, axis=1) == data.classes[1]
        curves.append(measured(*both)[seen - 1])
        ended.append(made)
        seconds.append(taken)
        if others is not None:
            positive = data.classes[1]
            both = made.predict(others.rows) == positive, others.labels == positive
            tests.append(measured(*both)[-1])
    values = None if others is None else np.array(tests)
    speed = count / max(min(seconds), 1e-9)
    return Outcome(name, measure, seen, np.array(curves), values, speed, ended[0])


def _pieces(count: int, passes: int, random: np.random.Generator | None) -> Iterator[Ints]:
    """Indices of the examples, a piece of each pass after the other."""
    for _ in range(passes):
        order = np.arange(count) if random is None else random.permutation(count)
        for begin in range(0, count, STREAMED_EXAMPLES):
            yield order[begin : begin + STREAMED_EXAMPLES]


def curves_csv(outcomes: Sequence[Outcome]) -> str:
    """The curves as csv text, one line for each learner, order and point."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["learner", "measure", "order", "examples", "value"])
    for one in outcomes:
        for k, curve in enumerate(one.curves, start=1):
            pairs = zip(one.seen.tolist(), curve.tolist(), strict=True)
            writer.writerows([one.name, one.measure, k, *pair] for pair in pairs)
    return text.getvalue()


def summary(facts: dict[str, Any], outcomes: Sequence[Outcome]) -> dict[str, Any]:
    """The facts, with mean and standard deviation of each learner over the orders."""

    def moments(values: Floats) -> dict[str, float | None]:
        spread = float(np.std(values, ddof=1)) if len(values) > 1 else None
        return {"mean": float(np.mean(values)), "sd": spread}

    rows = [
        {
            "learner": one.name,
            "measure": one.measure,
            "online": moments(one.curves[:, -1]),
            "test": None if one.tests is None else moments(one.tests),
            "examples_per_second": round(one.speed),
        }
        for one in outcomes
    ]
    return {**facts, "learners": rows}
