"""The project's own environment (`.venv`): made when missing, refreshed when it is out of date.

A stamp, written last, says what the environment was made from. No stamp means that an earlier
set-up did not finish, and the environment is made anew. With the stamp in order, nothing is done.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

import console
import locks
import process
import wheelhouse
from console import SetupFailure

EXTRAS = "dev"
PIP_OPTIONS = ("--no-input", "--only-binary", "pynini")


@dataclass(frozen=True)
class Project:
    """A copy of the project.

    Attributes:
        root: Its top directory.
    """

    root: Path

    @property
    def venv(self) -> Path:
        """The environment's directory."""
        return self.root / ".venv"

    @property
    def python(self) -> Path:
        """The environment's interpreter."""
        return self.venv / "bin" / "python"

    @property
    def stamp(self) -> Path:
        """The file that says what the environment was made from."""
        return self.venv / "fsmeu-stamp.json"

    @property
    def lock(self) -> Path:
        """The file that keeps two set-ups of this copy apart."""
        return self.root / ".setup.lock"


def wanted_stamp(project: Project) -> dict[str, str]:
    """Returns the stamp of an environment that is up to date."""
    recipe = hashlib.sha256((project.root / "pyproject.toml").read_bytes())
    recipe.update(repr((EXTRAS, PIP_OPTIONS)).encode())
    return {
        "recipe": recipe.hexdigest(),
        "python": f"{sys.version_info[0]}.{sys.version_info[1]}",
        "path": str(project.venv),
    }


def read_stamp(project: Project) -> dict[str, str] | None:
    """Returns the stamp of the environment that is there, if it was finished."""
    try:
        stamp = json.loads(project.stamp.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return stamp if isinstance(stamp, dict) and project.python.exists() else None


def prepare(project: Project) -> None:
    """Makes sure that the environment is there and up to date.

    Raises:
        SetupFailure: It cannot be made.
    """
    with console.guard("reading pyproject.toml"):
        wanted = wanted_stamp(project)
    if read_stamp(project) == wanted:
        return
    with (
        console.guard("making the environment"),
        locks.exclusive(project.lock, "making this environment"),
    ):
        _bring_up_to_date(project, wanted)


def _bring_up_to_date(project: Project, wanted: dict[str, str]) -> None:
    present = read_stamp(project)
    if present == wanted:
        return
    project.stamp.unlink(missing_ok=True)
    if present is None or any(present.get(key) != wanted[key] for key in ("python", "path")):
        _create(project)
    version = wheelhouse.pinned_version((project.root / "pyproject.toml").read_text("utf-8"))
    wheels = wheelhouse.provide(version, project.python)
    _install(project, wheels)
    part = project.stamp.with_suffix(".part")
    part.write_text(json.dumps(wanted), encoding="utf-8")
    part.replace(project.stamp)


def _create(project: Project) -> None:
    base = getattr(sys, "_base_executable", None) or sys.executable
    with console.step("making the environment (.venv)"):
        if project.venv.exists():
            shutil.rmtree(project.venv)
        try:
            process.run([base, "-m", "venv", project.venv])
        except process.ProgramFailed as failure:
            if "ensurepip" not in failure.output:
                raise
            reason = f"this Python ({base}) cannot make virtual environments: ensurepip is missing"
            remedy = "Install it (Debian, Ubuntu: apt install python3-venv) and call again."
            raise SetupFailure(reason, remedy) from failure


def _install(project: Project, wheels: Path) -> None:
    with console.step("installing fsmeu and what it needs"):
        what = ["--find-links", str(wheels), "--editable", f"{project.root}[{EXTRAS}]"]
        command = [str(project.python), "-m", "pip", "install", *PIP_OPTIONS, *what]
        process.run(command, log=project.venv / "pip.log")
