"""Tables of the notebooks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from IPython.display import Markdown


def table(heads: Sequence[str], rows: Iterable[Sequence[object]]) -> Markdown:
    """A table that a notebook shows; numbers with a fraction have four digits after the point."""
    lines = [list(heads), ["---"] * len(heads), *rows]
    return Markdown("\n".join("| " + " | ".join(map(_cell, line)) + " |" for line in lines))


def _cell(value: object) -> str:
    return f"{value:.4f}" if isinstance(value, float) else str(value).replace("|", "\\|")
