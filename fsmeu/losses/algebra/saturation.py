"""Ages that stop at a cap: long documents with as many states as short ones.

An *age* is a register that one tape moves on by itself: it is set to a number, or grows by one, as
the length of the open chunk does. Its values up to n make a state for each of them. If all that is
ever asked of ages is how they compare with numbers and with ages of the other tape, then

    value(z, y)  =  value of the loss whose ages stop at the cap (z, y)

for every z, and every y whose ages all stay below the cap. Proof: ages of y are the same in both.
Let an age of z be a, and min(a, cap) where it stops; the two differ only for a > cap. What it is
compared with is below the cap: a number that is, or an age of y. Both a and the cap are greater
than that, so that no comparison tells them apart; and one step later they are set to the same
number, or a + 1 and the cap.

How probable it is that an age of y gets there is known from the masses of the pairs that do.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from fsmeu.losses.language import syntax as ast
from fsmeu.losses.language.syntax import Expr, Register, Spec, names_read, parts

_COMPARISONS = ("==", "!=", "<", "<=", ">", ">=")


def ages_of(spec: Spec) -> Mapping[str, str]:
    """The tape ("z" or "y") of each age by name; empty unless all that is asked of them is order.

    Registers that are bounded by the length and are no ages do not count.
    """
    reach = spec.tapes
    ages = {
        r.name: tape
        for r in spec.registers
        for tape in ("z", "y")
        if _is_age(r) and reach[r.name] == {tape}
    }
    asked = [spec.value, *(r.start for r in spec.registers)]
    for register in spec.registers:
        leaves = _leaves(register.update) if register.name in ages else [register.update]
        asked += [leaf for leaf in leaves if not _moves_on(leaf, register.name)]
        if register.name in ages:
            asked += _conditions(register.update)
    return ages if all(_is_asked_for_order(expr, ages) for expr in asked) else {}


def greatest_number(spec: Spec) -> float:
    """The greatest number that the spec compares ages with, or sets them to; at least 1."""
    ages = ages_of(spec)
    own = [expr for r in spec.registers if r.name in ages for expr in (r.start, r.update)]
    asked = [part for r in spec.registers for part in _all_parts(r.update)]
    asked += _all_parts(spec.value)
    for expr in asked:
        is_comparison = isinstance(expr, ast.Binary) and expr.operator in _COMPARISONS
        if is_comparison and names_read(expr) & ages.keys():
            own.append(expr)
    parts_of_own = [part for expr in own for part in _all_parts(expr)]
    return max([1.0, *(part.value for part in parts_of_own if isinstance(part, ast.Number))])


def saturated_spec(spec: Spec, cap: int) -> Spec:
    """The spec whose ages stop at the cap, which is above ``greatest_number``."""
    ages = ages_of(spec)
    most = ast.Number(float(cap))
    registers = tuple(
        replace(r, update=ast.Call("min", (r.update, most)), high=most) if r.name in ages else r
        for r in spec.registers
    )
    return replace(spec, registers=registers, examples=())


def _is_age(register: Register) -> bool:
    """Whether a register is bounded by the length, and is set to a number or grows by one."""
    if register.high is None or register.high != ast.Name("n") or register.depth is not None:
        return False
    if not isinstance(register.start, ast.Number):
        return False
    leaves = list(_leaves(register.update))
    set_or_moved = (
        isinstance(leaf, ast.Number) or _moves_on(leaf, register.name) for leaf in leaves
    )
    return all(set_or_moved)


def _leaves(expr: Expr) -> Iterator[Expr]:
    """What choices choose among."""
    if isinstance(expr, ast.Choice):
        yield from _leaves(expr.yes)
        yield from _leaves(expr.no)
    else:
        yield expr


def _conditions(expr: Expr) -> Iterator[Expr]:
    """The conditions of nested choices."""
    if isinstance(expr, ast.Choice):
        yield expr.condition
        yield from _conditions(expr.yes)
        yield from _conditions(expr.no)


def _moves_on(expr: Expr, name: str) -> bool:
    """Whether an expression is a register plus one."""
    one = ast.Number(1.0)
    return expr in (ast.Binary("+", ast.Name(name), one), ast.Binary("+", ast.Old(name), one))


def _is_asked_for_order(expr: Expr, ages: Mapping[str, str]) -> bool:
    """Whether ages are read only in comparisons with numbers, or with ages of the other tape."""
    if not names_read(expr) & ages.keys():
        return True
    if isinstance(expr, ast.Name | ast.Old):
        return False
    if isinstance(expr, ast.Binary) and expr.operator in _COMPARISONS:
        left = list(_leaves(expr.left))
        right = list(_leaves(expr.right))
        if all(isinstance(leaf, ast.Number) or _age_tape(leaf, ages) for leaf in left + right):
            of_left = {_age_tape(leaf, ages) for leaf in left} - {""}
            of_right = {_age_tape(leaf, ages) for leaf in right} - {""}
            conditions = [*_conditions(expr.left), *_conditions(expr.right)]
            asked = all(_is_asked_for_order(condition, ages) for condition in conditions)
            return asked and not of_left & of_right and max(len(of_left), len(of_right)) <= 1
    return all(_is_asked_for_order(part, ages) for part in parts(expr))


def _age_tape(expr: Expr, ages: Mapping[str, str]) -> str:
    """The tape of an age, "" for any other expression."""
    return ages.get(expr.name, "") if isinstance(expr, ast.Name | ast.Old) else ""


def _all_parts(expr: Expr) -> Iterator[Expr]:
    """The expression and all parts of it."""
    yield expr
    for part in parts(expr):
        yield from _all_parts(part)
