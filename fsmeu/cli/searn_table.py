"""`fsmeu searn table`: finished runs of a folder as a table in the style of Table 1."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from fsmeu.cli.options import Json

if TYPE_CHECKING:
    from fsmeu.searn.tasks.results import Result
    from fsmeu.searn.tasks.row import Difference, Row

__all__ = ["print_results", "print_together", "show_table"]

_Folder = Annotated[
    str, typer.Argument(metavar="FOLDER", help="What was given to fsmeu searn run as --output.")
]


_Quick = Annotated[bool, typer.Option("--quick", help="Those of quick runs.")]


def show_table(folder: _Folder, quick: _Quick = False, as_json: Json = False) -> None:
    """Prints what the runs in a folder have found, beside the figures of Daumé et al. (2009).

    All tasks together first; then each with intervals, seconds and memory, and differences between
    methods on the same sentences.
    """
    from pathlib import Path

    from fsmeu.cli.output import print_json
    from fsmeu.searn.tasks.experiment import as_data, differences, rows_of
    from fsmeu.searn.tasks.registry import TASKS
    from fsmeu.searn.tasks.results import read_folder

    found = list(read_folder(Path(folder) / ("runs-quick" if quick else "runs")))
    by_task = {name: [one for one in found if one.task == name] for name in TASKS}
    by_task = {name: mine for name, mine in by_task.items() if mine}
    if as_json:
        rows = [row for name, mine in by_task.items() for row in rows_of(TASKS[name], mine)]
        pairs = [one for name, mine in by_task.items() for one in differences(TASKS[name], mine)]
        print_json({"rows": as_data(rows), "differences": as_data(pairs)})
        return
    print_together({name: rows_of(TASKS[name], mine) for name, mine in by_task.items()})
    for name, mine in by_task.items():
        print_results(name, mine)


def print_results(name: str, results: Sequence[Result]) -> None:
    """Prints the rows of one task, and differences between them."""
    from fsmeu.searn.tasks.experiment import differences, rows_of
    from fsmeu.searn.tasks.registry import TASKS

    task = TASKS[name]
    _print_rows(rows_of(task, results), task.paper)
    _print_differences(differences(task, results))


def print_together(by_task: Mapping[str, Sequence[Row]]) -> None:
    """Prints one line for each method and one column for each task, figures of the paper last."""
    from fsmeu.cli.output import line
    from fsmeu.searn.tasks.registry import TASKS

    methods = dict.fromkeys(row.method for rows in by_task.values() for row in rows)
    cells = {(row.method, name): row.value for name, rows in by_task.items() for row in rows}
    width = max(map(len, [*methods, *(f"paper: {m}" for t in by_task for m in TASKS[t].paper)]))
    wide = {name: max(len(name), 9) + 2 for name in by_task}
    line(" " * width + "".join(f"{name:>{wide[name]}}" for name in by_task))
    line(" " * width + "".join(f"{TASKS[name].score:>{wide[name]}}" for name in by_task))
    for method in methods:
        shown = (_percent(cells.get((method, name)), wide[name]) for name in by_task)
        line(f"{method:<{width}}" + "".join(shown))
    for method in dict.fromkeys(m for name in by_task for m in TASKS[name].paper):
        values = {name: TASKS[name].paper.get(method) for name in by_task}
        shown = (f"{values[name] or '':>{wide[name]}}" for name in by_task)
        line(f"{f'paper: {method}':<{width}}" + "".join(shown))


def _percent(value: float | None, width: int) -> str:
    return " " * width if value is None else f"{100 * value:>{width}.2f}"


def _print_rows(rows: Sequence[Row], paper: Mapping[str, float]) -> None:
    """Prints one line for each method, however long it is."""
    from fsmeu.cli.output import line

    if not rows:
        return
    width = max(len(row.method) for row in rows)
    more = sorted({"accuracy", "sequences"} & set(rows[0].scores) - {rows[0].score})
    heads = "".join(f"{name:>11}" for name in ("95% interval", *more))
    tail = "  folds  seeds  train s  test s    MB  paper"
    line(f"\n{rows[0].task:<{width}}{rows[0].score:>10}  {heads}{tail}")
    for row in rows:
        span = f"{100 * row.low:.2f}-{100 * row.high:.2f}"
        scores = "".join(f"{100 * row.scores[name]:>11.2f}" for name in more)
        runs = f"{row.folds:>7}{len(row.by_seed):>7}"
        used = f"{row.training:>9.1f}{row.predicting:>8.1f}{row.memory:>6.0f}"
        printed = f"{paper[row.method]:>7.2f}" if row.method in paper else ""
        value = f"{100 * row.value:>10.2f}"
        line(f"{row.method:<{width}}{value}  {span:>12}{scores}{runs}{used}{printed}")


def _print_differences(pairs: Sequence[Difference]) -> None:
    """Prints how much better one method is than another, and whether that is more than chance."""
    from fsmeu.cli.output import line

    if pairs:
        line("differences on the same examples, with 95% intervals:")
    for one in pairs:
        clear = "better" if one.low > 0 else "worse" if one.high < 0 else "no clear difference"
        span = f"{100 * one.low:+.2f} to {100 * one.high:+.2f}"
        line(f"  {one.method} less {one.other}: {100 * one.value:+.2f} ({span}), {clear}")
