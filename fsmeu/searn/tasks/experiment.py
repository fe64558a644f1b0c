"""An experiment over folds and seeds: rows of a table, and a curve over the iterations of SEARN."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import Any

import numpy as np
from sklearn.base import clone

from fsmeu.errors import InputError, sentence
from fsmeu.extras import is_installed
from fsmeu.searn.tasks.measures import Counts, interval
from fsmeu.searn.tasks.methods import Run, runs_of
from fsmeu.searn.tasks.row import Row, Told
from fsmeu.searn.tasks.task import Method, Task

__all__ = ["as_data", "curve", "experiment"]

SCORES = ("F1", "accuracy", "sequences")


def experiment(
    task: Task,
    seeds: Sequence[int],
    quick: bool = False,
    held_out: bool = False,
    methods: Sequence[Method] | None = None,
    every: bool = False,
    tell: Told | None = None,
) -> list[Row]:
    """The rows of a task.

    Args:
        task: the experiment.
        seeds: of the runs; some methods are run with the first one only.
        quick: few sentences, one fold.
        held_out: whether held-out training data take the place of the test data.
        methods: what is compared; the task's own methods unless others are given.
        every: whether SEARN is measured after each iteration.
        tell: is called after each run with its name and its score.
    """
    if task.own is not None:
        found: list[Row] = task.own(seeds, quick, tell)
        return found
    known: dict[tuple[str, int], dict[int, list[Counts]]] = defaultdict(lambda: defaultdict(list))
    spent: dict[tuple[str, int], list[Run]] = defaultdict(list)
    splits = task.held_out if held_out else task.splits
    for split in splits(quick):
        for method in task.methods if methods is None else methods:
            method = quickened(method) if quick else method
            if method.kind == "crf" and not is_installed("sklearn_crfsuite"):
                continue
            for seed in seeds[:1] if method.once else seeds:
                for run in runs_of(method, split, seed, every):
                    counts = task.counts(run.found, split.test.labels)
                    key = (run.name, run.iteration if every else -run.iteration)
                    known[key][seed].append(counts)
                    spent[key].append(_without_labels(run))
                    if tell is not None:
                        tell(f"{task.name}: {run.name}", float(counts.scores()[task.score]))
    return [_row(task, key, known[key], spent[key]) for key in known]


def quickened(method: Method) -> Method:
    """The method with fewer passes, iterations and folds, for a look whether all of it runs."""
    settings = dict(method.settings)
    if "learner" in settings:
        settings["learner"] = clone(settings["learner"]).set_params(epochs=2)
    for name, most in (("iterations", 2), ("folds", 2), ("epochs", 2)):
        if name in settings or (name == "folds" and method.kind == "searn"):
            settings[name] = min(most, settings.get(name, most))
    return replace(method, settings=settings)


def _without_labels(run: Run) -> Run:
    return Run(run.name, run.iteration, [], run.training, run.predicting, run.memory)


def _row(
    task: Task, key: tuple[str, int], by_seed: dict[int, list[Counts]], spent: list[Run]
) -> Row:
    together = [Counts(np.concatenate([c.amounts for c in one])) for one in by_seed.values()]
    found = interval(together, task.score)
    scores = {name: float(np.mean([one.scores()[name] for one in together])) for name in SCORES}
    return Row(
        task.name,
        key[0],
        abs(key[1]),
        task.score,
        found.value,
        found.low,
        found.high,
        scores,
        tuple(float(one.scores()[task.score]) for one in together),
        float(np.mean([run.training for run in spent])),
        float(np.mean([run.predicting for run in spent])),
        max(run.memory for run in spent),
    )


def curve(
    task: Task,
    seeds: Sequence[int],
    iterations: int,
    quick: bool = False,
    tell: Told | None = None,
) -> list[Row]:
    """The score after each iteration of SEARN by policy iteration (beta = 1), as in Figure 6.

    Raises:
        InputError: the outputs of the task are no label sequences.
    """
    own = next((one for one in task.methods if one.kind == "searn" and one.first), None)
    if own is None:
        raise InputError(sentence("curves", "a task must be one of label sequences", task.name))
    settings: dict[str, Any] = {**own.settings, "beta": 1.0, "iterations": iterations}
    size = max(own.beams)
    method = Method(own.name, "searn", settings, {size: ""}, own.first)
    return experiment(task, seeds, quick, methods=[method], every=True, tell=tell)


def as_data(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """Rows as JSON has them."""
    return [asdict(row) for row in rows]
