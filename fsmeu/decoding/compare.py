"""What several methods decide for one loss and model, and how long each takes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Any

from fsmeu.decoding.decode import METHODS, decode
from fsmeu.decoding.problem import Decision, RefusalError
from fsmeu.errors import SizeLimitError
from fsmeu.losses.protocol import Loss
from fsmeu.models import Model

__all__ = ["Compared", "compare_methods"]

_QUICK = 0.5


@dataclass(frozen=True)
class Compared:
    """One method.

    Attributes:
        method: its name.
        decision: what it decides; None where it refuses.
        seconds: how long it takes.
        refused: why it does not decide; empty where it does.
    """

    method: str
    decision: Decision | None = None
    seconds: float = 0.0
    refused: str = ""


def compare_methods(
    loss: Loss, model: Model, methods: Sequence[str] | None, options: Mapping[str, Any]
) -> list[Compared]:
    """What each method decides and how long it takes, or why it does not.

    Args:
        loss: a loss or utility.
        model: the distribution of the reference.
        methods: their names; None for all.
        options: further options of ``decode``.
    """
    found = []
    for name in methods or METHODS:
        try:
            found.append(Compared(name, *_timed(loss, model, {**options, "method": name})))
        except (RefusalError, SizeLimitError) as error:
            found.append(Compared(name, refused=str(error)))
    return found


def _timed(loss: Loss, model: Model, options: Mapping[str, Any]) -> tuple[Decision, float]:
    """A decision and the seconds it takes; what is quick is timed again, once all is loaded."""
    begin = perf_counter()
    decision = decode(loss, model, **options)
    seconds = perf_counter() - begin
    if seconds < _QUICK:
        begin = perf_counter()
        decode(loss, model, **options)
        seconds = min(seconds, perf_counter() - begin)
    return decision, seconds
