"""How a check asks the package: what it may answer, and what counts as a fault."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

import fsmeu
from fsmeu.decoding.problem import RefusalError
from fsmeu.errors import FsmeuError, SizeLimitError
from fsmeu.searn import CostOracle

REFUSALS = (RefusalError, SizeLimitError)
"""What a method may say instead of answering, whatever the file."""


@dataclass
class Fault(Exception):
    """Something is wrong.

    Attributes:
        call: the call, as one would write it with ``loss`` and ``model``.
        got: what came out.
        true: what is true.
    """

    call: str
    got: str
    true: str


class Refused(Exception):
    """The package had nothing to say, and was entitled to."""


def ask(case, call, lacking=False, anywhere=False, told="", **more):
    """What a call answers.

    Args:
        case: whose loss and models are meant.
        call: the call as one writes it, with the names ``loss``, ``model``, ``alike``, ``other``.
        lacking: True when a pair that matters here has no value: only an error will do.
        anywhere: True when an error will do as well, because some pair has no value.
        told: the call as a fault shows it, where it uses other names.
        **more: those names.
    """
    names = {"fsmeu": fsmeu, "CostOracle": CostOracle, "loss": case.loss}
    names |= dict(zip(("model", "alike", "other"), case.built, strict=True))
    told = told or call
    try:
        answer = eval(call, names | more)
    except REFUSALS as error:
        raise Refused(str(error)) from None
    except FsmeuError as error:
        if lacking or anywhere or "where whole numbers are not told apart" in str(error):
            raise Refused(str(error)) from None
        raise Fault(told, f"{type(error).__name__}: {error}", "there is an answer") from error
    except Exception as error:
        true = "an answer" if not lacking else "an FsmeuError"
        raise Fault(told, f"{type(error).__name__}: {error}", true) from error
    if lacking:
        raise Fault(told, repr(answer), "an error: a possible pair has no value")
    return answer


def same(call, got, true, tolerance):
    """Compares two numbers, or arrays of them."""
    got, true = np.asarray(got, float), np.asarray(true, float)
    if got.shape != true.shape:
        raise Fault(call, f"shape {got.shape}", f"shape {true.shape}")
    off = np.abs(got - true)
    bad = ~(off <= tolerance)
    if bad.any():
        at = tuple(int(x[0]) for x in np.nonzero(bad)) if got.ndim else ()
        place = f"{call}{list(at) if at else ''}"
        wide = float(np.broadcast_to(tolerance, got.shape)[at])
        raise Fault(place, f"{float(got[at])!r}", f"{float(true[at])!r} (tolerance {wide:.2g})")


def holds(call, condition, got, true):
    """Raises a fault unless a condition holds."""
    if not condition:
        raise Fault(call, str(got), str(true))
