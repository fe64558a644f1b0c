"""How work that takes a while tells how far it is: one signature for all of it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
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


@contextmanager
def progress_bar(doing: str, first_call: int = 1) -> Iterator[Progress]:
    """A ``Progress`` that moves a bar on stderr; nothing is shown where that is no terminal.

    The bar shows what is being done and the last note. It pulses until a share above 0 is told.

    Args:
        doing: what is being done, in a word or two.
        first_call: the call with which the bar appears, so that short work shows none; the bar of
            the first one is there before it.
    """
    from rich.console import Console
    from rich.progress import BarColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as RichProgress

    console = Console(stderr=True)
    text = TextColumn("{task.description} {task.fields[note]}", markup=False)
    columns = (text, BarColumn(), TimeElapsedColumn())
    hidden = not console.is_terminal
    bar = RichProgress(*columns, console=console, transient=True, disable=hidden)
    task = bar.add_task(doing, total=None, note="")
    calls = 0

    def move(done: float, note: str) -> None:
        nonlocal calls
        calls += 1
        if calls == first_call:
            bar.start()
        bar.update(task, total=1.0 if done > 0 else None, completed=done, note=note)

    if first_call <= 1:
        bar.start()
    try:
        yield move
    finally:
        bar.stop()
