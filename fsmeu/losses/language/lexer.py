"""Pygments' lexer of loss files: documentation, notebooks and the terminal colour them by it.

Words, functions and the forms of tokens are the reader's own, so that both know one language.
"""

from __future__ import annotations

from typing import Any, ClassVar

from pygments.lexer import RegexLexer, bygroups, default, words
from pygments.token import (
    Comment,
    Keyword,
    Name,
    Number,
    Operator,
    Punctuation,
    String,
    Whitespace,
)

from fsmeu.losses.language import words as language

_OPERATORS = ("and", "or", "not")
_CONSTANTS = ("true", "false")
_KEYWORDS = [word for word in language.RESERVED if word not in (*_OPERATORS, *_CONSTANTS)]
_NO_WORD = rf"(?!(?:{'|'.join(language.RESERVED)})(?:[\s\"#]|\Z))"  # a word ends the labels
_TYPED = bygroups(Punctuation, Whitespace, Keyword.Type)
_BLANKS = [(r"\s+", Whitespace), (r"#[^\n]*", Comment.Single)]


class LossLexer(RegexLexer):  # type: ignore[misc]
    """The tokens of a loss file, for Pygments."""

    name = "fsmeu loss"
    aliases: ClassVar[list[str]] = ["loss"]
    filenames: ClassVar[list[str]] = ["*.loss"]
    tokens: ClassVar[dict[str, list[Any]]] = {
        "root": [
            *_BLANKS,
            (r"labels\b", Keyword, "labels"),
            (r"example\b", Keyword, "example"),
            (words(_KEYWORDS, suffix=r"\b"), Keyword),
            (words(_OPERATORS, suffix=r"\b"), Operator.Word),
            (words(_CONSTANTS, suffix=r"\b"), Keyword.Constant),
            (words(language.FUNCTIONS, suffix=r"(?=\s*\()"), Name.Builtin),
            (words(language.FIXED, suffix=r"\b"), Name.Builtin.Pseudo),
            (rf"(:)(\s*)({'|'.join(language.TYPES)})\b", _TYPED),
            (language.NAME, Name),
            (language.NUMBER, Number),
            (language.TEXT, String),
            (r"[()\[\]{},:]", Punctuation),
            (language.SIGN, Operator),
        ],
        "labels": [
            *_BLANKS,
            (language.TEXT, String),
            (_NO_WORD + language.LABEL, String.Symbol),
            default("#pop"),
        ],
        "example": [
            *_BLANKS,
            (language.TEXT, String),
            (language.SEQUENCE, String.Symbol),
            (r"=", Operator, "#pop"),
        ],
    }
