"""Everything else that the project needs, kept as wheels beside pynini's.

Asking the index which versions fit together takes pip most of its time, and the answer is the
same for every copy of the project. So it is asked once for each set of requirements: the wheels
are kept, and a list of pins, written last, says which of them belong together.
"""

from __future__ import annotations

import hashlib
import re
import shutil
import zipfile
from pathlib import Path

import console
import locks
import process
import stamp
import wheelhouse
from stamp import Project

_TABLE = re.compile(r"^\[+(?P<name>[^\]]+)\]+", re.MULTILINE)


def requirements(pyproject: str) -> str:
    """Returns the part of pyproject.toml that says what must be installed."""
    starts = [*_TABLE.finditer(pyproject)]
    ends = [start.start() for start in starts[1:]] + [len(pyproject)]
    return "".join(
        pyproject[start.start() : end]
        for start, end in zip(starts, ends, strict=True)
        if start["name"].split(".")[0].strip() in ("build-system", "project")
    )


def provide(project: Project, home: Path) -> Path:
    """Makes sure that every wheel the project needs is in the cache.

    Args:
        project: The project; its environment has pip.
        home: The cache's directory of wheels for this machine, with pynini's in it.

    Returns:
        The pins, for pip's --constraint.
    """
    asked = requirements(project.recipe.read_text(encoding="utf-8")) + stamp.EXTRAS
    pins = home / f"{hashlib.sha256(asked.encode()).hexdigest()[:16]}.pins"
    if is_complete(pins):
        return pins
    with (
        console.guard("fetching what fsmeu needs"),
        locks.exclusive(wheelhouse.lock_file("packages"), "fetching packages"),
    ):
        if not is_complete(pins):
            _fetch(project, home, pins)
    return pins


def is_complete(pins: Path) -> bool:
    """Returns whether every wheel that the pins name is there, and is not cut short."""
    try:
        names = pins.read_text(encoding="utf-8").split()
    except FileNotFoundError:
        return False
    prefixes = {name.replace("==", "-") for name in names}
    wheels = (file for file in pins.parent.glob("*.whl") if zipfile.is_zipfile(file))
    there = {"-".join(wheel.name.split("-")[:2]) for wheel in wheels}
    return prefixes <= there


def _fetch(project: Project, home: Path, pins: Path) -> None:
    part = home / "fetching"
    shutil.rmtree(part, ignore_errors=True)
    what = [f"{project.root}[{stamp.EXTRAS}]", *build_requirements(project)]
    options = ["--no-input", "--use-pep517", "--only-binary", "pynini", "--find-links", str(home)]
    command = [str(project.python), "-m", "pip", "wheel", *options, "--wheel-dir", str(part)]
    with console.step("fetching what fsmeu needs"):
        process.run([*command, *what], log=project.venv / "pip.log")
        wheels = [file for file in part.glob("*.whl") if not file.name.startswith("fsmeu-")]
        for wheel in wheels:
            wheel.replace(home / wheel.name)
        shutil.rmtree(part)
        lines = sorted("==".join(wheel.name.split("-")[:2]) for wheel in wheels)
        finished = pins.with_suffix(".part")
        finished.write_text("\n".join([*lines, ""]), encoding="utf-8")
        finished.replace(pins)


def build_requirements(project: Project) -> list[str]:
    """Returns what pip needs to install the project itself."""
    text = project.recipe.read_text(encoding="utf-8")
    listed = re.search(r"^requires = \[(?P<list>[^\]]*)\]", text, re.MULTILINE)
    return re.findall(r'"([^"]+)"', listed["list"]) if listed else []
