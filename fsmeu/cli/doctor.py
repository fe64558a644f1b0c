"""`fsmeu doctor`: what is installed, what is missing, and what to do about it."""

from __future__ import annotations

import platform
import re
from importlib import metadata

import typer

from fsmeu.cli import options as opt
from fsmeu.cli.output import emit, line

_FOR_DEVELOPERS = ("dev", "docs", "notebooks")
_EXACT = 0.7313333333333333  # expected F1 of 110 under .9, .5, .3: its eight references, by hand
_NO_PYNINI = (
    "The package index has wheels of pynini for Linux on x86_64. For Linux on arm64, `./run wheel` "
    "in a copy of the sources builds one and prints the line for pip; on macOS, "
    "`conda install -c conda-forge pynini=2.1.7`."
)


def doctor(as_json: bool = opt.JSON) -> None:
    """Say what is installed, what is missing, and what to do.

    The exit code is 0 if fsmeu can compute, with or without optional packages, and otherwise 1.
    """
    wanted = [_parsed(text) for text in metadata.requires("fsmeu") or []]
    rows = [
        (extra or "base", name, need, installed(name))
        for extra, name, need in sorted(wanted)
        if extra not in _FOR_DEVELOPERS and name != "fsmeu"
    ]
    trouble = computes()
    advice = [f"fsmeu cannot compute: {trouble}", _NO_PYNINI] if trouble else []
    for group in dict.fromkeys(row[0] for row in rows):
        missing = [name for part, name, _, version in rows if part == group and not version]
        if missing:
            target = "fsmeu" if group == "base" else f"'fsmeu[{group}]'"
            advice.append(f"{', '.join(missing)} missing: pip install {target}")
    keys = ("part", "package", "needed", "installed")
    data = {
        "python": platform.python_version(),
        "machine": f"{platform.system()} {platform.machine()}",
        "computes": not trouble,
        "packages": [dict(zip(keys, row, strict=True)) for row in rows],
        "advice": advice,
    }
    shown = [(*row[:3], row[3] or "missing") for row in rows]
    emit(shown, keys, as_json=data if as_json else None)
    if not as_json:
        line(f"\nPython {data['python']} on {data['machine']}")
        for text in advice or ["Nothing is missing."]:
            line(text, wrap=True)
        if not trouble:
            line("fsmeu computes: the expected F1 of a small example is right.")
    raise typer.Exit(1 if trouble else 0)


def _parsed(requirement: str) -> tuple[str, str, str]:
    """The extra ("" for the base), name and versions of a requirement."""
    text, _, marker = requirement.partition(";")
    name, need = re.fullmatch(r"([\w.-]+)(.*)", text.strip()).groups()  # type: ignore[union-attr]
    extra = re.search(r"extra == ['\"](\w+)['\"]", marker)
    return extra[1] if extra else "", name, need.strip()


def installed(package: str) -> str:
    """The version of a package that is installed, or ""."""
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return ""


def computes() -> str:
    """What goes wrong with an expectation whose value is known, or ""."""
    try:
        import fsmeu

        f1 = fsmeu.load("fscore")
        value = fsmeu.expect(f1, [1, 1, 0], fsmeu.models.Bernoulli([0.9, 0.5, 0.3])).value
        total = fsmeu.compose(f1, [1, 1, 0], fsmeu.models.Bernoulli([0.9, 0.5, 0.3])).total
    except Exception as error:  # whatever a broken installation raises
        return f"{type(error).__name__}: {error}"
    wrong = max(abs(value - _EXACT), abs(total - _EXACT)) > 1e-12
    return f"{value} and {total} instead of {_EXACT}" if wrong else ""
