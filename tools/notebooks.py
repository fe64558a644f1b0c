"""Executes notebooks in full, each in a kernel of its own, and writes their outputs into them."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).resolve().parents[1] / "notebooks"
SECONDS = 3600
"""The longest that a cell may take."""


def execute(path: Path) -> float:
    """Returns the seconds that a notebook took; its outputs are written into the file.

    What programs say on standard error (bars of progress, warnings) is not kept.

    Where a cell fails, its error is raised and the file is as before.
    """
    import nbclient
    import nbformat

    notebooks: Any = nbformat  # which has no annotations
    client: Any = nbclient.NotebookClient
    book = notebooks.read(path, as_version=4)
    begin = time.perf_counter()
    given = {"metadata": {"path": str(path.parent)}}
    options = {"timeout": SECONDS, "startup_timeout": SECONDS, "record_timing": False}
    quiet = ["--log-level=ERROR"]
    client(book, resources=given, extra_arguments=quiet, **options).execute()
    for cell in book.cells:
        kept = [one for one in cell.get("outputs", ()) if one.get("name") != "stderr"]
        if cell.cell_type == "code":
            cell.outputs = kept
    notebooks.write(book, path)
    return time.perf_counter() - begin


def main(names: Sequence[str]) -> int:
    """Executes the notebooks whose names begin with one of the words, or all; the exit code."""
    every = sorted(FOLDER.glob("*.ipynb"))
    chosen = [p for p in every if not names or p.name.startswith(tuple(names))]
    if not chosen:
        known = ", ".join(path.stem for path in every)
        print(f"./run notebooks: no name begins so. The notebooks are: {known}.", file=sys.stderr)
        return 2
    for path in chosen:
        print(f"{path.stem}: ", end="", flush=True)
        try:
            seconds = execute(path)
        except Exception as error:  # of a cell, with its text and where it went wrong
            print(f"\n{error}", file=sys.stderr)
            return 1
        print(f"{seconds:.0f} s, {path.stat().st_size / 1000:.0f} kB", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
