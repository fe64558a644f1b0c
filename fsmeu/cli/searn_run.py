"""`fsmeu searn run` and `fsmeu searn curves`: the paper's experiments as tables and pictures."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fsmeu.cli.options import Json

if TYPE_CHECKING:
    from fsmeu.searn.tasks.row import Row

__all__ = ["draw_curves", "run_tasks"]

_Tasks = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="TASK...",
        help="ocr-small, ocr-large, ner-small, ner, chunking, joint, summarisation; 'all' is all.",
        show_default=False,
    ),
]
_Quick = Annotated[
    bool, typer.Option("--quick", help="A few sentences, one fold, one seed: under a minute.")
]
_Seeds = Annotated[int, typer.Option("--seeds", min=1, help="How many seeds are averaged over.")]
_Folder = Annotated[
    str | None,
    typer.Option(
        "--output",
        "-o",
        metavar="FOLDER",
        help="Where the table (searn.json), the curves (curves.json) and their picture go.",
        show_default=False,
    ),
]
_HeldOut = Annotated[
    bool,
    typer.Option("--held-out", help="Predict held-out training data: for choosing settings."),
]
_Methods = Annotated[
    list[str] | None,
    typer.Option(
        "--method",
        metavar="TEXT",
        help="Only methods whose names hold this text. Repeatable.",
        show_default=False,
    ),
]
_Iterations = Annotated[int, typer.Option("--iterations", min=1, help="Iterations of SEARN.")]
_List = Annotated[bool, typer.Option("--list", help="List the tasks and end.")]


def run_tasks(
    tasks: _Tasks = None,
    quick: _Quick = False,
    seeds: _Seeds = 3,
    output: _Folder = None,
    held_out: _HeldOut = False,
    method: _Methods = None,
    list_all: _List = False,
    as_json: Json = False,
) -> None:
    """Runs experiments and prints a table in the style of Table 1 of Daumé et al. (2009).

    The data are found through FSMEU_DATA, or in ../shared/data beside the project.
    """
    from fsmeu.cli.output import print_json
    from fsmeu.cli.searn_progress import runs_bar
    from fsmeu.searn.tasks.experiment import as_data, experiment
    from fsmeu.searn.tasks.registry import TASKS

    if list_all or not tasks:
        _print_tasks(as_json)
        return
    chosen = _chosen(tasks)
    rows: list[Row] = []
    numbers = range(1 if quick else seeds)
    for name in chosen:
        task = _narrowed(TASKS[name], method)
        with runs_bar() as tell:
            mine = experiment(task, numbers, quick, held_out, tell=tell)
        rows += mine
        if output is not None:
            _write(output, "searn.json", as_data(rows))
        if not as_json:
            _print_rows(mine, task.paper)
    if as_json:
        print_json(as_data(rows))


def draw_curves(
    tasks: _Tasks = None,
    quick: _Quick = False,
    seeds: _Seeds = 3,
    iterations: _Iterations = 10,
    output: _Folder = None,
    as_json: Json = False,
) -> None:
    """Measures SEARN after each iteration and draws curves in the style of Figure 6.

    Policy iteration: each new policy takes the place of the old one (beta = 1).
    """
    from pathlib import Path

    from fsmeu.cli.output import line, print_json
    from fsmeu.cli.searn_progress import runs_bar
    from fsmeu.searn.tasks.experiment import as_data, curve
    from fsmeu.searn.tasks.registry import CURVES, TASKS

    rows: list[Row] = []
    for name in _chosen(tasks or list(CURVES)):
        with runs_bar() as tell:
            numbers = range(1 if quick else seeds)
            rows += curve(
                TASKS[name], numbers, min(3, iterations) if quick else iterations, quick, tell
            )
        if output is not None:
            _write(output, "curves.json", as_data(rows))
    if as_json:
        print_json(as_data(rows))
    else:
        _print_curves(rows)
    if output is not None:
        from fsmeu.drawing.plots.iterations_plot import plot_iterations

        picture = Path(output) / "curves.png"
        plot_iterations(as_data(rows), picture)
        if not as_json:
            line(f"picture: {picture}")


def _narrowed(task: Any, texts: Sequence[str] | None) -> Any:
    """The task with those methods alone whose names hold one of the texts.

    Raises:
        InputError: there is none.
    """
    from dataclasses import replace

    from fsmeu.errors import InputError, sentence

    if not texts:
        return task
    kept = [one for one in task.methods if any(text in one.name for text in texts)]
    if not kept:
        names = ", ".join(one.name for one in task.methods)
        must = f"a method of {task.name} must be one of {names}" if names else "it has no choice"
        raise InputError(sentence("--method", must, ", ".join(texts)))
    return replace(task, methods=kept)


def _chosen(tasks: Sequence[str]) -> list[str]:
    """The names of tasks, checked; 'all' stands for every one."""
    from fsmeu.errors import one_of
    from fsmeu.searn.tasks.registry import TASKS

    if list(tasks) == ["all"]:
        return list(TASKS)
    return [one_of("searn", "a task", name, [*TASKS, "all"]) for name in tasks]


def _write(folder: str, name: str, data: Any) -> None:
    import json
    from pathlib import Path

    from fsmeu.cli.output import place_for

    place_for(Path(folder) / name).write_text(json.dumps(data, indent=1), encoding="utf-8")


def _print_rows(rows: Sequence[Row], paper: Any) -> None:
    """Prints one line for each method, however long it is."""
    from fsmeu.cli.output import line

    if not rows:
        return
    width = max(len(row.method) for row in rows)
    beside = {"accuracy", "sequences"} & set(rows[0].scores) - {rows[0].score}
    more = sorted(beside)
    heads = "".join(f"{name:>11}" for name in ("95% interval", *more))
    line(f"\n{rows[0].task:<{width}}{rows[0].score:>10}  {heads}  train s  test s    MB  paper")
    for row in rows:
        span = f"{100 * row.low:.2f}-{100 * row.high:.2f}"
        scores = "".join(f"{100 * row.scores[name]:>11.2f}" for name in more)
        used = f"{row.training:>9.1f}{row.predicting:>8.1f}{row.memory:>6.0f}"
        printed = f"{paper[row.method]:>7.2f}" if row.method in paper else ""
        line(f"{row.method:<{width}}{100 * row.value:>10.2f}  {span:>12}{scores}{used}{printed}")


def _print_curves(rows: Sequence[Row]) -> None:
    from fsmeu.cli.output import print_table, table

    steps = sorted({row.iteration for row in rows})
    made = table("iteration", *(str(k) for k in steps), right=[str(k) for k in steps])
    for name in dict.fromkeys(row.task for row in rows):
        values = {row.iteration: row.value for row in rows if row.task == name}
        made.add_row(name, *(f"{100 * values[k]:.2f}" if k in values else "" for k in steps))
    print_table(made)


def _print_tasks(as_json: bool) -> None:
    from fsmeu.cli.output import print_json, print_table, table
    from fsmeu.searn.tasks.registry import TASKS

    if as_json:
        print_json([{"name": one.name, "summary": one.summary} for one in TASKS.values()])
        return
    made = table("task", "summary")
    for one in TASKS.values():
        made.add_row(one.name, one.summary)
    print_table(made)
