"""The extra ``plot``: matplotlib, asked for only when it is needed."""

from __future__ import annotations

from importlib.util import find_spec

from fsmeu.errors import FsmeuError, sentence

__all__ = ["MissingExtra", "need_matplotlib"]


class MissingExtra(FsmeuError, ImportError):
    """Something optional is not installed; the message says how to get it."""


def need_matplotlib(what: str, instead: str = ".svg, .dot, .html and .tex work without it") -> None:
    """Refuses to go on without matplotlib.

    Args:
        what: what it is needed for.
        instead: what can be had without it.

    Raises:
        MissingExtra: it is not installed.
    """
    if find_spec("matplotlib") is None:
        must = "matplotlib must be installed"
        remedy = "Install it: pip install 'fsmeu[plot]'" + (f"; {instead}" if instead else "")
        raise MissingExtra(sentence(what, must, None, remedy))
