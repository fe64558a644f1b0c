"""Malformed files: the table of messages is walked, and places are exact."""

import pytest

import fsmeu
from fsmeu.errors import LossFileError
from tests.support.tables import by_message

TABLE = r"""
a loss file begins with 'utility NAME' or 'loss NAME'
    ^:  | ^: count bad | ^: f(k) | ^: value 1 |
'utility' and 'loss' are followed by a name
    ^: loss | ^: loss (k) | ^: utility "text" | ^: loss 1 |
a parameter is written NAME, NAME = default, or NAME: int = default in LOW..HIGH
    ^: loss f(1) | ^: loss f(k,) | ^: loss f(k = ) | ^: loss f(k: text) | ^: loss f(k in 3) |
    ^: loss f(k in ) | ^: loss f(k: ) | ^: loss f(k value 1 |
the text after the name needs a closing quote on the same line
    "text |
'count' is written: count NAME when CONDITION, or count NAME by AMOUNT when CONDITION
    count 3 | count when z == 1 | count bad z == 1 | count bad when value 1 |
    count bad by when z == 1 |
'age' is written: age NAME since CONDITION up to LIMIT
    age a when z == 1 | age since z | age a since z == 1 value 1 | age a since z == 1 up 3 |
    age a since z == 1 up to value 1 |
'memory' is written: memory NAME of z last K (or of EXPRESSION in LOW..HIGH last K)
    memory m z | memory of z | memory m of z value 1 | memory m of z last value 1 |
    memory m of value 1 |
'flag' is written: flag NAME when CONDITION
    flag when z == 1 | flag f z == 1 | flag f when value 1 |
'register' is written: register NAME in LOW..HIGH start VALUE next EXPRESSION
    register r start 0 | register r in 0 start 0 | register r in 0..3 next r |
    register r in 0..3 start 0 value 1 | register r in 0..3 start next r | register in 0..3 |
'state' is followed by the names of the states, the first is the start
    state value 1 | state 1 2 |
'arc' is written: arc STATE -> STATE when CONDITION, or with 'otherwise' at the end
    state a arc a | state a arc -> a | state a arc a -> when | state a arc a a |
    state a arc a -> a when value 1 |
'labels' is followed by labels, by 'any', or by 'bio', 'iob1' or 'iobes'
    labels value 1 |
'reference' is followed by a quoted text
    reference Jansche | reference 1 |
'let' is written: let NAME = EXPRESSION
    let = 3 | let a 3 | let a = value 1 |
'output' is written: output NAME = EXPRESSION, then maybe: or EXPRESSION when CONDITION
    output | output 1 | output a value 1 | output a = value 1 | output a = 1 or value 1 |
'value' is followed by an expression, then maybe: or EXPRESSION when CONDITION
    value | value or 1 | value 1 or when n == 0 | value 1 or 2 | value 1 or 2 example |
    value 1 or 2 when value |
'range' is written: range LOW .. HIGH
    range 3 | range .. 3 | range 0 .. value |
'example' is written: example Z Y = VALUE, or with parameters: example Z Y = VALUE with k = 2
    example 01 | example 01 = 3 | example 01 01 3 | example 01 01 = value |
    example 01 01 = 1 with | example 01 01 = 1 with k |
'if' is written: if CONDITION then EXPRESSION else EXPRESSION
    value if z == 1 | value if z == 1 then 2 | value if then | value if z == 1 then else 2 |
    value if z == 1 then 2 else |
'==' compares; a single '=' does not
    count bad when z = 1 |
comparisons do not chain; join two with 'and'
    count bad when 1 < z < 3 |
a condition that counts as 1 or 0 stands in brackets here
    value n == 1 | value not n | count bad by n == 1 | count bad by not n |
    memory m of z != y last 2 | memory m of not z last 2 | value 1 + not n | value n and 1 |
    value if n == 1 then n == 2 else 3 |
an opened bracket is not closed, or something is missing before it closes
    value (1 | value (1 value 2 | value min(1, 2 | value min(1, ) | value m[0 | value m[] |
    value () |
a bracket closes that was never opened
    value 1) | memory m of z last 1 value m] |
an expression is missing after the operator
    value 1 + | value 1 * value | value - | count bad when not | count bad when z == |
    count bad when z == 1 and | value 2 ^ |
'old' is followed by the name of a register, 'at' by the name of a state
    value old | value at 3 |
this character is not part of the language (powers are written ^)
    value 1 ? 2 | value `1` | count bad when z & y |
a statement begins with count, age, memory, flag, register, state, arc, let, labels, value,
    value 1 tp | foo | value 1 2 |
"""
"""Messages with malformed files that deserve them: what follows ``loss f``, or whole after ^:."""

EXAMPLES = by_message(TABLE, {"": "loss f ", "^": ""})


@pytest.mark.parametrize(("message", "text"), EXAMPLES, ids=[repr(t) for _, t in EXAMPLES])
def test_malformed_example_gets_its_message(message, text):
    with pytest.raises(LossFileError) as caught:
        fsmeu.loads(text)
    said = str(caught.value)
    line, column = caught.value.line, caught.value.column
    assert said.startswith(f"<text>:{line}:{column}: {message}")
    assert line == text.count("\n") + 1
    assert 1 <= column <= len(text) + 1


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


def test_labels_may_begin_with_words_of_the_language():
    """A word is one of the language only by itself."""
    loss = fsmeu.loads('loss f labels or-x "value" count1 a#b\n at:2 count c when z != y value c')
    assert loss.labels == ("or-x", "value", "count1", "a", "at:2")


@pytest.mark.parametrize("text", ["countc when z value 1", "count c when z value1"])
def test_words_are_not_taken_apart(text):
    with pytest.raises(LossFileError, match="a statement begins with"):
        fsmeu.loads(f"loss f labels 0 1 {text}")


def test_states_may_be_named_before_they_are_declared():
    arcs = "arc A -> B when z != y arc A -> A otherwise arc B -> B"
    before = fsmeu.loads(f"loss f let end = at B {arcs} state A B value end")
    after = fsmeu.loads(f"loss f state A B {arcs} value at B")
    assert [loss("011", "010") for loss in (before, after)] == [1, 1]
    with pytest.raises(LossFileError, match="'C' is not a state"):
        fsmeu.loads("loss f count c when at C state A arc A -> A value c")


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


OPERATORS = """
1 + 2 * 3 = 7 | (1 + 2) * 3 = 9 | 2 ^ 3 ^ 2 = 512 | -2 ^ 2 = -4 | 2 ^ -1 = 0.5 | 7 - 3 - 2 = 2
12 / 3 / 2 = 2 | 7 % 4 * 2 = 6 | -7 % 4 = 1 | 1.5e1 + 0.25 = 15.25 | log(exp(2)) = 2
(1 < 2) + (2 <= 2) + (3 != 3) = 2 | (not 1 == 2 and 2 == 2) = 1 | (1 == 1 or 1 / 0 == 1) = 1
(1 == 2 and 1 / 0 == 1) = 0 | (0 == 1 and 0 == 1 or 1 == 1) = 1 | (not (1 == 1 or 1 == 1)) = 0
if 1 == 2 then 3 else if 2 == 2 then 4 else 5 = 4 | if true then 1 else 1 / 0 = 1
1 + (if false then 2 else 3) * 2 = 7 | min(3, 1, 2) + max(3, 1) + abs(-2) = 6 | min(inf, 3) = 3
floor(2.5) + ceil(2.5) + sqrt(9) = 8 | 1 or 2 when n == 3 or 4 when n == 3 = 2
1 or 2 when n == 1 or 4 when n == 3 = 4 | 1 or 2 when (n == 1 or n == 2) = 1
"""


@pytest.mark.parametrize("case", OPERATORS.strip().replace("\n", " | ").split(" | "))
def test_operators_bind_as_in_mathematics(case):
    written, meant = case.rsplit(" = ", 1)
    found = fsmeu.loads(f"loss f value {written}")("000", "000")
    assert found == pytest.approx(float(meant), rel=1e-15)
