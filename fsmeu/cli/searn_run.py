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
        help="Where results go: of each run, so that a second call goes on; the table (searn.json);"
        " the curves (curves.json) and their picture.",
        show_default=False,
    ),
]
_Folds = Annotated[
    int | None,
    typer.Option("--folds", min=1, help="Only so many folds, the first ones.", show_default=False),
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
        help="Only the method of this name, or those whose names hold it. Repeatable.",
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
    folds: _Folds = None,
    list_all: _List = False,
    as_json: Json = False,
) -> None:
    """Runs experiments and prints a table in the style of Table 1 of Daumé et al. (2009).

    The data are found through FSMEU_DATA, or in ../shared/data beside the project. With --output,
    runs that are in the folder are not done again, and fsmeu searn table shows all that are.
    """
    from fsmeu.cli.output import line, print_json
    from fsmeu.cli.searn_progress import runs_bar
    from fsmeu.cli.searn_table import print_results, print_together
    from fsmeu.searn.tasks.experiment import Plan, as_data, experiment, rows_of
    from fsmeu.searn.tasks.registry import TASKS

    if list_all or not tasks:
        _print_tasks(as_json)
        return
    chosen = _chosen(tasks)
    rows: dict[str, list[Row]] = {}
    numbers = range(1 if quick else seeds)
    for name in chosen:
        task = _narrowed(TASKS[name], method)
        with runs_bar() as tell:
            plan = Plan(numbers, quick, held_out, folds, _folder(output), tell)
            mine = experiment(task, plan)
        rows[name] = rows_of(task, mine)
        if output is not None:
            _write(output, "searn.json", as_data([row for one in rows.values() for row in one]))
        if not as_json:
            print_results(name, mine)
    if as_json:
        print_json(as_data([row for one in rows.values() for row in one]))
    elif len(rows) > 1:
        line()
        print_together(rows)


def draw_curves(
    tasks: _Tasks = None,
    quick: _Quick = False,
    seeds: _Seeds = 3,
    iterations: _Iterations = 10,
    folds: _Folds = None,
    output: _Folder = None,
    as_json: Json = False,
) -> None:
    """Measures SEARN after each iteration and draws curves in the style of Figure 6.

    Policy iteration: each new policy takes the place of the old one (beta = 1).
    """
    from pathlib import Path

    from fsmeu.cli.output import line, print_json
    from fsmeu.cli.searn_progress import runs_bar
    from fsmeu.searn.tasks.experiment import Plan, as_data, curve
    from fsmeu.searn.tasks.registry import CURVES, TASKS

    rows: list[Row] = []
    for name in _chosen(tasks or list(CURVES)):
        with runs_bar() as tell:
            numbers = range(1 if quick else seeds)
            plan = Plan(numbers, quick, False, folds, _folder(output), tell)
            rows += curve(TASKS[name], plan, min(3, iterations) if quick else iterations)
        if output is not None:
            _write(output, "curves.json", as_data(rows))
    if as_json:
        print_json(as_data(rows))
    else:
        _print_curves(rows)
    if output is not None:
        from fsmeu.drawing.plots.measure_plots import plot_iterations

        picture = Path(output) / "curves.png"
        plot_iterations(as_data(rows), picture)
        if not as_json:
            line(f"picture: {picture}")


def _narrowed(task: Any, texts: Sequence[str] | None) -> Any:
    """The task with those methods alone whose names are or hold one of the texts.

    Raises:
        InputError: there is none.
    """
    from dataclasses import replace

    from fsmeu.errors import InputError, sentence

    if not texts:
        return task
    names = {one.name for one in task.methods}
    found = {
        name
        for text in texts
        for name in ([text] if text in names else [one for one in names if text in one])
    }
    kept = [one for one in task.methods if one.name in found]
    if not kept:
        must = f"a method of {task.name} must be one of " + ", ".join(sorted(names))
        raise InputError(sentence("--method", must, ", ".join(texts)))
    return replace(task, methods=kept)


def _chosen(tasks: Sequence[str]) -> list[str]:
    """The names of tasks, checked; 'all' stands for every one."""
    from fsmeu.errors import one_of
    from fsmeu.searn.tasks.registry import TASKS

    if list(tasks) == ["all"]:
        return list(TASKS)
    return [one_of("searn", "a task", name, [*TASKS, "all"]) for name in tasks]


def _folder(output: str | None) -> Any:
    """The folder of results, which is no file."""
    from pathlib import Path

    from fsmeu.errors import InputError, sentence

    if output is None:
        return None
    if Path(output).exists() and not Path(output).is_dir():
        raise InputError(sentence("--output", "it must be a folder", f"the file {output}"))
    return Path(output)


def _write(folder: str, name: str, data: Any) -> None:
    import json
    from pathlib import Path

    from fsmeu.cli.output import write_output

    write_output(Path(folder) / name, json.dumps(data, indent=1))


def _print_curves(rows: Sequence[Row]) -> None:
    from fsmeu.cli.output import emit

    steps = sorted({row.iteration for row in rows})
    cells = []
    for name in dict.fromkeys(row.task for row in rows):
        values = {row.iteration: row.value for row in rows if row.task == name}
        cells.append([name, *(f"{100 * values[k]:.2f}" if k in values else "" for k in steps)])
    heads = [str(k) for k in steps]
    emit(cells, ("iteration", *heads), right=heads)


def _print_tasks(as_json: bool) -> None:
    from fsmeu.cli.output import emit
    from fsmeu.searn.tasks.registry import TASKS

    data = [{"name": one.name, "summary": one.summary} for one in TASKS.values()]
    rows = [tuple(one.values()) for one in data]
    emit(rows, ("task", "summary"), as_json=data if as_json else None)
