"""`fsmeu demo`: a short tour on built-in data that ends with something decided."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console
from rich.syntax import Syntax
from rich.table import Table

import fsmeu
from fsmeu.cli.options import option
from fsmeu.cli.output import place_for

if TYPE_CHECKING:
    from fsmeu.losses.loss import SpecLoss
    from fsmeu.models import Model

INDEPENDENT = [0.45, 0.1, 0.35, 0.6, 0.3, 0.4]
INITIAL = [0.35, 0.65]
TRANSITION = [[0.9, 0.1], [0.55, 0.45]]


def demo(output: Path = option("--output -o DIR", "Where pictures go.", Path("out"))) -> None:
    """Show what fsmeu does, on built-in data."""
    from fsmeu.cli.main import version_text

    console, picture = Console(), place_for(output / "fscore.svg")
    console.print(version_text().replace("\n", ", "), style="dim")
    f1 = fsmeu.load("fscore", beta=1)
    n = len(INDEPENDENT)
    models = {
        "independent labels": fsmeu.models.Bernoulli(INDEPENDENT),
        "Markov chain": fsmeu.models.Markov(INITIAL, TRANSITION, n=n),
    }
    console.print("\n1. A utility is a file of a dozen lines (grammars/fscore.loss):\n")
    console.print(Syntax(_definition(f1), "text", background_color="default"))
    console.print(f"2. It is compiled to an automaton: {_size(f1)}.\n")
    console.print(_decisions(f1, models, n))
    for name, model in models.items():
        console.print(f"{name}: {fsmeu.explain(fsmeu.decode(f1, model))}")
    fsmeu.draw(f1, n=3).save(picture)
    console.print(f"\nThe automaton for three positions is drawn in {picture}.")


def _definition(loss: SpecLoss) -> str:
    """The statements that make the automaton: registers and value."""
    words = ("count", "value", "        or")
    return "\n".join(line for line in loss.spec.source.splitlines() if line.startswith(words))


def _size(loss: SpecLoss) -> str:
    machines = [loss.compile(n) for n in (3, 6)]
    return ", ".join(f"{m.states} states and {m.arcs} arcs for {m.n} positions" for m in machines)


def _decisions(f1: SpecLoss, models: Mapping[str, Model], n: int) -> Table:
    table = Table(title=f"3. Labels for {n} positions, and their expected F1")
    for heading in ("model", "most probable", "E[F1]", "best for F1", "E[F1]", "proven"):
        table.add_column(heading)
    for name, model in models.items():
        probable = model.most_probable()[0][0]
        best = fsmeu.decode(f1, model)
        cells = [name]
        for labels in (probable, best.labels):
            cells += ["".join(map(str, labels)), f"{fsmeu.expect(f1, labels, model).value:.4f}"]
        table.add_row(*cells, "yes" if best.exact else "no")
    return table
