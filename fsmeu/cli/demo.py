"""`fsmeu demo`: a short tour on built-in data that ends with something decided."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

import fsmeu
from fsmeu.cli.version import version_text
from fsmeu.losses.loss import Loss
from fsmeu.models import Model

INDEPENDENT = [0.45, 0.1, 0.35, 0.6, 0.3, 0.4]
INITIAL = [0.35, 0.65]
TRANSITION = [[0.9, 0.1], [0.55, 0.45]]


def demo(
    out: Annotated[Path, typer.Option(help="Where pictures go.")] = Path("out"),
) -> None:
    """Shows what fsmeu does, on built-in data."""
    console = Console()
    console.print(version_text().replace("\n", ", "), style="dim")
    f1 = fsmeu.load("fscore", beta=1)
    n = len(INDEPENDENT)
    models = {
        "independent labels": fsmeu.models.Bernoulli(INDEPENDENT),
        "Markov chain": fsmeu.models.Markov(INITIAL, TRANSITION, n=n),
    }
    console.print(_decisions(f1, models, n))
    picture = _draw(f1, out)
    console.print(f"The F1 automaton for two positions is drawn in {picture} (Graphviz).")


def _decisions(f1: Loss, models: Mapping[str, Model], n: int) -> Table:
    table = Table(title=f"Labels for {n} positions, and their expected F1")
    for heading in ("model", "most probable", "E[F1]", "best for F1", "E[F1]"):
        table.add_column(heading)
    for name, model in models.items():
        probable = tuple(model.most_probable()[0][0])
        best = _best_labels(f1, model, n)
        cells = [name]
        for labels in (probable, best):
            cells += ["".join(map(str, labels)), f"{fsmeu.expect(f1, labels, model).value:.4f}"]
        table.add_row(*cells)
    return table


def _best_labels(f1: Loss, model: Model, n: int) -> tuple[int, ...]:
    return max(product((0, 1), repeat=n), key=lambda z: fsmeu.expect(f1, z, model).value)


def _draw(f1: Loss, out: Path) -> Path:
    out.mkdir(parents=True, exist_ok=True)
    picture = out / "fscore.dot"
    f1.compile(n=2).fst.draw(str(picture), portrait=True)
    return picture
