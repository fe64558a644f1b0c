"""Text of a loss file to its parts; an error says where, what was expected, and what to do.

Nothing in a file is executed. Size and nesting are checked before anything recursive sees them.
"""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files
from typing import Any

from lark import Lark, Token, Tree
from lark.exceptions import UnexpectedCharacters, UnexpectedInput, UnexpectedToken
from lark.lexer import ContextualLexer

from fsmeu.errors import LossFileError, message
from fsmeu.losses.language.messages import STATEMENT, SYNTAX_ERRORS, WORDS, fault, near_word
from fsmeu.losses.language.syntax import Place

MAX_SIZE = 64_000
MAX_TOKENS = 8_000
MAX_DEPTH = 150

_BRACKETS = re.compile(r"[()\[\]]")
_QUOTED = re.compile(r'"[^"\n]*"|#[^\n]*')
_TOKEN = re.compile(r"\w+|[^\w\s]")
_FALLBACK = "this was not expected here"
_NAMES = {
    "$END": "the end of the file",
    "NAME": "a name",
    "NUMBER": "a number",
    "STRING": "a quoted text",
    "LABEL": "a label",
    "SEQ": "a label sequence",
    "COMPARE": "a comparison (==, !=, <, <=, >, >=)",
    "ADD": "'+'",
    "MINUS": "'-'",
    "MUL": "'*' or '/'",
    "POW": "'^'",
    "LPAR": "'('",
    "RPAR": "')'",
    "LSQB": "'['",
    "RSQB": "']'",
    "COMMA": "','",
    "EQUAL": "'='",
    "COLON": "':'",
    "__ANON_0": "'..'",
    "__ANON_1": "'->'",
    "KIND": "'utility' or 'loss'",
    "TYPE": "'int', 'real' or 'table'",
}


class _Lexer(ContextualLexer):
    """The lexer of a grammar that is known to be sound.

    Where interegular is installed, lark compares all terminals with each other, which takes longer
    than all else that a command does; a test builds the grammar with that comparison.
    """

    def __init__(self, conf: Any, *rest: Any, **more: Any) -> None:
        conf.skip_validation = True
        super().__init__(conf, *rest, **more)


def grammar() -> str:
    """The grammar of loss files, as lark reads it."""
    return files("fsmeu.losses.language").joinpath("loss.lark").read_text(encoding="utf-8")


@cache
def _parser() -> Lark:
    plugins = {"ContextualLexer": _Lexer}
    return Lark(
        grammar(),
        parser="lalr",
        propagate_positions=True,
        maybe_placeholders=True,
        _plugins=plugins,
    )


def parse(source: str, origin: str = "<text>") -> Tree[Token]:
    """The parse tree of a loss file; a LossFileError if it is too long, too deep or malformed."""
    if len(source) > MAX_SIZE:
        must = f"a loss file may have at most {MAX_SIZE:,} characters"
        raise LossFileError(message(origin, must, f"{len(source):,}"))
    try:
        _check_tokens(source, origin)
        tree = _parser().parse(source)
    except UnexpectedInput as error:
        raise _syntax_error(source, origin, error) from None
    _check_depth(tree, source, origin)
    return tree


def place_of(item: Tree[Token] | Token) -> Place:
    """Where a token or a tree begins."""
    if isinstance(item, Token):
        return Place(item.line or 0, item.column or 0)
    if item.meta.empty:
        return Place()
    return Place(item.meta.line, item.meta.column)


def _check_tokens(source: str, origin: str) -> None:
    """Counts words and open brackets, before the parser builds anything."""
    depth = 0
    for bracket in _BRACKETS.findall(_QUOTED.sub(" ", source)):
        depth += 1 if bracket in "([" else -1
        if depth > MAX_DEPTH:
            must = f"brackets may be nested {MAX_DEPTH} deep"
            raise LossFileError(message(origin, must, None, "Name a part with 'let'"))
    tokens = sum(1 for _ in _TOKEN.finditer(source))
    if tokens > MAX_TOKENS:
        must = f"a loss file may have at most {MAX_TOKENS:,} words and signs"
        raise LossFileError(message(origin, must, f"{tokens:,}"))


def _check_depth(tree: Tree[Token], source: str, origin: str) -> None:
    stack: list[tuple[Tree[Token], int]] = [(tree, 1)]
    while stack:
        node, depth = stack.pop()
        if depth > MAX_DEPTH:
            message = f"expressions may be nested {MAX_DEPTH} deep, this one is deeper"
            raise fault(origin, source, place_of(node), message, "Name a part of it with 'let'")
        stack.extend((child, depth + 1) for child in node.children if isinstance(child, Tree))


def _syntax_error(source: str, origin: str, error: UnexpectedInput) -> LossFileError:
    place, token = _place_and_word(source, error)
    begin = _line_begin(source, place)
    if begin is not None:
        word = source.split("\n")[begin.line - 1].split()[0][:40]
        return fault(origin, source, begin, f"{STATEMENT} (found {word!r})", near_word(word))
    expected = _expected(error)
    remedy = near_word(token) or (f"Expected {expected}" if expected else "")
    if token in WORDS and expected == _NAMES["NAME"]:
        remedy = f"{token!r} is a word of the language: choose another name"
    got = f" (found {token!r})" if token else " (the file ends here)"
    return fault(origin, source, place, _message(error) + got, remedy)


def _line_begin(source: str, place: Place) -> Place | None:
    """Where the line of an error begins, if its first word should have begun a statement.

    It is the error itself, or what stands before the error was read as labels: a list of these goes
    on to the next word of the language, so it also takes a misspelt one.
    """
    *above, line = source.split("\n")[: place.line]
    before = [text.split("#")[0].split()[:1] for text in above]
    begun = [word for [word] in filter(None, before) if word in WORDS]
    words = line[: place.column - 1].split() or line.split()[:1]
    if not begun or not words or not words[0].isalpha() or any(word in WORDS for word in words):
        return None
    column = len(line) - len(line.lstrip()) + 1
    labels = begun[-1] == "labels"
    return Place(place.line, column) if labels or column == place.column else None


def _message(error: UnexpectedInput) -> str:
    """The message of the example that stopped where this file stopped, if there is one."""
    state, token = _signature(error)
    exact, similar = _signatures()
    return exact.get((state, token)) or similar.get(state) or _FALLBACK


@cache
def _signatures() -> tuple[dict[tuple[int, str], str], dict[int, str]]:
    """Where each malformed example stops, with its message."""
    exact: dict[tuple[int, str], str] = {}
    similar: dict[int, str] = {}
    for text, examples in SYNTAX_ERRORS.items():
        for example in examples:
            try:
                _parser().parse(example)
            except UnexpectedInput as error:
                state, token = _signature(error)
                exact.setdefault((state, token), text)
                similar.setdefault(state, text)
    return exact, similar


def _signature(error: Any) -> tuple[int, str]:
    """The parser state in which an error happened and the kind of token that caused it."""
    state = getattr(error.state, "position", error.state)
    kind = error.token.type if isinstance(error, UnexpectedToken) else "SEQ"
    if kind in ("LABEL", "SEQ"):
        first = str(error.token)[:1] if isinstance(error, UnexpectedToken) else error.char
        kind = "word" if first.isalnum() else "character"
    return int(state), kind


def _place_and_word(source: str, error: UnexpectedInput) -> tuple[Place, str]:
    if isinstance(error, UnexpectedToken) and error.token.type == "$END":
        lines = source.rstrip("\n").split("\n")
        return Place(len(lines), len(lines[-1]) + 1), ""
    if isinstance(error, UnexpectedToken):
        return Place(error.line, error.column), str(error.token)[:40]
    word = source[error.pos_in_stream or 0 :].split()[0][:40] if error.pos_in_stream else source[:1]
    return Place(error.line, error.column), word


def _expected(error: Any) -> str:
    if isinstance(error, UnexpectedToken):
        names = error.accepts or error.expected
    elif isinstance(error, UnexpectedCharacters):
        names = error.allowed or set()
    else:
        return ""
    words = sorted({_NAMES.get(name, f"'{name.lower()}'") for name in names})
    return "" if len(words) > 6 else " or ".join(words)
