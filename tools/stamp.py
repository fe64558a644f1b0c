"""Is the environment up to date? Asked at every call, so this module does and imports little.

A stamp, written last, says what the environment was made from. No stamp means that an earlier
set-up did not finish.
"""

from __future__ import annotations

import hashlib
import json
import sys
from dataclasses import dataclass
from pathlib import Path

EXTRAS = "dev"
# Python compiles what is imported when it is imported: half of the installing time saved.
PIP_OPTIONS = ("--no-input", "--no-compile")
# The way pynini is built; counting it up makes every machine build it, and its environments, anew.
BUILD = "2"


@dataclass(frozen=True)
class Project:
    """A copy of the project.

    Attributes:
        root: Its top directory.
    """

    root: Path

    @property
    def recipe(self) -> Path:
        """The file that says what must be installed."""
        return self.root / "pyproject.toml"

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


def wanted(project: Project) -> dict[str, str]:
    """Returns the stamp of an environment that is up to date."""
    recipe = hashlib.sha256(project.recipe.read_bytes())
    recipe.update(repr((EXTRAS, PIP_OPTIONS)).encode())
    return {
        "recipe": recipe.hexdigest(),
        "python": f"{sys.version_info[0]}.{sys.version_info[1]}",
        "path": str(project.venv),
        "build": BUILD,
    }


def present(project: Project) -> dict[str, str] | None:
    """Returns the stamp of the environment that is there, if it was finished."""
    try:
        stamp = json.loads(project.stamp.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return stamp if isinstance(stamp, dict) and project.python.exists() else None


def write(project: Project, stamp: dict[str, str]) -> None:
    """Declares the environment finished."""
    part = project.stamp.with_suffix(".part")
    part.write_text(json.dumps(stamp), encoding="utf-8")
    part.replace(project.stamp)
