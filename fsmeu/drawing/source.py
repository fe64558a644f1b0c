"""The text of a loss file with its words, texts and comments set apart, in cards and terminals."""

from __future__ import annotations

from typing import ClassVar

from markupsafe import Markup
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.style import Style
from pygments.token import Comment, Keyword, Name, Operator, String, _TokenType
from rich.text import Text

from fsmeu.errors import visible
from fsmeu.losses.language.lexer import LossLexer


class _Card(Style):  # type: ignore[misc]
    """Colours that can be read on white and on black grounds: notebooks have either."""

    styles: ClassVar[dict[_TokenType, str]] = {
        Comment: "italic #767676",
        Keyword: "bold",
        Operator.Word: "bold",
        String: "#1a8051",
        Name.Builtin: "#2a75c9",
    }


_TERMINAL = {
    Comment: "dim",
    Keyword: "bold",
    Operator.Word: "bold",
    String: "green",
    Name.Builtin: "blue",
}


def source_markup(text: str) -> Markup:
    """HTML with a span for each piece that is set apart; control characters are shown escaped."""
    formatter = HtmlFormatter(nowrap=True, noclasses=True, style=_Card)
    shown = visible(text, keep="\n")
    return Markup(highlight(shown, LossLexer(), formatter).rstrip("\n"))


def source_text(text: str) -> Text:
    """A text for a terminal, its pieces styled; control characters are shown escaped."""
    shown = Text()
    for kind, piece in LossLexer().get_tokens(visible(text, keep="\n\t")):
        shown.append(piece, next((style for one, style in _TERMINAL.items() if kind in one), ""))
    shown.rstrip()
    return shown
