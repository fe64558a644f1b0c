"""The extra ``plot``: matplotlib, asked for only when it is needed."""

from __future__ import annotations

from fsmeu.extras import need_installed

__all__ = ["need_matplotlib"]


def need_matplotlib(what: str, instead: str = ".svg, .dot, .html and .tex work without it") -> None:
    """Refuses to go on without matplotlib.

    Args:
        what: what it is needed for.
        instead: what can be had without it.

    Raises:
        MissingExtra: it is not installed.
    """
    need_installed("matplotlib", "plot", what, instead)
