"""One family of exceptions, one way to word a message, and checks of plain arguments.

Every message has the same shape: *where: what must hold. Got what was given. What to do.*
Each class has a built-in second parent, so that ``except ValueError`` works as well.
"""

from __future__ import annotations

import difflib
import operator
import os
from collections.abc import Iterable
from functools import lru_cache
from importlib import import_module

_MOST_WHOLE = 10**300  # greatest whole number that is taken: doubles hold it, and it can be shown


class FsmeuError(Exception):
    """The root: catching it catches everything that fsmeu raises on purpose."""

    def __str__(self) -> str:
        """The message, with what does not print escaped: names in it come from files."""
        return visible(super().__str__(), keep="\n")


class InputError(FsmeuError, ValueError):
    """An argument breaks a stated condition (a shape, a range, a label, a length)."""


class LossFileError(FsmeuError, ValueError):
    """A loss file is malformed; ``line`` and ``column`` (from 1) say where, if known."""

    def __init__(self, message: str, line: int | None = None, column: int | None = None) -> None:
        super().__init__(message)
        self.line = line
        self.column = column


class EmptyError(FsmeuError, ValueError):
    """A machine accepts nothing: the composition has no path, a model no sequence."""


class SizeLimitError(FsmeuError, RuntimeError):
    """Something would grow past a limit; the message names the limit and how to raise it."""


class FstError(FsmeuError, RuntimeError):
    """OpenFst refused an operation; the message names the operation and its operands."""


def message(where: str, must: str, got: object = None, remedy: str = "") -> str:
    """Words a message: where, what must hold, what was given, what to do."""
    sentence = "" if got is None else f" Got {shorten(got)} instead."
    return f"{where}: {_ended(must)}{sentence} {_ended(remedy)}".rstrip()


def _ended(text: str) -> str:
    """The sentence with one full stop, or none after a question mark."""
    return text if not text or text.endswith("?") else f"{text.rstrip('.')}."


def check_int(where: str, name: str, count: object, least: int = 1) -> int:
    """The count as an int; an InputError unless it is whole and at least ``least``."""
    if (number := as_whole(count, least)) is not None:
        return number
    raise InputError(message(where, f"{name} must be a whole number of at least {least}", count))


def as_whole(count: object, least: int) -> int | None:
    """The count as an int; None when it is not a whole number (truth values are none), or less."""
    try:
        number = operator.index(count)  # type: ignore[arg-type]
    except Exception:  # whatever it raises, it is no whole number
        return None
    return number if least <= number <= _MOST_WHOLE and not isinstance(count, bool) else None


def as_number(text: str) -> int | None:
    """The whole number that a text writes in up to 18 digits, None where it is not one."""
    digits = text.removeprefix("-")
    return int(text) if digits.isascii() and digits.isdigit() and len(digits) <= 18 else None


def limit_from(variable: str, default: int) -> int:
    """The limit that an environment variable sets, else the default; an InputError below 1."""
    text = os.environ.get(variable, "").strip()
    number = as_number(text) if text else default
    if number is None or number < 1:
        must = f"must be a whole number of at least 1, such as {default}"
        raise InputError(message(f"environment variable {variable}", must, text))
    return number


def one_of(where: str, name: str, value: object, choices: Iterable[str]) -> str:
    """The value, if it is one of the choices; else an InputError that offers the nearest."""
    names = list(choices)
    if isinstance(value, str) and value in names:
        return value
    must = f"{name} must be one of {', '.join(names)}"
    raise InputError(message(where, must, value, nearest(shorten(value), names)))


def check_bool(where: str, name: str, value: object) -> bool:
    """The truth value as a bool (of True, 1, numpy's); an InputError if it is none."""
    try:
        if value in (True, False):
            return bool(value)
    except Exception:
        pass
    raise InputError(message(where, f"{name} must be True or False", value))


def shorten(value: object, limit: int = 120) -> str:
    """The value as visible text on one line, cut in the middle when long."""
    try:
        plain = value if isinstance(value, str) else repr(value)
    except Exception:  # as of very long numbers
        plain = f"a value of type {type(value).__name__}"
    text, half = visible(" ".join(plain.split())), (limit - 5) // 2
    return text if len(text) <= limit else f"{text[:half]} ... {text[-half:]}"


def visible(text: object, keep: str = "") -> str:
    r"""The text with whatever does not print, except the characters to keep, as its escape.

    Newlines, terminal controls, direction marks and lone surrogates become ``\n``, ``\x1b``,
    ``\u202e``: what is left can be encoded, stands where it is put, and moves no cursor.
    """
    plain = str(text)
    if plain.isprintable():
        return plain
    escaped = (
        c if c.isprintable() or c in keep else c.encode("unicode_escape").decode() for c in plain
    )
    return "".join(escaped)


def nearest(name: str, names: Iterable[str], alike: float = 0.5) -> str:
    """A hint with the one of the names that agrees most, or "" where less than ``alike`` does."""
    close = difflib.get_close_matches(name, list(names), n=1, cutoff=alike)
    return f"Did you mean {close[0]!r}?" if close else ""


class MissingExtra(FsmeuError, ImportError):
    """Something optional is not installed; the message says how to get it."""


@lru_cache(maxsize=16)
def is_installed(package: str) -> bool:
    """Whether a package can be imported; one that is there but broken cannot."""
    try:
        return bool(import_module(package))
    except Exception:  # whatever a broken package raises
        return False


def need_installed(package: str, extra: str, what: str, instead: str = "") -> None:
    """Refuses to go on without a package of an extra, by a MissingExtra that says what to do."""
    if not is_installed(package):
        must = f"{package.replace('_', '-')} must be installed"
        remedy = f"Install it: pip install 'fsmeu[{extra}]'" + (f"; {instead}" if instead else "")
        raise MissingExtra(message(what, must, None, remedy))
