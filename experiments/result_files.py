"""Results of long runs, as small files in ``experiments/results/`` that the notebooks draw.

A file is JSON: the command that made it, its processor time in seconds, and what it found.
"""

from __future__ import annotations

import json
import shlex
import sys
import time
from pathlib import Path
from typing import Any, NamedTuple

FOLDER = Path(__file__).resolve().parent / "results"


def save(name: str, found: Any, digits: int = 6, command: str | None = None) -> Path:
    """The path of the file, written.

    Args:
        name: of the file, without folder and ending.
        found: numbers, texts, lists and dictionaries.
        digits: of numbers, after the point.
        command: what made it; the arguments of this process if it is not given.
    """
    words = ["./run", "python", f"experiments/{Path(sys.argv[0]).name}", *sys.argv[1:]]
    FOLDER.mkdir(exist_ok=True)
    path = FOLDER / f"{name}.json"
    body = {
        "command": command or shlex.join(words),
        "seconds": round(time.process_time(), 1),
        "found": rounded(found, digits),
    }
    path.write_text(json.dumps(body, separators=(",", ":")) + "\n", encoding="utf-8")
    return path


class Record(NamedTuple):
    """A result file: the command, its processor time (None in older files), what it found."""

    command: str
    seconds: float | None
    found: Any

    @property
    def origin(self) -> str:
        """A sentence with the command and its time, as Markdown."""
        spent = "" if self.seconds is None else f", {self.seconds:.0f} seconds of one processor"
        return f"By `{self.command}`{spent}."


def record(name: str) -> Record:
    """The result file of that name, read."""
    held = json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))
    return Record(held["command"], held.get("seconds"), held["found"])


def load(name: str) -> Any:
    """What a run has found; prints the command that made it."""
    held = record(name)
    print(f"made by: {held.command}")
    return held.found


def rounded(value: Any, digits: int) -> Any:
    """Arrays as lists, numbers with a few digits after the point."""
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, dict):
        return {str(key): rounded(one, digits) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [rounded(one, digits) for one in value]
    return round(value, digits) if isinstance(value, float) else value
