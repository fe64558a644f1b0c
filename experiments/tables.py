"""Tables of the notebooks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from IPython.display import Markdown
from report import markdown_table


def table(heads: Sequence[str], rows: Iterable[Sequence[object]]) -> Markdown:
    """A table that a notebook shows; numbers with a fraction have four digits after the point."""
    return Markdown(markdown_table([*map(_cell, heads)], (map(_cell, row) for row in rows)))


def _cell(value: object) -> str:
    return f"{value:.4f}" if isinstance(value, float) else str(value).replace("|", "\\|")
