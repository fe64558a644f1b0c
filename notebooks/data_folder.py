"""Where data sets are that experiments use and the project does not hold.

The environment variable FSMEU_DATA names their folder; without it, ``shared/data`` beside the
project is looked at.
"""

from __future__ import annotations

import os
from pathlib import Path

from fsmeu.errors import InputError, message


def data_folder() -> Path:
    """The folder of the data sets, which may not be there."""
    given = os.environ.get("FSMEU_DATA")
    beside = Path(__file__).resolve().parents[2] / "shared" / "data"
    return Path(given).expanduser() if given else beside


def data_file(name: str) -> Path:
    """The path of a file in that folder.

    Raises:
        InputError: it is not there; the message says what to do.
    """
    found = data_folder() / name
    if not found.is_file():
        must = "the data of the experiment must be there"
        remedy = f"Set FSMEU_DATA to the folder that holds {name}"
        raise InputError(message(f"file {found}", must, None, remedy))
    return found
