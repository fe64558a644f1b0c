"""`fsmeu train --online`: examples of a file streamed through online learners."""

from __future__ import annotations

import inspect
import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fsmeu.cli.models import classifiers, estimating, made_classifier, parameters
from fsmeu.cli.output import emit, file_for, write_output
from fsmeu.errors import InputError, one_of, sentence
from fsmeu.learning.online.base import OnlineClassifier
from fsmeu.learning.online.streaming import (
    Outcome,
    Plan,
    Task,
    curves_csv,
    run_orders,
    summary,
)

__all__ = ["checked_curves", "online_learners", "print_outcomes", "run_all", "write_curves"]

Floats = NDArray[np.float64]

_TEXTS = ("csv", "json")


def online_learners(
    named: Sequence[str], texts: Iterable[str] | None
) -> dict[str, OnlineClassifier]:
    """The learners, by what was written for each.

    Args:
        named: NAME or NAME:P=V,... of each.
        texts: parameters P=V for every learner that has them.

    Raises:
        InputError: there is no such learner, or no learner has such a parameter.
    """
    known = {n: kind for n, kind in classifiers().items() if issubclass(kind, OnlineClassifier)}
    shared = parameters(texts)
    found: dict[str, OnlineClassifier] = {}
    wanted: set[str] = set()
    for text in named:
        name, _, rest = text.partition(":")
        name = name.strip() or "nothing"
        kind = known[one_of("--classifier", "an online learner", name, known)]
        if text in found:
            raise InputError(sentence("--classifier", "a learner may be given once", text))
        takes = list(inspect.signature(kind).parameters)
        wanted.update(takes)
        common: dict[str, Any] = {key: v for key, v in shared.items() if key in takes}
        own = parameters(rest.split(",") if rest else ())
        found[text] = made_classifier(name, known, common | own)
    for key in shared:
        one_of("--param", "a parameter", key, sorted(wanted))
    return found


def run_all(
    learners: dict[str, OnlineClassifier], data: Task, others: Task | None, plan: Plan
) -> list[Outcome]:
    """What each learner reached, with a bar.

    Raises:
        InputError: a learner refuses its parameters or the examples.
    """
    found = []
    for name, one in learners.items():
        total = max(plan.shuffles, 1) * plan.passes * len(data.labels)
        with estimating(f"online {name}", name, total) as tell:

            def told(more: int, text: str, tell: Any = tell) -> None:
                tell(advance=more, text=text)

            found.append(run_orders(name, one, data, others, plan, told))
    return found


def checked_curves(name: str) -> Path:
    """The path of the file of curves, looked at before anything long is run.

    Raises:
        InputError: its ending says no format, or it is a folder.
        MissingExtra: it is a plot, and matplotlib is not installed.
    """
    from fsmeu.drawing.plots.plot_file import PLOT_FORMATS, checked_plot

    kind = Path(name).suffix.lstrip(".").lower()
    if kind not in (*PLOT_FORMATS, *_TEXTS):
        must = f"the name must end in .{', .'.join((*PLOT_FORMATS, *_TEXTS))}"
        raise InputError(sentence("--plot", must, name))
    if kind in PLOT_FORMATS:
        checked_plot(name, ".csv and .json work without it")
    return file_for("--plot", name)


def write_curves(path: Path, facts: dict[str, Any], found: Sequence[Outcome]) -> None:
    """Writes the measure against examples seen, in the format that the ending says."""
    kind = path.suffix.lstrip(".").lower()
    if kind == "json":
        whole = {**summary(facts, found), "seen": found[0].seen.tolist()}
        whole["curves"] = {one.name: one.curves.tolist() for one in found}
        write_output(path, json.dumps(whole, allow_nan=False) + "\n")
    elif kind == "csv":
        write_output(path, curves_csv(found))
    else:
        from fsmeu.drawing.plots.measure_plots import plot_curves
        from fsmeu.drawing.plots.plot_file import save_plot

        names = {one.measure for one in found}
        value = f"online {names.pop()}" if len(names) == 1 else "online measure"
        curves = {one.name: one.curves for one in found}
        save_plot(path, lambda axes: plot_curves(curves, found[0].seen, value=value, ax=axes))


def print_outcomes(facts: dict[str, Any], found: Sequence[Outcome], as_json: bool) -> None:
    """Prints the table, or one JSON document."""
    names, several = {one.measure for one in found}, facts["shuffles"] > 1
    what = names.pop() if len(names) == 1 else ""
    spread = " ± s.d." if several else ""
    heads = [f"{part} {what}".strip() + spread for part in ("online", "test")]
    heads = [*heads[: 1 if found[0].tests is None else 2], "examples/s"]
    rows = []
    for one in found:
        columns = [one.curves[:, -1], *([] if one.tests is None else [one.tests])]
        cells = [*([] if what else [one.measure]), *map(_cell, columns)]
        rows.append([one.name, *cells, f"{one.speed:,.0f}"])
    data = summary(facts, found) if as_json else None
    emit(rows, ("learner", *([] if what else ["measure"]), *heads), right=heads, as_json=data)


def _cell(values: Floats) -> str:
    spread = f" ± {values.std(ddof=1):.4f}" if len(values) > 1 else ""
    return f"{values.mean():.4f}{spread}"
