"""Losses of two labels whose value depends on the pair only through (tp, hyp, ref, n).

Such a loss adds up amounts that depend on the pair of labels at a position alone, so its registers
are linear in the four cells of the confusion table. The first label is the negative one, the second
the positive one: tp counts pairs (1, 1), hyp ones of z, ref ones of y.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fsmeu.losses.analysis import is_affine, names_read, steps
from fsmeu.losses.bound import Bound
from fsmeu.losses.syntax import Binary, Choice, Expr
from fsmeu.losses.values import Scope, constant, constant_at, evaluate

__all__ = [
    "Confusion",
    "Counterexample",
    "Fractional",
    "confusion",
    "fractional",
    "phi",
    "tp_counterexample",
]

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Confusion:
    """How registers follow from the confusion table.

    Attributes:
        bound: the loss.
        amounts: what each register adds for a pair of label indices, (2, 2) by name.
    """

    bound: Bound
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


@dataclass(frozen=True)
class Fractional:
    """(c0 n + c1 tp + c2 hyp + c3 ref) / (d0 n + d1 tp + d2 hyp + d3 ref), exceptions aside.

    Attributes:
        numerator: c0, c1, c2, c3.
        denominator: d0, d1, d2, d3, exact.
    """

    numerator: tuple[float, float, float, float]
    denominator: tuple[Fraction, Fraction, Fraction, Fraction]


def confusion(bound: Bound) -> Confusion | None:
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
        table = np.broadcast_to(evaluate(amount, scope), (2, 2)).astype(np.float64)
        amounts[register.name] = table
    return Confusion(bound, amounts)


def phi(form: Confusion, n: int, tp: Any, hyp: Any, ref: Any) -> Floats:
    """The value for these counts (arrays that broadcast); nan where no pair has them."""
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
    value = evaluate(form.bound.spec.value, scope, possible)
    return np.where(possible, value, np.nan)


def tp_counterexample(form: Confusion, n: int) -> Counterexample | None:
    """A case in which one more true positive makes things worse; None when there is none at n.

    Without one, the probability ranking principle holds at this n (Natarajan 2016, Theorem 6; that
    ties are allowed does not hurt: the exchange argument needs only that no swap makes it worse).
    """
    sign = 1.0 if form.bound.spec.kind == "utility" else -1.0
    counts = np.arange(n + 1.0)
    for hyp in range(n + 1):
        table = sign * phi(form, n, counts[:, None], hyp, counts[None, :])
        scale = 1e-12 * max(1.0, float(np.nanmax(np.abs(table))))
        worse = np.diff(table, axis=0) < -scale
        if worse.any():
            tp, ref = (int(x[0]) for x in np.nonzero(worse))
            pair = sign * table[tp : tp + 2, ref]
            return Counterexample(n, hyp, ref, tp, float(pair[0]), float(pair[1]))
    return None


def fractional(form: Confusion) -> Fractional | None:
    """The fractional-linear form of a value, or None.

    The file may answer 0/0 with conditions, as long as each holds only where the denominator is
    zero: it must compare with zero a sum of counts that includes all that the denominator sums.
    """
    names = frozenset(form.amounts)
    main, conditions = _main_branch(form.bound.spec.value)
    if not (isinstance(main, Binary) and main.operator == "/"):
        return None
    top, bottom = main.left, main.right
    if not is_affine(top, names) or not is_affine(bottom, names):
        return None
    numerator, below = _coefficients(form, top), _coefficients(form, bottom)
    if numerator is None or below is None:
        return None
    exact = tuple(Fraction(float(x)).limit_denominator(10_000) for x in below)
    if any(abs(float(f) - x) > 1e-13 * max(1.0, abs(x)) for f, x in zip(exact, below, strict=True)):
        return None
    if not all(_only_at_zero(form, condition, below) for condition in conditions):
        return None
    return Fractional(tuple(numerator), exact)  # type: ignore[arg-type]


def _main_branch(expr: Expr) -> tuple[Any, list[Expr]]:
    """The value when no condition of ``or ... when`` holds, and those conditions."""
    conditions: list[Expr] = []
    while isinstance(expr, Choice):
        conditions.append(expr.condition)
        expr = expr.no
    return expr, conditions


def _at(form: Confusion, expr: Expr, cells: Floats, n: float) -> float:
    """An expression when the confusion table holds these (real) numbers."""
    current: dict[str, Any] = {"n": n}
    for register in form.bound.spec.registers:
        start = constant(register.start, {**form.bound.params, "n": n}, form.bound.spec)
        current[register.name] = start + float((form.amounts[register.name] * cells).sum())
    return float(evaluate(expr, Scope(form.bound, current, current, {})))


def _coefficients(form: Confusion, expr: Expr) -> Floats | None:
    """Coefficients of n, tp, hyp, ref in an affine expression; None if it has a constant term."""
    cells = {
        "n": np.array([[1.0, 0.0], [0.0, 0.0]]),
        "hyp": np.array([[0.0, 0.0], [1.0, 0.0]]),
        "ref": np.array([[0.0, 1.0], [0.0, 0.0]]),
        "tp": np.array([[0.0, 0.0], [0.0, 1.0]]),
    }
    base = _at(form, expr, np.zeros((2, 2)), 0.0)
    per = {name: _at(form, expr, cell, 1.0) - base for name, cell in cells.items()}
    twice = _at(form, expr, 2 * cells["n"], 2.0) - base
    if abs(base) > 0 or abs(twice - 2 * per["n"]) > 1e-12 * max(1.0, abs(twice)):
        return None
    hyp, ref = per["hyp"] - per["n"], per["ref"] - per["n"]
    return np.array([per["n"], per["tp"] - per["n"] - hyp - ref, hyp, ref])


def _cell_amounts(coefficients: Floats) -> Floats:
    """The same sum per cell of the table: true and false negatives, false and true positives."""
    c0, c1, c2, c3 = coefficients
    return np.array([[c0, c0 + c3], [c0 + c2, c0 + c1 + c2 + c3]])


def _only_at_zero(form: Confusion, condition: Expr, below: Floats) -> bool:
    """True when a condition can hold only where the denominator is zero."""
    if not (isinstance(condition, Binary) and condition.operator == "=="):
        return False
    difference = Binary("-", condition.left, condition.right)
    if not is_affine(difference, frozenset(form.amounts)):
        return False
    tested = _coefficients(form, difference)
    if tested is None:
        return False
    sums, denominator = _cell_amounts(tested), _cell_amounts(below)
    return bool(
        (sums >= 0).all() and (denominator >= 0).all() and (sums > 0)[denominator > 0].all()
    )
