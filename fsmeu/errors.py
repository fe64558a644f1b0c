"""One family of exceptions whose fields make one sentence, and checks of plain arguments.

Every message has the same shape: *where: what must hold. Got what was given. What to do.*
Each class has a built-in second parent, so that ``except ValueError`` works as well.
"""

from __future__ import annotations

import copy
import difflib
import operator
import os
from collections.abc import Callable, Iterable
from functools import lru_cache
from importlib import import_module
from typing import Any, NamedTuple, TypeVar

_Error = TypeVar("_Error", bound="FsmeuError")
_MOST_WHOLE = 10**300  # greatest whole number that is taken: doubles hold it, and it can be shown


class Argument(NamedTuple):
    """An argument that a sentence names; the command line has an option in its place.

    Attributes:
        name: as in Python.
        value: what could be given for it, as Python writes it; "" where it is only named.
        of_loss: whether it is a parameter of a loss file.
        written: how a call has it, where that is not NAME=VALUE.
    """

    name: str
    value: str = ""
    of_loss: bool = False
    written: str = ""

    def __str__(self) -> str:
        """The argument as it is written in a call."""
        return self.written or (f"{self.name}={self.value}" if self.value else self.name)


class Wording(str):
    """A text that names arguments, which can be worded otherwise; made by ``wording``."""

    parts: tuple[str | Argument, ...] = ()

    def reworded(self, name_of: Callable[[Argument], str]) -> str:
        """The text in which arguments are called what ``name_of`` says."""
        return "".join(name_of(x) if isinstance(x, Argument) else x for x in self.parts)


def wording(*parts: str | Argument) -> Wording:
    """The parts as one text; blanks between them are those of the parts.

    >>> wording("Give ", Argument("n", "3"), ", or sequences")
    'Give n=3, or sequences'
    """
    text = Wording("".join(map(str, parts)))
    text.parts = parts
    return text


def leave_out(name: str) -> Wording:
    """The advice to leave an argument out."""
    return wording("Leave ", Argument(name), " out")


class FsmeuError(Exception):
    """The root: catching it catches everything that fsmeu raises on purpose.

    Attributes:
        where: the function, file or argument that found the fault.
        must: what must hold and does not.
        given: what was given instead, in short; None where that says nothing more.
        remedy: what to do; "" where that is plain.
    """

    def __init__(self, where: str, must: str, *, given: object = None, remedy: str = "") -> None:
        super().__init__(where, must)
        self.where = where
        self.must = must
        self.given = None if given is None else shorten(given)
        self.remedy = remedy

    def __reduce__(self) -> tuple[Any, ...]:
        """How it is sent to other processes: fields of its own need not be arguments."""
        return _blank, (type(self), self.args), vars(self)

    def __str__(self) -> str:
        """The sentence, in Python's words."""
        return self.sentence(str)

    def sentence(self, name_of: Callable[[Argument], str]) -> str:
        """The fields as a sentence in which arguments are called what ``name_of`` says.

        What does not print is escaped: names in it come from files.
        """
        where, must, remedy = (_reworded(x, name_of) for x in (self.where, self.must, self.remedy))
        return visible(message(where, must, self.given, remedy), keep="\n")

    def but(self: _Error, where: str | None = None, remedy: str | None = None) -> _Error:
        """The same error, found elsewhere or with other advice."""
        other = copy.copy(self)
        other.where = self.where if where is None else where
        other.remedy = self.remedy if remedy is None else remedy
        return other

    def within(self: _Error, place: str, sign: str = ": ") -> _Error:
        """The same error, found in something larger, which is named first, before a sign."""
        return self.but(where=wording(*_parts(place), sign, *_parts(self.where)))

    def advised(self: _Error, more: str) -> _Error:
        """The same error with a further sentence of advice."""
        before = (*_parts(self.remedy), ". ") if self.remedy else ()
        return self.but(remedy=wording(*before, *_parts(more)))


def _blank(kind: type[FsmeuError], args: tuple[object, ...]) -> FsmeuError:
    """An error of this kind without fields, which are set next."""
    return kind.__new__(kind, *args)


class InputError(FsmeuError, ValueError):
    """An argument breaks a stated condition (a shape, a range, a label, a length)."""


class Excerpt(NamedTuple):
    """A place in a file: its line and column, from 1, and the line with a mark below the column."""

    line: int
    column: int
    shown: str = ""


class LossFileError(FsmeuError, ValueError):
    """A loss file is malformed; ``excerpt`` says where, if known."""

    def __init__(
        self,
        where: str,
        must: str,
        *,
        given: object = None,
        remedy: str = "",
        excerpt: Excerpt | None = None,
    ) -> None:
        super().__init__(where, must, given=given, remedy=remedy)
        self.excerpt = excerpt

    @property
    def line(self) -> int | None:
        """The line of the file, from 1; None where it is not known."""
        return None if self.excerpt is None else self.excerpt.line

    @property
    def column(self) -> int | None:
        """The column of the file, from 1; None where it is not known."""
        return None if self.excerpt is None else self.excerpt.column

    def sentence(self, name_of: Callable[[Argument], str]) -> str:
        """The fields as a sentence, and below it the line of the file, where that is known."""
        text = super().sentence(name_of)
        shown = "" if self.excerpt is None else self.excerpt.shown
        return f"{text}\n{visible(shown, keep=chr(10))}" if shown else text


class EmptyError(FsmeuError, ValueError):
    """A machine accepts nothing: the composition has no path, a model no sequence."""


class SizeLimitError(FsmeuError, RuntimeError):
    """Something would grow past a limit; the message names the limit and how to raise it."""


class FstError(FsmeuError, RuntimeError):
    """OpenFst refused an operation; the message names the operation and its operands."""


def message(where: str, must: str, given: str | None = None, remedy: str = "") -> str:
    """The sentence of the fields of an error: where, what must hold, what was given, what to do."""
    sentence = "" if given is None else f" Got {given} instead."
    return f"{where}: {_ended(must)}{sentence} {_ended(remedy)}".rstrip()


def _parts(text: str) -> tuple[str | Argument, ...]:
    return text.parts if isinstance(text, Wording) else (text,)


def _reworded(text: str, name_of: Callable[[Argument], str]) -> str:
    return text.reworded(name_of) if isinstance(text, Wording) else text


def _ended(text: str) -> str:
    """The sentence with one full stop, or none after a question mark."""
    return text if not text or text.endswith("?") else f"{text.rstrip('.')}."


def check_int(where: str, name: str, count: object, least: int = 1) -> int:
    """The count as an int; an InputError unless it is whole and at least ``least``."""
    if (number := as_whole(count, least)) is not None:
        return number
    must = wording(Argument(name), f" must be a whole number of at least {least}")
    raise InputError(where, must, given=count)


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
        raise InputError(f"environment variable {variable}", must, given=text)
    return number


def one_of(where: str, name: str, value: object, choices: Iterable[str]) -> str:
    """The value, if it is one of the choices; else an InputError that offers the nearest."""
    names = list(choices)
    if isinstance(value, str) and value in names:
        return value
    must = wording(Argument(name), f" must be one of {', '.join(names)}")
    raise InputError(where, must, given=value, remedy=nearest(shorten(value), names))


def check_bool(where: str, name: str, value: object) -> bool:
    """The truth value as a bool (of True, 1, numpy's); an InputError if it is none."""
    try:
        if value in (True, False):
            return bool(value)
    except Exception:
        pass
    raise InputError(where, wording(Argument(name), " must be True or False"), given=value)


def shorten(value: object, limit: int = 120) -> str:
    """The value as visible text on one line, cut in the middle when long."""
    try:
        plain = value if isinstance(value, str) else repr(value)
    except Exception:  # as of very long numbers
        plain = f"a value of type {type(value).__name__}"
    text = visible(" ".join(plain.split()))
    half = (limit - 5) // 2
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
    """A hint with the one of the names that agrees most, or "" where less than ``alike`` does.

    The only one that begins with what was given is meant, too.
    """
    known = list(names)
    close = difflib.get_close_matches(name, known, n=1, cutoff=alike)
    begun = [x for x in known if name and x.startswith(name)]
    if not close and len(begun) == 1:
        close = begun
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
        raise MissingExtra(what, must, remedy=remedy)
