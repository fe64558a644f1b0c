"""Optional packages, the extras of the project: whether they are there, and how to get them."""

from __future__ import annotations

from functools import lru_cache
from importlib import import_module
from importlib.util import find_spec

from fsmeu.errors import FsmeuError, sentence


class MissingExtra(FsmeuError, ImportError):
    """Something optional is not installed; the message says how to get it."""


@lru_cache(maxsize=16)
def is_installed(package: str) -> bool:
    """Whether a package can be imported; one that is there but broken cannot."""
    try:
        return find_spec(package) is not None and bool(import_module(package))
    except Exception:  # whatever a broken package raises
        return False


def need_installed(package: str, extra: str, what: str, instead: str = "") -> None:
    """Refuses to go on without a package.

    Args:
        package: the name by which it is imported.
        extra: the extra that installs it.
        what: what it is needed for.
        instead: what can be had without it.

    Raises:
        MissingExtra: it is not installed.
    """
    if not is_installed(package):
        must = f"{package.replace('_', '-')} must be installed"
        remedy = f"Install it: pip install 'fsmeu[{extra}]'" + (f"; {instead}" if instead else "")
        raise MissingExtra(sentence(what, must, None, remedy))
