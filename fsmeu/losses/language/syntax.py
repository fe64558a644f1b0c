"""The parts of a loss file as plain data, and what can be read off them without running the file.

Algorithms are chosen by these properties and never by the name of a loss: which tapes a register
reads, which registers only accumulate, and in which of them the value is linear.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from fsmeu.cache import Derives
from fsmeu.errors import Excerpt, LossFileError


@dataclass(frozen=True)
class Place:
    """A line and column of the file, counted from 1."""

    line: int = 0
    column: int = 0


def fault(
    origin: str, source: str, place: Place, must: str, remedy: str = "", given: str | None = None
) -> LossFileError:
    """The error of a place in a file: file, line, column, the line itself with a caret."""
    where = f"{origin}:{place.line}:{place.column}"
    lines = source.split("\n")
    shown = ""
    if 0 < place.line <= len(lines):
        line = "".join(c if c.isprintable() else " " for c in lines[place.line - 1])
        begin = max(0, place.column - 60)
        shown = f"    {line[begin : begin + 100]}\n    {' ' * (place.column - 1 - begin)}^"
    excerpt = Excerpt(place.line, place.column, shown)
    return LossFileError(where, must, given=given, remedy=remedy, excerpt=excerpt)


@dataclass(frozen=True)
class Expr:
    """An expression; every kind of it remembers where it stands."""

    place: Place = field(default=Place(), compare=False, kw_only=True)


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
class Table(Expr):
    """A table that is written out: entries by the texts of labels, or in order without any."""

    keys: tuple[str, ...]
    entries: tuple[Expr, ...]


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
    if isinstance(expr, Call | Index | Table):
        return expr.entries if isinstance(expr, Table) else expr.arguments
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


def subexpressions(expr: Expr) -> Iterator[Expr]:
    """The expression and everything inside it."""
    stack = [expr]
    while stack:
        node = stack.pop()
        yield node
        stack.extend(parts(node))


@dataclass(frozen=True)
class Param:
    """A parameter: its type, default and range (None where not given), and all as written."""

    name: str
    type: str
    default: Expr | None
    low: Expr | None
    high: Expr | None
    text: str
    sides: tuple[str, ...] = ("label", "label")  # what chooses an entry of a table: cost[z, y]


@dataclass(frozen=True)
class Register:
    """The one primitive: a value from a finite domain, with a start and an update.

    ``sugar`` is the word of the file that made it (count, age, memory, flag, register, state), or
    clock, or feature: an accumulator of what a step shows, which need not be a number. An update
    sees the new values of registers above, the old values of itself and of those below.
    """

    name: str
    sugar: str
    start: Expr  # the value before the first position
    update: Expr  # the value after a position
    low: Expr | None  # the least value, None in a count that grows by arbitrary amounts
    high: Expr | None
    place: Place
    depth: Expr | None = None  # how many entries a memory holds
    states: tuple[str, ...] = ()  # the names of explicit states


@dataclass(frozen=True)
class Output:
    """A number beside the value, a function of the registers at the end as the value is one."""

    name: str
    value: Expr


@dataclass(frozen=True)
class Requirement:
    """What holds at each position of a hypothesis for which a loss is defined."""

    condition: Expr
    text: str  # the quoted text beside it, what it means


@dataclass(frozen=True)
class Example:
    """A pair of sequences with the value that the definition gives them."""

    z: str
    y: str
    value: Expr
    bindings: tuple[tuple[str, Expr], ...]
    place: Place


@dataclass(frozen=True, eq=False)
class Spec(Derives):
    """A checked loss file.

    ``registers`` leave out those that outputs or the requirement read and the value does not need;
    ``file_registers`` are then all of the file, in order of update, and empty where none is left
    out. Among them is the flag of the requirement, of sugar "require": 1 from the first position on
    at which its condition fails.
    """

    name: str
    kind: str  # "utility" (to be maximised) or "loss" (to be minimised)
    summary: str  # the quoted text of the header
    references: tuple[str, ...]
    params: tuple[Param, ...]
    labels: tuple[int | str, ...] | None  # None when they come at load time
    scheme: str  # "bio", "iob1" or "iobes" when labels must be chunk tags of this scheme; else ""
    registers: tuple[Register, ...]  # in order of update
    value: Expr  # conditions for 0/0 included
    range: tuple[Expr, Expr] | None  # least and greatest value, if declared
    examples: tuple[Example, ...]
    outputs: tuple[Output, ...] = ()  # a vector value: Jansche 2007, section 5
    file_registers: tuple[Register, ...] = ()
    requirement: Requirement | None = None  # what hypotheses satisfy, where not all are allowed
    source: str = field(repr=False, default="")  # the text of the file
    origin: str = ""  # its name, for messages

    @cached_property
    def tapes(self) -> Mapping[str, frozenset[str]]:
        """What each register depends on, directly or through others: of {"z", "y", "i"}."""
        direct = {r.name: names_read(r.update) for r in self.registers}
        reach = {name: names & _TAPES for name, names in direct.items()}
        for _ in self.registers:
            for name, names in direct.items():
                for other in names & reach.keys():
                    reach[name] = reach[name] | reach[other]
        return reach

    @cached_property
    def checked_registers(self) -> tuple[Register, ...]:
        """The registers, with the flag of the requirement and what it needs, in order of update."""
        if self.requirement is None:
            return self.registers
        flags = [r.name for r in self.file_registers if r.sugar == "require"]
        names = needed_registers(self.file_registers, [Name(flag) for flag in flags])
        names |= {r.name for r in self.registers}
        return tuple(r for r in self.file_registers if r.name in names)

    @cached_property
    def amounts(self) -> Mapping[str, Expr | None]:
        """What each register adds to itself at a step, None if it does more, by name."""
        return {r.name: increment(r) for r in self.registers}

    @cached_property
    def unread(self) -> frozenset[str]:
        """The registers that no other register's update looks at."""
        read = (names_read(r.update) - {r.name} for r in self.registers)
        return frozenset(r.name for r in self.registers).difference(*read)

    @cached_property
    def reads_clock(self) -> bool:
        """True when some register looks at the position i."""
        return any("i" in names_read(register.update) for register in self.registers)

    @cached_property
    def steps_read_length(self) -> bool:
        """True when some update, or what a memory can hold, looks at the length n."""
        memories = [r for r in self.registers if r.sugar == "memory"]
        read = [side for r in memories for side in (r.depth, r.low, r.high) if side is not None]
        read += [r.update for r in self.registers]
        return any("n" in names_read(expr) for expr in read)

    def linear(self, among: Iterable[str] | None = None) -> tuple[str, ...]:
        """Accumulators, of these if given, in which the value is affine and which no update reads.

        They need not be states: their expectation is kept in the weight (Eisner 2002). Registers
        that read both tapes are taken first, because they cost the most as states.
        """
        names = None if among is None else frozenset(among)
        return self.derived.get(("linear", names), lambda: _linear_registers(self, names))

    def slope(self, name: str) -> Expr:
        """The coefficient of a register in the value, affine in it: an expression free of it.

        A difference of two values would lose digits that stand below those of the value.
        """
        return self.derived.get(("slope", name), lambda: slope_in(self.value, name))


# -- what can be read off a spec without running it ------------------------------------------------


_TAPES = frozenset({"z", "y", "i"})
_ZERO = Number(0.0)
_ONE = Number(1.0)
_TRUTHS = frozenset({"==", "!=", "<", "<=", ">", ">=", "and", "or", "not"})


def names_read(expr: Expr) -> frozenset[str]:
    """The names that an expression refers to: tapes, i, n, parameters, registers."""
    fields = vars(expr)  # has the names as a cache: they are read at every level of long sums
    names: frozenset[str] | None = fields.get("_names_read")
    if names is None:
        own = "state" if isinstance(expr, At | Arcs) else fields.get("name", fields.get("memory"))
        names = frozenset([own] if own else []).union(*map(names_read, parts(expr)))
        object.__setattr__(expr, "_names_read", names)
    return names


def needed_registers(registers: Sequence[Register], values: Iterable[Expr]) -> frozenset[str]:
    """The registers that these expressions read, directly or through updates of others."""
    updates = {r.name: names_read(r.update) & {r.name for r in registers} for r in registers}
    needed = frozenset[str]().union(*map(names_read, values)) & updates.keys()
    for _ in registers:
        needed = needed.union(*(updates[name] for name in needed))
    return needed


def increment(register: Register) -> Expr | None:
    """The amount that a register adds to itself at each step; None when it does more than add.

    The answer does not refer to the register: it is then an accumulator. One with declared bounds
    must be seen to keep them, as 0 or 1 a step do in 0..n; else its values may be refused.
    """
    amount = _increment(register.update, register.name)
    if amount is None or register.name in names_read(amount):
        return None
    if register.sugar == "register":
        high = register.high
        room = 0.0
        if isinstance(high, Binary) and high.operator == "+":
            room = _plain(high.right)
            high = high.left
        inside = _plain(register.low) <= _plain(register.start) <= room
        return amount if inside and high == Name("n") and is_truth(amount) else None
    return amount


def _plain(expr: Expr | None) -> float:
    """The number that is written there, nan if it is anything else."""
    match expr:
        case Number():
            return expr.value
        case Unary(operator="-"):
            return -_plain(expr.operand)
    return math.nan


def is_condition(expr: Expr) -> bool:
    """True for a comparison, and, or, not."""
    return isinstance(expr, Binary | Unary) and expr.operator in _TRUTHS


def is_truth(expr: Expr) -> bool:
    """True when the expression is 0 or 1 whatever happens."""
    match expr:
        case Number():
            return expr.value in (0.0, 1.0)
        case Binary() | Unary():
            return is_condition(expr)
        case Choice():
            return is_truth(expr.yes) and is_truth(expr.no)
        case At():
            return True
    return False


def _increment(expr: Expr, name: str) -> Expr | None:
    match expr:
        case Name() if expr.name == name:
            return _ZERO
        case Binary(operator="+"):
            for side, other in ((expr.left, expr.right), (expr.right, expr.left)):
                amount = _increment(side, name)
                if amount is not None and name not in names_read(other):
                    return other if amount == _ZERO else Binary("+", amount, other)
        case Binary(operator="-"):
            amount = _increment(expr.left, name)
            if amount is not None:
                return Binary("-", amount, expr.right)
        case Choice():
            yes = _increment(expr.yes, name)
            no = _increment(expr.no, name)
            if yes is not None and no is not None:
                return Choice(expr.condition, yes, no)
    return None


def is_affine(expr: Expr, names: frozenset[str]) -> bool:
    """True when the expression is a + sum of b_r * r over these names, with a, b free of them."""
    try:
        return not any(names_read(slope_in(expr, name)) & names for name in names)
    except _NotAffineError:
        return False


class _NotAffineError(Exception):
    """An expression that is not affine in a register."""


def slope_in(expr: Expr, name: str) -> Expr:
    """The coefficient of a register in an expression that is affine in it."""
    if name not in names_read(expr):
        return _ZERO
    match expr:
        case Name():
            return _ONE
        case Unary(operator="-"):
            return replace(expr, operand=slope_in(expr.operand, name))
        case Binary(operator="+" | "-"):
            left = slope_in(expr.left, name)
            right = slope_in(expr.right, name)
            return left if right == _ZERO else replace(expr, left=left, right=right)
        case Binary(operator="*") if name not in names_read(expr.left) & names_read(expr.right):
            sides = (expr.left, expr.right)
            left, right = (slope_in(e, name) if name in names_read(e) else e for e in sides)
            whole = replace(expr, left=left, right=right)
            return right if left == _ONE else left if right == _ONE else whole
        case Binary(operator="/") if name not in names_read(expr.right):
            return replace(expr, left=slope_in(expr.left, name))
        case Choice() if name not in names_read(expr.condition):
            return replace(expr, yes=slope_in(expr.yes, name), no=slope_in(expr.no, name))
    raise _NotAffineError


def _linear_registers(spec: Spec, among: frozenset[str] | None) -> tuple[str, ...]:
    plain = (r.name for r in spec.registers if isinstance(r.start, Number))
    adding = (name for name in plain if spec.amounts[name] is not None)
    candidates = [x for x in adding if x in spec.unread and (among is None or x in among)]
    candidates.sort(key=lambda name: -len(spec.tapes[name] & {"z", "y"}))
    chosen: frozenset[str] = frozenset()
    for name in candidates:
        if is_affine(spec.value, chosen | {name}):
            chosen |= {name}
    return tuple(r.name for r in spec.registers if r.name in chosen)
