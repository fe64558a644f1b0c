"""Parse tree to spec: sugar becomes registers, names are resolved, ``let`` is put in place."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import Any

from lark import Token, Tree

from fsmeu.errors import as_number, nearest
from fsmeu.fst.tags import KINDS
from fsmeu.losses.language.dependencies import needed_registers
from fsmeu.losses.language.expressions import OF_LABELS, Names, read_expr, unquote
from fsmeu.losses.language.parse import MAX_DEPTH, parse, place_of
from fsmeu.losses.language.syntax import (
    Arcs,
    Binary,
    Call,
    Choice,
    Example,
    Expr,
    Name,
    Number,
    Output,
    Param,
    Place,
    Push,
    Register,
    Spec,
    Text,
    Unary,
    parts,
    walk,
)

STATE = "state"
_MAX_REGISTERS = 100
_MAX_PARTS = 20_000
_MAX_PARTS_OF_FILE = 100_000
_ZERO, _ONE = Number(0.0), Number(1.0)


@lru_cache(maxsize=64)
def read(source: str, origin: str = "<text>") -> Spec:
    """The spec of a loss file; those read last are kept, as a spec never changes.

    Raises:
        LossFileError: the text is not a loss file, or a name in it is unknown or used twice.
    """
    source = source.removeprefix("\ufeff")  # a byte order mark, as some editors write it
    tree = parse(source, origin)
    return _Reader(source, origin).spec(tree)


class _Reader:
    """Collects the statements of one file, top to bottom."""

    def __init__(self, source: str, origin: str) -> None:
        self.names = Names(source, origin)
        self.params: list[Param] = []
        self.registers: list[Register] = []
        self.single: dict[str, Any] = {}
        self.references: list[str] = []
        self.examples: list[Example] = []
        self.outputs: list[Output] = []
        self.arcs: list[tuple[int, int, Expr | None]] = []
        self.let_sizes: dict[int, tuple[int, int]] = {}
        self.parts = 0

    def expr(self, node: Any) -> Expr:
        return self.checked(read_expr(node, self.names), place_of(node))

    def fixed(self, node: Any, length: bool = True, labels: bool = False) -> Expr:
        """An expression that is known before a sequence is: of parameters and the length n.

        With labels, it is one for each pair of labels z and y, the sides of a table.
        """
        expr = self.expr(node)
        names = {p.name for p in self.params} | ({"n"} if length else set())
        names |= {"z", "y"} if labels else set()
        for part in walk(expr):
            known = isinstance(part, Number | Unary | Binary | Choice)
            known |= isinstance(part, Name) and part.name in names
            known |= isinstance(part, Call) and (
                part.function not in OF_LABELS or (labels and part.function in ("kind", "type"))
            )
            known |= labels and isinstance(part, Text)
            if not known:
                also = " and n" if length else " above it"
                raise self.names.error(part.place, f"only parameters{also} may be used here")
        return expr

    def checked(self, expr: Expr, place: Place) -> Expr:
        """The same expression, unless it is too large for what walks it."""
        size, depth = self.size(expr)
        self.parts += size
        if depth > MAX_DEPTH:
            trouble = f"this is nested more than {MAX_DEPTH} deep"
        elif size > _MAX_PARTS:
            trouble = f"this has more than {_MAX_PARTS:,} parts"
        elif self.parts > _MAX_PARTS_OF_FILE:
            trouble = f"the file has more than {_MAX_PARTS_OF_FILE:,} parts"
        else:
            return expr
        raise self.names.error(place, f"with every 'let' in place, {trouble}")

    def size(self, expr: Expr) -> tuple[int, int]:
        """How many parts an expression has, and how deep they are nested; lets are counted once."""
        if id(expr) in self.let_sizes:
            return self.let_sizes[id(expr)]
        inside = [self.size(part) for part in parts(expr)]
        return 1 + sum(size for size, _ in inside), 1 + max((d for _, d in inside), default=0)

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
            end = Place(self.names.source.rstrip("\n").count("\n") + 1, 1)
            raise self.names.error(end, "a loss file needs a 'value' statement")
        if len(self.registers) > _MAX_REGISTERS:
            place = self.registers[_MAX_REGISTERS].place
            raise self.names.error(place, f"a loss file may have {_MAX_REGISTERS} registers")
        self.finish_states()
        labels, scheme = self.single.get("labels", (None, ""))
        registers, value = tuple(self.registers), self.single["value"]
        for_outputs = needed_registers(registers, [output.value for output in self.outputs])
        for_outputs -= needed_registers(registers, [value])
        return Spec(
            name=str(name),
            kind=str(kind),
            summary=unquote(summary) if summary is not None else "",
            references=tuple(self.references),
            params=tuple(self.params),
            labels=labels,
            scheme=scheme,
            registers=tuple(r for r in registers if r.name not in for_outputs),
            value=value,
            range=self.single.get("range"),
            examples=tuple(self.examples),
            outputs=tuple(self.outputs),
            output_registers=registers if self.outputs else (),
            source=self.names.source,
            origin=self.names.origin,
        )

    # -- declarations -------------------------------------------------------------------------

    def param(self, node: Any) -> None:
        token, kind, default, bounds = node.children
        name = self.names.declare(token, "a parameter")
        low, high = self.bounds(bounds, False) if bounds is not None else (None, None)
        kind = str(kind) if kind is not None else "real"
        fallback = None
        if default is not None:
            fallback = self.fixed(default, False, labels=kind == "table")
        if kind == "table":
            self.names.tables.append(name)
        self.params.append(Param(name, kind, fallback, low, high, place_of(token)))

    def bounds(self, node: Any, length: bool = True) -> tuple[Expr | None, Expr | None]:
        low, high = (part.children[0] for part in node.children)
        return (
            self.fixed(low, length) if low is not None else None,
            self.fixed(high, length) if high is not None else None,
        )

    def declare_states(self, statements: Iterable[Any]) -> None:
        """States may be named by ``at`` before their statement, so they are collected first."""
        declared = [s for s in statements if s.data == "state"]
        if len(declared) > 1:
            raise self.names.error(place_of(declared[1]), "there may be only one 'state' statement")
        if declared:
            names = [str(token) for token in declared[0].children]
            if len(set(names)) < len(names):
                raise self.names.error(place_of(declared[0]), "state names must differ")
            self.names.states = tuple(names)

    # -- statements ---------------------------------------------------------------------------

    def once(self, node: Any, key: str, value: Any) -> None:
        if key in self.single:
            raise self.names.error(place_of(node), f"there may be only one {key!r} statement")
        self.single[key] = value

    def on_labels(self, node: Any) -> None:
        tokens = [label.children[0] for label in node.children]
        words = [unquote(t) if t.type == "STRING" else str(t) for t in tokens]
        bare = [t.type == "LABEL" for t in tokens]
        if len(words) == 1 and bare[0] and words[0] in ("any", *KINDS):
            self.once(node, "labels", (None, words[0] if words[0] in KINDS else ""))
            return
        if len(set(words)) < len(words):
            raise self.names.error(place_of(node), "labels must differ")
        numbers = [as_number(w) if b else None for w, b in zip(words, bare, strict=True)]
        whole = tuple(k for k in numbers if k is not None)
        labels = whole if len(whole) == len(words) else tuple(words)
        self.once(node, "labels", (labels, ""))

    def on_reference(self, node: Any) -> None:
        self.references.append(unquote(node.children[0]))

    def on_let(self, node: Any) -> None:
        token, body = node.children
        expr = self.expr(body)
        self.let_sizes[id(expr)] = self.size(expr)
        self.names.lets[self.names.declare(token, "a let")] = expr

    def on_count(self, node: Any) -> None:
        token, amount, condition = node.children
        name = self.names.declare(token, "a count")
        step = self.expr(amount) if amount is not None else _ONE
        whole = isinstance(step, Number) and step.value >= 0 and step.value.is_integer()
        more = Binary("+", Name(name), step, place=place_of(token))
        update = more if condition is None else Choice(self.expr(condition), more, Name(name))
        low, high = (_ZERO, Binary("*", Name("n"), step)) if whole else (None, None)
        self.registers.append(Register(name, "count", _ZERO, update, low, high, place_of(token)))

    def on_age(self, node: Any) -> None:
        token, condition, limit = node.children
        name = self.names.declare(token, "an age")
        top = self.fixed(limit)
        older = Call("min", (Binary("+", Name(name), _ONE), top))
        update = Choice(self.expr(condition), _ZERO, older)
        self.registers.append(Register(name, "age", top, update, _ZERO, top, place_of(token)))

    def on_memory(self, node: Any) -> None:
        token, entry, bounds, depth = node.children
        name = self.names.declare(token, "a memory")
        low, high = self.bounds(bounds) if bounds is not None else (None, None)
        if (low is None) != (high is None):
            raise self.names.error(place_of(token), "bounds of a memory are both needed, LOW..HIGH")
        body = self.expr(entry)
        update = Push(name, body, place=place_of(token))
        place = place_of(token)
        self.registers.append(
            Register(name, "memory", _ZERO, update, low, high, place, depth=self.fixed(depth))
        )

    def on_flag(self, node: Any) -> None:
        token, condition = node.children
        name = self.names.declare(token, "a flag")
        update = Choice(self.expr(condition), _ONE, Name(name))
        self.registers.append(Register(name, "flag", _ZERO, update, _ZERO, _ONE, place_of(token)))

    def on_register(self, node: Any) -> None:
        token, bounds, start, update = node.children
        name = self.names.declare(token, "a register")
        low, high = self.bounds(bounds)
        if low is None or high is None:
            raise self.names.error(place_of(token), "a register needs both bounds, LOW..HIGH")
        begin, body = self.fixed(start), self.expr(update)
        self.registers.append(Register(name, "register", begin, body, low, high, place_of(token)))

    def on_state(self, node: Any) -> None:
        top = Number(float(len(self.names.states) - 1))
        place = place_of(node)
        self.names.meaning[STATE] = "the state"
        self.registers.append(
            Register(STATE, "state", _ZERO, Arcs(()), _ZERO, top, place, states=self.names.states)
        )

    def on_arc(self, node: Any) -> None:
        source, target, guard = node.children
        ends = []
        for token in (source, target):
            if str(token) not in self.names.states:
                message = f"{str(token)!r} is not a state"
                raise self.names.error(
                    place_of(token), message, nearest(str(token), self.names.states)
                )
            ends.append(self.names.states.index(str(token)))
        condition: Expr | None = _ONE
        if guard is not None:
            condition = self.expr(guard.children[0]) if guard.data == "when" else None
        if condition is None and any(a == ends[0] and c is None for a, _, c in self.arcs):
            message = f"only one arc of {str(source)!r} may have 'otherwise'"
            raise self.names.error(place_of(source), message)
        self.arcs.append((ends[0], ends[1], condition))

    def finish_states(self) -> None:
        for k, register in enumerate(self.registers):
            if register.sugar == "state":
                update = Arcs(tuple(self.arcs), place=register.place)
                fields = {**register.__dict__, "update": update}
                self.registers[k] = Register(**fields)

    def at_end(self, node: Any, main: Any, cases: list[Any]) -> Expr:
        """A function of the registers after the last position, with its cases for 0/0."""
        value = self.expr(main)
        for case in reversed(cases):
            body, condition = case.children
            value = Choice(self.expr(condition), self.expr(body), value, place=place_of(node))
        for part in walk(self.checked(value, place_of(node))):
            if isinstance(part, Name) and part.name in ("z", "y", "i"):
                message = f"the value is asked after the last position, {part.name!r} is no more"
                remedy = "Keep it in a register, or use n"
                raise self.names.error(part.place, message, remedy)
        return value

    def on_value(self, node: Any) -> None:
        main, *cases = node.children
        self.once(node, "value", self.at_end(node, main, cases))

    def on_output(self, node: Any) -> None:
        token, main, *cases = node.children
        value = self.at_end(node, main, cases)
        self.outputs.append(Output(self.names.declare(token, "an output"), value, place_of(token)))

    def on_range(self, node: Any) -> None:
        low, high = (self.fixed(part) for part in node.children)
        self.once(node, "range", (low, high))

    def on_example(self, node: Any) -> None:
        z, y, value, *bindings = node.children
        texts = [
            unquote(s.children[0]) if s.children[0].type == "STRING" else str(s.children[0])
            for s in (z, y)
        ]
        bound = []
        for binding in bindings:
            if binding is not None:
                token, body = binding.children
                known = [p.name for p in self.params]
                if str(token) not in known:
                    hint = nearest(str(token), known)
                    raise self.names.error(
                        place_of(token), f"{str(token)!r} is not a parameter", hint
                    )
                bound.append((str(token), self.fixed(body, False)))
        example = Example(texts[0], texts[1], self.fixed(value), tuple(bound), place_of(node))
        self.examples.append(example)
