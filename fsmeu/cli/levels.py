"""`fsmeu levels`: the values that a hypothesis can have, and how probable each is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from fsmeu.cli.given import GivenName
from fsmeu.cli.options import (
    EngineName,
    Hypothesis,
    Json,
    Keep,
    LabelList,
    LossName,
    ModelFile,
    ParamList,
    Probabilities,
    TypeList,
)

if TYPE_CHECKING:
    from fsmeu.expectation.levels import Levels

__all__ = ["show_levels"]

_MOST = 40
_BAR = 36
_Plot = Annotated[
    str | None,
    typer.Option(
        "--plot",
        metavar="FILE",
        help="Also plot them, with mean and quantiles: a file that ends in .png, .pdf or .svg.",
        show_default=False,
    ),
]
_All = Annotated[
    bool, typer.Option("--all", help=f"Show every value, not only the {_MOST} most probable.")
]


def show_levels(
    loss: LossName,
    z: Hypothesis,
    probs: Probabilities = None,
    model: ModelFile = None,
    given: GivenName = None,
    param: ParamList = None,
    labels: LabelList = None,
    types: TypeList = None,
    engine: EngineName = "lattice",
    keep: Keep = None,
    every: _All = False,
    plot: _Plot = None,
    as_json: Json = False,
) -> None:
    """Prints the values of a hypothesis and how probable each is."""
    from fsmeu.cli.expect import ask
    from fsmeu.cli.output import print_json

    answer = ask((loss, param, labels, types), z, (probs, model), engine, keep, given)
    levels = answer.levels
    if plot is not None:
        from fsmeu.drawing.plots.levels_plot import save_levels

        save_levels(answer, plot, f"{loss} of {z}")
    if as_json:
        pair = {"values": levels.values.tolist(), "probabilities": levels.probabilities.tolist()}
        print_json(pair)
        return
    _print_levels(levels, len(levels.values) if every else _MOST)


def _print_levels(levels: Levels, most: int) -> None:
    """Prints the given number of most probable values, in ascending order, with bars."""
    import numpy as np
    from rich.progress_bar import ProgressBar

    from fsmeu.cli.output import line, print_table, table

    if not len(levels.values):
        line("Nothing of positive probability was kept.")
        return
    shown = np.sort(np.argsort(-levels.probabilities, kind="stable")[:most])
    made = table("value", "probability", "", right=("value", "probability"))
    longest = float(levels.probabilities.max())
    for k in shown:
        value, probability = float(levels.values[k]), float(levels.probabilities[k])
        bar = ProgressBar(total=longest, completed=probability, width=_BAR)
        made.add_row(f"{value:.10g}", f"{probability:.8g}", bar)
    print_table(made)
    rest = np.delete(levels.probabilities, shown)
    if len(rest):
        less = f"{len(rest):,} less probable values ({float(rest.sum()):.3g} together)"
        line()
        line(f"{less} are left out; --all shows them.")
