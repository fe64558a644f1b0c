"""`fsmeu demo` and `doctor`: a short tour on built-in data; what is installed and missing."""

from __future__ import annotations

import platform
from importlib import metadata

import numpy as np
import typer

import fsmeu
from fsmeu.cli import options as opt
from fsmeu.cli.options import option
from fsmeu.cli.output import emit, file_for, line, screen
from fsmeu.cli.requirements import Need, needs
from fsmeu.drawing.source import source_text
from fsmeu.fst import openfst_version, pynini_version

INDEPENDENT = [0.45, 0.1, 0.35, 0.6, 0.3, 0.4]
INITIAL = [0.35, 0.65]
TRANSITION = [[0.9, 0.1], [0.55, 0.45]]
_DEFINITION = ("count", "value", "        or")  # how lines begin that make the automaton
_EXACT = 0.7313333333333333  # expected F1 of 110 under .9, .5, .3: its eight references, by hand


def version_text() -> str:
    """The versions that a number computed here depends on, one a line."""
    machines = f"pynini {pynini_version()}\nOpenFst {openfst_version()}"
    python = f"numpy {np.__version__}\nPython {platform.python_version()}"
    return f"fsmeu {fsmeu.__version__}\n{machines}\n{python}"


def demo(
    output: str | None = option(
        "--output -o FILE", "Draw an automaton: a .svg, .png, .pdf, ... file."
    ),
) -> None:
    """Show what fsmeu does, on built-in data. Nothing is written unless -o is given."""
    picture = None if output is None else file_for("--output", output)
    f1 = fsmeu.load("fscore", beta=1)
    if picture is not None:
        fsmeu.draw(f1, n=3).save(picture)
    line(version_text().replace("\n", ", "), style="dim")
    line("\n1. A utility is a file of a dozen lines (grammars/fscore.loss):\n")
    source = [text for text in f1.spec.source.splitlines() if text.startswith(_DEFINITION)]
    screen().print(source_text("\n".join(source)), soft_wrap=True)
    machines = [f1.compile(n) for n in (3, 6)]
    sizes = [f"{m.states} states and {m.arcs} arcs for {m.n} positions" for m in machines]
    line(f"\n2. It is compiled to an automaton: {', '.join(sizes)}.", wrap=True)
    line("\n3. Labels for six positions, and their expected F1:\n")
    models = {
        "independent labels": fsmeu.models.Bernoulli(INDEPENDENT),
        "Markov chain": fsmeu.models.Markov(INITIAL, TRANSITION, n=len(INDEPENDENT)),
    }
    rows = []
    reasons = []
    for name, model in models.items():
        best = fsmeu.decode(f1, model)
        cells = [name]
        for labels in (model.most_probable()[0][0], best.labels):
            cells += ["".join(map(str, labels)), f"{fsmeu.expect(f1, labels, model).value:.4f}"]
        rows.append([*cells, "yes" if best.exact else "no"])
        reasons.append(f"\n{name}: {fsmeu.explain(best)}")
    emit(rows, ("model", "most probable", "E[F1]", "best for F1", "E[F1]", "proven"))
    line("\n".join(reasons), wrap=True)
    if picture is not None:
        line(f"\nThe automaton for three positions is drawn in {picture}.")


def doctor(as_json: bool = opt.JSON) -> None:
    """Say what is installed, what is missing, and what to do.

    The exit code is 0 if fsmeu can compute, with or without optional packages, and otherwise 1.
    """
    extras = metadata.metadata("fsmeu").get_all("Provides-Extra") or []
    every = needs(metadata.requires("fsmeu") or [], extras)
    shown = [need for need in every if need.part != "notebooks" and need.package != "fsmeu"]
    required = sorted(shown, key=lambda need: (need.part, need.package))
    rows = [
        (need.part or "base", need.package, str(need.versions), installed(need.package))
        for need in required
    ]
    trouble = computes()
    advice = [f"fsmeu cannot compute: {trouble}"] if trouble else []
    for part in dict.fromkeys(need.part for need in required):
        advice += _advice(part, [need for need in required if need.part == part])
    keys = ("part", "package", "needed", "installed")
    data = {
        "python": platform.python_version(),
        "machine": f"{platform.system()} {platform.machine()}",
        "computes": not trouble,
        "packages": [dict(zip(keys, row, strict=True)) for row in rows],
        "advice": advice,
    }
    emit([(*row[:3], row[3] or "missing") for row in rows], keys, (), data if as_json else None)
    if not as_json:
        line(f"\nPython {data['python']} on {data['machine']}")
        for text in advice or ["Nothing is missing."]:
            line(text, wrap=True)
        if not trouble:
            line("fsmeu computes: the expected F1 of a small example is right.")
    raise typer.Exit(1 if trouble else 0)


def _advice(part: str, required: list[Need]) -> list[str]:
    """What to do for the requirements of one part: sentences."""
    missing = [need.package for need in required if not installed(need.package)]
    unfit = [
        f"{need.package} {version} is installed, and {need.package}{need.versions} is needed"
        for need in required
        if (version := installed(need.package))
        and not need.versions.contains(version, prereleases=True)
    ]
    target = f"'fsmeu[{part}]'" if part else "fsmeu"
    if missing == ["pynini"]:
        from fsmeu.fst.openfst import HOW_TO_GET_IT  # would load pynini where it is there

        return [f"pynini missing, which explicit machines need. {HOW_TO_GET_IT}", *unfit]
    if missing:
        unfit.insert(0, f"{', '.join(missing)} missing: pip install {target}")
    return unfit


def installed(package: str) -> str:
    """The version of a package that is installed, or ""."""
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return ""


def computes() -> str:
    """The fault in computing an expectation whose value is known; "" if there is none."""
    try:
        f1 = fsmeu.load("fscore")
        model = fsmeu.models.Bernoulli([0.9, 0.5, 0.3])
        values = [fsmeu.expect(f1, [1, 1, 0], model).value]
        if installed("pynini"):
            values.append(fsmeu.compose(f1, [1, 1, 0], model).total)
    except Exception as error:  # whatever a broken installation raises
        return f"{type(error).__name__}: {error}"
    wrong = max(abs(value - _EXACT) for value in values) > 1e-12
    return f"{' and '.join(map(str, values))} instead of {_EXACT}" if wrong else ""
