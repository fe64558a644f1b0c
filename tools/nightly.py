"""`./run nightly`: what takes too long for every change, with a log of each part and a table.

| part | what runs |
|---|---|
| tests | the whole suite, with nightly tests and every example |
| explorer | random losses and models against enumeration, with a seed that is new each night |
| frozen | the problems whose answers are kept, in an order that is new each night |
| fuzz | every reader on files that are nearly right, with the same seed |
| notebooks | all notebooks in full, written to out/nightly/notebooks and not into themselves |
| lowest | the default suite with the lowest versions that pyproject.toml allows |

The logs are out/nightly/PART.log. The seed is printed and in the logs: ``--seed`` repeats a night.
"""

from __future__ import annotations

import argparse
import secrets
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import console
import environment
import pynini_wheel
from environment import Project

_CASES = 10_000
_LAST_LINES = 20  # of the log of a part that failed, which are printed
# Versions without a wheel for this Python are passed over: compiling them takes an hour.
_COMPILED = (
    "llvmlite",
    "matplotlib",
    "numba",
    "numpy",
    "pandas",
    "pynini",
    "scikit-learn",
    "scipy",
)
_SUITE = ("-m", "pytest", "-n", "auto", "--dist", "worksteal")


@dataclass(frozen=True)
class Night:
    """What the parts of one night share.

    Attributes:
        project: The copy of the project.
        seed: The seed of what is drawn at random.
        cases: The number of the explorer's cases.
    """

    project: Project
    seed: int
    cases: int

    @property
    def folder(self) -> Path:
        """The folder of the logs."""
        return self.project.root / "out" / "nightly"


@dataclass(frozen=True)
class Result:
    """How a part of the night ended.

    Attributes:
        part: Its name.
        outcome: "passed" or "failed", with the reason where it is no exit code of 1.
        seconds: The time that it took.
    """

    part: str
    outcome: str
    seconds: float


Words = list[str]  # the words that follow the name of a program


def tests(night: Night) -> Words:
    """Returns the command of the whole suite."""
    return [str(night.project.python), *_SUITE, "--all"]


def explorer(night: Night) -> Words:
    """Returns the command of the explorer."""
    how = ["--cases", str(night.cases), "--seed", str(night.seed)]
    return [str(night.project.python), "-m", "tests.explore.run", *how]


def frozen(night: Night) -> Words:
    """Returns the command that compares answers with those that are kept."""
    order = ["--seed-order", str(night.seed)]
    return [str(night.project.python), "-m", "tests.frozen.run", *order]


def fuzz(night: Night) -> Words:
    """Returns the command of the fuzzer."""
    return [str(night.project.python), "-m", "tests.fuzz.run", "--seed", str(night.seed)]


def notebooks(night: Night) -> Words:
    """Returns the command that executes all notebooks."""
    script = night.project.root / "tools" / "notebooks.py"
    return [str(night.project.python), str(script), "--to", str(night.folder / "notebooks")]


def lowest(night: Night) -> Words:
    """Returns the command of the suite with the lowest versions, which are installed first.

    Raises:
        SetupFailure: They cannot be installed.
    """
    project = night.project
    venv = night.folder / "lowest"
    python = venv / "bin" / "python"
    version = pynini_wheel.pinned_version(project.recipe.read_text(encoding="utf-8"))
    wheels = pynini_wheel.provide(version, project.python)
    words = ["pip", "install", "--python", str(python), "--resolution", "lowest-direct"]
    wheels_only = [word for name in _COMPILED for word in ("--only-binary", name)]
    what = ["--find-links", str(wheels), "--group", "dev", "--editable", ".[openfst]"]
    with console.step("installing the lowest versions"):
        made = ["venv", "--clear", "--python", str(project.python), str(venv)]
        environment.run_uv(project.python, made)
        environment.run_uv(project.python, [*words, *wheels_only, *what], cwd=project.root)
    return [str(python), *_SUITE]


PARTS: dict[str, Callable[[Night], Words]] = {
    part.__name__: part for part in (tests, explorer, frozen, fuzz, notebooks, lowest)
}


def run_part(name: str, night: Night) -> Result:
    """Returns how a part ended; all that it wrote is in its log."""
    begin = time.monotonic()
    path = night.folder / f"{name}.log"
    with path.open("w", encoding="utf-8") as log:
        try:
            command = PARTS[name](night)
            log.write(f"$ {' '.join(command)}\n")
            log.flush()
            code = subprocess.call(
                command, cwd=night.project.root, stdout=log, stderr=subprocess.STDOUT
            )
            outcome = "passed" if code == 0 else f"failed ({code})"
        except console.SetupFailure as failure:
            log.write(f"{failure.report()}\n")
            outcome = "failed (set-up)"
    return Result(name, outcome, time.monotonic() - begin)


def main(root: Path, words: Sequence[str]) -> int:
    """Runs the parts that are named, or all; returns 1 if one of them failed."""
    parser = argparse.ArgumentParser(
        prog="./run nightly",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"{', '.join(PARTS)}; or all")
    parser.add_argument("--seed", type=int, default=secrets.randbelow(10**9), help="of a night")
    parser.add_argument("--cases", type=int, default=_CASES, help="of the explorer")
    given = parser.parse_args(words)
    for part in given.parts:
        if part not in PARTS:
            parser.error(f"there is no part '{part}'; the parts are: {', '.join(PARTS)}")
    night = Night(Project(root), given.seed, given.cases)
    night.folder.mkdir(parents=True, exist_ok=True)
    print(f"seed {night.seed}; logs in {night.folder}", flush=True)
    results = []
    for name in given.parts or PARTS:
        print(f"{name} ...", end=" ", flush=True)
        results.append(run_part(name, night))
        print(f"{results[-1].outcome}, {results[-1].seconds:.0f} s", flush=True)
        if results[-1].outcome != "passed":
            print(last_lines(night.folder / f"{name}.log"), flush=True)
    show(results, night)
    return int(any(one.outcome != "passed" for one in results))


def last_lines(log: Path) -> str:
    """Returns the end of a log, indented."""
    lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
    return "\n".join(f"    {line}" for line in lines[-_LAST_LINES:])


def show(results: Sequence[Result], night: Night) -> None:
    """Prints the table of a night."""
    from rich.console import Console
    from rich.table import Table

    table = Table("part", "outcome", "time", "log", title=f"night of seed {night.seed}")
    for one in results:
        minutes, seconds = divmod(round(one.seconds), 60)
        log = (night.folder / f"{one.part}.log").relative_to(night.project.root)
        table.add_row(one.part, one.outcome, f"{minutes}:{seconds:02d}", str(log))
    Console().print(table)


if __name__ == "__main__":
    sys.exit(main(Path(__file__).resolve().parent.parent, sys.argv[1:]))
