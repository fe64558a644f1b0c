"""The page of all tables on record, in Markdown: ``docs/papers/daume2009_tables.md``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from report import markdown_table

__all__ = ["page"]

Rows = Sequence[Mapping[str, Any]]
_NOT_RUN = "–"
_SEQUENCES = "sequences"


def page(record: Mapping[str, Any], titles: Mapping[str, str]) -> str:
    """The text of the page.

    Args:
        record: what was found, by section.
        titles: of the sections, in their order.
    """
    lines = [
        "# Daumé, Langford and Marcu 2009: all tables",
        "",
        "Written by `./run python experiments/daume2009.py page` from"
        " `experiments/results/daume2009.json`; `daume2009.py table` prints the same figures."
        " What they say is on [the page of the paper](daume2009.md). Scores are percentages,"
        " intervals are 95% of a bootstrap over sentences, differences are on the same sentences;"
        f" {_NOT_RUN} is not run. Seconds are those of training and predicting, of one fold and"
        " seed, on one processor.",
    ]
    for name, title in titles.items():
        if name not in record:
            continue
        lines += ["", f"## {title}", ""]
        section = record[name]
        lines += _chain(section["rows"]) if name == "chain" else _section(section)
        lines += ["", "The log of the commands:", "", "```text", *section["commands"], "```"]
    return "\n".join(lines) + "\n"


def _section(section: Mapping[str, Any]) -> Iterator[str]:
    """The tables of a section: together, by task, differences, curves."""
    rows = section["rows"]
    tasks = list(dict.fromkeys(row["task"] for row in rows))
    if len(tasks) > 1:
        yield from _together(rows, None)
        yield from ("", "Whole sequences that are right:", "")
        yield from _together(rows, _SEQUENCES)
    for task in tasks:
        mine = [row for row in rows if row["task"] == task]
        yield from ("", f"### {task}: {mine[0]['score']}", "")
        yield from _of_task(mine)
        pairs = [one for one in section["differences"] if one["task"] == task]
        if pairs:
            yield ""
            yield markdown_table(("difference", "points", "95% interval"), map(_difference, pairs))
    if section["curves"]:
        yield from ("", "### After each iteration, beta = 1", "")
        yield from _curves(section["curves"])


def _together(rows: Rows, score: str | None) -> Iterator[str]:
    """One line for each method and one column for each task; the score that each compares."""
    found = {(row["method"], row["task"]): row["scores"].get(score or row["score"]) for row in rows}
    tasks = list(dict.fromkeys(row["task"] for row in rows))
    methods = dict.fromkeys(row["method"] for row in rows)
    cells = (
        [method, *(_percent(found.get((method, task))) for task in tasks)] for method in methods
    )
    yield markdown_table(("method", *tasks), cells)


def _of_task(rows: Rows) -> Iterator[str]:
    """One line for each method of a task, with all that was measured."""
    more = [name for name in ("accuracy", _SEQUENCES) if name in rows[0]["scores"]]
    more = [name for name in more if name != rows[0]["score"]]
    heads = ("method", "score", "95% interval", *more, "folds", "seeds", "trained on", "predicted")
    cells = (
        [
            row["method"],
            _percent(row["value"]),
            f"{_percent(row['low'])} to {_percent(row['high'])}",
            *(_percent(row["scores"][name]) for name in more),
            str(row["folds"]),
            str(len(row["by_seed"])),
            f"{row['trained']:,}",
            f"{row['tested']:,}",
            f"{row['training']:.1f} + {row['predicting']:.1f}",
        ]
        for row in rows
    )
    yield markdown_table((*heads, "seconds"), cells)


def _difference(one: Mapping[str, Any]) -> list[str]:
    """The cells of a difference."""
    name = f"{one['method']} less {one['other']}"
    return [name, _points(one["value"]), f"{_points(one['low'])} to {_points(one['high'])}"]


def _curves(rows: Rows) -> Iterator[str]:
    """One line for each iteration and one column for each task, with intervals."""
    found = {(row["iteration"], row["task"]): row for row in rows}
    tasks = list(dict.fromkeys(row["task"] for row in rows))
    heads = []
    for task in tasks:
        first = next(row for row in rows if row["task"] == task)
        heads.append(f"{task}, {first['trained']:,} to train on")
    cells = []
    for iteration in sorted({row["iteration"] for row in rows}):
        line = [str(iteration)]
        for task in tasks:
            row = found.get((iteration, task))
            line.append(_NOT_RUN if row is None else _with_interval(row))
        cells.append(line)
    yield markdown_table(("iteration", *heads), cells)


def _with_interval(row: Mapping[str, Any]) -> str:
    return f"{_percent(row['value'])} ({_percent(row['low'])} to {_percent(row['high'])})"


def _chain(rows: Rows) -> Iterator[str]:
    """Wrong labels by the length of the chain."""
    cells = (
        [f"{one:.2f}" if isinstance(one, float) else str(one) for one in row.values()]
        for row in rows
    )
    yield markdown_table(list(rows[0]), cells)


def _percent(value: float | None) -> str:
    return _NOT_RUN if value is None else f"{100 * value:.2f}"


def _points(value: float) -> str:
    return f"{100 * value:+.2f}".replace("-", "−")
