"""Executes notebooks in full, each in a kernel of its own, and writes their outputs.

They are written into the notebooks themselves, or into copies in another folder (``--to``).
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).resolve().parents[1] / "notebooks"
SECONDS = 3600
"""The longest that a cell may take."""


def execute(path: Path, target: Path) -> float:
    """Returns the seconds that a notebook took; it is written with its outputs to a file.

    What programs say on standard error (bars of progress, warnings) is not kept.

    Where a cell fails, its error is raised and nothing is written.

    Args:
        path: The notebook.
        target: The file that is written, which may be the same.
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
    notebooks.write(book, target)
    return time.perf_counter() - begin


def main(words: Sequence[str]) -> int:
    """Executes the notebooks whose names begin with one of the words, or all; the exit code.

    Where a cell of a notebook fails, the others are executed all the same.
    """
    parser = argparse.ArgumentParser(prog="./run notebooks", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="the beginning of a name")
    parser.add_argument("--to", type=Path, metavar="FOLDER", help="where copies are written")
    given = parser.parse_args(words)
    every = sorted(FOLDER.glob("*.ipynb"))
    chosen = [p for p in every if not given.names or p.name.startswith(tuple(given.names))]
    if not chosen:
        known = ", ".join(path.stem for path in every)
        print(f"./run notebooks: no name begins so. The notebooks are: {known}.", file=sys.stderr)
        return 2
    folder = given.to or FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    failed = 0
    for path in chosen:
        print(f"{path.stem}: ", end="", flush=True)
        target = folder / path.name
        try:
            seconds = execute(path, target)
        except Exception as error:  # of a cell, with its text and where it went wrong
            print("failed", flush=True)
            print(error, file=sys.stderr, flush=True)
            failed += 1
        else:
            print(f"{seconds:.0f} s, {target.stat().st_size / 1000:.0f} kB", flush=True)
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
