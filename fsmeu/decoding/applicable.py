"""Which exact methods a loss allows, and why not the others."""

from __future__ import annotations

from dataclasses import dataclass

from fsmeu.decoding.zero_one import zero_one_values
from fsmeu.losses.loss import SpecLoss
from fsmeu.losses.properties import Properties, properties

__all__ = ["Applicable", "applicable"]

_LENGTH = 6


@dataclass(frozen=True)
class Applicable:
    """Whether a method decides a loss exactly.

    Attributes:
        method: its name.
        applies: True when it does.
        models: the models under which it does.
        why: the property that decides it.
    """

    method: str
    applies: bool
    models: str
    why: str


def applicable(loss: SpecLoss) -> list[Applicable]:
    """The exact methods with what decides each; ``decode`` tries them in this order."""
    known = properties(loss.bound)
    ranks = known.confusion and known.tp_monotonic is True
    fast = ranks and known.fractional is not None and abs(known.fractional.numerator[3]) < 1e-15
    equal = zero_one_values(loss, _LENGTH)
    return [
        Applicable("ranking_fast", fast, "independent labels", _ranking(known, fast, True)),
        Applicable("additive", known.additive, "any model", _additive(known)),
        Applicable("counting", known.counters, "any model", _counting(known)),
        Applicable("viterbi", equal is not None, "any model", _viterbi(equal is not None)),
        Applicable("ranking", ranks, "independent labels", _ranking(known, ranks, False)),
        Applicable("exhaustive", True, "any model", "all sequences, where there are few"),
    ]


def _ranking(known: Properties, applies: bool, fast: bool) -> str:
    if not known.confusion:
        return "the value depends on more than (tp, hyp, ref, n)"
    if known.tp_monotonic is not True:
        return "more true positives can make it worse"
    if fast:
        return "a ratio of sums of counts" if applies else "not a ratio of sums with c3 = 0"
    return "more true positives never make it worse"


def _additive(known: Properties) -> str:
    return "a sum over positions" if known.additive else "not a sum over positions"


def _counting(known: Properties) -> str:
    if known.counters:
        joint = ", ".join(known.linear) or "nothing that reads both tapes"
        return f"linear in {joint}, and one count of each tape at most"
    return (
        "what reads both tapes is not only counted"
        if not known.splits
        else ("the value looks at more than one count of a tape")
    )


def _viterbi(equal: bool) -> str:
    return "it only tells whether z equals y" if equal else "it tells more than whether z equals y"
