"""The parts of a loss file as plain data: expressions, registers, and the spec that holds them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from fsmeu.errors import LossFileError


@dataclass(frozen=True)
class Place:
    """Where something stands in the file, counted from 1."""

    line: int = 0
    column: int = 0


def fault(origin: str, source: str, place: Place, message: str, remedy: str = "") -> LossFileError:
    """The error of a place in a file: file, line, column, the line itself with a caret."""
    lines = source.split("\n")
    text = f"{origin}:{place.line}:{place.column}: {message.rstrip('.')}."
    if remedy:
        text += f" {remedy.rstrip('.')}{'' if remedy.endswith('?') else '.'}"
    if 0 < place.line <= len(lines):
        line = "".join(c if c.isprintable() else " " for c in lines[place.line - 1])
        begin = max(0, place.column - 60)
        text += f"\n    {line[begin : begin + 100]}\n    {' ' * (place.column - 1 - begin)}^"
    return LossFileError(text, place.line, place.column)


@dataclass(frozen=True)
class Expr:
    """An expression; every kind of it remembers where it stands."""

    place: Place = field(default=Place(), compare=False, kw_only=True)

    def __getstate__(self) -> dict[str, Any]:
        """The fields, without what was found out about it."""
        return {name: held for name, held in vars(self).items() if name[0] != "_"}


@dataclass(frozen=True)
class Number(Expr):
    """A number."""

    value: float


@dataclass(frozen=True)
class Text(Expr):
    """A quoted text: a label, a kind or a type."""

    value: str


@dataclass(frozen=True)
class Name(Expr):
    """A tape (z, y), the position i, the length n, a parameter or a register."""

    name: str


@dataclass(frozen=True)
class Old(Expr):
    """The value of a register before this step."""

    name: str


@dataclass(frozen=True)
class At(Expr):
    """True in the named state."""

    state: str


@dataclass(frozen=True)
class Unary(Expr):
    """Minus or not."""

    operator: str
    operand: Expr


@dataclass(frozen=True)
class Binary(Expr):
    """Arithmetic, a comparison, and, or."""

    operator: str
    left: Expr
    right: Expr


@dataclass(frozen=True)
class Choice(Expr):
    """``if condition then yes else no``."""

    condition: Expr
    yes: Expr
    no: Expr


@dataclass(frozen=True)
class Call(Expr):
    """A function of the language."""

    function: str
    arguments: tuple[Expr, ...]


@dataclass(frozen=True)
class Index(Expr):
    """An entry of a memory (``m[0]`` is the newest) or of a table parameter (``cost[z, y]``).

    With ``old``, an entry of the memory as it was before this step.
    """

    name: str
    arguments: tuple[Expr, ...]
    old: bool = False


@dataclass(frozen=True)
class Push(Expr):
    """The update of a memory: its newest entry becomes the value of ``entry``."""

    memory: str
    entry: Expr


@dataclass(frozen=True)
class Arcs(Expr):
    """The update of explicit states: arcs (source, target, condition), None for ``otherwise``.

    At each step exactly one arc of the current state must apply.
    """

    arcs: tuple[tuple[int, int, Expr | None], ...]


_PARTS: dict[type[Expr], tuple[str, ...]] = {
    Unary: ("operand",),
    Binary: ("left", "right"),
    Choice: ("condition", "yes", "no"),
    Push: ("entry",),
}


def parts(expr: Expr) -> tuple[Expr, ...]:
    """The expressions directly inside this one."""
    if isinstance(expr, Call | Index):
        return expr.arguments
    if isinstance(expr, Arcs):
        return tuple(condition for _, _, condition in expr.arcs if condition is not None)
    return tuple(getattr(expr, name) for name in _PARTS.get(type(expr), ()))


def with_parts(expr: Expr, inside: tuple[Expr, ...]) -> Expr:
    """The same kind of expression with other parts, in the order of ``parts``."""
    if isinstance(expr, Call | Index):
        return replace(expr, arguments=inside)
    if isinstance(expr, Arcs):
        left = iter(inside)
        arcs = tuple((a, b, None if c is None else next(left)) for a, b, c in expr.arcs)
        return replace(expr, arcs=arcs)
    names = _PARTS.get(type(expr), ())
    changed: dict[str, Any] = dict(zip(names, inside, strict=True))
    return replace(expr, **changed) if names else expr


def walk(expr: Expr) -> Iterator[Expr]:
    """The expression and everything inside it."""
    stack = [expr]
    while stack:
        node = stack.pop()
        yield node
        stack.extend(parts(node))


@dataclass(frozen=True)
class Param:
    """A parameter of a loss: its type, default and range (None where not given)."""

    name: str
    type: str
    default: Expr | None
    low: Expr | None
    high: Expr | None
    place: Place


@dataclass(frozen=True)
class Register:
    """The one primitive: a value from a finite domain, with a start and an update.

    Attributes:
        name: how expressions call it.
        sugar: the word of the file that made it (count, age, memory, flag, register, state), or
            clock, or feature: an accumulator of what a step shows, which need not be a number.
        start: value before the first position.
        update: value after a position. It sees the new values of registers above, the old values of
            itself and of those below.
        low: least value, or None for no declared bound.
        high: greatest value, or None: a count that grows by arbitrary amounts.
        depth: how many entries a memory holds.
        states: the names of explicit states.
        place: where it is declared.
    """

    name: str
    sugar: str
    start: Expr
    update: Expr
    low: Expr | None
    high: Expr | None
    place: Place
    depth: Expr | None = None
    states: tuple[str, ...] = ()


@dataclass(frozen=True)
class Output:
    """A number beside the value, a function of the registers at the end as the value is one."""

    name: str
    value: Expr
    place: Place


@dataclass(frozen=True)
class Example:
    """A pair of sequences with the value that the definition gives them."""

    z: str
    y: str
    value: Expr
    bindings: tuple[tuple[str, Expr], ...]
    place: Place


@dataclass(frozen=True, eq=False)
class Spec:
    """A checked loss file.

    Attributes:
        name: the name after ``utility`` or ``loss``.
        kind: "utility" (to be maximised) or "loss" (to be minimised).
        summary: the quoted text of the header.
        references: quoted texts of ``reference`` lines.
        params: parameters in order.
        labels: labels given in the file; None when they come at load time.
        scheme: "bio", "iob1" or "iobes" when the labels must be chunk tags of this scheme; else "".
        registers: registers in order of update.
        value: the value, conditions for 0/0 included.
        range: least and greatest value, if declared.
        examples: the file's examples.
        outputs: further numbers beside the value (a vector value: Jansche 2007, section 5).
        output_registers: with outputs, the registers of the file in order of update; those that
            neither the value nor a register that it needs reads are left out of ``registers``.
        source: the text of the file.
        origin: the file's name, for messages.
    """

    name: str
    kind: str
    summary: str
    references: tuple[str, ...]
    params: tuple[Param, ...]
    labels: tuple[int | str, ...] | None
    scheme: str
    registers: tuple[Register, ...]
    value: Expr
    range: tuple[Expr, Expr] | None
    examples: tuple[Example, ...]
    outputs: tuple[Output, ...] = ()
    output_registers: tuple[Register, ...] = ()
    source: str = field(repr=False, default="")
    origin: str = ""
