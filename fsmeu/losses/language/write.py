"""Statements and expressions written out as a loss file writes them."""

from __future__ import annotations

from collections.abc import Iterable

from fsmeu.losses.language import syntax as ast
from fsmeu.losses.language.syntax import Expr, Register, Spec

_TIGHT = (ast.Number, ast.Text, ast.Name, ast.Old, ast.At, ast.Call, ast.Index, ast.Table)
_JOINS = ("and", "or")


def expression_text(expr: Expr) -> str:
    """An expression as a file writes it; every part that has parts of its own is in brackets."""
    match expr:
        case ast.Number():
            return f"{int(expr.value)}" if expr.value.is_integer() else repr(expr.value)
        case ast.Text():
            return f'"{expr.value}"'
        case ast.Name():
            return expr.name
        case ast.Old():
            return f"old {expr.name}"
        case ast.At():
            return f"at {expr.state}"
        case ast.Unary():
            return f"{expr.operator}{' ' * (expr.operator == 'not')}{part_text(expr.operand)}"
        case ast.Binary():
            return f"{part_text(expr.left, expr)} {expr.operator} {part_text(expr.right, expr)}"
        case ast.Choice():
            parts = expression_text(expr.condition), part_text(expr.yes), part_text(expr.no)
            return "if {} then {} else {}".format(*parts)
        case ast.Call():
            return f"{expr.function}({', '.join(map(expression_text, expr.arguments))})"
        case ast.Index():
            inside = ", ".join(map(expression_text, expr.arguments))
            return f"{'old ' * expr.old}{expr.name}[{inside}]"
        case ast.Table():
            inside = ", ".join(map(expression_text, expr.entries))
            if not expr.keys:
                return f"[{inside}]"
            pairs = zip(expr.keys, expr.entries, strict=True)
            return "{" + ", ".join(f'"{key}": {expression_text(x)}' for key, x in pairs) + "}"
    raise TypeError(type(expr))


def part_text(expr: Expr, around: ast.Binary | None = None) -> str:
    """A part of an expression, in brackets unless it binds more closely by the look of it."""
    text = expression_text(expr)
    if isinstance(expr, _TIGHT):
        return text if not text.startswith("-") else f"({text})"
    if around is not None and around.operator in _JOINS and isinstance(expr, ast.Binary):
        same = expr.operator == around.operator and expr is around.left
        if same or expr.operator in ("==", "!=", "<", "<=", ">", ">="):
            return text
    return f"({text})"


def statement_text(register: Register) -> str | None:
    """The statement of a register; None for explicit states, whose arcs are many."""
    name = register.name
    update = register.update
    match register.sugar, update:
        case "count", ast.Choice(yes=ast.Binary(right=amount)):
            return f"count {name}{_amount(amount)} when {expression_text(update.condition)}"
        case "count", ast.Binary(right=amount):
            return f"count {name}{_amount(amount)}"
        case "flag", ast.Choice():
            return f"flag {name} when {expression_text(update.condition)}"
        case "age", ast.Choice():
            top = expression_text(register.start)
            return f"age {name} since {expression_text(update.condition)} up to {top}"
        case "memory", ast.Push():
            bounds = "" if register.low is None else f" in {_bounds(register)}"
            depth = expression_text(register.depth or ast.Number(1.0))
            return f"memory {name} of {part_text(update.entry)}{bounds} last {depth}"
        case "register", _:
            start = expression_text(register.start)
            after = expression_text(update)
            return f"register {name} in {_bounds(register)} start {start} next {after}"
    return None


def _amount(amount: Expr) -> str:
    return "" if amount == ast.Number(1.0) else f" by {part_text(amount)}"


def _bounds(register: Register) -> str:
    sides = (register.low, register.high)
    return "..".join(part_text(side) for side in sides if side is not None)


def _statement(spec: Spec, register: Register) -> str | None:
    """The statement of a register of a file, or its requirement; None for explicit states."""
    required = spec.requirement
    if required is None or register.sugar != "require":
        return statement_text(register)
    said = f' "{required.text}"' if required.text else ""
    return f"require {expression_text(required.condition)}{said}"


def file_text(spec: Spec) -> str | None:
    """A file of the same loss, without examples and outputs; None with explicit states."""
    inside = ", ".join(param.text for param in spec.params)
    labels: Iterable[object] = spec.labels or [spec.scheme or "any"]
    statements = [_statement(spec, register) for register in spec.checked_registers]
    lines = [f"{spec.kind} {spec.name}({inside})", f"labels {' '.join(map(str, labels))}"]
    lines += [line for line in statements if line is not None]
    lines.append(f"value {part_text(spec.value)}")
    return None if None in statements else "\n".join(lines) + "\n"
