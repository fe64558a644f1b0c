"""What is derived from a loss: what algorithms are chosen by, and what a checker prints."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from fsmeu.losses.algebra.confusion import (
    Counterexample,
    Fractional,
    confusion,
    fractional,
    tp_counterexample,
)
from fsmeu.losses.algebra.split import split
from fsmeu.losses.language.dependencies import linear_registers, tapes
from fsmeu.losses.semantics.bound import BoundLoss

_LENGTHS_TRIED = 12
"""Lengths whose tables a report looks at for a true positive that makes things worse."""


@dataclass(frozen=True)
class Properties:
    """What the text of a loss says about it.

    Attributes:
        tapes: which of z, y and i each register depends on.
        linear: accumulators in which the value is jointly affine.
        splits: True when what reads both tapes is only accumulated, the value being affine in it.
        z_ends: registers of z that the value looks at, where the loss splits.
        y_ends: registers of y that the value looks at, where the loss splits.
        counters: True when each tape shows the value at most one counter, where the loss splits.
        additive: True when the value is a sum over positions.
        confusion: True when the value depends on the pair through (tp, hyp, ref, n) alone.
        fractional: the value as a ratio of sums of counts, where it is the same one at every n.
        tp_monotonic: True when more true positives never make the value worse, for all n up to
            ``tried``; None when the value is not one of the confusion table.
        counterexample: the smallest case in which one more true positive makes it worse.
        tried: the n up to which monotonicity was checked.
    """

    tapes: Mapping[str, frozenset[str]]
    linear: tuple[str, ...]
    splits: bool
    z_ends: tuple[str, ...]
    y_ends: tuple[str, ...]
    counters: bool
    additive: bool
    confusion: bool
    fractional: Fractional | None
    tp_monotonic: bool | None
    counterexample: Counterexample | None
    tried: int = _LENGTHS_TRIED


def properties(bound: BoundLoss) -> Properties:
    """The derived properties of a loss with its labels and parameters.

    When the value depends on (tp, hyp, ref, n) and is TP-monotonic, the probability ranking
    principle holds for independent labels (Natarajan 2016, Theorem 6).
    """
    parts, form = split(bound), confusion(bound)
    found: Counterexample | None = None
    if form is not None:
        tried = (tp_counterexample(form, n) for n in range(1, _LENGTHS_TRIED + 1))
        found = next((case for case in tried if case is not None), None)
    return Properties(
        tapes=tapes(bound.spec),
        linear=linear_registers(bound.spec),
        splits=parts is not None,
        z_ends=parts.z.ends if parts is not None else (),
        y_ends=parts.y.ends if parts is not None else (),
        counters=parts is not None and parts.counted,
        additive=parts is not None and parts.additive,
        confusion=form is not None,
        fractional=fractional(form) if form is not None else None,
        tp_monotonic=None if form is None else found is None,
        counterexample=found,
    )
