"""Where data sets are that experiments use and the project does not hold.

The environment variable FSMEU_DATA names their folder; without it, it is ``shared/data`` beside the
project where that is, else ``data`` in the project. ``fetch.py`` fetches them there.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path

from fsmeu.errors import InputError, MissingExtra, need_installed


class MissingDataError(InputError):
    """A data set is not there; in a notebook, the message is shown without a traceback."""

    def _render_traceback_(self) -> list[str]:  # IPython asks for it
        return [str(self)]


def run_script(main: Callable[[], object]) -> None:
    """Runs a script; where data or a package are missing, a sentence says so, and the code is 2."""
    try:
        main()
    except (MissingDataError, MissingExtra) as error:
        print(error, file=sys.stderr)
        sys.exit(2)


def need_crfsuite() -> None:
    """Refuses to go on without sklearn-crfsuite, by a sentence that says how to get it."""
    also = "'./run setup' installs it, too"
    need_installed("sklearn_crfsuite", "crf", "conditional random field", also)


def data_folder() -> Path:
    """The folder of the data sets, which may not be there."""
    if given := os.environ.get("FSMEU_DATA"):
        return Path(given).expanduser()
    root = Path(__file__).resolve().parent.parent
    beside = root.parent / "shared" / "data"
    return beside if beside.is_dir() else root / "data"


def how_to_get(*names: str) -> str:
    """What to do where data sets are missing, as an error advises it."""
    command = f"./run python experiments/fetch.py {' '.join(names)}"
    return f"Fetch it with '{command}', or set FSMEU_DATA to a folder that has it"


def data_file(name: str, folder: Path | None = None) -> Path:
    """The path of a file in that folder, or in another.

    Raises:
        MissingDataError: it is not there; the message says what to do.
    """
    found = (folder or data_folder()) / name
    if not found.is_file():
        must = "the data of the experiment must be there"
        raise MissingDataError(f"file {found}", must, remedy=how_to_get(name.partition("/")[0]))
    return found
