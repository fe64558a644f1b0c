"""Expressions of a loss file: parse tree to plain data, every name resolved.

``Names`` holds what the statements above an expression have declared; ``read_expr`` reads one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from fsmeu.errors import LossFileError, nearest
from fsmeu.losses.language.messages import fault
from fsmeu.losses.language.parse import place_of
from fsmeu.losses.language.syntax import (
    At,
    Binary,
    Call,
    Choice,
    Expr,
    Index,
    Name,
    Number,
    Old,
    Place,
    Text,
    Unary,
    walk,
)

FUNCTIONS = {
    "min": (1, 99),
    "max": (1, 99),
    "abs": (1, 1),
    "sqrt": (1, 1),
    "floor": (1, 1),
    "ceil": (1, 1),
    "exp": (1, 1),
    "log": (1, 1),
    "kind": (1, 1),
    "type": (1, 1),
    "tally": (2, 2),
    "sum": (1, 1),
}
"""The functions of the language with the least and the greatest number of their arguments."""

OF_LABELS = ("kind", "type", "tally", "sum")
"""The functions that ask labels or memories."""

_MOST_SIDES = 2
_FUNCTION, _MEMORY, _PARAMETER = "a function", "a memory", "a parameter"
_REGISTERS = ("a count", "an age", _MEMORY, "a flag", "a register", "the state")


_WORDS = dict.fromkeys(("z", "y", "i", "n", "inf"), "a word with a fixed meaning")
_WORDS |= dict.fromkeys(FUNCTIONS, _FUNCTION)


@dataclass
class Names:
    """The names of a loss file, as far as it has been read.

    Attributes:
        source: the text of the file.
        origin: the file's name, for messages.
        meaning: what each name is.
        lets: what stands for each ``let``.
        tables: parameters that are tables.
        sides: how many labels choose an entry of a table, where one has been read.
        states: the explicit states, which may be named before they are declared.
    """

    source: str
    origin: str
    meaning: dict[str, str] = field(default_factory=_WORDS.copy)
    lets: dict[str, Expr] = field(default_factory=dict)
    tables: list[str] = field(default_factory=list)
    sides: dict[str, int] = field(default_factory=dict)
    states: tuple[str, ...] = ()

    @property
    def registers(self) -> list[str]:
        """The names of registers."""
        return [name for name, what in self.meaning.items() if what in _REGISTERS]

    @property
    def variables(self) -> list[str]:
        """The names that may stand for a number."""
        return [name for name, what in self.meaning.items() if what != _FUNCTION]

    def declare(self, token: Any, what: str) -> str:
        """Takes a new name; a LossFileError if it is taken."""
        name = str(token)
        if name in self.meaning:
            message = f"the name {name!r} is taken: it is {self.meaning[name]}"
            raise self.error(place_of(token), message, "Choose another name")
        self.meaning[name] = what
        return name

    def error(self, place: Place, message: str, remedy: str = "") -> LossFileError:
        """The error of a place in the file."""
        return fault(self.origin, self.source, place, message, remedy)


def read_expr(node: Any, names: Names) -> Expr:
    """The expression of a parse tree; a LossFileError if a name is unknown or misused."""
    place, children = place_of(node), node.children
    match node.data:
        case "number":
            return Number(float(children[0]), place=place)
        case "true" | "false":
            return Number(float(node.data == "true"), place=place)
        case "text":
            return Text(unquote(children[0]), place=place)
        case "name":
            return _name(str(children[0]), place, names)
        case "old":
            return _old(str(children[0]), place, names)
        case "old_index":
            return replace(_index(str(children[0]), children[1:], place, names), old=True)
        case "at":
            return _at(str(children[0]), place, names)
        case "call":
            return _call(str(children[0]), children[1:], place, names)
        case "index":
            return _index(str(children[0]), children[1:], place, names)
    return _operation(node, place, names)


def _operation(node: Any, place: Place, names: Names) -> Expr:
    """What holds other expressions between operators."""
    match node.data:
        case "minus" | "negation":
            operator = "-" if node.data == "minus" else "not"
            return Unary(operator, read_expr(node.children[0], names), place=place)
        case "conjunction" | "disjunction":
            operator = "and" if node.data == "conjunction" else "or"
            left, right = (read_expr(child, names) for child in node.children)
            return Binary(operator, left, right, place=place)
        case "choice":
            condition, yes, no = (read_expr(child, names) for child in node.children)
            return Choice(condition, yes, no, place=place)
    first, operator, second = node.children
    left, right = read_expr(first, names), read_expr(second, names)
    return Binary(str(operator), left, right, place=place)


def _name(name: str, place: Place, names: Names) -> Expr:
    if name in names.lets:
        return names.lets[name]
    if name in names.tables:
        raise names.error(place, f"{name!r} is a table; ask for an entry such as {name}[z, y]")
    if names.meaning.get(name, _FUNCTION) != _FUNCTION:
        return Number(float("inf"), place=place) if name == "inf" else Name(name, place=place)
    if name in names.states:
        message = f"{name!r} is a state; write 'at {name}' to ask whether it is reached"
        raise names.error(place, message)
    hint = nearest(name, names.variables) or "Registers are declared above their use"
    raise names.error(place, f"the name {name!r} is not known here", hint)


def _old(name: str, place: Place, names: Names) -> Expr:
    if name not in names.registers:
        hint = nearest(name, names.registers)
        if name in ("z", "y"):
            hint = f"Write 'memory m of {name} last 1' above and 'old m[0]' here: none at the start"
        raise names.error(place, f"'old' needs a register, {name!r} is none", hint)
    return Old(name, place=place)


def _at(state: str, place: Place, names: Names) -> Expr:
    if state not in names.states:
        hint = nearest(state, names.states) or "States are declared with 'state'"
        raise names.error(place, f"{state!r} is not a state", hint)
    return At(state, place=place)


def _call(name: str, arguments: Sequence[Any], place: Place, names: Names) -> Expr:
    if name not in FUNCTIONS:
        hint = nearest(name, FUNCTIONS) or f"Functions are {', '.join(FUNCTIONS)}"
        raise names.error(place, f"there is no function {name!r}", hint)
    least, most = FUNCTIONS[name]
    if not least <= len(arguments) <= most:
        count = f"{least}" if least == most else f"at least {least}"
        message = f"{name} takes {count} argument(s), it is given {len(arguments)}"
        raise names.error(place, message)
    if name in ("tally", "sum"):
        _check_memory(arguments[0], name, names)
    return Call(name, tuple(read_expr(a, names) for a in arguments), place=place)


def _check_memory(node: Any, function: str, names: Names) -> None:
    name = str(node.children[0]) if node.data == "name" else ""
    if names.meaning.get(name) != _MEMORY:
        message = f"the first argument of {function} must be the name of a memory"
        raise names.error(place_of(node), message)


def _check_sides(name: str, sides: int, place: Place, names: Names) -> None:
    """Refuses a table that is not read by one label or by two, everywhere by as many."""
    if sides > _MOST_SIDES:
        raise names.error(place, f"a table has one side or two: {name}[z] or {name}[z, y]")
    if names.sides.setdefault(name, sides) != sides:
        message = f"the table {name} is read by {names.sides[name]} and by {sides} labels"
        raise names.error(place, message, "Use two tables")


def _index(name: str, arguments: Sequence[Any], place: Place, names: Names) -> Index:
    is_memory = names.meaning.get(name) == _MEMORY
    if not is_memory and name not in names.tables:
        message = f"only a memory or a table parameter has entries, {name!r} is neither"
        raise names.error(place, message, nearest(name, [*names.tables, *names.registers]))
    if is_memory and len(arguments) != 1:
        raise names.error(place, f"{name}[j] takes one index: how many steps back")
    if not is_memory:
        _check_sides(name, len(arguments), place, names)
    inside = tuple(read_expr(a, names) for a in arguments)
    if is_memory:
        _check_steps_back(name, inside[0], names)
    return Index(name, inside, place=place)


def _check_steps_back(memory: str, steps: Expr, names: Names) -> None:
    for part in walk(steps):
        moves = isinstance(part, Text | Old | At | Index)
        if isinstance(part, Name):
            moves = part.name != "n" and names.meaning.get(part.name) != _PARAMETER
        if moves:
            message = f"how many steps back {memory}[...] looks must be a number or a parameter"
            raise names.error(part.place, message)


def unquote(token: Any) -> str:
    """The text between the quotes."""
    return str(token)[1:-1]
