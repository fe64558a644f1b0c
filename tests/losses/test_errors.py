"""What is said of faulty loss files: one row for each kind of fault, its place marked by ».

Line, column and the line under the caret are compared, and that the nearest name is offered.
"""

import re

import pytest

import fsmeu
from fsmeu.errors import LossFileError

HEADS = {
    "N": "loss f ",
    "D": "loss f labels 0 1 ",
    "L": "loss f labels A B ",
    "M": "loss f labels A B memory m of z last 2 ",
    "T": "loss f labels O B-x ",
}
BEGIN = "a statement begins with count, age, memory, flag, register"

SYNTAX = [
    ("»", "begins with 'utility NAME' or 'loss NAME'. Got the end of the file instead"),
    ("»count c\nvalue c", "a loss file begins with 'utility NAME' or 'loss NAME'. Got 'count'"),
    ('loss f »"text', "the text after the name needs a closing quote on the same line"),
    ("loss f\nlabels 0 1\n\n# a\n  »regsiter r in 0..1\nvalue 1", "Did you mean 'register'?"),
    ("loss f\ncount c\r\nvalue c »? 1", "not part of the language (powers are written ^)"),
    ("loss f\n\n\n\tvalue (1 + 2»\n", "an opened bracket is not closed"),
    ("loss f value " + "1 + " * 100 + "»? 1", "not part of the language"),  # in a window
    ("loss f\ncount c when z == 1 and »" + "count c when z == 1 and " * 8, "is missing"),
    ("N count »3", "'count' is written: count NAME when CONDITION, or count NAME by AMOUNT"),
    ("N value if z == 1 then 2»", "'if' is written: if CONDITION then EXPRESSION else EXPRESSION"),
    ("N memory m of z last 1 value m[0]»[0]", "an entry is asked for in one pair of brackets"),
    ("N count c when z »= 1", "'==' compares; a single '=' does not"),
    ("N count c when 1 < z »< 3", "comparisons do not chain; join two with 'and'"),
    ("N count c by »not n", "a condition that counts as 1 or 0 stands in brackets here"),
    ("N value 1 * »value", "an expression is missing after the operator"),
    ("D count c when z == 1 »&& y == 1", "'&&' is no sign or word of the language. Write 'and'"),
    ("D count c by n »// 2 value c", "Write 'floor(... / ...)'"),
]
MEANING = [
    ("N count hyp value »hyq", "'hyq' is not known here. Did you mean 'hyp'?"),
    ("loss f(beta = 1) count tp value 1 / »hyq", "declared above their use; so far: beta, tp."),
    ("N count tp count »tp value 1", "the name 'tp' is taken: it is a count"),
    ("L count c when z == »C value c", 'C is not a label; the labels are "A", "B"'),
    ("L count c when z == »B value c", 'label is written in quotes. Write "B"'),
    ("D count c when »-1 != y value c", "-1 is not a label; the labels are 0, 1"),
    ("D count c when »z[i-1] == 1 value c", "of z last 1' above and 'old m[0]'"),
    ("D count c by »c[i-1] value c", "Write 'old c' for its value before"),
    ("N state A arc A -> A value »A", "'A' is a state; write 'at A'"),
    ("N state A arc A -> A otherwise arc »A -> A otherwise value 1", "'otherwise'"),
    ("»loss f count c when z == 1", "a loss file needs a 'value' statement"),
    ("N »labels 0 1 0 value 1", "labels must differ"),
    ("N value »mim(1, 2)", "Did you mean 'min'?"),
    ("N memory m of z last 2 count c when m[»i] == 1 value c", "how many steps back"),
    ("loss f(t = z != »y) count c by t value c", "only parameters above it"),
    ("D count c when »prev(z) == 1 value c", "Write 'memory m of z last 1'"),
    ("N register r in 0..»z start 0 next r value r", "only parameters and n"),
    ("N register »r in 0.. start 0 next r value r", "needs both bounds"),
    ("N register »r in 0..10^9 start 0 next r value r", "at most 1,000,000 values"),
    ("loss f(w: table = »[1, 2]) labels any count c by w[z] value c", "those of the file are open"),
    ("loss f(w: table = {»A: 1}) labels A B count c by w[z] value c", "a table is written out as"),
    ("loss f(t: table = »1 / (z != y)) count c by t[z, y] value c", "zero"),
    ("D memory m of y last 2 count c when i > 99 and »m[2] == 1 value c", "Write 'last 3'"),
    ("loss f(w: table) labels 0 1 count c by w[i] + »w[z] value c", "Use two tables"),
    ("D count c when z != y require »c < 3 value c", "may not depend on the reference"),
]
SORTS = [
    ("M value »m", "m is a memory (the last 2 labels), not a number: the value must be a number"),
    ("M register r in 0..3 start 0 next if z == y then r else »m value r", "holds whole numbers"),
    ("L count c when z == y and »z value c", "a condition must be a truth value or a number"),
    ("L count c when abs(»z - y) == 1 value c", "arithmetic is for numbers"),
    ("L count c when »z == 1 value c", "== and != compare like with like"),
    ("L count c when (if i == 1 then »z else 1) == y value c", "must give the same sort of thing"),
    ("T count c when type(»kind(z)) == y value c", "is a text, not a tag: kind and type need tags"),
    ("loss f(t: table = 1) labels A B count c by t[z, »1] value c", "one entry for each label"),
    ('N labels bio count c when z == »"Q-NP" value c', '"Q-NP" is not a label; the labels are O'),
    ('T count c when kind(z) == »"I" value c', '"I" is not a kind; the kinds are "O", "B"'),
]


def refusal(text, **given):
    """What is said of a file, without its place, which is where » stands in the text."""
    head, mark, tail = text.partition("»")
    with pytest.raises(LossFileError) as caught:
        fsmeu.loads(head + tail, **given)
    error = caught.value
    said, line, caret = str(error).split("\n")
    place, under = f"<text>:{error.line}:{error.column}: ", line[caret.index("^") :]
    assert mark
    assert (error.line, error.column) == (head.count("\n") + 1, len(head.split("\n")[-1]) + 1)
    assert caret.strip() == "^"
    expected = tail.split("\n")[0]
    assert under.startswith(expected[:14]) if expected else under == ""
    return said.removeprefix(place)


def whole(row):
    """The text of a file whose beginning is named by a letter."""
    return HEADS[row[0]] + row[2:] if row[1:2] == " " else row


@pytest.mark.parametrize(("row", "part"), [*SYNTAX, *MEANING, *SORTS])
def test_fault(row, part):
    assert part in refusal(whole(row))


def test_prose_is_given_no_hint():
    said = refusal("loss f\nlabels 0 1\n»This counts errors of the hypothesis\nvalue 0")
    assert "begins with count" in said
    assert "Did you mean" not in said


PAIRS = [
    ("value 1 / (n - 2)", "division by zero when n=2. Add 'or X when n - 2 == 0'"),
    ("count c value 1 / (c - 2)", "division by zero when c=2 n=2. Add 'or X when c - 2 == 0'"),
    ("count c value sqrt(1 - c)", "root of a negative number when c=2 n=2"),
    ("count c value exp(c * 1000)", "not a finite number when c=2 n=2"),
    ("memory m of y last 3 count c by m[2] value c", "not a finite number"),
    ("register r in 0..1 start 0 next r + 1 value r", "r leaves its bounds 0..1: it would be 2"),
    ("memory m of y last n value m[2]", "m keeps 'last 2', m[0] to m[1]: there is no m[2]"),
    ("state A B arc A -> B when z == 0 value 1", "no arc applies when"),
    ("state A arc A -> A arc A -> A when z == 1 value 1", "two arcs apply when"),
    ("count c value c range 0 .. 1", "must lie in the declared range 0 .. 1. Got 2 instead"),
]


@pytest.mark.parametrize(("text", "part"), PAIRS)
def test_fault_of_a_pair(text, part):
    """Found when the value is asked for, by every way to ask, with the state that shows it."""
    reference = fsmeu.models.Independent([[0.5, 0.5], [0.25, 0.75]], (0, 1))
    loss = fsmeu.loads(f"loss f\n{text}")
    ways = [
        lambda: fsmeu.evaluate(loss, "11", "11"),
        lambda: fsmeu.expect(loss, "11", reference, engine="openfst"),
        lambda: fsmeu.expect(loss, "11", reference).levels,
        lambda: loss.compile(2),
    ]
    for way in ways:
        with pytest.raises(LossFileError) as caught:
            way()
        assert caught.value.line == 2
        assert part.split(" when ")[0] in str(caught.value)
        if way is ways[0]:
            assert part in str(caught.value)


def test_a_fault_among_many_is_told_with_its_own_length():
    loss = fsmeu.loads("loss f labels 0 1 count c by 1 / (2 - z * i) value c")
    zs = ["0000"] * 200 + ["01"]
    with pytest.raises(LossFileError, match=r"division by zero when .*i=2 n=2"):
        fsmeu.evaluate_many(loss, zs, zs)
    assert fsmeu.evaluate_many(loss, zs[:-1], zs[:-1]).tolist() == [2.0] * 200


@pytest.mark.parametrize(
    ("labels", "condition", "given", "said"),
    [
        ("any", 'z != »"A"', (0, 1), '"A" is not a label; the labels are 0, 1. Give labels with'),
        ("any", "»z == 1", ("B", "C"), "z is a label (B, C), not a number"),
        ("bio", 'z == »"B-NP"', ("O", "B-VP"), '"B-NP" is not a label; the labels are "O", "B-VP"'),
    ],
)
def test_labels_are_checked_as_soon_as_they_are_known(labels, condition, given, said):
    """When the file is loaded with them, or with those of the model."""
    head = f"loss f(w: table = 1) labels {labels} memory m of z last 2 "
    text = f"{head}count c when {condition} value c"
    assert refusal(text, labels=given).startswith(said)
    plain = fsmeu.loads(text.replace("»", ""))
    model = fsmeu.models.Independent([[0.5, 0.5]], given)
    for ask in (lambda: fsmeu.decode(plain, model), lambda: fsmeu.expect(plain, model, model)):
        with pytest.raises(LossFileError, match=re.escape(said.split(";")[0])):
            ask()


def test_messages_name_the_file_and_stay_short(tmp_path):
    file = tmp_path / "mine.loss"
    file.write_text("loss f\nvalue 1 +")
    with pytest.raises(LossFileError, match=f"^{re.escape(str(file))}:2:10: "):
        fsmeu.load(file)
    labels = [f"label{k}" for k in range(500)]
    assert len(refusal("loss f labels any count c by »z value c", labels=labels)) < 240
