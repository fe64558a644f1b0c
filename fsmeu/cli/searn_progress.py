"""Progress bars of `fsmeu searn`, on stderr if that is a terminal."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

__all__ = ["iterations_bar", "runs_bar"]


@contextmanager
def iterations_bar(doing: str, total: int | None) -> Iterator[Callable[[int], None]]:
    """A bar that is moved by calling what it gives with the number of the iteration done."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    screen = Console(stderr=True)
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    bar = Progress(*columns, console=screen, transient=True, disable=not screen.is_terminal)
    with bar:
        task = bar.add_task(doing, total=total)
        yield lambda number: bar.update(task, completed=number)


@contextmanager
def runs_bar() -> Iterator[Callable[[str, float], None]]:
    """A bar that tells of each run of an experiment, and its score; lines where there is no bar."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    from fsmeu.cli.output import note

    screen = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    bar = Progress(*columns, console=screen, transient=True, disable=not screen.is_terminal)
    with bar:
        task = bar.add_task("training", total=None)

        def tell(name: str, value: float) -> None:
            bar.update(task, description=f"last: {name} {100 * value:.2f}")
            if not screen.is_terminal:
                note(f"{name}: {100 * value:.2f}")

        yield tell
