"""Losses of two labels whose value depends on the pair only through (tp, hyp, ref, n).

Such a loss adds up amounts that depend on the pair of labels at a position alone, so its registers
are linear in the four cells of the confusion table. The first label is the negative one, the second
the positive one: tp counts pairs (1, 1), hyp ones of z, ref ones of y.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from fsmeu.arrays import Floats
from fsmeu.losses.language.dependencies import names_read, steps
from fsmeu.losses.semantics.bound import BoundLoss
from fsmeu.losses.semantics.declared_range import check_range
from fsmeu.losses.semantics.evaluator import Scope, constant_at, number

_ROUNDING = 4 * np.finfo(np.float64).eps


@dataclass(frozen=True, eq=False)
class Confusion:
    """How registers follow from the confusion table.

    Attributes:
        bound: the loss.
        amounts: what each register adds for a pair of label indices, (2, 2) by name.
    """

    bound: BoundLoss
    amounts: dict[str, Floats]


@dataclass(frozen=True)
class Counterexample:
    """Two tables with the same hyp, ref and n, of which the one with more tp is worse."""

    n: int
    hyp: int
    ref: int
    tp: int
    value: float
    value_with_one_more: float


def confusion(bound: BoundLoss) -> Confusion | None:
    """The confusion form of a loss, or None when its value depends on more."""
    if len(bound.alphabet) != 2:
        return None
    free = {"z", "y", *bound.params}
    amounts: dict[str, Floats] = {}
    labels = bound.label_values
    tapes = {"z": labels[:, None], "y": labels[None, :]}
    scope = Scope(bound, tapes, {}, {})
    for register in bound.spec.registers:
        amount = steps(bound.spec)[register.name][0]
        if amount is None or not names_read(amount) <= free:
            return None
        table = np.broadcast_to(number(amount, scope), (2, 2)).astype(np.float64)
        amounts[register.name] = table
    return Confusion(bound, amounts)


def value_of_counts(form: Confusion, n: int, tp: Any, hyp: Any, ref: Any) -> Floats:
    """The value for these counts (arrays that broadcast); nan where no pair has them.

    Raises:
        LossFileError: it is not a finite number, or outside the declared range.
    """
    tp, hyp, ref = np.broadcast_arrays(*(np.asarray(x, np.float64) for x in (tp, hyp, ref)))
    cells = [[n - hyp - ref + tp, ref - tp], [hyp - tp, tp]]
    possible = np.ones(tp.shape, bool)
    for row in cells:
        for cell in row:
            possible &= cell >= 0
    current: dict[str, Any] = {"n": float(n)}
    for register in form.bound.spec.registers:
        table = form.amounts[register.name]
        total = constant_at(form.bound, register.start, n)
        current[register.name] = total + sum(
            table[a, b] * cells[a][b] for a in (0, 1) for b in (0, 1)
        )
    scope = Scope(form.bound, current, current, {})
    value = np.where(possible, number(form.bound.spec.value, scope, possible), np.nan)
    if form.bound.spec.range is not None:
        check_range(form.bound, n, value[possible])
    return value


def tp_counterexample(form: Confusion, n: int) -> Counterexample | None:
    """A case in which one more true positive makes things worse; None when there is none at n.

    Without one, the probability ranking principle holds at this n (Natarajan 2016, Theorem 6; that
    ties are allowed does not hurt: the exchange argument needs only that no swap makes it worse).

    Every table of length n is looked at. Neighbours are compared with each other alone: a step that
    is worse by more than four units of rounding of the two values is a counterexample. What such
    steps can hide adds up to less than 4 n units of rounding of the expected absolute value.
    """
    sign = 1.0 if form.bound.spec.kind == "utility" else -1.0
    for hyp in range(n + 1):
        tp, missed = np.arange(hyp + 1.0)[:, None], np.arange(n - hyp + 1.0)[None, :]
        table = sign * value_of_counts(form, n, tp, hyp, tp + missed)
        before, after = table[:-1, 1:], table[1:, :-1]  # of one ref, with one more hit and one less
        worse = after - before < -_ROUNDING * np.maximum(np.abs(after), np.abs(before))
        if worse.any():
            hits, place = (int(x[0]) for x in np.nonzero(worse))
            pair = (sign * float(one[hits, place]) for one in (before, after))
            return Counterexample(n, hyp, hits + place + 1, hits, *pair)
    return None
