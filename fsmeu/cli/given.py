"""Sets of label sequences as they are typed: a scheme, a regular expression, or a file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fsmeu.errors import InputError, sentence

if TYPE_CHECKING:
    from fsmeu.models import Model

__all__ = ["ConstraintName", "GivenName", "given_model", "read_constraint"]

_HOW = (
    'bio, iob1, iobes; a regular expression over labels, as in "0* 1? 0*"; or a file with an '
    "expression or an OpenFst acceptor."
)
_ENDINGS = (".fst", ".regex", ".txt")

GivenName = Annotated[
    str | None,
    typer.Option(
        "--given",
        metavar="WHAT",
        help=f"Condition the model on the sequences that are allowed: {_HOW}",
        show_default=False,
    ),
]
ConstraintName = Annotated[
    str | None,
    typer.Option(
        "--constraint",
        metavar="WHAT",
        help=f"Decide among sequences that are allowed; the model stays as it is: {_HOW}",
        show_default=False,
    ),
]


def read_constraint(option: str, text: str | None) -> Any:
    """What ``model.given`` and ``decode`` take as a constraint; None where nothing was typed.

    Args:
        option: the option, for messages.
        text: what was typed after it.

    Raises:
        InputError: a file cannot be read, or holds nothing.
    """
    from fsmeu.constraints import SCHEMES

    if text is None:
        return None
    if text in SCHEMES:
        return SCHEMES[text]()
    path = _file(text)
    if path is not None:
        return _of_file(option, path)
    if text.endswith(_ENDINGS):
        must = "the file that a constraint is read from must be there"
        raise InputError(sentence(option, must, text))
    return text


def given_model(model: Model, text: str | None) -> Model:
    """The model on the condition that was typed after --given; as it is where there is none."""
    from fsmeu.corpora.condition import conditioned

    return conditioned(model, read_constraint("--given", text))


def _file(text: str) -> Path | None:
    """The file of this name; None where there is none."""
    try:
        path = Path(text).expanduser()
        return path if path.is_file() else None
    except (OSError, RuntimeError, ValueError):  # an expression that can be no name
        return None


def _of_file(option: str, path: Path) -> Any:
    from fsmeu.exchange.openfst import bytes_of_file, fst_from_bytes
    from fsmeu.fst.binary import MACHINE_START
    from fsmeu.reading import read_text

    image = bytes_of_file(path)
    if image.startswith(MACHINE_START):
        return fst_from_bytes(image, f"{option} {path}")
    found = " ".join(read_text(path, str(path)).split())
    if not found:
        must = "the file must hold a regular expression over labels, or an acceptor"
        raise InputError(sentence(option, must, f"nothing in {path}"))
    return found
