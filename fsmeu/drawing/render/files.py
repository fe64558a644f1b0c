"""Files that pictures and pages are written to."""

from __future__ import annotations

import os
from pathlib import Path

from fsmeu.errors import InputError, sentence, shorten

__all__ = ["as_path", "write_file"]


def as_path(path: str | os.PathLike[str], where: str) -> Path:
    """The path of a file to write.

    Raises:
        InputError: it is not the name of a file.
    """
    if isinstance(path, str | os.PathLike):
        return Path(path)
    raise InputError(sentence(where, "the name of a file is needed", path))


def write_file(path: Path, content: bytes, where: str) -> Path:
    """Writes a file; where it was written.

    Raises:
        InputError: the file cannot be written.
    """
    try:
        path.write_bytes(content)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        must = f"the file {shorten(str(path))} cannot be written ({reason})"
        raise InputError(sentence(where, must)) from error
    return path
