"""Files that can be read but not meant, and parameters and labels that do not suit a file."""

import re

import pytest

import fsmeu
from fsmeu.errors import InputError, LossFileError
from tests.losses.refusals import refusal


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("loss f value »tq", "the name 'tq' is not known here"),
        ("loss f count tp value »tq", "'tq' is not known here. Did you mean 'tp'?"),
        ("loss f count hyp value »hyq", "'hyq' is not known here. Did you mean 'hyp'?"),
        (
            "loss f(beta = 1) count tp count ref value 1 / »hyq",
            "'hyq' is not known here. Names are declared above their use; so far: beta, tp, ref.",
        ),
        ("loss f labels 0 1 value »hyq", "'hyq' is not known here. Names are declared above"),
        (
            "loss f labels A B count c when z == »C value c",
            'C is not a label; the labels are "A", "B"',
        ),
        ("loss f labels A B count c when »C == z value c", 'C is not a label; the labels are "A",'),
        ('loss f labels A B count c when z == »"b" value c', '"b" is not a label; the labels are'),
        (
            'loss f labels A B memory m of y last 2 value tally(m, »"AB")',
            '"AB" is not a label; the',
        ),
        (
            'loss f labels 0 1 count c when z == »"A" value c',
            '"A" is not a label; the labels are 0',
        ),
        ("loss f labels A B memory m of y last 1 count c when m[0] != »C value c", "not a label"),
        (
            "loss f labels A B memory m of y last 1 count c when tally(m, »C) > 0 value c",
            "not a la",
        ),
        (
            "loss f labels Aa Bc count c when z == »Ab value c",
            'the labels are "Aa", "Bc". Did you mean \'Aa\'?',
        ),
        ("loss f labels A B count c when z == »B value c", 'label is written in quotes. Write "B"'),
        ("loss f labels A B count c when y != »B value c", 'label is written in quotes. Write "B"'),
        ("loss f labels any count c when z == »C value c", 'label is written in quotes. Write "C"'),
        ("loss f count c when z == »C labels A B value c", 'label is written in quotes. Write "C"'),
        ("loss f labels bio count c when kind(z) == »B value c", 'in quotes. Write "B"'),
        ("loss f labels 0 1 count c when z == »C value c", "C is not a label; the labels are 0, 1"),
        ("loss f labels 0 1 count c when z == »2 value c", "2 is not a label; the labels are 0, 1"),
        (
            "loss f labels 0 1 count c when »-1 != y value c",
            "-1 is not a label; the labels are 0, 1",
        ),
        ("loss f labels 0 1 memory m of z last 1 count c by tally(m, »3) value c", "not a label"),
        ("loss f labels 0 1 count tp when z == »hyp value tp", "hyp is not a label"),
        (
            "loss f labels 0 1 count c when »z[i-1] == 1 value c",
            "of z last 1' above and 'old m[0]'",
        ),
        (
            "loss f labels 0 1 count c when »y[i - 2] == 1 value c",
            "of y last 2' above and 'old m[1]'",
        ),
        ("loss f labels 0 1 count c when »z[-1] == 1 value c", "of z last 1' above and 'old m[0]'"),
        (
            "loss f labels 0 1 count c when »z[i] == 1 value c",
            "z is the label at position i. Write z",
        ),
        ("loss f labels 0 1 count c when »z[i+1] == 1 value c", "read from left to right"),
        ("loss f labels 0 1 count c when »z[3] == 1 value c", "of z last 1' above and 'old m[0]'"),
        ("loss f labels 0 1 count c by »c[i-1] value c", "Write 'old c' for its value before"),
        ("loss f count tp count »tp value 1", "the name 'tp' is taken: it is a count"),
        ("loss f(k) count »k value k", "the name 'k' is taken: it is a parameter"),
        ("loss f(k, »k) value k", "the name 'k' is taken: it is a parameter"),
        ("loss f let a = 1 flag »a when true value 1", "the name 'a' is taken: it is a let"),
        ("loss f count »z value 1", "the name 'z' is taken: it is a word with a fixed meaning"),
        ("loss f count »min value 1", "the name 'min' is taken: it is a function"),
        ("loss f(k) value »old k", "'old' needs a register, 'k' is none"),
        ("loss f count bad value »old bat", "'bat' is none. Did you mean 'bad'?"),
        ("loss f state A arc A -> A value »at B", "'B' is not a state"),
        ("loss f value »at B", "'B' is not a state. States are declared with 'state'"),
        ("loss f state on off arc on -> »of value 1", "'of"),
        ("loss f state good bad arc good -> »bat value 1", "Did you mean 'bad'?"),
        ("loss f state A arc A -> A value »A", "'A' is a state; write 'at A'"),
        ("loss f »state A A value 1", "state names must differ"),
        ("loss f state A »state B value 1", "only one 'state' statement"),
        ("loss f state A arc A -> A otherwise arc »A -> A otherwise value 1", "'otherwise'"),
        ("»loss f count c when z == 1", "a loss file needs a 'value' statement"),
        ("loss f value 1 »value 2", "there may be only one 'value' statement"),
        ("loss f value 1 range 0 .. 1 »range 0 .. 2", "only one 'range' statement"),
        ("loss f labels 0 1 »labels 0 1 value 1", "only one 'labels' statement"),
        ("loss f »labels 0 1 0 value 1", "labels must differ"),
        ("loss f value »median(1, 2)", "there is no function 'median'"),
        ("loss f value »mim(1, 2)", "Did you mean 'min'?"),
        ("loss f value »abs(1, 2)", "abs takes 1 argument(s), it is given 2"),
        ("loss f count c value »c[0]", "only a memory or a table parameter has entries"),
        ("loss f memory m of z last 2 value »m[0, 1]", "takes one index"),
        ("loss f memory m of z last 2 count c when m[»i] == 1 value c", "how many steps back"),
        ("loss f count c value tally(»c, 1)", "must be the name of a memory"),
        ("loss f(cost: table) value »cost", "'cost' is a table"),
        ("loss f(k) value 1 example 0 0 = 1 with »j = 1", "'j' is not a parameter"),
        ("loss f register »r in 0.. start 0 next r value r", "needs both bounds"),
        ("loss f value »z", "the value is asked after the last position"),
        ("loss f let a = »i value a", "the value is asked after the last position"),
        ("loss f register r in 0..»z start 0 next r value r", "only parameters and n"),
        ("loss f count c value c range »c .. 1", "only parameters and n"),
        ("loss f(k = »n) value k", "only parameters above it"),
        ('loss f age a since z == 1 up to »"a" value a', "only parameters and n"),
        ("loss f register »r in 0..2.5 start 0 next r value r", "bounds must be whole numbers"),
        ("loss f register »r in 3..1 start 3 next r value r", "bounds must be in order"),
        ("loss f register »r in 0..inf start 0 next r value r", "bounds must be whole numbers"),
        ("loss f register »r in 0..10^9 start 0 next r value r", "at most 1,000,000 values"),
        ("loss f age »a since z == 1 up to -1 value a", "bounds must be in order"),
        ("loss f memory »m of z last 0 value 1", "a memory holds 1 to"),
        ("loss f memory »m of z last 1.5 value 1", "a memory holds 1 to"),
        ("loss f memory »m of z + y last 2 value 1", "needs bounds"),
        ("loss f memory »m of z in 0..0.5 last 2 value 1", "whole bounds"),
        ("loss f memory »m of z in 0.. last 2 value 1", "both needed"),
        ("loss f memory »m of z in ..3 last 2 value 1", "both needed"),
        ("loss f memory »m of i in 0..4000 last 9 value 1", "too many to remember"),
        ("loss f value 1 output a = »z", "after the last position"),
        ("loss f value 1 output a = 1 output »a = 2", "the name 'a' is taken: it is an output"),
        ("loss f count a value a output »a = 1", "the name 'a' is taken: it is a count"),
        ("loss f memory m of z last 1 value 1 output a = »m", "the value must be a number"),
        ("loss f(t: table = »n) count c by t[z, y] value c", "only parameters above it"),
        ("loss f(t: table = »i) count c by t[z, y] value c", "only parameters above it"),
        ("loss f(t: table = »later, later = 1) count c by t[z, y] value c", "not known here"),
        ("loss f(t = z != »y) count c by t value c", "only parameters above it"),
        ("loss f(t: table = »1 / (z != y)) count c by t[z, y] value c", "zero"),
        ("loss f(t: table = z != »y) count c by t[z] value c", "one label, which is called z"),
        ("loss f count c when »old z != y value c", "Write 'memory m of z last 1' above"),
        ("loss f count c when »old y != z value c", "Write 'memory m of y last 1' above"),
        ("loss f count c when »at C state A arc A -> A value c", "'C' is not a state"),
        ("loss f\nlabels A B\nlet a = »z\ncount c by a\nvalue c", "z is a label (A, B), not a"),
    ],
)
def test_fault_of_a_file(text, message):
    assert message in refusal(text)[0]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("loss f value 1 / (n - 2)", "division by zero when n=2"),
        ("loss f count c value 3 % (c - 2)", "remainder by zero when c=2 n=2"),
        ("loss f count c when y == 1 count d by 1 / (c - 1) value d", "division by zero when"),
        ("loss f count c by y / (i - 2) value c", "i=2"),
        ("loss f count c value sqrt(1 - c)", "root of a negative number when c=2 n=2"),
        ("loss f count c value log(c - 2)", "logarithm of a number <= 0 when c=2 n=2"),
        ("loss f count c value exp(c * 1000)", "not a finite number when c=2 n=2"),
        ("loss f count c value (1 - c)^0.5", "not a finite number when c=2 n=2"),
        ("loss f count c value (c - 2)^-1", "not a finite number when c=2 n=2"),
        ("loss f value inf", "not a finite number"),
        ("loss f value 1e999", "not a finite number"),
        ("loss f memory m of y last 3 value m[2]", "not a finite number"),
        ("loss f memory m of y last 3 value min(1, m[2])", "not a finite number"),
        ("loss f memory m of y last 3 count c by m[2] value c", "not a finite number"),
        ("loss f register r in 0..1 start 0 next r + 1 value r", "r leaves its bounds"),
        ("loss f register r in 0..1 start 0 next r + (z == 1) value r", "r leaves its bounds"),
        ("loss f register r in 0..9 start 0 next r + 0.5 value r^2", "r leaves its bounds"),
        ("loss f register r in 0..3 start 5 next 1 value r^2", "bounds"),
        ("loss f memory m of z + y in 0..1 last 2 value sum(m)", "outside the declared bounds"),
        (
            "loss f memory m of y last n value m[2]",
            "m keeps 'last 2', m[0] to m[1]: there is no m[2]",
        ),
        ("loss f state A B arc A -> B when z == 0 value 1", "no arc applies when"),
        ("loss f state A arc A -> A arc A -> A when z == 1 value 1", "two arcs apply when"),
        ("loss f(t: table = 1) count c by t[z + y] value c", "t has no entry for this"),
    ],
)
def test_fault_of_a_pair(text, message):
    """Found when the value is asked for, by every way to ask, with the state that shows it."""
    z, y = "11", "11"
    reference = fsmeu.models.Independent([[0.5, 0.5], [0.25, 0.75]], (0, 1))
    loss = fsmeu.loads(text)
    ways = (
        lambda: fsmeu.evaluate(loss, z, y),
        lambda: fsmeu.expect(loss, z, reference, engine="openfst"),
        lambda: fsmeu.expect(loss, z, reference).levels,
        lambda: loss.compile(2),
    )
    for way in ways:
        with pytest.raises(LossFileError) as caught:
            way()
        assert message.split(" when ")[0] in str(caught.value)
        assert caught.value.line == 1


def test_state_of_a_fault_is_shown():
    loss = fsmeu.loads("loss f labels O B-x\ncount c when z != y\nvalue 1 / (c - 1)")
    said = "<text>:3:7: division by zero when c=1 n=2. Add 'or X when c - 1 == 0', where X is the "
    said += "number that is meant there.\n    value 1 / (c - 1)\n          ^"
    with pytest.raises(LossFileError, match=re.escape(said)):
        fsmeu.evaluate(loss, ["O", "O"], ["B-x", "O"])
    loss = fsmeu.loads("loss f labels O B-x\ncount c by 1 / (z != y)\nvalue c")
    with pytest.raises(LossFileError, match=r"<text>:2:12: division by zero when .*z=B-x y=B-x"):
        fsmeu.evaluate(loss, ["O", "B-x"], ["B-x", "B-x"])


@pytest.mark.parametrize(
    ("value", "zero"),
    [("1 / (n - 2)", "n - 2"), ("1 / abs(c - 2)", "abs(c - 2)"), ("1 % (c == 1)", "(c == 1)")],
)
def test_a_division_by_zero_says_what_to_add(value, zero):
    """That is how the file can be mended, also for decisions and of an output."""
    text = f"loss f labels 0 1 count c value {value}"
    with pytest.raises(LossFileError) as caught:
        fsmeu.decode(fsmeu.loads(text), [0.5, 0.5])
    assert f"Add 'or X when {zero} == 0', where X is the number" in str(caught.value)
    assert fsmeu.loads(f"{text} or 7 when {zero} == 0")("00", "00") == 7
    twice = fsmeu.loads(f"{text.replace('value', 'value c output o =')}")
    with pytest.raises(LossFileError, match="Add 'or X when"):
        fsmeu.evaluate_outputs(twice, "00", "00")


HEADER = "loss f(k: int = 2 in 1..9, weight = 0.5 in 0.., top, cost: table = 1) value k"


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({}, r"the parameter 'top' has no default\. Give top="),
        ({"top": 1, "wieght": 2}, "its parameters are k, .*Got 'wieght' instead.*'weight'"),
        ({"top": 1, "k": 2.5}, r"parameter k: must be a whole number\. Got 2\.5"),
        ({"top": 1, "k": 10}, r"parameter k: must lie in 1\.\.9\. Got 10"),
        ({"top": 1, "k": 0}, r"parameter k: must lie in 1\.\.9\. Got 0"),
        ({"top": 1, "weight": -0.1}, r"parameter weight: must lie in 0\.\.inf"),
        ({"top": "much"}, r"parameter top: must be a number\. Got much"),
        ({"top": None}, "parameter top: must be a number"),
        ({"top": [1, 2]}, "parameter top: must be a number"),
        ({"top": float("nan")}, r"parameter top: must be a finite number\. Got nan"),
        ({"top": float("inf")}, r"parameter top: must be a finite number\. Got inf"),
        ({"top": 1, "cost": [[1, 2, 3], [4, 5, 6]]}, r"parameter cost: must have .*shape \(3, 3\)"),
        ({"top": 1, "cost": [[[1]]]}, r"parameter cost: must have .*shape \(1, 1, 1\)"),
        ({"top": 1, "cost": [[1, 2], [3]]}, "parameter cost: must be a table of numbers"),
        ({"top": 1, "cost": "much"}, "parameter cost: must be a table of numbers"),
        ({"top": 1, "cost": [[1, float("nan")], [0, 0]]}, "parameter cost: must hold finite"),
    ],
)
def test_fault_of_a_parameter(given, message):
    with pytest.raises(InputError, match=message) as caught:
        fsmeu.loads(HEADER, **given)
    assert str(caught.value).startswith("loss f")


def test_defaults_may_use_parameters_above():
    text = "loss f(a = 3, b = a / 2, c = a + b in b..2 * a) value c"
    assert fsmeu.loads(text)("", "") == 4.5
    assert fsmeu.loads(text, a=5)("", "") == 7.5
    assert fsmeu.loads(text, b=0)("", "") == 3
    with pytest.raises(InputError, match=r"parameter c: must lie in 1\.5\.\.6"):
        fsmeu.loads(text, c=7)


def test_tags_must_be_tags():
    text = 'loss f labels bio count c when kind(z) == "B" value c'
    with pytest.raises(InputError, match="labels must be chunk tags"):
        fsmeu.loads(text, labels=("O", "NP"))
    with pytest.raises(InputError, match="the tags must be given"):
        fsmeu.loads(text).compile(2)
    with pytest.raises(InputError, match=r"labels must be chunk tags.*Got NP"):
        fsmeu.loads(text)(["O"], ["NP"])
    assert fsmeu.loads(text, types=["NP"])(["B-NP", "I-NP", "O"], ["O", "O", "O"]) == 1


@pytest.mark.parametrize("tape", ["z", "y"])
def test_the_label_before_is_in_a_memory(tape):
    """As the message advises; nothing stands before the first label, which differs from it."""
    text = f"loss f labels 0 1 memory m of {tape} last 1 count c when {tape} != old m[0] value c"
    assert fsmeu.loads(text)("0110", "0110") == 3


F1 = fsmeu.load("fscore")


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        *(
            (lambda labels=labels: fsmeu.load("fscore", labels=labels), message)
            for labels, message in (
                ((0, 1, 2), "the file has 2 labels, 0, 1. Got 3 labels"),
                ((), "at least one label"),
                (("a", "a"), "Got 'a' twice"),
                ((1, "1"), "Got '1' twice"),
                (("a", ""), "an int or a non-empty string"),
                (("a", None), "an int or a non-empty string"),
                (7, "must be a sequence of labels. Got 7"),
            )
        ),
        *(
            (lambda name=name: fsmeu.load(name), f"Did you mean '{meant}'")
            for name, meant in {"fsocre": "fscore", "F1": "fscore", "IoU": "jaccard"}.items()
        ),
        (lambda: fsmeu.load("f2"), "Did you mean 'fscore' with beta=2?"),
        (lambda: fsmeu.load("dice"), "Did you mean 'fscore' with empty=0?"),
        (
            lambda: fsmeu.load("chunk_fscore", b=0.5),
            "beta, alpha, empty. Got 'b' instead. Did you mean 'beta'?",
        ),
        (lambda: fsmeu.load("hammming"), "Did you mean 'hamming'"),
        (lambda: fsmeu.load("seqeval"), "Did you mean 'chunk_fscore'"),
        *(
            (lambda path=path: fsmeu.load(path), "the file of a loss must be there")
            for path in ("nowhere/f.loss", "f.loss", "/dev/null/f.loss")
        ),
        *(
            (lambda text=text: fsmeu.loads(text), "must be given as text")
            for text in (None, 3, b"loss f value 1")
        ),
        (lambda: F1("01", "011"), "same length. Got lengths 2 and 3"),
        (lambda: F1("02", "01"), "hypothesis z: entry 1 must be one of 0, 1. Got 2"),
        (lambda: F1("01", [0, "x"]), "reference y: entry 1 must be one of 0, 1. Got x"),
        (lambda: F1(None, "01"), "hypothesis z: must be a sequence of labels"),
        (lambda: F1("01", 5), "reference y: must be a sequence of labels"),
        (lambda: F1([[0, 1]], [0]), "hypothesis z: entry 0"),
        (lambda: F1([0.5], [0]), "hypothesis z: entry 0"),
    ],
)
def test_fault_of_names_and_labels(ask, message):
    with pytest.raises(InputError, match=re.escape(message)):
        ask()
