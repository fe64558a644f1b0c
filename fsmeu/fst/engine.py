"""pynini, or a sentence that says how to get it."""

from __future__ import annotations

from fsmeu.errors import FsmeuError, message

__all__ = ["MissingEngine", "pynini"]


class MissingEngine(FsmeuError, ImportError):
    """pynini cannot be imported; the message says how to get it."""


try:
    import pynini
except ImportError as error:
    _remedy = (
        "Install it: pip install pynini==2.1.7; where there is no wheel of it (Linux on ARM), "
        "./run demo in a checkout of fsmeu builds one"
    )
    _must = "it must be installed, as the finite-state machines are OpenFst's"
    raise MissingEngine(message("pynini", _must, str(error), _remedy)) from error
