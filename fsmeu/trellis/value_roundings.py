"""What rounding does to values that a loss's file computes in doubles: running error analysis.

Every subexpression has a value and a bound on how far that is from what the file says, in exact
arithmetic. Numbers of the file, parameters and whole registers are exact. A sum, product or
quotient adds what it is rounded by, which doubles can tell, to what the errors of its parts come
to. Where a comparison may turn on rounding, the bound spans both branches.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import reduce
from itertools import product
from typing import Any

import numpy as np

from fsmeu.arrays import Bools, Floats, Ints
from fsmeu.losses.language import syntax as ast
from fsmeu.losses.language.syntax import Expr
from fsmeu.losses.machine.machine import Machine
from fsmeu.losses.semantics.at_length import LossAtLength
from fsmeu.losses.semantics.evaluator import Lanes, Scope, value_of
from fsmeu.trellis.roundings import relative_error
from fsmeu.twofold import UNIT, two_sum, twofold_product

Errors = Mapping[str, Lanes]
Pair = tuple[Any, Any]  # the value of an expression in each lane, and a bound on its error
_FUNCTION = relative_error(4)  # of powers, logarithms and exponentials
_ROOM = 1.0 + 1e-12  # for what rounding does to the bounds themselves
_NOWHERE = np.zeros((), bool)  # no lane is active: what is undefined somewhere is not refused
_COMPARISONS = ("==", "!=", "<", "<=", ">", ">=")


def value_errors(
    loss: LossAtLength, registers: Mapping[str, Floats], errors: Errors, lanes: int
) -> Floats:
    """Bounds on what rounding does to the values of pairs that end in these registers, (lanes,).

    ``errors`` are bounds on the errors of registers that are not exact, by name.
    """
    current = {**registers, "n": float(loss.n)}
    scope = Scope(loss.bound, current, current, loss.memories)
    with np.errstate(all="ignore"):
        error = np.asarray(_pair(loss.spec.value, scope, errors)[1], np.float64)
    return np.broadcast_to(np.where(np.isnan(error), np.inf, error * _ROOM), (lanes,))


def register_errors(machine: Machine) -> dict[str, Floats]:
    """Bounds on what rounding does to registers on paths to each state, (states,) by name.

    Those of registers that it does not change are left out; none are known of a loss that is not
    of a file.
    """
    errors: dict[str, Floats] = {}
    if machine.source is None:
        return errors
    loss = machine.source
    labels = loss.bound.label_values
    source, z, y = np.nonzero(machine.next >= 0)
    target = machine.next[source, z, y]
    old = {name: values[source] for name, values in machine.registers.items()}
    new = {name: values[target] for name, values in machine.registers.items()}
    current: dict[str, Any] = {**old, "z": labels[z], "y": labels[y], "n": float(machine.n)}
    if "i" in new:  # the clock, which is updated first
        current["i"] = new["i"]
    scope = Scope(loss.bound, current, old, loss.memories)
    greatest: dict[str, Lanes] = {}  # of all states, for the steps that read a register
    for register in loss.spec.registers:
        name = register.name
        if register.sugar in ("count", "feature") and name in new:
            with np.errstate(all="ignore"):
                error = np.asarray(_pair(register.update, scope, greatest)[1], np.float64)
            steps = np.broadcast_to(np.where(np.isnan(error), np.inf, error), source.shape)
            # a count does not grow by what it is: its error is the sum of those of all steps
            if steps.max(initial=0.0) > 0.0:
                errors[name] = _greatest_sums(machine, source, target, steps)
                greatest[name] = errors[name].max()
        if name in new:
            current[name] = new[name]
    return errors


def _greatest_sums(machine: Machine, source: Ints, target: Ints, steps: Floats) -> Floats:
    """The greatest sums of what steps lose, on paths of up to n steps to each state, (states,)."""
    sums = np.zeros(machine.states)
    for _ in range(machine.n):
        before = sums.copy()
        np.maximum.at(sums, target, before[source] + steps)
        if np.array_equal(sums, before):
            break
    return sums * _ROOM


def machine_errors(machine: Machine) -> Floats:
    """Bounds on what rounding does to the value of ending in each state of a machine, (states,)."""
    errors = np.zeros(machine.states)
    ends = ~np.isnan(machine.values)
    if machine.source is not None:
        registers = {name: values[ends] for name, values in machine.registers.items()}
        found = {name: lost[ends] for name, lost in register_errors(machine).items()}
        errors[ends] = value_errors(machine.source, registers, found, int(ends.sum()))
    return errors


# -- expressions -----------------------------------------------------------------------------------


def _pair(expr: Expr, scope: Scope, errors: Errors) -> Pair:
    """The value of an expression, and a bound on its error, in every lane."""
    match expr:
        case ast.Name(name=name) | ast.Old(name=name):
            return value_of(expr, scope, _NOWHERE), errors.get(name, 0.0)
        case ast.Unary(operator="-"):
            value, error = _pair(expr.operand, scope, errors)
            return -value, error
        case ast.Binary(operator=sign) if sign in _ARITHMETIC:
            left = map(_array, _pair(expr.left, scope, errors))
            right = map(_array, _pair(expr.right, scope, errors))
            return _ARITHMETIC[sign](*left, *right)
        case ast.Choice():
            _, unsure = _truth(expr.condition, scope, errors)
            holds = _array(value_of(expr.condition, scope, _NOWHERE)) != 0.0
            (a, ea), (b, eb) = (_pair(x, scope, errors) for x in (expr.yes, expr.no))
            error = np.where(unsure, np.abs(a - b) + np.maximum(ea, eb), np.where(holds, ea, eb))
            return np.where(holds, a, b), error
        case ast.Call(function=name) if name in _FUNCTIONS:
            value, error = map(_array, _pair(expr.arguments[0], scope, errors))
            return _FUNCTIONS[name](value, error)
        case ast.Call(function="min" | "max" as name):
            pairs = [_pair(x, scope, errors) for x in expr.arguments]
            choose: Any = np.minimum if name == "min" else np.maximum
            value = reduce(choose, [value for value, _ in pairs])
            return value, np.max(np.broadcast_arrays(*(error for _, error in pairs)), axis=0)
        case ast.Unary() | ast.Binary():
            return value_of(expr, scope, _NOWHERE), _truth(expr, scope, errors)[1] * 1.0
    return value_of(expr, scope, _NOWHERE), 0.0  # a number, or what stands in a table or a memory


def _truth(expr: Any, scope: Scope, errors: Errors) -> tuple[Bools, Bools]:
    """Whether an expression holds, in every lane, and where that may turn on rounding."""
    holds = _array(value_of(expr, scope, _NOWHERE)) != 0.0
    sign = getattr(expr, "operator", "")
    if sign == "not":
        return holds, _truth(expr.operand, scope, errors)[1]
    if sign in ("and", "or"):
        (a, first), (b, second) = (_truth(x, scope, errors) for x in (expr.left, expr.right))
        decided = (~a & ~first) | (~b & ~second) if sign == "and" else (a & ~first) | (b & ~second)
        return holds, (first | second) & ~decided
    if sign in _COMPARISONS:
        (a, ea), (b, eb) = (_pair(x, scope, errors) for x in (expr.left, expr.right))
        away = np.abs(_array(a) - b)
        error = _array(ea) + eb
    else:
        value, error = map(_array, _pair(expr, scope, errors))
        away = np.abs(value)
    return holds, (error > 0.0) & ~(away > error)


def _array(value: Any) -> Floats:
    return np.asarray(value, np.float64)


def _sum(a: Floats, ea: Floats, b: Floats, eb: Floats) -> Pair:
    value, lost = two_sum(a, b)
    return value, ea + eb + np.abs(lost)


def _difference(a: Floats, ea: Floats, b: Floats, eb: Floats) -> Pair:
    return _sum(a, ea, -b, eb)


def _product(a: Floats, ea: Floats, b: Floats, eb: Floats) -> Pair:
    value = a * b
    error = np.abs(a) * eb + np.abs(b) * ea + ea * eb
    return value, error + _lost(value, twofold_product(a, b).low)


def _quotient(a: Floats, ea: Floats, b: Floats, eb: Floats) -> Pair:
    value = a / b
    back = twofold_product(value, b)
    error = (ea + np.abs(value) * eb) / (np.abs(b) - eb)
    error = np.where(eb < np.abs(b), error, np.inf)
    return value, error + _lost(value, ((a - back.high) - back.low) / b)


def _lost(value: Floats, lost: Floats) -> Floats:
    """What an operation was rounded by; a unit where that cannot be told."""
    unit = UNIT * np.abs(value) + np.finfo(np.float64).smallest_subnormal
    told = np.isfinite(lost) & ((np.abs(value) > 1e-250) | (value == 0.0))
    return np.where(told, np.abs(lost), np.where(value == 0.0, 0.0, unit))


def _remainder(a: Floats, ea: Floats, b: Floats, eb: Floats) -> Pair:
    value = np.mod(a, b)
    exact = (ea == 0.0) & (eb == 0.0)
    rounding = np.where((a == np.floor(a)) & (b == np.floor(b)), 0.0, UNIT * np.abs(b))
    same = (eb == 0.0) & (np.floor((a - ea) / b) == np.floor((a + ea) / b))
    return value, rounding + np.where(exact, 0.0, np.where(same, ea, np.abs(b) + eb))


def _power(a: Floats, ea: Floats, b: Floats, eb: Floats) -> Pair:
    value = np.power(a, b)
    rounding = np.where(_is_held(a, b), 0.0, _FUNCTION * np.abs(value))
    ends = [np.power(a + i * ea, b + j * eb) for i, j in product((-1, 1), repeat=2)]
    corners = reduce(np.maximum, (np.abs(end - value) for end in ends))
    size = np.abs(a) + ea  # whole powers of any sign: |b| size^(b - 1) ea
    steep = np.where((eb == 0.0) & (b >= 1.0), np.abs(b) * np.power(size, b - 1.0) * ea, np.inf)
    error = np.where(a > ea, corners + 4.0 * _FUNCTION * np.abs(value), steep)
    return value, rounding + np.where((ea == 0.0) & (eb == 0.0), 0.0, error)


def _is_held(a: Floats, b: Floats) -> Bools:
    """Whether doubles hold a power: the exponent is whole, and so many digits are not too many."""
    digits = np.ldexp(np.frexp(np.where(np.isfinite(a), a, 1.0))[0], 53).astype(np.int64)
    odd = np.abs(digits // np.maximum(digits & -digits, 1)).astype(np.float64)
    return np.asarray((b == np.floor(b)) & (b >= 0.0) & (b * np.log2(np.maximum(odd, 1.0)) < 52.9))


def _absolute(value: Floats, error: Floats) -> Pair:
    return np.abs(value), error


def _monotone(function: Callable[[Floats], Floats], rounding: float) -> Callable[..., Pair]:
    """The rule of a function that does not fall."""

    def rule(value: Floats, error: Floats) -> Pair:
        result = function(value)
        away = [np.abs(function(value + side * error) - result) for side in (-1, 1)]
        spread = np.where(error == 0.0, 0.0, np.maximum(*away) * (1.0 + _FUNCTION))
        return result, spread + rounding * np.abs(result) * np.where(error == 0.0, 1.0, 4.0)

    return rule


def _root(value: Floats, error: Floats) -> Pair:
    result = np.sqrt(value)
    back = twofold_product(result, result)
    exact = (back.high == value) & (back.low == 0.0)
    above = np.sqrt(value + error) - np.sqrt(np.maximum(value - error, 0.0))
    rounding = np.where(exact, 0.0, 4.0 * UNIT * np.sqrt(value + error))
    return result, rounding + np.where(error == 0.0, 0.0, above)


_ARITHMETIC: dict[str, Callable[..., Pair]] = {
    "+": _sum,
    "-": _difference,
    "*": _product,
    "/": _quotient,
    "%": _remainder,
    "^": _power,
}
_FUNCTIONS: dict[str, Callable[..., Pair]] = {
    "abs": _absolute,
    "sqrt": _root,
    "floor": _monotone(np.floor, 0.0),
    "ceil": _monotone(np.ceil, 0.0),
    "exp": _monotone(np.exp, _FUNCTION),
    "log": _monotone(np.log, _FUNCTION),
}
