"""What `fsmeu online` prints and writes: a table, JSON, curves as csv, json or a plot."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fsmeu.cli.online_runs import Outcome
from fsmeu.cli.output import file_for, print_json, print_table, table, write_output
from fsmeu.drawing.plots.measure_plots import plot_curves
from fsmeu.drawing.plots.plot_file import PLOT_FORMATS, checked_plot, save_plot
from fsmeu.errors import InputError, sentence

__all__ = ["checked_output", "print_outcomes", "write_outcomes"]

Floats = NDArray[np.float64]

_TEXTS = ("csv", "json")


def checked_output(name: str) -> Path:
    """The path of the file to write, looked at before anything long is run.

    Raises:
        InputError: its ending says no format, or it is a folder.
        MissingExtra: it is a plot, and matplotlib is not installed.
    """
    kind = Path(name).suffix.lstrip(".").lower()
    if kind not in (*PLOT_FORMATS, *_TEXTS):
        must = f"the name must end in .{', .'.join((*PLOT_FORMATS, *_TEXTS))}"
        raise InputError(sentence("--output", must, name))
    if kind in PLOT_FORMATS:
        checked_plot(name, ".csv and .json work without it")
    return file_for("--output", name)


def write_outcomes(path: Path, facts: dict[str, Any], found: Sequence[Outcome]) -> None:
    """Writes the curves in the format that the ending says."""
    kind = path.suffix.lstrip(".").lower()
    if kind == "json":
        whole = {**_summary(facts, found), "seen": found[0].seen.tolist()}
        whole["curves"] = {one.name: one.curves.tolist() for one in found}
        write_output(path, json.dumps(whole, allow_nan=False) + "\n")
    elif kind == "csv":
        write_output(path, _csv(found))
    else:
        names = {one.measure for one in found}
        value = f"online {names.pop()}" if len(names) == 1 else "online measure"
        curves = {one.name: one.curves for one in found}
        save_plot(path, lambda axes: plot_curves(curves, found[0].seen, value=value, ax=axes))


def _csv(found: Sequence[Outcome]) -> str:
    """One line for each learner, order and point."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["learner", "measure", "order", "examples", "value"])
    for one in found:
        for k, curve in enumerate(one.curves, start=1):
            pairs = zip(one.seen.tolist(), curve.tolist(), strict=True)
            writer.writerows([one.name, one.measure, k, *pair] for pair in pairs)
    return text.getvalue()


def print_outcomes(facts: dict[str, Any], found: Sequence[Outcome], as_json: bool) -> None:
    """Prints the table, or one JSON document."""
    if as_json:
        print_json(_summary(facts, found))
        return
    names, several = {one.measure for one in found}, facts["shuffles"] > 1
    what = names.pop() if len(names) == 1 else ""
    spread = " ± s.d." if several else ""
    heads = [f"{part} {what}".strip() + spread for part in ("online", "test")]
    heads = [*heads[: 1 if found[0].tests is None else 2], "examples/s"]
    made = table("learner", *([] if what else ["measure"]), *heads, right=heads)
    for one in found:
        columns = [one.curves[:, -1], *([] if one.tests is None else [one.tests])]
        cells = [*([] if what else [one.measure]), *map(_cell, columns)]
        made.add_row(one.name, *cells, f"{one.speed:,.0f}")
    print_table(made)


def _cell(values: Floats) -> str:
    spread = f" ± {values.std(ddof=1):.4f}" if len(values) > 1 else ""
    return f"{values.mean():.4f}{spread}"


def _summary(facts: dict[str, Any], found: Sequence[Outcome]) -> dict[str, Any]:
    rows = [
        {
            "learner": one.name,
            "measure": one.measure,
            "online": _moments(one.curves[:, -1]),
            "test": None if one.tests is None else _moments(one.tests),
            "examples_per_second": round(one.speed),
        }
        for one in found
    ]
    return {**facts, "learners": rows}


def _moments(values: Floats) -> dict[str, float | None]:
    spread = float(np.std(values, ddof=1)) if len(values) > 1 else None
    return {"mean": float(np.mean(values)), "sd": spread}
