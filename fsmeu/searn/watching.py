"""A progress bar of training: the iteration, what is done in it, and the loss so far."""

from __future__ import annotations

from typing import Any

from rich.console import Console
from rich.progress import BarColumn, TextColumn, TimeElapsedColumn
from rich.progress import Progress as Bar

from fsmeu.searn.training import Progress, Trained

__all__ = ["BarProgress"]


class BarProgress(Progress):
    """Shows a bar on the terminal; nothing where there is none.

    Args:
        states: about how many states are rolled in by one iteration.
        fits: how many models are learned by one iteration.
        iterations: the greatest number of iterations.
        done: how many are done.
    """

    def __init__(self, states: int, fits: int, iterations: int, done: int) -> None:
        screen = Console(stderr=True)
        look = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
        self._bar = Bar(*look, console=screen, transient=True, disable=not screen.is_terminal)
        self._states, self._fits, self._iterations = max(1, states), max(1, fits), iterations
        self._task = self._bar.add_task(self._text(done), total=2 * iterations, completed=2 * done)

    def __enter__(self) -> BarProgress:
        self._bar.start()
        return self

    def __exit__(self, *_: Any) -> None:
        self._bar.stop()

    def _text(self, done: int, loss: float | None = None) -> str:
        text = f"iteration {min(done + 1, self._iterations)} of {self._iterations}"
        return text if loss is None else f"{text}, mean loss of the last policy {loss:.4f}"

    def rolled(self, states: int) -> None:
        """So many more states were rolled in."""
        self._bar.advance(self._task, states / self._states)

    def learned(self, iteration: int, fold: int) -> None:
        """A model was learned."""
        self._bar.advance(self._task, 1 / self._fits)

    def iterated(self, trained: Trained) -> None:
        """An iteration is done."""
        done, loss = trained.iterations, trained.reports[-1]["loss"]
        self._bar.update(self._task, completed=2 * done, description=self._text(done, loss))
