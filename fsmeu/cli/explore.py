"""`fsmeu explore`: a page in which a loss can be walked through and tried out."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated

import typer

from fsmeu.cli.options import LabelList, LossName, ParamList, Probabilities, TypeList

__all__ = ["explore_loss"]

_Length = Annotated[
    int,
    typer.Option("--n", "-n", metavar="N", min=1, help="The greatest length of sequences."),
]
_Output = Annotated[
    str | None,
    typer.Option(
        "--output",
        "-o",
        metavar="FILE",
        help="Where to write the page, - for standard output; else NAME.html here.",
        show_default=False,
    ),
]
_Limit = Annotated[
    int, typer.Option("--limit", metavar="N", min=1, help="The most states of a machine.")
]
_Open = Annotated[bool, typer.Option("--open", help="Open the page in the browser.")]


def explore_loss(
    loss: LossName,
    n: _Length = 4,
    output: _Output = None,
    probs: Probabilities = None,
    limit: _Limit = 150,
    show: _Open = False,
    param: ParamList = None,
    labels: LabelList = None,
    types: TypeList = None,
) -> None:
    """Writes a page in which a loss can be looked at, walked through and tried out.

    The page is one file that needs no network: machines to move and zoom in, pairs of sequences
    step by step, probabilities to slide with the expectation, its levels and the best decision.
    """
    from fsmeu.cli.inputs import load_loss, read_model
    from fsmeu.cli.output import line, place_for, write_output
    from fsmeu.drawing.pages.explore import explore

    loaded = load_loss(loss, param, labels, types)
    first = None
    if probs is not None:
        first = [float(p) for p in read_model(probs, None, loss).marginals()[:, 1]]
    page = explore(loaded, n, probs=first, limit=limit)
    if output == "-":
        write_output(output, page.html.encode())
        return
    plain = re.sub(r"[^\w.-]+", "_", page.name).strip(".") or "loss"
    where = page.save(place_for(output if output is not None else f"{plain}.html"))
    line(str(where))
    if show:
        import webbrowser

        webbrowser.open(Path(where).resolve().as_uri())
