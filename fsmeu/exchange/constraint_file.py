"""Sets of label sequences as they are named: a scheme, a regular expression, or a file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from fsmeu.errors import InputError, sentence
from fsmeu.exchange.openfst import bytes_of_file, fst_from_bytes
from fsmeu.fst.binary import MACHINE_START
from fsmeu.fst.tags import SCHEMES
from fsmeu.reading import read_text

__all__ = ["read_constraint"]

_CONSTRAINT_FILES = (".fst", ".regex", ".txt")


def read_constraint(option: str, text: str | None) -> Any:
    """What ``model.given`` and ``decode`` take as a constraint; None where nothing was typed.

    Args:
        option: the option, for messages.
        text: what was typed after it.

    Raises:
        InputError: a file cannot be read, or holds nothing.
    """
    if text is None:
        return None
    if text in SCHEMES:
        return SCHEMES[text]()
    path = _file(text)
    if path is not None:
        return _of_file(option, path)
    if text.endswith(_CONSTRAINT_FILES):
        must = "the file that a constraint is read from must be there"
        raise InputError(sentence(option, must, text))
    return text


def _file(text: str) -> Path | None:
    """The file of this name; None where there is none."""
    try:
        path = Path(text).expanduser()
        return path if path.is_file() else None
    except (OSError, RuntimeError, ValueError):  # an expression that can be no name
        return None


def _of_file(option: str, path: Path) -> Any:
    image = bytes_of_file(path)
    if image.startswith(MACHINE_START):
        return fst_from_bytes(image, f"{option} {path}")
    found = " ".join(read_text(path, str(path)).split())
    if not found:
        must = "the file must hold a regular expression over labels, or an acceptor"
        raise InputError(sentence(option, must, f"nothing in {path}"))
    return found
