"""Malformed files: the table of messages is walked, and places are exact."""

import re

import pytest

import fsmeu
from fsmeu.errors import LossFileError
from tests.losses.refusals import refusal
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
'require' is followed by a condition on z, then maybe by a quoted text that says what it means
    require | require value 1 |
the text after the condition needs a closing quote on the same line
    require z == 0 "apart |
'range' is written: range LOW .. HIGH
    range 3 | range .. 3 | range 0 .. value |
'example' is written: example Z Y = VALUE, or with parameters: example Z Y = VALUE with k = 2
    example 01 | example 01 = 3 | example 01 01 3 | example 01 01 = value |
    example 01 01 = 1 with | example 01 01 = 1 with k |
'if' is written: if CONDITION then EXPRESSION else EXPRESSION
    value if z == 1 | value if z == 1 then 2 | value if then | value if z == 1 then else 2 |
    value if z == 1 then 2 else | value 2 if n == 1 else 1 | count bad by 1 if z == 1 else 0 |
    value (n if n else 1) |
an entry is asked for in one pair of brackets after a name: cost[z, y], m[0]
    (w: table) count c by w[z][y] | memory m of z last 1 value m[0][0] | count c by (1)[z] |
'in' is not asked of labels; compare them one by one: (z == 1 or z == 2)
    count bad when z in 1 |
'==' compares; a single '=' does not
    count bad when z = 1 | count bad when z is 1 |
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
    value 1 ? 2 | value `1` | count bad when z ~ y |
a statement begins with count, age, memory, flag, register, state, arc, let, labels, value,
    value 1 tp | foo | value 1 2 |
"""
"""Messages with malformed files that deserve them: what follows ``loss f``, or whole after ^:."""

EXAMPLES = by_message(TABLE, {"": "loss f ", "^": ""})


@pytest.mark.parametrize(("message", "text"), EXAMPLES, ids=[repr(t) for _, t in EXAMPLES])
def test_malformed_example_gets_its_message(message, text):
    assert refusal(text)[0].startswith(message)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("loss f\ncount bad »whn z == 1\nvalue bad", "Did you mean 'when'"),
        ("loss f\nlabels 0 1\nvalue 1 +»", "an expression is missing"),
        ("loss f\n\n\n\tvalue (1 + 2»\n", "an opened bracket is not closed"),
        ("loss f\ncount c\r\nvalue c »? 1", "not part of the language"),
        ("loss f # a comment\n# another\nvalue »`c`", "not part of the language"),
        ("loss f\x0c\nvalue 1 »1", "a statement begins with"),
        ("loss f\ncount c when z == 1 and »" + "count c when z == 1 and " * 8, "is missing"),
        ("»count c\nvalue c", "a loss file begins with"),
        ("loss f value " + "1 + " * 100 + "»? 1", "not part of the language"),  # in a window
        ("loss f\n»conut c\nvalue c", "Did you mean 'count'"),
        ("loss f\ncount c »wen z == 1\nvalue c", "Did you mean 'when'"),
        ("»los f\nvalue 1", "Did you mean 'loss'"),
        ("loss f\n»valu 1", "Did you mean 'value'"),
        ("loss f\nlabels 0 1\n»cuont c when z == 1\nvalue c", "Did you mean 'count'"),
        ("loss f\nlabels 0 1\n\n# a\n  »regsiter r in 0..1\nvalue 1", "Did you mean 'register'"),
        ("loss f\nlabels 0 1\n»Count c when z == 1\nvalue c", "Did you mean 'count'"),
        ("loss f\nlabels 0 1\n»This counts errors of the hypothesis\nvalue 0", "begins with count"),
        ("loss f\ncount c when z != y\n»This counts errors\nvalue 0", "begins with count"),
        ("loss f\nlabels 0 1\n  »The other one when z is wise\nvalue 0", "begins with count"),
        ("loss f\nlabels A B\n  C D count »when z\nvalue 0", "count NAME when"),
        ("loss f labels 0 1 countc »when z value 1", "a statement begins with"),
        ("loss f labels 0 1 count c when z »value1", "a statement begins with"),
        ("loss f labels 0 1 let »up = 1 value 1", "is a word of the language: choose another name"),
        ("loss f count »in when z == 1 value 1", "is a word of the language: choose another name"),
        ("loss f flag »value when z == 1", "is a word of the language: choose another name"),
        ("loss f state a arc a »a value 1", "Expected '->'"),
    ],
)
def test_the_place_is_shown_and_the_nearest_word(text, words):
    """A hint is given where a word is misspelt; prose is not."""
    said, _ = refusal(text)
    assert words in said
    assert words.startswith("Did you mean") or "begins with count" not in words or "Did" not in said


@pytest.mark.parametrize(
    ("text", "foreign", "own"),
    [
        ("count c when z == 1 »&& y == 1", "&&", "and"),
        ("count c when z == 1»&&y == 1", "&&", "and"),
        ("count c when z »& y", "&", "and"),
        ("count c when (z == 1 »|| y == 1)", "||", "or"),
        ("count c when z == 1 »| y == 1", "|", "or"),
        ("count c when »!z", "!", "not"),
        ("count c when »!(z == 1)", "!", "not"),
        ("count c when z == 1 and »! (y == 1)", "!", "not"),
        ("count c when z »≠ y", "≠", "!="),
        ("count c when z»≠y", "≠", "!="),
        ("count c when z »<> y", "<>", "!="),
        ("count c when z »!== y", "!==", "!="),
        ("count c when z »=== y", "===", "=="),
        ("count c when i »≤ 3", "≤", "<="),
        ("count c when i »≥ 3", "≥", ">="),
        ("count c when i »=< 3", "=<", "<="),
        ("count c when i »=> 3", "=>", ">="),
        ("count c when z == 1 »∧ y == 1", "∧", "and"),
        ("count c when z == 1 »∨ y == 1", "∨", "or"),
        ("count c when »¬ z", "¬", "not"),
        ("count c by n »** 2", "**", "^"),
        ("count c by 2 »× n", "×", "*"),
        ("count c by 2 »· n", "·", "*"),
        ("count c by n »÷ 2", "÷", "/"),
        ("count c by n »// 2", "//", "floor(... / ...)"),
        ("count c by n »− 2", "−", "-"),
        ("count c when z == »'B'", "'", '"'),
        ("count c when z == »“B”", "“", '"'),
        ("count c when z == 1 »AND y == 1", "AND", "and"),
        ("count c when z == 1 »Or y == 1", "Or", "or"),
        ("count c when z == »True", "True", "true"),
    ],
)
def test_what_other_languages_write_gets_its_word_here(text, foreign, own):
    """The sign is named with what stands for it in a loss file."""
    said, _ = refusal(f"loss f labels 0 1 {text} value c")
    assert said == f"{foreign!r} is no sign or word of the language. Write {own!r}."


@pytest.mark.parametrize(
    "text",
    [
        "count c when z »= 1 value c",
        "count c when (z »= 1) value c",
        "count c when z == 1 and y »= 1 value c",
        "age a since z »= 1 up to 2 value a",
        "count c value if c »= 1 then 2 else 3",
        "count c value c or 0 when c »= 1",
        "let a = z »= 1 value 1",
    ],
)
def test_a_single_equal_sign_gets_its_double(text):
    assert refusal(f"loss f labels 0 1 {text}")[0].startswith("'==' compares; a single '='")


def test_signs_of_other_languages_may_be_labels():
    loss = fsmeu.loads("loss f labels && || ! <> count c when z != y value c example &&! &&! = 0")
    assert loss.labels == ("&&", "||", "!", "<>")


def test_labels_may_go_on_in_the_next_line():
    assert fsmeu.loads("loss f\nlabels A B\n  C D\nvalue 0").labels == ("A", "B", "C", "D")


def test_labels_may_begin_with_words_of_the_language():
    """A word is one of the language only by itself."""
    loss = fsmeu.loads('loss f labels or-x "value" count1 a#b\n at:2 count c when z != y value c')
    assert loss.labels == ("or-x", "value", "count1", "a", "at:2")


def test_states_may_be_named_before_they_are_declared():
    arcs = "arc A -> B when z != y arc A -> A otherwise arc B -> B"
    before = fsmeu.loads(f"loss f let end = at B {arcs} state A B value end")
    after = fsmeu.loads(f"loss f state A B {arcs} value at B")
    assert [loss("011", "010") for loss in (before, after)] == [1, 1]


def test_terminal_codes_are_not_repeated():
    assert "\x1b" not in "".join(refusal("loss f\nvalue \x1b[31m 1"))


def test_file_is_named(tmp_path):
    file = tmp_path / "mine.loss"
    file.write_text("loss f\nvalue 1 +")
    with pytest.raises(LossFileError, match=f"^{re.escape(str(file))}:2:10: "):
        fsmeu.load(file)


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
