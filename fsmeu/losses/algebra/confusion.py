"""Losses of two labels whose value depends on the pair only through (tp, hyp, ref, n).

Such a loss adds up amounts that depend on the pair of labels at a position alone, so its registers
are linear in the four cells of the confusion table. The first label is the negative one, the second
the positive one: tp counts pairs (1, 1), hyp ones of z, ref ones of y.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from itertools import product
from operator import add, and_
from typing import Any

import numpy as np

from fsmeu.arrays import Bools, Floats
from fsmeu.cache import Derives
from fsmeu.losses.language.syntax import names_read
from fsmeu.losses.semantics.domains import MOST_WHOLE, not_told_apart
from fsmeu.losses.semantics.evaluator import BoundLoss, Scope, number
from fsmeu.twofold import two_sum, twofold_product

_ROUNDING = 4 * np.finfo(np.float64).eps
_ROWS = 64  # numbers of true positives whose tables are valued together


@dataclass(frozen=True, eq=False)
class Confusion(Derives):
    """The amount that each register adds for a pair of label indices, (2, 2) by name."""

    bound: BoundLoss
    amounts: dict[str, Floats]

    @cached_property
    def greatest_whole(self) -> dict[str, float]:
        """The size of the greatest amount of each register that adds whole ones; 0 for others."""
        tables = self.amounts.items()
        return {k: float(np.abs(x).max() * (x == np.rint(x)).all()) for k, x in tables}


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
        amount = bound.spec.amounts[register.name]
        if amount is None or not names_read(amount) <= free:
            return None
        table = np.broadcast_to(number(amount, scope), (2, 2)).astype(np.float64)
        amounts[register.name] = table
    return Confusion(bound, amounts)


def value_of_counts(form: Confusion, n: int, tp: Any, hyp: Any, ref: Any) -> Floats:
    """The value for these counts (arrays that broadcast); nan where no pair has them."""
    tp, hyp, ref = (np.asarray(x, np.float64) for x in (tp, hyp, ref))
    cells = [n - hyp - ref + tp, ref - tp, hyp - tp, tp]
    possible = reduce(and_, (cell >= 0 for cell in cells))
    at = form.bound.at(n)
    current: dict[str, Any] = {"n": float(n)}
    for name, start in at.starts.items():
        current[name] = _register(start, form.amounts[name], cells, (float(n), hyp, ref))
    scope = Scope(form.bound, current, current, {})
    for register in form.bound.spec.registers:
        start = at.starts[register.name]
        if abs(start) + n * form.greatest_whole[register.name] >= MOST_WHOLE:
            lost = _lost_digits(start, form.amounts[register.name], cells) & possible
            if lost.any():
                raise not_told_apart(register, scope, lost)
    value = np.broadcast_to(number(form.bound.spec.value, scope, possible), possible.shape)
    at.check_range(value if possible.all() else value[possible])
    return value if possible.all() else np.where(possible, value, np.nan)


def _register(start: float, amounts: Floats, cells: Sequence[Floats], sums: Sequence[Any]) -> Any:
    """The register that adds amounts for each pair in a cell of the table.

    Whole amounts are exact as multiples of tp and of the sums n, hyp and ref, most of which have
    fewer axes than the cells.
    """
    tn, fn, fp, tp = amounts.ravel().tolist()
    parts = [(tn, cells[0]), (fn, cells[1]), (fp, cells[2]), (tp, cells[3])]
    if start.is_integer() and all(amount.is_integer() for amount, _ in parts):
        multiples = (tn, fp - tn, fn - tn, tn - fn - fp + tp)
        parts = list(zip(multiples, (*sums, cells[3]), strict=True))
    terms = [count if amount == 1.0 else amount * count for amount, count in parts if amount]
    return reduce(add, terms, start) if start or not terms else reduce(add, terms)


def _lost_digits(start: float, amounts: Floats, cells: Sequence[Floats]) -> Bools:
    """Where doubles do not hold the sum of a start and of amounts times cells, as the cells."""
    total = np.full(cells[0].shape, start)
    lost = np.zeros(total.shape, bool)
    for amount, cell in zip(amounts.ravel(), cells, strict=True):
        product = twofold_product(np.asarray(amount), cell)
        total, rest = two_sum(total, product.high)
        lost |= (product.low != 0) | (rest != 0)
    return lost


def tp_counterexample(
    form: Confusion, n: int, refs: Iterable[int] | None = None
) -> Counterexample | None:
    """A case in which one more true positive makes things worse; None when there is none at n.

    Without one, the probability ranking principle holds at this n (Natarajan 2016, Theorem 6; the
    exchange argument needs only that no swap makes it worse). Of all tables of length n, neighbours
    are compared: a step that is worse by more than four units of rounding of the two values counts.
    What others hide adds up to less than 4 n units of rounding of the expected absolute value.

    Args:
        form: the loss.
        n: the length.
        refs: the numbers of ones of y that are looked at; all, if not given.
    """
    sign = 1.0 if form.bound.spec.kind == "utility" else -1.0
    for ref in range(n + 1) if refs is None else refs:
        tn = np.arange(n - ref + 1.0)
        for begin in range(0, ref, _ROWS):
            tp = np.arange(begin, min(begin + _ROWS, ref) + 1.0)[:, None]
            table = sign * value_of_counts(form, n, tp, n - ref + tp - tn, ref)
            before = table[:-1, :-1]
            after = table[1:, 1:]  # of the same hyp: a false positive less is a true negative more
            if not (after < before).any():
                continue
            worse = after - before < -_ROUNDING * np.maximum(np.abs(after), np.abs(before))
            if worse.any():
                row, column = (int(x[0]) for x in np.nonzero(worse))
                pair = (sign * float(side[row, column]) for side in (before, after))
                hits = begin + row
                return Counterexample(n, n - ref + hits - column, ref, hits, *pair)
    return None


def corner_tables(n: int) -> tuple[Floats, Floats, Floats]:
    """The tp, hyp and ref of tables in which all pairs are in one cell, or all but one."""
    tables = [cells for cells in product({0, 1, n - 1, n}, repeat=4) if sum(cells) == n]
    _, missed, wrong, hits = np.array(tables, np.float64).T
    return hits, wrong + hits, missed + hits
