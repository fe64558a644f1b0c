"""Loss files by name or by path: those built in (``grammars/``) and the user's own."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from fsmeu.errors import InputError, message, nearest, shorten
from fsmeu.files import read_text
from fsmeu.fst.alphabet import Alphabet, Label
from fsmeu.losses.language.expressions import MAX_SIZE
from fsmeu.losses.language.read import read
from fsmeu.losses.language.syntax import Spec
from fsmeu.losses.loss import SpecLoss, bind_loss

_SUFFIX = ".loss"
_OTHER_NAMES = {
    "conlleval": "chunk_fscore",
    "dice": "fscore",
    "exact_match": "zero_one",
    "f1": "fscore",
    "fbeta": "fscore",
    "iou": "jaccard",
    "seqeval": "chunk_fscore",
}
"""What other tools call built-in losses, for hints."""


def grammar_folder() -> Path:
    """Where the loss files are: inside the installed package, or beside it in a checkout."""
    package = Path(__file__).resolve().parents[1]
    for folder in (package / "grammars", package.parent / "grammars"):
        if folder.is_dir():
            return folder
    raise InputError(message("grammars", "the folder of loss files must be installed with fsmeu"))


def library() -> list[str]:
    """The names of the built-in losses."""
    return sorted(path.stem for path in grammar_folder().glob(f"*{_SUFFIX}"))


def load(
    name: str | Path,
    *,
    labels: Alphabet | Sequence[Label] | str | None = None,
    types: Sequence[str] | None = None,
    **params: Any,
) -> SpecLoss:
    """A built-in loss by its name, or a loss by the path of its file.

    Args:
        name: a name such as "fscore", or a path.
        labels: the labels, where the file leaves them open; or new names for the file's own.
        types: chunk types, for losses over tags: labels O, B-X, I-X are made of them.
        **params: parameters of the loss.

    Raises:
        LossFileError: the file is malformed.
        InputError: there is no such loss, or a parameter does not suit it.

    >>> load("hamming")("0110", "0100")
    0.25
    """
    return bind_loss(read_spec(name), params, labels, types)


def loads(
    text: str,
    *,
    labels: Alphabet | Sequence[Label] | str | None = None,
    types: Sequence[str] | None = None,
    **params: Any,
) -> SpecLoss:
    """A loss from the text of a loss file."""
    if not isinstance(text, str):
        raise InputError(message("loads", "the loss file must be given as text", type(text)))
    return bind_loss(read(text), params, labels, types)


def read_spec(name: str | Path) -> Spec:
    """The spec of a loss file, by name or path; labels and parameters are not filled in."""
    path = _find(name)
    text = read_text(path, str(path), most=4 * MAX_SIZE)
    return read(text, str(name) if path.parent == grammar_folder() else str(path))


def _find(name: str | Path) -> Path:
    if not isinstance(name, str | os.PathLike):
        raise InputError(message("load", "the name of a built-in loss or a path is needed", name))
    text = str(name)
    built_in = grammar_folder() / f"{text}{_SUFFIX}"
    try:
        if "/" not in text and "\\" not in text and built_in.is_file():
            return built_in
        path = Path(text).expanduser()
        if path.is_file():
            return path
    except (OSError, RuntimeError, ValueError):
        raise InputError(message("load", f"there is no file {shorten(text)}")) from None
    if text.endswith(_SUFFIX) or "/" in text:
        raise InputError(message("load", f"there is no file {text}"))
    known = _OTHER_NAMES.get(text.lower(), text)
    hint = nearest(known, library()) or f"There are: {', '.join(library())}"
    raise InputError(message("load", f"there is no built-in loss {text!r}", None, hint))
