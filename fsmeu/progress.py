"""How work that takes a while tells how far it is: one signature for all of it."""

from __future__ import annotations

from typing import Any, Protocol

from fsmeu.errors import InputError


class Progress(Protocol):
    """A function that is called now and then while some work is done."""

    def __call__(self, done: float, note: str, /) -> object:
        """Takes the share of the work that is done, 0 to 1, and what is known so far, in words.

        There may be no words, and no more work than was expected: 1 need not be told.
        """


def silent(done: float, note: str, /) -> None:
    """Tells nobody."""


def check_progress(where: str, progress: Any) -> Progress:
    """The function that is given, or one that tells nobody; an InputError if it is none."""
    if progress is None:
        return silent
    if not callable(progress) or isinstance(progress, type):
        must = "progress must be a function of the share that is done and of a note"
        raise InputError(where, must, given=progress)
    return progress  # type: ignore[no-any-return]
