"""Parse tree to spec: sugar becomes registers, names are resolved, ``let`` is put in place."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

from lark import Token, Tree

from fsmeu.errors import LossFileError, nearest
from fsmeu.losses.messages import fault
from fsmeu.losses.parse import parse, place_of
from fsmeu.losses.syntax import (
    Arcs,
    At,
    Binary,
    Call,
    Choice,
    Example,
    Expr,
    Index,
    Name,
    Number,
    Old,
    Param,
    Place,
    Push,
    Register,
    Spec,
    Text,
    Unary,
    walk,
)

__all__ = ["FUNCTIONS", "STATE", "read"]

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
STATE = "state"
_BUILTIN = ("z", "y", "i", "n", "inf")
_MAX_NODES = 20_000
_ZERO, _ONE = Number(0.0), Number(1.0)


def read(source: str, origin: str = "<text>") -> Spec:
    """The spec of a loss file.

    Raises:
        LossFileError: the text is not a loss file, or a name in it is unknown or used twice.
    """
    tree = parse(source, origin)
    return _Reader(source, origin).spec(tree)


class _Reader:
    """Collects the statements of one file, top to bottom."""

    def __init__(self, source: str, origin: str) -> None:
        self.source = source
        self.origin = origin
        self.params: list[Param] = []
        self.lets: dict[str, Expr] = {}
        self.registers: list[Register] = []
        self.names: dict[str, str] = {name: "a word with a fixed meaning" for name in _BUILTIN}
        self.names |= dict.fromkeys(FUNCTIONS, "a function")
        self.single: dict[str, Any] = {}
        self.references: list[str] = []
        self.examples: list[Example] = []
        self.states: tuple[str, ...] = ()
        self.arcs: list[tuple[int, int, Expr | None]] = []
        self.pending: list[tuple[str, Callable[[], None]]] = []

    def error(self, place: Place, message: str, remedy: str = "") -> LossFileError:
        return fault(self.origin, self.source, place, message, remedy)

    def spec(self, tree: Tree[Token]) -> Spec:
        header, *statements = tree.children
        kind, name, *rest = header.children  # type: ignore[union-attr]
        summary = rest.pop()
        for param in rest:
            if param is not None:
                self.param(param)
        self.declare_states(statements)
        for statement in statements:
            getattr(self, f"on_{statement.data}")(statement)  # type: ignore[union-attr]
        if "value" not in self.single:
            end = Place(len(self.source.splitlines()), 1)
            raise self.error(end, "a loss file needs a 'value' statement")
        self.finish_states()
        labels, bio = self.single.get("labels", (None, False))
        return Spec(
            name=str(name),
            kind=str(kind),
            summary=_unquote(summary) if summary is not None else "",
            references=tuple(self.references),
            params=tuple(self.params),
            labels=labels,
            bio=bio,
            registers=tuple(self.registers),
            value=self.single["value"],
            range=self.single.get("range"),
            examples=tuple(self.examples),
            source=self.source,
            origin=self.origin,
        )

    # -- declarations -------------------------------------------------------------------------

    def declare(self, token: Any, what: str) -> str:
        name = str(token)
        if name in self.names:
            message = f"the name {name!r} is taken: it is {self.names[name]}"
            raise self.error(place_of(token), message, "Choose another name")
        self.names[name] = what
        return name

    def param(self, node: Any) -> None:
        token, kind, default, bounds = node.children
        name = self.declare(token, "a parameter")
        low, high = self.bounds(bounds) if bounds is not None else (None, None)
        fallback = self.expr(default) if default is not None else None
        kind = str(kind) if kind is not None else "real"
        self.params.append(Param(name, kind, fallback, low, high, place_of(token)))

    def bounds(self, node: Any) -> tuple[Expr | None, Expr | None]:
        low, high = (part.children[0] for part in node.children)
        return (
            self.expr(low) if low is not None else None,
            self.expr(high) if high is not None else None,
        )

    def declare_states(self, statements: Iterable[Any]) -> None:
        """States may be named by ``at`` before their statement, so they are collected first."""
        found = [s for s in statements if s.data == "state"]
        if len(found) > 1:
            raise self.error(place_of(found[1]), "there may be only one 'state' statement")
        if found:
            names = [str(token) for token in found[0].children]
            if len(set(names)) < len(names):
                raise self.error(place_of(found[0]), "state names must differ")
            self.states = tuple(names)

    # -- statements ---------------------------------------------------------------------------

    def once(self, node: Any, key: str, value: Any) -> None:
        if key in self.single:
            raise self.error(place_of(node), f"there may be only one {key!r} statement")
        self.single[key] = value

    def on_labels(self, node: Any) -> None:
        tokens = [label.children[0] for label in node.children]
        words = [_unquote(t) if t.type == "STRING" else str(t) for t in tokens]
        bare = [t.type == "LABEL" for t in tokens]
        if words in (["any"], ["bio"]) and bare[0]:
            self.once(node, "labels", (None, words == ["bio"]))
            return
        if len(set(words)) < len(words):
            raise self.error(place_of(node), "labels must differ")
        numeric = all(b and w.lstrip("-").isdecimal() for w, b in zip(words, bare, strict=True))
        labels = tuple(int(w) for w in words) if numeric else tuple(words)
        self.once(node, "labels", (labels, False))

    def on_reference(self, node: Any) -> None:
        self.references.append(_unquote(node.children[0]))

    def on_let(self, node: Any) -> None:
        token, body = node.children
        expr = self.expr(body)
        if sum(1 for _ in walk(expr)) > _MAX_NODES:
            raise self.error(place_of(token), f"{token} stands for more than {_MAX_NODES} parts")
        self.lets[self.declare(token, "a let")] = expr

    def on_count(self, node: Any) -> None:
        token, amount, condition = node.children
        name = self.declare(token, "a count")
        step = self.expr(amount) if amount is not None else _ONE
        whole = isinstance(step, Number) and step.value >= 0 and step.value.is_integer()
        more = Binary("+", Name(name), step)
        update = more if condition is None else Choice(self.expr(condition), more, Name(name))
        low, high = (_ZERO, Binary("*", Name("n"), step)) if whole else (None, None)
        self.add(Register(name, "count", _ZERO, update, low, high, place_of(token)))

    def on_age(self, node: Any) -> None:
        token, condition, limit = node.children
        name = self.declare(token, "an age")
        top = self.expr(limit)
        older = Call("min", (Binary("+", Name(name), _ONE), top))
        update = Choice(self.expr(condition), _ZERO, older)
        self.add(Register(name, "age", top, update, _ZERO, top, place_of(token)))

    def on_memory(self, node: Any) -> None:
        token, entry, bounds, depth = node.children
        name = self.declare(token, "a memory")
        low, high = self.bounds(bounds) if bounds is not None else (None, None)
        body = self.expr(entry)
        update = Push(name, body, place=place_of(token))
        place = place_of(token)
        self.add(Register(name, "memory", _ZERO, update, low, high, place, depth=self.expr(depth)))

    def on_flag(self, node: Any) -> None:
        token, condition = node.children
        name = self.declare(token, "a flag")
        update = Choice(self.expr(condition), _ONE, Name(name))
        self.add(Register(name, "flag", _ZERO, update, _ZERO, _ONE, place_of(token)))

    def on_register(self, node: Any) -> None:
        token, bounds, start, update = node.children
        name = self.declare(token, "a register")
        low, high = self.bounds(bounds)
        if low is None or high is None:
            raise self.error(place_of(token), "a register needs both bounds, LOW..HIGH")
        begin, body = self.expr(start), self.expr(update)
        self.add(Register(name, "register", begin, body, low, high, place_of(token)))

    def on_state(self, node: Any) -> None:
        top = Number(float(len(self.states) - 1))
        place = place_of(node)
        self.names[STATE] = "the state"
        self.add(Register(STATE, "state", _ZERO, Arcs(()), _ZERO, top, place, states=self.states))

    def on_arc(self, node: Any) -> None:
        source, target, guard = node.children
        ends = []
        for token in (source, target):
            if str(token) not in self.states:
                message = f"{str(token)!r} is not a state"
                raise self.error(place_of(token), message, nearest(str(token), self.states))
            ends.append(self.states.index(str(token)))
        condition: Expr | None = _ONE
        if guard is not None:
            condition = self.expr(guard.children[0]) if guard.data == "when" else None
        self.arcs.append((ends[0], ends[1], condition))

    def finish_states(self) -> None:
        for k, register in enumerate(self.registers):
            if register.sugar == "state":
                update = Arcs(tuple(self.arcs), place=register.place)
                fields = {**register.__dict__, "update": update}
                self.registers[k] = Register(**fields)

    def on_value(self, node: Any) -> None:
        main, *cases = node.children
        value = self.expr(main)
        for case in reversed(cases):
            body, condition = case.children
            value = Choice(self.expr(condition), self.expr(body), value)
        self.once(node, "value", value)

    def on_range(self, node: Any) -> None:
        low, high = (self.expr(part) for part in node.children)
        self.once(node, "range", (low, high))

    def on_example(self, node: Any) -> None:
        z, y, value, *bindings = node.children
        texts = [
            _unquote(s.children[0]) if s.children[0].type == "STRING" else str(s.children[0])
            for s in (z, y)
        ]
        bound = []
        for binding in bindings:
            if binding is not None:
                token, body = binding.children
                known = [p.name for p in self.params]
                if str(token) not in known:
                    hint = nearest(str(token), known)
                    raise self.error(place_of(token), f"{str(token)!r} is not a parameter", hint)
                bound.append((str(token), self.expr(body)))
        example = Example(texts[0], texts[1], self.expr(value), tuple(bound), place_of(node))
        self.examples.append(example)

    def add(self, register: Register) -> None:
        self.registers.append(register)

    # -- expressions --------------------------------------------------------------------------

    def expr(self, node: Any) -> Expr:
        place = place_of(node)
        children = node.children
        match node.data:
            case "number":
                return Number(float(children[0]), place=place)
            case "true" | "false":
                return Number(float(node.data == "true"), place=place)
            case "text":
                return Text(_unquote(children[0]), place=place)
            case "name":
                return self.name(str(children[0]), place)
            case "old":
                return self.old(str(children[0]), place)
            case "old_index":
                entry = self.index(str(children[0]), children[1:], place)
                return replace(entry, old=True)
            case "at":
                return self.at(str(children[0]), place)
            case "call":
                return self.call(str(children[0]), children[1:], place)
            case "index":
                return self.index(str(children[0]), children[1:], place)
            case "minus" | "negation":
                operator = "-" if node.data == "minus" else "not"
                return Unary(operator, self.expr(children[0]), place=place)
            case "conjunction" | "disjunction":
                operator = "and" if node.data == "conjunction" else "or"
                left, right = (self.expr(child) for child in children)
                return Binary(operator, left, right, place=place)
            case "choice":
                condition, yes, no = (self.expr(child) for child in children)
                return Choice(condition, yes, no, place=place)
        left, operator, right = children
        return Binary(str(operator), self.expr(left), self.expr(right), place=place)

    def known(self) -> list[str]:
        variables = [k for k, what in self.names.items() if what != "a function"]
        return variables

    def name(self, name: str, place: Place) -> Expr:
        if name in self.lets:
            return self.lets[name]
        if name in self.names and self.names[name] != "a function":
            return Number(float("inf"), place=place) if name == "inf" else Name(name, place=place)
        if name in self.states:
            message = f"{name!r} is a state; write 'at {name}' to ask whether it is reached"
            raise self.error(place, message)
        hint = nearest(name, self.known()) or "Registers are declared above their use"
        raise self.error(place, f"the name {name!r} is not known here", hint)

    def register_names(self) -> list[str]:
        kinds = {"a count", "an age", "a memory", "a flag", "a register", "the state"}
        return [name for name, what in self.names.items() if what in kinds]

    def old(self, name: str, place: Place) -> Expr:
        if name not in self.register_names():
            hint = nearest(name, self.register_names())
            raise self.error(place, f"'old' needs a register, {name!r} is none", hint)
        return Old(name, place=place)

    def at(self, state: str, place: Place) -> Expr:
        if state not in self.states:
            hint = nearest(state, self.states) or "States are declared with 'state'"
            raise self.error(place, f"{state!r} is not a state", hint)
        return At(state, place=place)

    def call(self, name: str, arguments: list[Any], place: Place) -> Expr:
        if name not in FUNCTIONS:
            hint = nearest(name, FUNCTIONS) or f"Functions are {', '.join(FUNCTIONS)}"
            raise self.error(place, f"there is no function {name!r}", hint)
        least, most = FUNCTIONS[name]
        if not least <= len(arguments) <= most:
            count = f"{least}" if least == most else f"at least {least}"
            message = f"{name} takes {count} argument(s), it is given {len(arguments)}"
            raise self.error(place, message)
        if name in ("tally", "sum"):
            self.memory_name(arguments[0], name)
        return Call(name, tuple(self.expr(a) for a in arguments), place=place)

    def memory_name(self, node: Any, function: str) -> None:
        name = str(node.children[0]) if node.data == "name" else ""
        if self.names.get(name) != "a memory":
            message = f"the first argument of {function} must be the name of a memory"
            raise self.error(place_of(node), message)

    def index(self, name: str, arguments: list[Any], place: Place) -> Index:
        tables = [p.name for p in self.params if p.type == "table"]
        if self.names.get(name) != "a memory" and name not in tables:
            message = f"only a memory or a table parameter has entries, {name!r} is neither"
            raise self.error(place, message, nearest(name, [*tables, *self.register_names()]))
        if self.names.get(name) == "a memory" and len(arguments) != 1:
            raise self.error(place, f"{name}[j] takes one index: how many steps back")
        return Index(name, tuple(self.expr(a) for a in arguments), place=place)


def _unquote(token: Any) -> str:
    return str(token)[1:-1]
