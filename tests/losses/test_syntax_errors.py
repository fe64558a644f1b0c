"""Malformed files: the table of messages is walked, and places are exact."""

import logging

import lark
import pytest

import fsmeu
from fsmeu.errors import LossFileError
from fsmeu.losses.language.messages import SYNTAX_ERRORS
from fsmeu.losses.language.parse import grammar

EXAMPLES = [(message, text) for message, texts in SYNTAX_ERRORS.items() for text in texts]


@pytest.mark.parametrize(("message", "text"), EXAMPLES, ids=[repr(t) for _, t in EXAMPLES])
def test_malformed_example_gets_its_message(message, text):
    with pytest.raises(LossFileError) as caught:
        fsmeu.loads(text)
    said = str(caught.value)
    line, column = caught.value.line, caught.value.column
    assert said.startswith(f"<text>:{line}:{column}: {message}")
    assert line == text.count("\n") + 1
    assert 1 <= column <= len(text) + 1


def test_every_message_has_examples_of_its_own():
    texts = [text for _, text in EXAMPLES]
    assert len(set(texts)) == len(texts)
    assert all(SYNTAX_ERRORS.values())


def shown(text):
    """Line, column, and what stands above the caret in the message."""
    with pytest.raises(LossFileError) as caught:
        fsmeu.loads(text)
    said, line, caret = str(caught.value).split("\n")
    assert caret.strip() == "^"
    assert said.startswith(f"<text>:{caught.value.line}:{caught.value.column}: ")
    return caught.value.line, caught.value.column, line[caret.index("^") :]


@pytest.mark.parametrize(
    ("text", "line", "column", "under"),
    [
        ("loss f\ncount bad whn z == 1\nvalue bad", 2, 11, "whn z == 1"),
        ("loss f\nlabels 0 1\nvalue 1 +", 3, 10, ""),
        ("loss f\n\n\n\tvalue (1 + 2\n", 4, 14, ""),
        ("loss f\ncount c\r\nvalue c ? 1", 3, 9, "? 1"),
        ("loss f # a comment\n# another\nvalue 'c'", 3, 7, "'c'"),
        ("loss f\x0c\nvalue 1 1", 2, 9, "1"),
        ("loss f\n" + "count c when z == 1 and " * 9 + "= 3\nvalue c", 2, 25, "count c when z"),
        ("count c\nvalue c", 1, 1, "count c"),
    ],
)
def test_caret_points_at_the_place(text, line, column, under):
    at_line, at_column, above_caret = shown(text)
    assert (at_line, at_column) == (line, column)
    assert above_caret.startswith(under) if under else above_caret == ""


def test_far_columns_are_shown_in_a_window():
    line, column, above_caret = shown("loss f value " + "1 + " * 100 + "? 1")
    assert (line, column) == (1, 414)
    assert above_caret.startswith("? 1")


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("loss f\nconut c\nvalue c", "'count'"),
        ("loss f\ncount c wen z == 1\nvalue c", "'when'"),
        ("los f\nvalue 1", "'loss'"),
        ("loss f\nvalu 1", "'value'"),
        ("loss f\nlabels 0 1\ncuont c when z == 1\nvalue c", "'count'"),
        ("loss f\nlabels 0 1\n\n# a comment\n  regsiter r in 0..1\nvalue 1", "'register'"),
    ],
)
def test_nearest_word_is_offered(text, hint):
    with pytest.raises(LossFileError, match=f"Did you mean {hint}"):
        fsmeu.loads(text)


@pytest.mark.parametrize(
    ("text", "column"),
    [
        ("loss f\nlabels 0 1\nThis counts errors of the hypothesis\nvalue 0", 1),
        ("loss f\ncount c when z != y\nThis counts errors\nvalue 0", 1),
        ("loss f\nlabels 0 1\n  The other one when z is wise\nvalue 0", 3),
    ],
)
def test_prose_is_no_misspelt_statement(text, column):
    with pytest.raises(LossFileError, match="a statement begins with count") as caught:
        fsmeu.loads(text)
    assert "Did you mean" not in str(caught.value)
    assert (caught.value.line, caught.value.column) == (3, column)


def test_labels_may_go_on_in_the_next_line():
    assert fsmeu.loads("loss f\nlabels A B\n  C D\nvalue 0").labels == ("A", "B", "C", "D")
    with pytest.raises(LossFileError, match="count NAME when") as caught:
        fsmeu.loads("loss f\nlabels A B\n  C D count when z\nvalue 0")
    assert caught.value.line == 3


@pytest.mark.parametrize(
    "text", ["let up = 1 value 1", "count in when z == 1 value 1", "flag value when z == 1"]
)
def test_words_of_the_language_are_no_names(text):
    with pytest.raises(LossFileError, match="is a word of the language: choose another name"):
        fsmeu.loads(f"loss f labels 0 1 {text}")


def test_expected_things_are_listed():
    with pytest.raises(LossFileError, match=r"Expected '->'"):
        fsmeu.loads("loss f state a arc a a value 1")


def test_terminal_codes_are_not_repeated():
    with pytest.raises(LossFileError) as caught:
        fsmeu.loads("loss f\nvalue \x1b[31m 1")
    assert "\x1b" not in str(caught.value)


def test_file_is_named(tmp_path):
    file = tmp_path / "mine.loss"
    file.write_text("loss f\nvalue 1 +")
    with pytest.raises(LossFileError) as caught:
        fsmeu.load(file)
    assert str(caught.value).startswith(f"{file}:2:10: ")


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("1 + 2 * 3", 7),
        ("(1 + 2) * 3", 9),
        ("2 ^ 3 ^ 2", 512),
        ("-2 ^ 2", -4),
        ("2 ^ -1", 0.5),
        ("7 - 3 - 2", 2),
        ("12 / 3 / 2", 2),
        ("7 % 4 * 2", 6),
        ("-7 % 4", 1),
        ("1.5e1 + 0.25", 15.25),
        ("(1 < 2) + (2 <= 2) + (3 != 3)", 2),
        ("(not 1 == 2 and 2 == 2)", 1),
        ("(1 == 1 or 1 / 0 == 1)", 1),
        ("(1 == 2 and 1 / 0 == 1)", 0),
        ("(0 == 1 and 0 == 1 or 1 == 1)", 1),
        ("(not (1 == 1 or 1 == 1))", 0),
        ("if 1 == 2 then 3 else if 2 == 2 then 4 else 5", 4),
        ("if true then 1 else 1 / 0", 1),
        ("1 + (if false then 2 else 3) * 2", 7),
        ("min(3, 1, 2) + max(3, 1) + abs(-2)", 6),
        ("floor(2.5) + ceil(2.5) + sqrt(9)", 8),
        ("log(exp(2))", 2),
        ("min(inf, 3)", 3),
        ("1 or 2 when n == 3 or 4 when n == 3", 2),
        ("1 or 2 when n == 1 or 4 when n == 3", 4),
        ("1 or 2 when (n == 1 or n == 2)", 1),
    ],
)
def test_operators_bind_as_in_mathematics(written, meant):
    assert fsmeu.loads(f"loss f value {written}")("000", "000") == pytest.approx(meant, rel=1e-15)


def test_terminals_of_the_grammar_do_not_collide(caplog):
    """Lark's own comparison, left out at run time, finds no two that it could not tell apart."""
    pytest.importorskip("interegular")
    with caplog.at_level(logging.WARNING, logger=lark.logger.name):
        lark.Lark(grammar(), parser="lalr", maybe_placeholders=True)
    assert not [record for record in caplog.records if "ollision" in record.getMessage()]
