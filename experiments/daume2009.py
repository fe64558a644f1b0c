"""The experiments of Daumé, Langford and Marcu (2009), Search-based structured prediction.

    ./run python experiments/daume2009.py run TASK... [--quick] [--seeds 3] [-o out/searn]
    ./run python experiments/daume2009.py run TASK... --axis all [--train 300] [--test 300] [-o out]
    ./run python experiments/daume2009.py run summarisation --collections FOLDER [--words 100]
    ./run python experiments/daume2009.py table
    ./run python experiments/daume2009.py table out/searn [--keep SECTION]
    ./run python experiments/daume2009.py page
    ./run python experiments/daume2009.py curves TASK... [--iterations 10] [-o out/searn]
    ./run python experiments/daume2009.py chain [--keep SECTION]

``run`` repeats experiments beside their baselines and prints a table in the style of Table 1 (`all`
for all; `--list` names them); a second call with the same folder goes on where the first one ended.
``--axis`` adds what the paper varies: learner, chunks or words, order, costs, beta, reduction.
``--collections`` summarises parsed documents of one's own (``searn/collection.py`` says how files
are named). ``chain`` is Theorem 3.
``table`` prints every table of ``results/daume2009.json`` beside the paper's figures, or all that
is finished in a folder; ``--keep`` writes that to a section of the record, which notebooks 09_searn
and 11_vine_growth read, too; ``page`` writes the record into the documentation. ``curves`` draws
scores over iterations as in Figure 6. The data: ``fetch.py conll2000 conll2002_esp ocr_letters``.
Times are in the tables, and in the log of commands that each folder of runs has; `--quick` takes
seconds.
"""

from __future__ import annotations

import json
import shlex
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer
from result_files import FOLDER as RESULTS
from result_files import load, save

from fsmeu.cli.failures import Guarded
from fsmeu.cli.output import emit, line, note, print_json, write_output
from fsmeu.errors import InputError, one_of
from fsmeu.files import read_text
from fsmeu.progress import Progress, progress_bar
from searn.chain import chain_losses
from searn.experiment import Plan, as_data, curve, differences, experiment, plot_iterations, rows_of
from searn.page import page
from searn.registry import CURVES, TASKS, WORDS, summaries
from searn.results import Difference, Result, Row, Told, read_folder
from searn.task import AXES, Printed, Sizes, Task

app = typer.Typer(
    cls=Guarded,
    help="Repeat the experiments of Daumé, Langford and Marcu (2009).",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
COMMANDS = "commands.txt"
"""In a folder of results: the log of the commands that made them."""
SECTIONS = {
    "full": "Table 1: all training sentences",
    "axes": "Costs, beta and Figure 6: fewer sentences",
    "reductions": "Section 6.1.7: learners that see costs or not, 200 sentences",
    "summaries": "Table 2: synthetic collections",
    "chain": "Theorem 3: wrong labels on a chain of T positions",
}
"""Sections of the record and what they are."""
PAGE = Path(__file__).resolve().parents[1] / "docs" / "papers" / "daume2009_tables.md"
"""The page of all tables."""
_COMMAND = shlex.join(["./run", "python", "experiments/daume2009.py", *sys.argv[1:]])

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
_Train = Annotated[
    int | None,
    typer.Option("--train", min=1, help="Train on so many sentences at most.", show_default=False),
]
_Test = Annotated[
    int | None,
    typer.Option("--test", min=1, help="Predict so many sentences at most.", show_default=False),
]
_Axes = Annotated[
    list[str] | None,
    typer.Option(
        "--axis",
        metavar="AXIS",
        help=f"Also vary this: {', '.join(AXES[1:])}; 'all' is all. Repeatable.",
        show_default=False,
    ),
]
_Collections = Annotated[
    str | None,
    typer.Option(
        "--collections",
        metavar="FOLDER",
        help="For summarisation: parsed documents and summaries, see searn/collection.py.",
        show_default=False,
    ),
]
_Words = Annotated[
    list[int] | None,
    typer.Option(
        "--words",
        min=1,
        help=f"For summarisation: words of a summary; {WORDS}, or 100 and 250 with --collections.",
        show_default=False,
    ),
]
_Width = Annotated[
    int,
    typer.Option(
        "--width", min=1, help="For summarisation: the beam that tells costs in training."
    ),
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
_Json = Annotated[bool, typer.Option("--json", help="Print one JSON document instead.")]
_Finished = Annotated[
    str | None,
    typer.Argument(
        metavar="FOLDER",
        help="What was given to run as --output; what is on record if it is left out.",
        show_default=False,
    ),
]
_QuickRuns = Annotated[bool, typer.Option("--quick", help="Those of quick runs.")]
_Keep = Annotated[
    str | None,
    typer.Option(
        "--keep",
        metavar="SECTION",
        help="Write rows and curves to this section of experiments/results/daume2009.json.",
        show_default=False,
    ),
]


@app.command("run")
def run_tasks(
    tasks: _Tasks = None,
    quick: _Quick = False,
    seeds: _Seeds = 3,
    output: _Folder = None,
    train: _Train = None,
    test: _Test = None,
    axis: _Axes = None,
    collections: _Collections = None,
    words: _Words = None,
    width: _Width = 20,
    held_out: _HeldOut = False,
    method: _Methods = None,
    folds: _Folds = None,
    list_all: _List = False,
    as_json: _Json = False,
) -> None:
    """Runs experiments and prints a table in the style of Table 1 of Daumé et al. (2009).

    Data are fetched by experiments/fetch.py. With --output, runs that are in the folder are not
    done again, and ``table`` shows all that are.
    """
    if list_all or not tasks:
        _print_tasks(as_json)
        return
    chosen = _chosen(tasks)
    place = None if collections is None else Path(collections)
    if place is not None and chosen != ["summarisation"]:
        must = "collections are for the task summarisation alone"
        raise InputError("--collections", must, given=", ".join(chosen))
    summarised = summaries(place, words or ([WORDS] if place is None else [100, 250]), width)
    known = {**TASKS, "summarisation": summarised}
    asked = {name: _narrowed(known[name], axis, method) for name in chosen}
    rows: dict[str, list[Row]] = {}
    numbers = range(1 if quick else seeds)
    for name, task in asked.items():
        with _logged(output), progress_bar("training") as bar:
            sizes = Sizes(train, test, quick)
            plan = Plan(numbers, sizes, held_out, folds, _folder(output), _teller(bar))
            mine = experiment(task, plan)
        rows[name] = rows_of(task, mine)
        if output is not None:
            _write(output, "searn.json", as_data([row for one in rows.values() for row in one]))
        if not as_json:
            print_results(task, mine)
    if as_json:
        print_json(as_data([row for one in rows.values() for row in one]))
    elif len(rows) > 1:
        line()
        print_together(rows)


@app.command("curves")
def draw_curves(
    tasks: _Tasks = None,
    quick: _Quick = False,
    seeds: _Seeds = 3,
    iterations: _Iterations = 10,
    train: _Train = None,
    test: _Test = None,
    folds: _Folds = None,
    output: _Folder = None,
    as_json: _Json = False,
) -> None:
    """Measures SEARN after each iteration and draws curves in the style of Figure 6.

    Policy iteration: each new policy takes the place of the old one (beta = 1).
    """
    rows: list[Row] = []
    for name in _chosen(tasks or list(CURVES)):
        with _logged(output), progress_bar("training") as bar:
            numbers = range(1 if quick else seeds)
            sizes = Sizes(train, test, quick)
            plan = Plan(numbers, sizes, False, folds, _folder(output), _teller(bar))
            rows += curve(TASKS[name], plan, min(3, iterations) if quick else iterations)
        if output is not None:
            _write(output, "curves.json", as_data(rows))
    if as_json:
        print_json(as_data(rows))
    else:
        _print_curves(rows)
    if output is not None:
        picture = Path(output) / "curves.png"
        plot_iterations(as_data(rows), picture)
        if not as_json:
            line(f"picture: {picture}")


@app.command("chain")
def show_chain(
    quick: _Quick = False, seeds: _Seeds = 3, as_json: _Json = False, keep: _Keep = None
) -> None:
    """Counts wrong labels on the chain of Theorem 3 as it grows: MEMM and SEARN, equation 14.

    The labels of a sentence of T positions that are wrong, the mean over seeds.
    """
    lengths = (2, 10) if quick else (2, 5, 10, 20, 50, 100, 200)
    numbers = range(1 if quick else seeds)
    rows = []
    for length in lengths:
        found = [chain_losses(length, 1000 if quick else 20_000, seed) for seed in numbers]
        means = {name: sum(one[name] for one in found) / len(found) for name in found[0]}
        rows.append({"T": length, **means})
    if as_json:
        print_json(rows)
    else:
        _print_chain(rows)
    if keep is not None:
        spent = f"{_COMMAND}  # {time.process_time():.0f} s of processor time"
        _keep_section(keep, {"commands": [spent], "rows": rows})


def _print_chain(rows: Sequence[Mapping[str, float]]) -> None:
    """Prints wrong labels by the length of the chain."""
    cells = [
        [f"{one:.2f}" if isinstance(one, float) else str(one) for one in row.values()]
        for row in rows
    ]
    emit(cells, tuple(rows[0]), right=list(rows[0]))


def _teller(bar: Progress) -> Told:
    """A function that shows each run and its score: in the bar, or as a line without a terminal."""

    def tell(name: str, value: float) -> None:
        bar(0.0, f"last: {name} {100 * value:.2f}")
        if not sys.stderr.isatty():
            note(f"{name}: {100 * value:.2f}")

    return tell


def _narrowed(task: Task, axes: Sequence[str] | None, texts: Sequence[str] | None) -> Task:
    """The task with the main methods and those of some axes; or those that the texts name.

    A text names a method of any axis: the one of this name, or all whose names hold it.

    Raises:
        InputError: there is no such axis, or no such method.
    """
    asked = {"main", *(one_of("--axis", "an axis", one, (*AXES, "all")) for one in axes or ())}
    if not texts:
        kept = [one for one in task.methods if one.axis in asked or "all" in asked]
        return replace(task, methods=kept)
    names = {one.name for one in task.methods}
    found = {
        name
        for text in texts
        for name in ([text] if text in names else [one for one in names if text in one])
    }
    kept = [one for one in task.methods if one.name in found]
    if not kept:
        must = f"a method of {task.name} must be one of " + ", ".join(sorted(names))
        raise InputError("--method", must, given=", ".join(texts))
    return replace(task, methods=kept)


def _chosen(tasks: Sequence[str]) -> list[str]:
    """The names of tasks, checked; 'all' stands for every one."""
    if list(tasks) == ["all"]:
        return list(TASKS)
    return [one_of("searn", "a task", name, [*TASKS, "all"]) for name in tasks]


def _folder(output: str | None) -> Path | None:
    """The folder of results, which is no file."""
    if output is None:
        return None
    if Path(output).exists() and not Path(output).is_dir():
        raise InputError("--output", "it must be a folder", given=f"the file {output}")
    return Path(output)


def _write(folder: str, name: str, data: Any) -> None:
    write_output(Path(folder) / name, json.dumps(data, indent=1))


@contextmanager
def _logged(folder: str | None) -> Iterator[None]:
    """Logs the command of this process in the folder: that it begins, then that it has ended."""
    place = _folder(folder)
    if place is None:
        yield
        return
    place.mkdir(parents=True, exist_ok=True)
    _log(place, _COMMAND)
    yield
    _log(place, f"{_COMMAND}  # {time.process_time():.0f} s of processor time")


def _log(place: Path, text: str) -> None:
    with (place / COMMANDS).open("a", encoding="utf-8") as file:
        file.write(f"{text}\n")


def _commands_in(folder: Path) -> list[str]:
    """The commands of the log with their seconds; those without were stopped, and resumed later."""
    lines = read_text(folder / COMMANDS, "commands").splitlines()
    ended = [one for one in lines if "  # " in one]
    known = {one.partition("  # ")[0] for one in ended}
    return [
        *ended,
        *dict.fromkeys(f"{one}  # stopped" for one in lines if one not in known | {*ended}),
    ]


def _keep_section(section: str, data: Mapping[str, Any]) -> None:
    """Writes one section of the file of results that the notebooks read; others stay."""
    held = load("daume2009") if (RESULTS / "daume2009.json").is_file() else {}
    line(f"what was found: {save('daume2009', {**held, section: data})}")


def _print_curves(rows: Sequence[Row]) -> None:
    """Prints one line for each iteration and one column for each task."""
    names = list(dict.fromkeys(row.task for row in rows))
    values = {(row.task, row.iteration): row.value for row in rows}
    wide = max(11, *map(len, names)) + 2
    line(f"{'iteration':<11}" + "".join(f"{name:>{wide}}" for name in names))
    for step in sorted({row.iteration for row in rows}):
        shown = (_percent(values.get((name, step)), wide) for name in names)
        line(f"{step:<11}" + "".join(shown))


def _print_tasks(as_json: bool) -> None:
    data = [{"name": one.name, "summary": one.summary} for one in TASKS.values()]
    rows = [list(one.values()) for one in data]
    emit(rows, ("task", "summary"), as_json=data if as_json else None)


@app.command("table")
def show_table(
    folder: _Finished = None, quick: _QuickRuns = False, as_json: _Json = False, keep: _Keep = None
) -> None:
    """Prints all that is on record, beside the figures of Daumé et al. (2009).

    With a folder, what the runs in it have found. All tasks together first; then each with
    intervals, seconds and memory, and differences between methods on the same sentences.
    """
    if folder is None:
        record = json.loads(read_text(RESULTS / "daume2009.json", "results"))["found"]
        if as_json:
            print_json(record)
        else:
            _print_record(record)
        return
    section = _section(Path(folder), quick)
    if keep is not None:
        _keep_section(keep, section)
    elif as_json:
        print_json(section)
    else:
        _print_section(section)


@app.command("page")
def write_page() -> None:
    """Writes docs/papers/daume2009_tables.md: all that is on record, in Markdown."""
    write_output(PAGE, page(load("daume2009"), SECTIONS))
    line(f"page: {PAGE}")


def _section(folder: Path, quick: bool) -> dict[str, Any]:
    """What the runs in a folder have found, as a section of the record."""
    by_task = _results_in(folder, "runs", quick)
    curves = _results_in(folder, "curves", quick)
    if not by_task and not curves:
        remedy = "Make some with run TASK -o FOLDER"
        raise InputError(f"folder {folder}", "it must hold results", remedy=remedy)
    return {
        "commands": _commands_in(folder),
        "rows": as_data(
            [row for name, mine in by_task.items() for row in rows_of(TASKS[name], mine)]
        ),
        "differences": as_data(
            [one for name, mine in by_task.items() for one in differences(TASKS[name], mine)]
        ),
        "curves": as_data(
            [row for name, mine in curves.items() for row in rows_of(TASKS[name], mine)]
        ),
    }


def _print_record(record: Mapping[str, Any]) -> None:
    """Prints all sections of the record."""
    for name, title in SECTIONS.items():
        if name not in record:
            continue
        line(f"{'' if name == next(iter(SECTIONS)) else chr(10)}== {title} ==\n")
        if name == "chain":
            _print_chain(record[name]["rows"])
        else:
            _print_section(record[name])
        line("commands:")
        for command in record[name]["commands"]:
            line(f"  {command}")


def _print_section(section: Mapping[str, Any]) -> None:
    """Prints tables, differences and curves of one section of the record, or of a folder."""
    rows = [Row(**row) for row in section["rows"]]
    by_task = {name: [row for row in rows if row.task == name] for name in TASKS}
    by_task = {name: mine for name, mine in by_task.items() if mine}
    if by_task:
        print_together(by_task)
        line()
        print_together(by_task, "sequences")
    pairs = [Difference(**one) for one in section["differences"]]
    for name, mine in by_task.items():
        _print_rows(mine, _printed(TASKS[name], mine))
        _print_differences([one for one in pairs if one.task == name])
    if section["curves"]:
        line("\nscores after each iteration, beta = 1:")
        _print_curves([Row(**row) for row in section["curves"]])


def _results_in(folder: Path, kind: str, quick: bool) -> dict[str, list[Result]]:
    """The results of a kind by task; none where there is no such folder."""
    place = folder / (f"{kind}-quick" if quick else kind)
    found = list(read_folder(place)) if place.is_dir() else []
    by_task = {name: [one for one in found if one.task == name] for name in TASKS}
    return {name: mine for name, mine in by_task.items() if mine}


def print_results(task: Task, results: Sequence[Result]) -> None:
    """Prints the rows of one task, and differences between them."""
    rows = rows_of(task, results)
    _print_rows(rows, _printed(task, rows))
    _print_differences(differences(task, results))


def print_together(by_task: Mapping[str, Sequence[Row]], score: str | None = None) -> None:
    """Prints one line for each method and one column for each task, figures of the paper last.

    Args:
        by_task: the rows of each task.
        score: which one is printed where a task has it; None for the one that is compared.
    """
    asked = {name: score or TASKS[name].score for name in by_task}
    by_task = {name: rows for name, rows in by_task.items() if asked[name] in rows[0].scores}
    methods = dict.fromkeys(row.method for rows in by_task.values() for row in rows)
    cells = {
        (row.method, name): row.scores[asked[name]]
        for name, rows in by_task.items()
        for row in rows
    }
    printed = {
        (method, name): one.value
        for name, rows in by_task.items()
        for method, one in _printed(TASKS[name], rows).items()
        if one.score == asked[name]
    }
    beside = dict.fromkeys(method for method, _ in printed)
    width = max((len(one) for one in [*methods, *(f"paper: {one}" for one in beside)]), default=0)
    wide = {name: max(len(name), 9) + 2 for name in by_task}
    line(" " * width + "".join(f"{name:>{wide[name]}}" for name in by_task))
    line(" " * width + "".join(f"{asked[name]:>{wide[name]}}" for name in by_task))
    for method in methods:
        shown = (_percent(cells.get((method, name)), wide[name]) for name in by_task)
        line(f"{method:<{width}}" + "".join(shown))
    for method in beside:
        shown = (f"{printed.get((method, name), ''):>{wide[name]}}" for name in by_task)
        line(f"{f'paper: {method}':<{width}}" + "".join(shown))


def _percent(value: float | None, width: int) -> str:
    return " " * width if value is None else f"{100 * value:>{width}.2f}"


def _printed(task: Task, rows: Sequence[Row]) -> dict[str, Printed]:
    """The paper's figures for methods that were trained on as many sentences."""
    sizes = {row.method: row.trained for row in rows}
    return {name: one for name, one in task.paper.items() if sizes.get(name) == one.trained}


def _print_rows(rows: Sequence[Row], paper: Mapping[str, Printed]) -> None:
    """Prints one line for each method, however long it is."""
    if not rows:
        return
    width = max(len(row.method) for row in rows)
    more = sorted({"accuracy", "sequences"} & set(rows[0].scores) - {rows[0].score})
    heads = "".join(f"{name:>11}" for name in ("95% interval", *more))
    tail = "  folds  seeds  trained  tested  train s  test s    MB  paper"
    line(f"\n{rows[0].task:<{width}}{rows[0].score:>10}  {heads}{tail}")
    for row in rows:
        span = f"{100 * row.low:.2f}-{100 * row.high:.2f}"
        scores = "".join(f"{100 * row.scores[name]:>11.2f}" for name in more)
        runs = f"{row.folds:>7}{len(row.by_seed):>7}{row.trained:>9}{row.tested:>8}"
        used = f"{row.training:>9.1f}{row.predicting:>8.1f}{row.memory:>6.0f}"
        known = paper.get(row.method)
        printed = "" if known is None else f"  {known.score} {known.value:.2f}"
        value = f"{100 * row.value:>10.2f}"
        line(f"{row.method:<{width}}{value}  {span:>12}{scores}{runs}{used}{printed}")


def _print_differences(pairs: Sequence[Difference]) -> None:
    """Prints how much better one method is than another, and whether that is more than chance."""
    if pairs:
        line("differences on the same examples, with 95% intervals:")
    for one in pairs:
        clear = "better" if one.low > 0 else "worse" if one.high < 0 else "no clear difference"
        span = f"{100 * one.low:+.2f} to {100 * one.high:+.2f}"
        line(f"  {one.method} less {one.other}: {100 * one.value:+.2f} ({span}), {clear}")


if __name__ == "__main__":
    app()
