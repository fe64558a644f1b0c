"""Expressions of a loss file, read from left to right, every name resolved on the way.

Nothing in a file is executed. Size and nesting are checked as it is read. An error says where, what
was expected there, and what to do.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import replace
from typing import NamedTuple

from fsmeu.errors import LossFileError, nearest, shorten
from fsmeu.losses.language import syntax as ast
from fsmeu.losses.language.syntax import Expr, Place, fault, parts, subexpressions
from fsmeu.losses.language.words import (
    FIXED,
    FOREIGN,
    FUNCTIONS,
    NAME,
    NUMBER,
    RESERVED,
    SIGN,
    TEXT,
    WORDS,
)

MAX_SIZE = 64_000
MAX_DEPTH = 150
_MAX_PARTS = 100_000

_ALIKE = 0.7  # how much of a word must agree with one of the language: words of English text do not

_MOST_SIDES = 2
_FUNCTION = "a function"
_MEMORY = "a memory"
_PARAMETER = "a parameter"
LABEL = "a parameter that is a label"
_REGISTERS = ("a count", "an age", _MEMORY, "a flag", "a register", "the state")
_MEANINGS = dict.fromkeys(FIXED, "a word with a fixed meaning")
_MEANINGS |= dict.fromkeys(FUNCTIONS, _FUNCTION)

_EQUALITY = ("==", "!=")
_COMPARE = (*_EQUALITY, "<", "<=", ">", ">=")
ANY = 1
CONJUNCTION = 2
_NOT = 3
_COMPARISON = 4
ARITHMETIC = 5
_MINUS = 7
_LEVELS = {"or": ANY, "and": CONJUNCTION, **dict.fromkeys(_COMPARE, _COMPARISON)}
_LEVELS |= {"+": ARITHMETIC, "-": ARITHMETIC, "*": 6, "/": 6, "%": 6, "^": 8}
"""How closely each operator binds; an expression of a level has operators of at least that."""

_OPERANDS = ("true", "false", "old", "at", "(")

_BEFORE = ("prev", "previous", "lag", "before", "pred", "prior")  # what others call label i - 1
_FOREIGN = "|".join(re.escape(sign) for sign in sorted(FOREIGN, key=len, reverse=True))

_BLANK = re.compile(r"(?:\s|#[^\n]*)*")
_TOKEN = re.compile(
    rf"(?P<foreign>(?!!=(?!=))(?:{_FOREIGN}))|(?P<number>{NUMBER})|(?P<text>{TEXT})"
    rf"|(?P<name>{NAME})|(?P<sign>{SIGN})|(?P<other>\S+)"
)

_OPERATOR = "an expression is missing after the operator"
_OPEN = "an opened bracket is not closed, or something is missing before it closes"
_CLOSED = "a bracket closes that was never opened"
_EQUAL = "'==' compares; a single '=' does not"
_CHAIN = "comparisons do not chain; join two with 'and'"
_IN_BRACKETS = "a condition that counts as 1 or 0 stands in brackets here"
_CHARACTER = "this character is not part of the language (powers are written ^)"
_IF = "'if' is written: if CONDITION then EXPRESSION else EXPRESSION"
_AFTER = {
    "if": _IF,
    "[": "an entry is asked for in one pair of brackets after a name: cost[z, y], m[0]",
    "is": _EQUAL,
    "in": "'in' is not asked of labels; compare them one by one: (z == 1 or z == 2)",
}
"""What is said of a sign or word that follows an expression, where other languages have it."""
_OLD = "'old' is followed by the name of a register, 'at' by the name of a state"


class Token(NamedTuple):
    """A piece of the file: a number, text, name, word, sign, end, foreign sign, or other thing."""

    kind: str
    text: str
    at: int
    place: Place


class Expressions:
    """The place in a file up to which it has been read, and what its names mean so far.

    ``token`` is the next one, ``meaning`` what each name is, ``labels`` those that the file has
    named so far, ``label_memories`` the memories of them, ``sides`` what chooses an entry of a
    table, a label, a position or a number, ``named_states`` those that were named, perhaps before
    they are declared, ``usage`` how the statement that is read is written.
    """

    def __init__(self, source: str, origin: str) -> None:
        self.source = source
        self.origin = origin
        if len(source) > MAX_SIZE:
            must = f"a loss file may have at most {MAX_SIZE:,} characters"
            raise LossFileError(origin, must, given=f"{len(source):,}")
        self.meaning = _MEANINGS.copy()
        self.labels: tuple[int | str, ...] | None = None
        self.label_memories: set[str] = set()
        self.lets: dict[str, Expr] = {}
        self.tables: list[str] = []
        self.sides: dict[str, tuple[str, ...]] = {}
        self.states: tuple[str, ...] = ()
        self.named_states: list[Token] = []
        self.usage = ""
        self._lines = [0, *(match.end() for match in re.finditer("\n", source))]
        self._depth = self._parts = 0
        self._beside_label = False  # whether what is read next is compared with a label
        self.token = self.read(0)

    # -- tokens --------------------------------------------------------------------------------

    def read(self, begin: int, pattern: re.Pattern[str] = _TOKEN) -> Token:
        """The token that begins there, or after blanks and comments."""
        at = _BLANK.match(self.source, begin).end()  # type: ignore[union-attr]
        match = pattern.match(self.source, at)
        if at == len(self.source):
            lines = self.source.rstrip("\n").split("\n")
            return Token("end", "", at, Place(len(lines), len(lines[-1]) + 1))
        line = bisect_right(self._lines, at)
        place = Place(line, at - self._lines[line - 1] + 1)
        kind, text = (match.lastgroup or "other", match.group()) if match else ("other", "")
        return Token("word" if text in RESERVED else kind, text, at, place)

    def advance(self, token: Token | None = None) -> Token:
        """The next token, or one that was read in its place, which is passed over."""
        taken = token or self.token
        self.token = self.read(taken.at + len(taken.text))
        return taken

    def take(self, text: str) -> bool:
        """Passes over the next token if it is this one."""
        if self.token.text == text:
            self.advance()
            return True
        return False

    def expect(self, text: str, usage: str, expression: bool = False) -> None:
        """Passes over the next token, which must be this one, perhaps after an expression."""
        if not self.take(text):
            raise (self.after_expression if expression else self.unexpected)(usage, f"{text!r}")

    def name(self, usage: str) -> Token:
        """The next token, which must be a name."""
        if self.token.kind != "name":
            raise self.unexpected(usage, "a name")
        return self.advance()

    # -- errors --------------------------------------------------------------------------------

    def error(
        self, place: Place, must: str, remedy: str = "", given: str | None = None
    ) -> LossFileError:
        """The error of a place in the file."""
        return fault(self.origin, self.source, place, must, remedy, given)

    def unexpected(self, must: str, expected: str = "") -> LossFileError:
        """The error of the next token, which cannot stand where it does."""
        text = self.token.text[:40]
        if own_word(text):
            return self._foreign(self.token)
        remedy = near_word(text) or (f"Expected {expected}" if expected else "")
        if text in WORDS and expected == "a name":
            remedy = f"{text!r} is a word of the language: choose another name"
        given = repr(text) if text else "the end of the file"
        return self.error(self.token.place, must, remedy, given)

    def _foreign(self, token: Token) -> LossFileError:
        """The error of a sign or word of another language, which is written otherwise in this."""
        said = f"{token.text!r} is no sign or word of the language"
        return self.error(token.place, said, f"Write {own_word(token.text)!r}")

    def after_expression(self, must: str, expected: str = "") -> LossFileError:
        """The error of the next token, which goes on with an expression where none can."""
        text = self.token.text
        if text == "=":
            must = _EQUAL
        elif text in _AFTER:
            must = _AFTER[text]
        elif text in (*_COMPARE, "and", "or", "not"):
            must = _IN_BRACKETS
        elif text in (")", "]") and must != _OPEN:
            must = _CLOSED
        elif self.token.kind == "other":
            must = _CHARACTER
        return self.unexpected(must, expected)

    # -- expressions ---------------------------------------------------------------------------

    def expr(self, level: int = ANY) -> Expr:
        """The expression that comes next, of at least a level; ``usage`` is said if none."""
        expr = self._operators(self.usage, level)
        self._parts += _size(expr)[0]
        if self._parts > _MAX_PARTS:
            said = f"with every 'let' in place, a file may have {_MAX_PARTS:,} parts"
            raise self.error(expr.place, said)
        return expr

    def checked(self, expr: Expr) -> Expr:
        """The same expression, unless it is too deep for what walks it."""
        if _size(expr)[1] > MAX_DEPTH:
            raise self._too_deep(expr.place)
        return expr

    def _too_deep(self, place: Place) -> LossFileError:
        said = f"with every 'let' in place, expressions may be nested {MAX_DEPTH} deep"
        return self.error(place, said, "This one is deeper")

    def _operators(self, missing: str, level: int) -> Expr:
        place = self.token.place
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise self._too_deep(place)
        left = self._prefixed(missing, level)
        while level <= (binds := _LEVELS.get(self.token.text, 0)):
            operator = self.advance().text
            self._beside_label = operator in _EQUALITY and self._is_label(left)
            right = self._operators(_OPERATOR, _MINUS if operator == "^" else binds + 1)
            self._beside_label = False
            left = self.checked(ast.Binary(operator, left, right, place=place))
            if binds == _COMPARISON and self.token.text in _COMPARE:
                raise self.unexpected(_CHAIN)
        self._depth -= 1
        return left

    def _prefixed(self, missing: str, level: int) -> Expr:
        """An operand, with the minus, ``not`` or ``if`` before it."""
        place = self.token.place
        if level <= _MINUS and self.take("-"):
            return self.checked(ast.Unary("-", self._operators(_OPERATOR, _MINUS), place=place))
        if level <= _NOT and self.take("not"):
            return self.checked(ast.Unary("not", self._operators(_OPERATOR, _NOT), place=place))
        if level <= ARITHMETIC and self.take("if"):
            condition = self._operators(_IF, ANY)
            self.expect("then", _IF, expression=True)
            yes = self._operators(_IF, ARITHMETIC)
            self.expect("else", _IF, expression=True)
            no = self._operators(_IF, ARITHMETIC)
            return self.checked(ast.Choice(condition, yes, no, place=place))
        return self._operand(missing)

    def _operand(self, missing: str) -> Expr:
        kind, text, _, place = token = self.token
        if kind == "other" or text == "not":
            raise self.unexpected(_CHARACTER if kind == "other" else _IN_BRACKETS)
        if kind not in ("number", "text", "name") and text not in _OPERANDS:
            raise self.unexpected(missing)
        self.advance()
        if text == "(":
            inner = self._operators(_OPEN, ANY)
            self.expect(")", _OPEN, expression=True)
            return inner
        if kind == "name":
            return self._named(token)
        if text == "old":
            name = self.name(_OLD)
            if self.token.text == "[":
                return replace(self._index(name, place), old=True)
            return self._old(name.text, place)
        if text == "at":
            self.named_states.append(self.name(_OLD)._replace(place=place))
            return ast.At(self.named_states[-1].text, place=place)
        if kind == "text":
            return ast.Text(text[1:-1], place=place)
        return ast.Number(float(text) if kind == "number" else float(text == "true"), place=place)

    def _arguments(self, close: str) -> tuple[Expr, ...]:
        """The expressions in brackets, of which the first is the next token."""
        self.advance()
        inside = [self._operators(_OPEN, ANY)]
        while self.take(","):
            self._beside_label = self._names_labels(inside[0])  # as in tally(m, "B")
            inside.append(self._operators(_OPEN, ANY))
        self.expect(close, _OPEN, expression=True)
        return tuple(inside)

    def _named(self, token: Token) -> Expr:
        name = token.text
        place = token.place
        if self.token.text == "(":
            return self._call(name, place)
        if self.token.text == "[":
            return self._index(token, place)
        if name in self.lets:
            return self.lets[name]
        if name in self.tables:
            raise self.error(place, f"{name!r} is a table; ask for an entry such as {name}[z, y]")
        if name == "inf":
            return ast.Number(float("inf"), place=place)
        if self.meaning.get(name, _FUNCTION) != _FUNCTION:
            return ast.Name(name, place=place)
        if name in self.states:
            said = f"{name!r} is a state; write 'at {name}' to ask whether it is reached"
            raise self.error(place, said)
        raise self._unknown(token)

    def _unknown(self, token: Token) -> LossFileError:
        """The error of a name that means nothing: perhaps a label, or a name with a slip in it."""
        name = token.text
        place = token.place
        if own_word(name):
            return self._foreign(token)
        declared = [other for other in self.meaning if other not in _MEANINGS]
        if self._beside_label or self._label_follows():
            labels = self.labels
            if labels is None or name in labels:
                said = f"the name {name!r} is not known here; a label is written in quotes"
                return self.error(place, said, f'Write "{name}"')
            shown = ", ".join(f'"{x}"' if isinstance(x, str) else str(x) for x in labels)
            said = f"{name} is not a label; the labels are {shorten(shown)}"
            return self.error(place, said, nearest(name, [*map(str, labels), *declared]))
        hint = "Names are declared above their use"
        hint += f"; so far: {shorten(', '.join(declared))}" if declared else ""
        said = f"the name {name!r} is not known here"
        return self.error(place, said, nearest(name, declared) or hint)

    def _label_follows(self) -> bool:
        """Whether the next token compares what was read with a label."""
        if self.token.text not in _EQUALITY:
            return False
        other = self.read(self.token.at + len(self.token.text)).text
        return other in ("z", "y", "kind", "type") or other in self.label_memories

    def _is_label(self, expr: Expr) -> bool:
        """Whether an expression is a label, or the kind or type of one, by the look of it."""
        match expr:
            case ast.Name():
                return expr.name in ("z", "y") or self.meaning.get(expr.name) == LABEL
            case ast.Index():
                return expr.name in self.label_memories
            case ast.Call():
                return expr.function in ("kind", "type")
        return False

    def _names_labels(self, expr: Expr) -> bool:
        """Whether an expression is the name of a memory of labels."""
        return isinstance(expr, ast.Name) and expr.name in self.label_memories

    @property
    def _registers(self) -> list[str]:
        return [name for name, what in self.meaning.items() if what in _REGISTERS]

    def _old(self, name: str, place: Place) -> Expr:
        if name not in self._registers:
            hint = nearest(name, self._registers)
            if name in ("z", "y"):
                hint = f"Write 'memory m of {name} last 1' above and 'old m[0]' here"
                hint += ": none at the start"
            raise self.error(place, f"'old' needs a register, {name!r} is none", hint)
        return ast.Old(name, place=place)

    def _call(self, name: str, place: Place) -> Expr:
        inside = self._arguments(")")
        if name not in FUNCTIONS:
            hint = nearest(name, FUNCTIONS) or f"Functions are {', '.join(FUNCTIONS)}"
            first = inside[0]
            if name.lower() in _BEFORE and isinstance(first, ast.Name):
                minus_one = ast.Binary("-", ast.Name("i"), ast.Number(1.0))
                hint = self._instead_of_index(first.name, minus_one) or hint
            raise self.error(place, f"there is no function {name!r}", hint)
        least, most = FUNCTIONS[name]
        if not least <= len(inside) <= most:
            count = f"{least}" if least == most else f"at least {least}"
            said = f"{name} takes {count} argument(s), it is given {len(inside)}"
            raise self.error(place, said)
        if name in ("tally", "sum"):
            first = inside[0]
            if not isinstance(first, ast.Name) or self.meaning.get(first.name) != _MEMORY:
                said = f"the first argument of {name} must be the name of a memory"
                raise self.error(first.place, said)
        return self.checked(ast.Call(name, inside, place=place))

    def _index(self, token: Token, place: Place) -> ast.Index:
        name = token.text
        is_memory = self.meaning.get(token.text) == _MEMORY
        inside = self._arguments("]")
        if not is_memory and name not in self.tables:
            said = f"only a memory or a table parameter has entries, {name!r} is neither"
            raise self.error(place, said, self._instead_of_index(name, inside[0]))
        if is_memory and len(inside) != 1:
            raise self.error(place, f"{name}[j] takes one index: how many steps back")
        for part in subexpressions(inside[0]) if is_memory else ():
            moves = isinstance(part, ast.Text | ast.Old | ast.At | ast.Index)
            if isinstance(part, ast.Name):
                moves = part.name != "n" and self.meaning.get(part.name) != _PARAMETER
            if moves:
                said = f"how many steps back {name}[...] looks must be a number or a parameter"
                raise self.error(part.place, said)
        if not is_memory and len(inside) > _MOST_SIDES:
            raise self.error(place, f"a table has one side or two: {name}[z] or {name}[z, y]")
        sides = tuple(map(self._side, inside))
        if not is_memory and self.sides.setdefault(name, sides) != sides:
            read = " and by ".join(map(_side_text, (self.sides[name], sides)))
            raise self.error(place, f"the table {name} is read by {read}", "Use two tables")
        index = ast.Index(name, inside, place=place)
        self.checked(index)
        return index

    def _side(self, index: Expr) -> str:
        """What chooses an entry of a table: a label, the position i, or another number.

        A number is what looks at the position, the length, or a register that holds no labels.
        """
        if isinstance(index, ast.Name) and index.name == "i":
            return "position"
        numbers = {"i", "n", *self._registers} - self.label_memories
        counts = any(
            isinstance(x, ast.Call) and x.function in ("tally", "sum")
            for x in subexpressions(index)
        )
        return "number" if counts or ast.names_read(index) & numbers else "label"

    def _instead_of_index(self, name: str, index: Expr) -> str:
        """What to write in the place of z[i - 1] and the like."""
        if name in self._registers:
            return f"Write 'old {name}' for its value before this step"
        if name not in ("z", "y"):
            return nearest(name, [*self.tables, *self._registers])
        back = 1
        match index:
            case ast.Name(name="i"):
                return f"{name} is the label at position i. Write {name}"
            case ast.Binary(operator="+", left=ast.Name(name="i")):
                hint = "Sequences are read from left to right: when that label is reached, "
                return f"{hint}'old m[0]' is this one, with 'memory m of {name} last 1' above"
            case ast.Binary(operator="-", left=ast.Name(name="i"), right=ast.Number(value=steps)):
                back = max(1, int(min(steps, 64.0)))
        memory = f"Write 'memory m of {name} last {back}' above and 'old m[{back - 1}]' here"
        return f"{memory} for the label {back} step{'s' * (back > 1)} before"

    def declare(self, token: Token, what: str) -> str:
        """Takes a new name; a LossFileError if it is taken."""
        if token.text in self.meaning:
            said = f"the name {token.text!r} is taken: it is {self.meaning[token.text]}"
            raise self.error(token.place, said, "Choose another name")
        self.meaning[token.text] = what
        return token.text

    def declared(self, token: Token, names: Iterable[str], what: str, hint: str = "") -> str:
        """A name, which must be one of these; a LossFileError if it is not."""
        if token.text not in names:
            said = f"{token.text!r} is not a {what}"
            raise self.error(token.place, said, nearest(token.text, names) or hint)
        return token.text


def _size(expr: Expr) -> tuple[int, int]:
    """How many parts an expression has, and how deep they are nested; cached on it."""
    cached: tuple[int, int] | None = vars(expr).get("_size")
    if cached is None:
        inside = [_size(part) for part in parts(expr)]
        cached = 1 + sum(size for size, _ in inside), 1 + max((d for _, d in inside), default=0)
        object.__setattr__(expr, "_size", cached)
    return cached


def _side_text(sides: tuple[str, ...]) -> str:
    """What chooses an entry of a table, in words."""
    if len(set(sides)) == 1 and len(sides) > 1:
        return f"{len(sides)} {sides[0]}s"
    return " and ".join(f"one {side}" for side in sides)


def own_word(text: str) -> str:
    """What the language writes for a sign or word of another, such as && or AND; "" for others."""
    lower = text.lower()
    if lower in ("elif", "elsif", "elseif"):
        return "else if"
    return FOREIGN.get(text) or (lower if lower in WORDS and text not in WORDS else "")


def near_word(word: str) -> str:
    """A hint when a word is nearly a word of the language; short words are like too many."""
    return nearest(word, WORDS, _ALIKE) if len(word) > 2 and word not in WORDS else ""
