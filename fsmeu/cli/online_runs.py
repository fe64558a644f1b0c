"""Online learners over several orders of the same examples."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
from sklearn.base import clone

from fsmeu.cli.examples import Examples
from fsmeu.cli.measures import plain, refusals
from fsmeu.errors import InputError, sentence
from fsmeu.learning.online.base import OnlineClassifier
from fsmeu.learning.online.streaming import Streamed, measured_on, stream

__all__ = ["Outcome", "Plan", "Task", "run_all", "two_classes"]

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Plan:
    """What is done with each learner.

    Attributes:
        passes: how often it sees the examples.
        shuffles: random orders; 0 for the order of the file.
        seed: of the random orders.
    """

    passes: int
    shuffles: int
    seed: int

    def random(self, k: int) -> np.random.Generator | None:
        """What shuffles the examples for the k-th time."""
        return np.random.default_rng((self.seed, k)) if self.shuffles else None


@dataclass(frozen=True)
class Task:
    """Examples of two classes.

    Attributes:
        rows: (examples, features).
        labels: the class of each, (examples,).
        classes: both classes, the positive one last.
    """

    rows: Any
    labels: NDArray[Any]
    classes: NDArray[Any]

    @property
    def positive(self) -> int:
        """How many are of the positive class."""
        return int((self.labels == self.classes[1]).sum())


@dataclass(frozen=True, eq=False)
class Outcome:
    """A learner over all orders.

    Attributes:
        name: as it was written.
        measure: "F1", "F2", ... or "Jaccard".
        seen: numbers of examples, (points,).
        curves: its measure after so many, (orders, points).
        tests: its measure on other examples afterwards, (orders,); None without these.
        speed: examples a second of processor time, in the fastest order.
        first: the learner after the first order.
    """

    name: str
    measure: str
    seen: NDArray[np.int64]
    curves: Floats
    tests: Floats | None
    speed: float
    first: OnlineClassifier


def two_classes(name: str, data: Examples, positive: str | None, like: Task | None = None) -> Task:
    """The examples with labels of two classes.

    Args:
        name: the file, for messages.
        data: what it holds.
        positive: the label of the positive class, against all others; None where there are two.
        like: examples whose classes the labels must be of.

    Raises:
        InputError: the labels are others.
    """
    labels = data.labels
    assert labels is not None
    if labels.ndim != 1:
        raise InputError(sentence(name, "an example must have one label", f"{labels.shape[1]}"))
    if labels.dtype.kind == "f" and not np.isfinite(labels).all():
        raise InputError(sentence(name, "labels must be finite numbers or texts", "nan or inf"))
    known = np.unique(labels)
    if positive is not None:
        chosen = [one for one in known if _is_written(one, positive)]
        if not chosen and like is None:
            must = f"--positive must be one of {_listed(known)}"
            raise InputError(sentence(name, must, positive))
        labels = np.isin(labels, chosen).astype(np.int64)
        known = np.unique(labels)
    if like is not None:
        strange = [plain(one) for one in known.tolist() if one not in like.classes.tolist()]
        if strange:
            must = f"labels must be {' or '.join(str(plain(one)) for one in like.classes)}"
            raise InputError(sentence(name, must, strange[0]))
        return Task(data.rows, labels, like.classes)
    if len(known) != 2:
        must = "the labels must be of two classes"
        got = f"{len(known)}: {_listed(known)}"
        remedy = "--positive LABEL sets one against all others" if len(known) > 2 else ""
        raise InputError(sentence(name, must, got, remedy))
    return Task(data.rows, labels, known)


def _listed(labels: NDArray[Any]) -> str:
    """The labels, or the first of them where they are many."""
    return ", ".join(str(plain(one)) for one in labels[:8]) + (", ..." if len(labels) > 8 else "")


def _is_written(label: Any, text: str) -> bool:
    """Whether a text stands for a label: 2, 2.0 and 2e0 are one number."""
    if str(plain(label)) == text.strip():
        return True
    try:
        return bool(float(label) == float(text))
    except ValueError:
        return False


def run_all(
    learners: Mapping[str, OnlineClassifier], data: Task, others: Task | None, plan: Plan
) -> list[Outcome]:
    """What each learner reached, with a bar on stderr if that is a terminal.

    Raises:
        InputError: a learner refuses its parameters or the examples.
    """
    screen = Console(stderr=True)
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.completed:,} of {task.total:,} examples"),
        TextColumn("{task.fields[reached]}"),
        TimeRemainingColumn(),
    )
    bar = Progress(*columns, console=screen, transient=True, disable=not screen.is_terminal)
    with bar:
        return [_outcome(name, one, data, others, plan, bar) for name, one in learners.items()]


def _outcome(
    name: str,
    learner: OnlineClassifier,
    data: Task,
    others: Task | None,
    plan: Plan,
    bar: Progress,
) -> Outcome:
    orders, count = max(plan.shuffles, 1), len(data.labels) * plan.passes
    task = bar.add_task(name, total=orders * count, reached="")
    measure = _measure_name(learner)

    def tell(more: int, value: float) -> None:
        bar.update(task, advance=more, reached=f"{measure} {value:.4f}")

    found: list[Streamed] = []
    tests = []
    with refusals(f"online {name}"):
        for k in range(orders):
            made = _prepared(learner, count, plan.seed + k)
            options: dict[str, Any] = {"passes": plan.passes, "random": plan.random(k)}
            one = stream(made, data.rows, data.labels, **options, tell=tell)
            found.append(one)
            if others is not None:
                tests.append(measured_on(made, others.rows, others.labels))
    curves = np.array([one.values for one in found])
    speed = count / max(min(one.seconds for one in found), 1e-9)
    values = None if others is None else np.array(tests)
    return Outcome(name, measure, found[0].seen, curves, values, speed, found[0].learner)


def _prepared(learner: OnlineClassifier, count: int, seed: int) -> OnlineClassifier:
    """A copy that knows how many examples will come, and has a seed, where it asks for these."""
    made: OnlineClassifier = clone(learner)
    given = made.get_params(deep=False)
    unset = {"horizon": count, "random_state": seed}
    made.set_params(**{k: v for k, v in unset.items() if k in given and given[k] is None})
    return made


def _measure_name(learner: OnlineClassifier) -> str:
    if learner.measure == "jaccard":
        return "Jaccard"
    return f"F{learner.beta:g}" if isinstance(learner.beta, int | float) else "F"
