"""What `fsmeu score` prints and writes: tables, JSON, csv, a plot."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fsmeu.bootstrap import Estimate
from fsmeu.cli.output import file_for, line, note, print_table, table, write_output
from fsmeu.corpora.tally import LEVELS, Row
from fsmeu.errors import InputError, sentence

__all__ = ["checked_form", "checked_score_plot", "plot_scores", "show_scores"]

_FORMS = ("json", "csv")
_HEADS = ("value", "low", "high", "difference", "difference_low", "difference_high")


@dataclass(frozen=True)
class Form:
    """How scores are given: a table where the kind is empty; the file is - for standard output."""

    kind: str = ""
    file: Path = Path("-")


def checked_form(asked: str | None, output: str | None) -> Form:
    """How scores are to be given, looked at before anything long is run.

    Raises:
        InputError: it is neither a format nor a file of one.
    """
    if output is None:
        return Form(asked or "")
    if asked is not None:
        must = "the format is given by --json or by --output, one of them"
        raise InputError(sentence("--output", must, "both"))
    if output in _FORMS:
        return Form(output)
    kind = Path(output).suffix.lstrip(".").lower()
    if kind not in _FORMS:
        must = "it must be json or csv, or a file that ends in .json or .csv"
        raise InputError(sentence("--output", must, output))
    return Form(kind, file_for("--output", output))


def checked_score_plot(name: str) -> Path:
    """The path of the plot, looked at before anything long is run."""
    from fsmeu.drawing.plots.plot_file import checked_plot

    path, _ = checked_plot(name, "--output csv gives the numbers")
    return file_for("--plot", str(path))


def plot_scores(path: Path, rows: Sequence[Row]) -> None:
    """Writes the plot: a panel for each loss, a line for each decision and level."""
    from fsmeu.drawing.plots.measure_plots import save_intervals

    panels: dict[str, dict[str, dict[str, tuple[float, float | None, float | None]]]] = {}
    for row in rows:
        panel = panels.setdefault(f"{row.kind} {row.loss}", {})
        one = row.score
        panel.setdefault(row.level, {})[row.decision] = (one.value, one.low, one.high)
    save_intervals(path, panels)


def show_scores(facts: dict[str, Any], rows: Sequence[Row], form: Form) -> None:
    """Prints or writes the scores."""
    if not form.kind:
        _print_tables(facts, rows)
        return
    if form.kind == "json":
        document = {**facts, "scores": [_data(row) for row in rows]}
        write_output(form.file, json.dumps(document, allow_nan=False) + "\n")
    else:
        write_output(form.file, _csv(rows))


def _data(row: Row) -> dict[str, Any]:
    less = row.difference
    numbers = [row.score.value, row.score.low, row.score.high]
    numbers += [None] * 3 if less is None else [less.value, less.low, less.high]
    names = {"loss": row.loss, "kind": row.kind, "decision": row.decision, "level": row.level}
    return {**names, **dict(zip(_HEADS, numbers, strict=True))}


def _csv(rows: Sequence[Row]) -> str:
    """One line for each loss, decision and level."""
    text = io.StringIO()
    names = ["loss", "kind", "decision", "level", *_HEADS]
    writer = csv.DictWriter(text, names, lineterminator="\n")
    writer.writeheader()
    writer.writerows(_data(row) for row in rows)
    return text.getvalue()


def _print_tables(facts: dict[str, Any], rows: Sequence[Row]) -> None:
    """A table for each loss: a line for each decision, and for its difference to the baseline."""
    line(f"{facts['sentences']:,} sentences, {facts['labels']:,} labels")
    for loss in dict.fromkeys(row.loss for row in rows):
        mine = [row for row in rows if row.loss == loss]
        better = "more" if mine[0].kind == "utility" else "less"
        line()
        line(f"{mine[0].kind} {loss} ({better} is better)", style="bold")
        _print_table(mine, facts["baseline"], facts["draws"] > 0)
        if not any(row.level == "corpus" for row in mine):
            note(f"{loss}: no value of the corpus, as it is no function of sums over sentences")


def _print_table(rows: Sequence[Row], baseline: str, intervals: bool) -> None:
    by_level = {level: [row for row in rows if row.level == level] for level in LEVELS}
    shown = [level for level in LEVELS if by_level[level]]
    between = ["95%"] if intervals else []
    heads = [head for level in shown for head in (level, *between)]
    made = table("decision", *heads, right=heads)
    for k, first in enumerate(by_level[shown[0]]):
        sides = [by_level[level][k] for level in shown]
        made.add_row(first.decision, *_cells([side.score for side in sides], "", intervals))
    if len(by_level[shown[0]]) > 1:
        made.add_section()
        made.add_row(f"minus {baseline}:")
    for k, first in enumerate(by_level[shown[0]]):
        less = [by_level[level][k].difference for level in shown]
        found = [one for one in less if one is not None]
        if found:
            made.add_row(f"  {first.decision}", *_cells(found, "+", intervals))
    print_table(made)


def _cells(estimates: Sequence[Estimate], sign: str, intervals: bool) -> list[str]:
    cells = []
    for one in estimates:
        cells.append(f"{one.value:{sign}.4f}")
        if intervals:
            cells.append(f"{one.low:{sign}.4f} {one.high:{sign}.4f}")
    return cells
