"""Pygments colours loss files as they are meant."""

from pathlib import Path

from pygments.token import Comment, Keyword, Name, Number, Operator, String, Whitespace

import fsmeu
from fsmeu.losses.language.lexer import LossLexer
from tests.support.html import Page

ROOT = Path(__file__).parents[2]
MANY = """loss many(k: int = 1, cost: table, w: real = 2) # words: count by age
labels "a b" -1 c:d # reference
state  here there
arc    here -> there when z != "a b" and not (y == "c:d" or false)
arc    here -> here otherwise
count  bad by cost[z, y] * 1.5e-3
value  min(bad, inf) / (if at here then n else 2^k) or 0 when n == 0
range  0 .. inf
"""


def pieces(text):
    """The kind and text of each token by the lexer, blanks and comments left out."""
    found = LossLexer().get_tokens(text)
    return [(kind, piece) for kind, piece in found if kind not in (Whitespace, Comment.Single)]


def test_kinds_of_tokens():
    """Functions, names that every file has and types are set apart from the names of a file."""
    of = {text: kind for kind, text in pieces(MANY)}
    assert of["min"] == Name.Builtin
    assert {of[name] for name in ("z", "y", "n", "inf")} == {Name.Builtin.Pseudo}
    assert {of[name] for name in ("int", "real", "table")} == {Keyword.Type}
    assert {of[name] for name in ("many", "here", "cost", "k")} == {Name}
    assert {of[word] for word in ("and", "or", "not")} == {Operator.Word}
    assert of["1.5e-3"] in Number
    assert of['"a b"'] in String
    assert of["c:d"] == of["-1"] == String.Symbol  # labels without quotes
    assert {"words", "age", "reference"}.isdisjoint(of)


def test_the_lexer_is_found_by_its_name():
    """The entry point by which Pygments, mkdocs and notebooks find it names the class."""
    lines = (ROOT / "pyproject.toml").read_text("utf-8").splitlines()
    begin = lines.index('[project.entry-points."pygments.lexers"]')
    name, place = lines[begin + 1].split("#")[0].split(" = ")
    assert name in LossLexer.aliases
    assert place.strip() == f'"{LossLexer.__module__}:{LossLexer.__name__}"'


def test_cards_show_the_file():
    """With words in bold."""
    card = Page(fsmeu.loads(MANY, cost=1)._repr_html_())
    assert card.texts("pre") == [MANY.strip("\n")]
    bold = set(card.texts("span", style="font-weight: bold"))
    assert {"state", "arc", "otherwise", "and"} <= bold
