"""An experiment over folds and seeds: rows of a table, and a curve over the iterations of SEARN."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import clone

from fsmeu.drawing.plots import COLOURS, checked_plot, save_plot
from fsmeu.errors import InputError, is_installed
from fsmeu.files import write_file
from searn.measures import Measure, interval
from searn.methods import runs_of
from searn.results import (
    Difference,
    Result,
    Row,
    Told,
    mark_of,
    read_results,
    result_file,
    write_results,
)
from searn.task import Method, Sizes, Split, Task

__all__ = ["Plan", "as_data", "curve", "differences", "experiment", "rows_of"]


@dataclass(frozen=True)
class Plan:
    """How an experiment is done.

    Attributes:
        seeds: of the runs; some methods are run with the first one only.
        sizes: how much of the data is used; a quick look has few passes and iterations, too.
        held_out: whether held-out training data take the place of the test data.
        folds: how many folds there are at most; None for all.
        folder: where results are kept and looked for; None for nowhere.
        tell: is called after each run with its name and its score.
    """

    seeds: Sequence[int]
    sizes: Sizes = field(default_factory=Sizes)
    held_out: bool = False
    folds: int | None = None
    folder: Path | None = None
    tell: Told | None = None

    def place(self, what: str) -> Path | None:
        """The folder of results of a kind."""
        if self.folder is None:
            return None
        kind = f"{what}-held-out" if self.held_out else what
        return self.folder / (f"{kind}-quick" if self.sizes.quick else kind)


def experiment(task: Task, plan: Plan) -> list[Result]:
    """The results of a task."""
    return _results(task, plan, task.methods, plan.place("runs"))


def curve(task: Task, plan: Plan, iterations: int) -> list[Row]:
    """The score after each iteration of SEARN by policy iteration (beta = 1), as in Figure 6.

    Raises:
        InputError: the outputs of the task are no label sequences.
    """
    own = next((one for one in task.methods if one.kind == "searn" and one.first), None)
    if own is None or task.score == "ROUGE-2":
        raise InputError("curves", "a task must be one of label sequences", given=task.name)
    settings: dict[str, Any] = {**own.settings, "beta": 1.0, "iterations": iterations}
    method = Method(own.name, "searn", settings, {max(own.beams): ""}, own.first)
    return rows_of(task, _results(task, plan, [method], plan.place("curves"), every=True))


def _results(
    task: Task, plan: Plan, methods: Sequence[Method], place: Path | None, every: bool = False
) -> list[Result]:
    """The results of all folds, methods and seeds, those that are in the folder read from there."""
    found: list[Result] = []
    splits = task.splits(plan.sizes, plan.held_out)
    for fold, split in enumerate(islice(splits, plan.folds)):
        for given in methods:
            method = quickened(given) if plan.sizes.quick else given
            if method.kind == "crf" and not is_installed("sklearn_crfsuite"):
                continue
            for seed in plan.seeds[:1] if method.once else plan.seeds:
                path = None
                if place is not None:
                    path = result_file(place, task.name, method.name, fold, seed)
                mine = _kept(path, task, method, split, fold, seed, every)
                found += mine
                for one in mine if plan.tell is not None else ():
                    score = float(one.measured.scores()[task.score])
                    plan.tell(f"{task.name}: {one.name}", score)  # type: ignore[misc]
    return found


def _kept(
    path: Path | None, task: Task, method: Method, split: Split, fold: int, seed: int, every: bool
) -> list[Result]:
    """The results of one method, fold and seed: from the file if it has them, else into it.

    Summaries themselves go into a file of texts beside it, a line for each collection.
    """
    mark = mark_of(method, split)
    found = None if path is None else read_results(path, mark)
    if found is not None:
        return found
    runs = list(runs_of(method, split, seed, every))
    found = [
        Result(
            task.name,
            method.name,
            run.name,
            run.iteration,
            fold,
            seed,
            len(split.train.labels),
            task.counts(run.found, split.test.labels),
            split.numbers,
            run.training,
            run.predicting,
            run.memory,
        )
        for run in runs
    ]
    if path is not None:
        write_results(path, mark, found)
        if task.score == "ROUGE-2":
            texts = "".join(" ".join(words) + "\n" for words in runs[-1].found)
            write_file(path.with_name(path.name.replace(".json.gz", ".txt")), texts)
    return found


def quickened(method: Method) -> Method:
    """The method with fewer passes, iterations and folds, for a look whether all of it runs."""
    settings = dict(method.settings)
    learner = settings.get("learner")
    if "epochs" in getattr(learner, "get_params", dict)():
        settings["learner"] = clone(learner).set_params(epochs=2)
    for name, most in (("iterations", 2), ("folds", 2), ("max_iterations", 2)):
        if name in settings or (name == "folds" and method.kind == "searn"):
            settings[name] = min(most, settings.get(name, most))
    return replace(method, settings=settings)


def rows_of(task: Task, results: Iterable[Result]) -> list[Row]:
    """A row for each method and iteration, in the order of the task's methods."""
    known = _grouped(task, results)
    return [_row(task, key, _full(by_seed)) for key, by_seed in known.items()]


def differences(task: Task, results: Iterable[Result]) -> list[Difference]:
    """The differences that a task asks for, of methods that were run on the same examples."""
    runs = {name: _full(by_seed) for (name, _), by_seed in _grouped(task, results).items()}
    found = []
    for name, other in task.pairs:
        if name not in runs or other not in runs:
            continue
        folds = {one.fold for one in runs[name][0]} & {one.fold for one in runs[other][0]}
        mine, theirs = ([_in(folds, one) for one in runs[key]] for key in (name, other))
        if not folds or len(mine[0]) != len(theirs[0]):
            continue
        sides = [[_together(one) for one in side] for side in (mine, theirs)]
        span = interval(sides[0], task.score, examples=_examples(mine[0]), less=sides[1])
        values = (task.score, span.value, span.low, span.high)
        found.append(Difference(task.name, name, other, *values))
    return found


_BySeed = dict[int, list[Result]]


def _grouped(task: Task, results: Iterable[Result]) -> dict[tuple[str, int], _BySeed]:
    """Results by name and iteration, then by seed, in the order of the task's methods."""
    known: dict[tuple[str, int], _BySeed] = defaultdict(lambda: defaultdict(list))
    places = {method.name: k for k, method in enumerate(task.methods)}
    for one in sorted(results, key=lambda one: places.get(one.method, len(places))):
        known[one.name, one.iteration][one.seed].append(one)
    return known


def _full(by_seed: _BySeed) -> list[list[Result]]:
    """The results of each seed that has most folds, in the order of folds."""
    most = max(len(runs) for runs in by_seed.values())
    full = (by_seed[seed] for seed in sorted(by_seed) if len(by_seed[seed]) == most)
    return [sorted(runs, key=lambda one: one.fold) for runs in full]


def _in(folds: set[int], runs: Sequence[Result]) -> list[Result]:
    return [one for one in runs if one.fold in folds]


def _together(runs: Sequence[Result]) -> Measure:
    """What was measured on all folds."""
    return type(runs[0].measured)(np.concatenate([one.measured.amounts for one in runs]))


def _examples(runs: Sequence[Result]) -> Any:
    """The numbers of the examples of all folds, or None where all are different."""
    numbers = [one.numbers for one in runs if one.numbers is not None]
    return np.concatenate(numbers) if len(numbers) == len(runs) else None


def _row(task: Task, key: tuple[str, int], full: Sequence[Sequence[Result]]) -> Row:
    """One row: all folds of a seed taken together, then the mean over seeds."""
    together = [_together(runs) for runs in full]
    found = interval(together, task.score, examples=_examples(full[0]))
    spent = [one for runs in full for one in runs]
    return Row(
        task.name,
        *key,
        task.score,
        found.value,
        found.low,
        found.high,
        {
            name: float(np.mean([one.scores()[name] for one in together]))
            for name in together[0].scores()
        },
        tuple(float(one.scores()[task.score]) for one in together),
        len(full[0]),
        full[0][0].trained,
        len(together[0].amounts),
        float(np.mean([run.training for run in spent])),
        float(np.mean([run.predicting for run in spent])),
        max(run.memory for run in spent),
    )


def as_data(rows: Sequence[Row | Difference]) -> list[dict[str, Any]]:
    """Rows as JSON has them."""
    return [asdict(row) for row in rows]


def plot_iterations(rows: Sequence[Mapping[str, Any]], path: Path) -> Path:
    """Where the plot was written: a panel for each task, with bootstrap intervals as bands.

    Args:
        rows: at least one, with the keys task, score, iteration, value, low and high.
        path: a name that ends in .png, .pdf or .svg.
    """
    checked_plot(path)
    from matplotlib.ticker import MaxNLocator

    names = list(dict.fromkeys(str(row["task"]) for row in rows))
    across = min(2, len(names))
    down = -(-len(names) // across)

    def plot(*panels: Any) -> None:
        for panel, name in zip(panels, names, strict=False):
            mine = sorted((r for r in rows if r["task"] == name), key=lambda r: int(r["iteration"]))
            steps = [int(row["iteration"]) for row in mine]
            value, low, high = (
                [100 * float(r[key]) for r in mine] for key in ("value", "low", "high")
            )
            panel.fill_between(steps, low, high, color=COLOURS[0], alpha=0.18, linewidth=0)
            panel.plot(steps, value, color=COLOURS[0], linewidth=1.6, marker="o", markersize=4)
            panel.grid(alpha=0.3)
            panel.set(title=name, xlabel="iteration", ylabel=f"{mine[0]['score']} (%)")
            panel.xaxis.set_major_locator(MaxNLocator(integer=True))
        for panel in panels[len(names) :]:
            panel.set_axis_off()

    return save_plot(path, plot, (4.2 * across, 3.1 * down), (down, across))
