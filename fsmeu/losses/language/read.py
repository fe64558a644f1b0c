"""Text of a loss file to its spec: sugar becomes registers, ``let`` is put in place."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import lru_cache
from typing import Any

from fsmeu.errors import LossFileError, as_number, nearest
from fsmeu.fst.tags import KINDS
from fsmeu.losses.language import expressions
from fsmeu.losses.language import syntax as ast
from fsmeu.losses.language import words as language
from fsmeu.losses.language.expressions import ARITHMETIC, LABEL, Token
from fsmeu.losses.language.syntax import (
    Expr,
    Place,
    Register,
    Spec,
    needed_registers,
    subexpressions,
)

STATE = "state"
REQUIRE = "require"
_MAX_REGISTERS = 100
_ZERO = ast.Number(0.0)
_ONE = ast.Number(1.0)
_LABEL = re.compile(rf"(?P<text>{language.TEXT})|{language.LABEL}")
_SEQUENCE = re.compile(rf"(?P<text>{language.TEXT})|{language.SEQUENCE}")

_BEGIN = "a loss file begins with 'utility NAME' or 'loss NAME'"
_NAMED = "'utility' and 'loss' are followed by a name"
_SUMMARY = "the text after the name needs a closing quote on the same line"
_MEANING = "the text after the condition needs a closing quote on the same line"
_PARAM = "a parameter is written NAME, NAME = default, or NAME: int = default in LOW..HIGH"
_LABEL_PARAM = 'a parameter that is a label is written NAME: label, or NAME: label = "A"'
_TABLE = 'a table is written out as {"A": 1, "B": 2}, by labels, or as [1, 2], in order'
_USAGE = {
    "count": (
        "'count' is written: count NAME when CONDITION, or count NAME by AMOUNT when CONDITION"
    ),
    "age": "'age' is written: age NAME since CONDITION up to LIMIT",
    "memory": "'memory' is written: memory NAME of z last K (or of EXPRESSION in LOW..HIGH last K)",
    "flag": "'flag' is written: flag NAME when CONDITION",
    "register": "'register' is written: register NAME in LOW..HIGH start VALUE next EXPRESSION",
    "state": "'state' is followed by the names of the states, the first is the start",
    "arc": "'arc' is written: arc STATE -> STATE when CONDITION, or with 'otherwise' at the end",
    "let": "'let' is written: let NAME = EXPRESSION",
    "labels": "'labels' is followed by labels, by 'any', or by 'bio', 'iob1' or 'iobes'",
    "value": "'value' is followed by an expression, then maybe: or EXPRESSION when CONDITION",
    "output": (
        "'output' is written: output NAME = EXPRESSION, then maybe: or EXPRESSION when CONDITION"
    ),
    "range": "'range' is written: range LOW .. HIGH",
    "require": (
        "'require' is followed by a condition on z, then maybe by a quoted text that says what it "
        "means"
    ),
    "example": (
        "'example' is written: example Z Y = VALUE, or with parameters: example Z Y = VALUE with "
        "k = 2"
    ),
    "reference": "'reference' is followed by a quoted text",
}
"""How each statement is written, as errors say it."""
_STATEMENT = f"a statement begins with {', '.join(list(_USAGE)[:-1])} or {list(_USAGE)[-1]}"


@lru_cache(maxsize=64)
def read(source: str, origin: str = "<text>") -> Spec:
    """The spec of a loss file; those read last are kept, as a spec never changes."""
    return _Reader(source.removeprefix("\ufeff"), origin).spec()  # as some editors begin a file


def _is_negative(expr: Expr) -> bool:
    """True for a number with a minus before it."""
    return isinstance(expr, ast.Unary) and isinstance(expr.operand, ast.Number)


class _Reader(expressions.Expressions):
    """Collects the statements of one file, top to bottom."""

    def __init__(self, source: str, origin: str) -> None:
        super().__init__(source, origin)
        self.params: list[ast.Param] = []
        self.registers: list[Register] = []
        self.single: dict[str, Any] = {}
        self.references: list[str] = []
        self.examples: list[ast.Example] = []
        self.outputs: list[ast.Output] = []
        self.arcs: list[tuple[Token, Token, Expr | None]] = []
        self.begin = self.token

    def spec(self) -> Spec:
        """The spec of the whole file."""
        kind, name, summary = self.header()
        while self.token.kind != "end":
            if self.token.text not in _USAGE:
                raise self.no_statement()
            self.begin = self.token
            self.usage = _USAGE[self.token.text]
            self.advance()
            getattr(self, f"on_{self.begin.text}")()
        if "value" not in self.single:
            end = Place(self.source.rstrip("\n").count("\n") + 1, 1)
            raise self.error(end, "a loss file needs a 'value' statement")
        labels, scheme = self.single.get("labels", (None, ""))
        registers = self.with_arcs()
        value = self.single["value"]
        beside: list[Expr] = [output.value for output in self.outputs]
        if REQUIRE in self.single:
            beside.append(ast.Name(REQUIRE))
        needed_beside = needed_registers(registers, beside)
        unread = [ast.Name(r.name) for r in registers if r.name not in needed_beside]
        left_out = needed_beside - needed_registers(registers, [value, *unread])
        spec = Spec(
            name=name,
            kind=kind,
            summary=summary,
            references=tuple(self.references),
            params=tuple(replace(p, sides=self.sides.get(p.name, p.sides)) for p in self.params),
            labels=labels,
            scheme=scheme,
            registers=tuple(r for r in registers if r.name not in left_out),
            value=value,
            range=self.single.get("range"),
            examples=tuple(self.examples),
            outputs=tuple(self.outputs),
            file_registers=registers if beside else (),
            requirement=self.single.get(REQUIRE),
            source=self.source,
            origin=self.origin,
        )
        return self.check_requirement(spec)

    def no_statement(self) -> LossFileError:
        """The error of what begins no statement; after labels, which take any word, of its line."""
        line = self.source.split("\n")[self.token.place.line - 1]
        words = line.split()
        below = self.begin.text == "labels" and self.begin.place.line < self.token.place.line
        if not below or not words[0].isalpha():
            return self.after_expression(_STATEMENT)
        place = Place(self.token.place.line, len(line) - len(line.lstrip()) + 1)
        hint = nearest(words[0].lower(), _USAGE, 1.0) or expressions.near_word(words[0])
        return self.error(place, _STATEMENT, hint, repr(words[0][:40]))

    # -- the head ------------------------------------------------------------------------------

    def header(self) -> tuple[str, str, str]:
        """Kind, name and summary."""
        if self.token.text not in ("utility", "loss"):
            raise self.unexpected(_BEGIN, "'utility' or 'loss'")
        kind = self.advance().text
        name = self.name(_NAMED).text
        summary = ""
        if self.take("(") and not self.take(")"):
            self.param()
            while self.take(","):
                self.param()
            self.expect(")", _PARAM)
        if self.token.kind == "text":
            summary = self.advance().text[1:-1]
        elif self.token.text.startswith('"'):
            raise self.unexpected(_SUMMARY)
        return kind, name, summary

    def param(self) -> None:
        self.usage = _PARAM
        token = self.name(_PARAM)
        kind = "real"
        name = self.declare(token, "a parameter")
        if self.take(":"):
            kind = self.token.text
            if kind not in language.TYPES:
                raise self.unexpected(_PARAM, "'int', 'real', 'table' or 'label'")
            self.advance()
        default = self.given(kind, default=True) if self.take("=") else None
        if kind == "label" and self.token.text == "in":
            raise self.unexpected(_LABEL_PARAM)
        low, high = self.bounds(False) if self.take("in") else (None, None)
        if kind == "table":
            self.tables.append(name)
        if kind == "label":
            self.meaning[name] = LABEL
        written = re.sub("#[^\n]*", "", self.source[token.at : self.token.at])
        text = " ".join(written.split())
        self.params.append(ast.Param(name, kind, default, low, high, text))

    # -- parts of statements -------------------------------------------------------------------

    def fixed(self, length: bool = True, labels: bool = False, level: int = ARITHMETIC) -> Expr:
        """An expression that is known before a sequence is: of parameters and the length n.

        With labels, it is one for each pair of labels z and y, the sides of a table.
        """
        expr = self.expr(level)
        names = {p.name for p in self.params if labels or p.type != "label"}
        names |= {"n"} if length else set()
        names |= {"z", "y"} if labels else set()
        for part in subexpressions(expr):
            allowed = isinstance(part, ast.Number | ast.Unary | ast.Binary | ast.Choice)
            allowed |= isinstance(part, ast.Name) and part.name in names
            allowed |= isinstance(part, ast.Call) and (
                part.function not in language.OF_LABELS
                or (labels and part.function in ("kind", "type"))
            )
            allowed |= labels and isinstance(part, ast.Text)
            if not allowed:
                also = " and n" if length else " above it"
                raise self.error(part.place, f"only parameters{also} may be used here")
        return expr

    def given(self, kind: str, default: bool = False) -> Expr:
        """The value that a file gives a parameter of a type, as a default or in an example."""
        if kind == "table" and self.token.text in ("{", "["):
            return self.table()
        if kind != "label":
            labels = default and kind == "table"
            return self.fixed(False, labels, expressions.ANY if default else ARITHMETIC)
        self.usage = _LABEL_PARAM
        label = self.expr(ARITHMETIC)
        if not isinstance(label, ast.Text | ast.Number) and not _is_negative(label):
            raise self.error(label.place, _LABEL_PARAM)
        return label

    def table(self, sides: int = 2) -> Expr:
        """A table that is written out, or what stands for an entry: a number."""
        place = self.token.place
        close = {"{": "}", "[": "]"}.get(self.token.text, "")
        self.usage = _TABLE
        if not close or not sides:
            return self.fixed(False)
        keys: list[str] = []
        entries: list[Expr] = []
        while self.token.text == "," or not entries:
            self.advance()
            if close == "}":
                sign = "-" * self.take("-")
                if self.token.kind not in ("text", "number"):
                    raise self.unexpected(_TABLE, "a label")
                keys.append(sign + self.advance().text.strip('"'))
                self.expect(":", _TABLE)
            entries.append(self.table(sides - 1))
        self.expect(close, _TABLE, expression=True)
        if len(set(keys)) < len(keys):
            raise self.error(place, "the labels of a table must differ")
        return ast.Table(tuple(keys), tuple(entries), place=place)

    def bounds(self, length: bool = True) -> tuple[Expr | None, Expr | None]:
        """LOW..HIGH, of which either may be missing."""
        low = None if self.token.text == ".." else self.fixed(length)
        self.expect("..", self.usage, expression=self.usage != _PARAM)
        ends = self.token.text in (",", ")", "start", "last")
        return low, None if ends else self.fixed(length)

    def new(self, what: str) -> tuple[str, Place]:
        """The name that is declared, and its place."""
        token = self.name(self.usage)
        return self.declare(token, what), token.place

    def add(self, register: Register) -> None:
        if len(self.registers) == _MAX_REGISTERS:
            raise self.error(register.place, f"a loss file may have {_MAX_REGISTERS} registers")
        self.registers.append(register)

    def once(self, value: Any) -> None:
        key = self.begin.text
        if key in self.single:
            raise self.error(self.begin.place, f"there may be only one {key!r} statement")
        self.single[key] = value

    # -- statements ----------------------------------------------------------------------------

    def on_labels(self) -> None:
        tokens: list[Token] = []
        while (token := self.read(self.token.at, _LABEL)).text and token.kind != "word":
            tokens.append(self.advance(token))
        if not tokens:
            raise self.unexpected(self.usage)
        words = [t.text[1:-1] if t.kind == "text" else t.text for t in tokens]
        if len(tokens) == 1 and tokens[0].text in ("any", *KINDS):
            self.once((None, words[0] if words[0] in KINDS else ""))
            return
        if len(set(words)) < len(words):
            raise self.error(self.begin.place, "labels must differ")
        numbers = [as_number(t.text) for t in tokens]
        whole = tuple(k for k in numbers if k is not None)
        self.labels = whole if len(whole) == len(words) else tuple(words)
        self.once((self.labels, ""))

    def on_reference(self) -> None:
        if self.token.kind != "text":
            raise self.unexpected(self.usage, "a quoted text")
        self.references.append(self.advance().text[1:-1])

    def on_let(self) -> None:
        token = self.name(self.usage)
        self.expect("=", self.usage)
        body = self.expr()
        self.lets[self.declare(token, "a let")] = body

    def on_count(self) -> None:
        name, place = self.new("a count")
        if self.token.kind != "end" and self.token.text not in ("by", "when", *_USAGE):
            raise self.unexpected(self.usage)
        step = self.expr(ARITHMETIC) if self.take("by") else _ONE
        update: Expr = ast.Binary("+", ast.Name(name), step, place=place)
        if self.take("when"):
            update = ast.Choice(self.expr(), update, ast.Name(name))
        whole = isinstance(step, ast.Number) and step.value >= 0 and step.value.is_integer()
        low, high = (_ZERO, ast.Binary("*", ast.Name("n"), step)) if whole else (None, None)
        self.add(Register(name, "count", _ZERO, update, low, high, place))

    def on_age(self) -> None:
        name, place = self.new("an age")
        self.expect("since", self.usage)
        condition = self.expr()
        self.expect("up", self.usage, expression=True)
        self.expect("to", self.usage)
        top = self.fixed()
        older = ast.Call("min", (ast.Binary("+", ast.Name(name), _ONE), top))
        self.add(Register(name, "age", top, ast.Choice(condition, _ZERO, older), _ZERO, top, place))

    def on_memory(self) -> None:
        name, place = self.new("a memory")
        self.expect("of", self.usage)
        update = ast.Push(name, self.expr(ARITHMETIC), place=place)
        if self._is_label(update.entry):
            self.label_memories.add(name)
        low, high = self.bounds() if self.take("in") else (None, None)
        if (low is None) != (high is None):
            raise self.error(place, "bounds of a memory are both needed, LOW..HIGH")
        self.expect("last", self.usage, expression=True)
        depth = self.fixed()
        self.add(Register(name, "memory", _ZERO, update, low, high, place, depth=depth))

    def on_flag(self) -> None:
        name, place = self.new("a flag")
        self.expect("when", self.usage)
        update = ast.Choice(self.expr(), _ONE, ast.Name(name))
        self.add(Register(name, "flag", _ZERO, update, _ZERO, _ONE, place))

    def on_register(self) -> None:
        name, place = self.new("a register")
        self.expect("in", self.usage)
        low, high = self.bounds()
        if low is None or high is None:
            raise self.error(place, "a register needs both bounds, LOW..HIGH")
        self.expect("start", self.usage, expression=True)
        begin = self.fixed()
        self.expect("next", self.usage, expression=True)
        self.add(Register(name, "register", begin, self.expr(), low, high, place))

    def on_state(self) -> None:
        place = self.begin.place
        names = [self.name(self.usage).text]
        while self.token.kind == "name":
            names.append(self.advance().text)
        if self.states:
            raise self.error(place, "there may be only one 'state' statement")
        if len(set(names)) < len(names):
            raise self.error(place, "state names must differ")
        self.states = tuple(names)
        top = ast.Number(float(len(names) - 1))
        self.meaning[STATE] = "the state"
        self.add(
            Register(STATE, "state", _ZERO, ast.Arcs(()), _ZERO, top, place, states=self.states)
        )

    def on_arc(self) -> None:
        source = self.name(self.usage)
        self.expect("->", self.usage)
        target = self.name(self.usage)
        condition = None
        if not self.take("otherwise"):
            condition = self.expr() if self.take("when") else _ONE
        elif any(c is None and a.text == source.text for a, _, c in self.arcs):
            said = f"only one arc of {source.text!r} may have 'otherwise'"
            raise self.error(source.place, said)
        self.arcs.append((source, target, condition))

    def with_arcs(self) -> tuple[Register, ...]:
        """The registers; that of explicit states has its arcs, all of which must be known."""
        for token in self.named_states:
            self.declared(token, self.states, "state", "States are declared with 'state'")
        arcs = []
        for *ends, condition in self.arcs:
            a, b = (self.states.index(self.declared(end, self.states, "state")) for end in ends)
            arcs.append((a, b, condition))
        return tuple(
            replace(r, update=ast.Arcs(tuple(arcs), place=r.place)) if r.sugar == STATE else r
            for r in self.registers
        )

    def at_end(self) -> Expr:
        """A function of the registers after the last position, with its cases for 0/0."""
        main = self.expr(ARITHMETIC)
        cases = []
        while self.take("or"):
            body = self.expr(ARITHMETIC)
            self.expect("when", self.usage, expression=True)
            cases.append((self.expr(expressions.CONJUNCTION), body))
        for condition, body in reversed(cases):
            main = self.checked(ast.Choice(condition, body, main, place=self.begin.place))
        for part in subexpressions(main):
            if isinstance(part, ast.Name) and part.name in ("z", "y", "i"):
                said = f"the value is asked after the last position, {part.name!r} is no more"
                raise self.error(part.place, said, "Keep it in a register, or use n")
        return main

    def on_value(self) -> None:
        self.once(self.at_end())

    def on_output(self) -> None:
        token = self.name(self.usage)
        self.expect("=", self.usage)
        value = self.at_end()
        self.outputs.append(ast.Output(self.declare(token, "an output"), value))

    def on_range(self) -> None:
        low = self.fixed()
        self.expect("..", self.usage, expression=True)
        self.once((low, self.fixed()))

    def on_require(self) -> None:
        condition = self.expr()
        text = ""
        if self.token.kind == "text":
            text = self.advance().text[1:-1]
        elif self.token.text.startswith('"'):
            raise self.unexpected(_MEANING)
        self.once(ast.Requirement(condition, text))
        failed = ast.Choice(condition, ast.Name(REQUIRE), _ONE, place=condition.place)
        # Its one value is 0: steps that make it 1 are taken by no hypothesis that is allowed.
        self.add(Register(REQUIRE, REQUIRE, _ZERO, failed, _ZERO, _ZERO, self.begin.place))

    def check_requirement(self, spec: Spec) -> Spec:
        """The spec, whose requirement may not look at the reference, not by a register either."""
        if spec.requirement is not None:
            every = replace(spec, registers=spec.file_registers)
            if "y" in every.tapes[REQUIRE]:
                said = "which hypotheses are allowed may not depend on the reference"
                remedy = "Use z, i, n, parameters and registers that read z alone"
                raise self.error(spec.requirement.condition.place, said, remedy)
        return spec

    def on_example(self) -> None:
        sequences = []
        bound = []
        for _ in range(2):
            token = self.read(self.token.at, _SEQUENCE)
            if not token.text:
                raise self.unexpected(self.usage, "a label sequence")
            self.advance(token)
            sequences.append(token.text[1:-1] if token.kind == "text" else token.text)
        self.expect("=", self.usage)
        value = self.fixed()
        more = self.take("with")
        while more:
            token = self.name(self.usage)
            self.expect("=", self.usage)
            types = {p.name: p.type for p in self.params}
            name = self.declared(token, types, "parameter")
            bound.append((name, self.given(types[name])))
            more = self.take(",")
        z, y = sequences
        self.examples.append(ast.Example(z, y, value, tuple(bound), self.begin.place))
