"""`fsmeu demo`: a short tour on built-in data that ends with something decided."""

from __future__ import annotations

from pathlib import Path

import fsmeu
from fsmeu.cli.options import option
from fsmeu.cli.output import emit, line, place_for

INDEPENDENT = [0.45, 0.1, 0.35, 0.6, 0.3, 0.4]
INITIAL = [0.35, 0.65]
TRANSITION = [[0.9, 0.1], [0.55, 0.45]]
_DEFINITION = ("count", "value", "        or")  # how lines begin that make the automaton


def demo(output: Path = option("--output -o DIR", "Where pictures go.", Path("out"))) -> None:
    """Show what fsmeu does, on built-in data."""
    from fsmeu.cli.main import version_text

    picture = place_for(output / "fscore.svg")
    line(version_text().replace("\n", ", "), style="dim")
    f1 = fsmeu.load("fscore", beta=1)
    line("\n1. A utility is a file of a dozen lines (grammars/fscore.loss):\n")
    for text in f1.spec.source.splitlines():
        if text.startswith(_DEFINITION):
            line(text)
    machines = [f1.compile(n) for n in (3, 6)]
    sizes = [f"{m.states} states and {m.arcs} arcs for {m.n} positions" for m in machines]
    line(f"\n2. It is compiled to an automaton: {', '.join(sizes)}.", wrap=True)
    line("\n3. Labels for six positions, and their expected F1:\n")
    models = {
        "independent labels": fsmeu.models.Bernoulli(INDEPENDENT),
        "Markov chain": fsmeu.models.Markov(INITIAL, TRANSITION, n=len(INDEPENDENT)),
    }
    rows, reasons = [], []
    for name, model in models.items():
        best, cells = fsmeu.decode(f1, model), [name]
        for labels in (model.most_probable()[0][0], best.labels):
            cells += ["".join(map(str, labels)), f"{fsmeu.expect(f1, labels, model).value:.4f}"]
        rows.append([*cells, "yes" if best.exact else "no"])
        reasons.append(f"\n{name}: {fsmeu.explain(best)}")
    emit(rows, ("model", "most probable", "E[F1]", "best for F1", "E[F1]", "proven"))
    for reason in reasons:
        line(reason, wrap=True)
    fsmeu.draw(f1, n=3).save(picture)
    line(f"\nThe automaton for three positions is drawn in {picture}.")
