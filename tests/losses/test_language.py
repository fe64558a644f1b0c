"""What files mean: operators, labels and their names, tables, sorts of things that may meet."""

import itertools
import random
import re
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fsmeu
from fsmeu.errors import LossFileError
from fsmeu.losses.language.read import read
from tests.losses.meaning import Undefined, World
from tests.losses.writer import TAGS, Writer

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


@pytest.mark.parametrize(
    ("text", "labels"),
    [
        ("loss f labels && || ! <> count c when z != y value c", ("&&", "||", "!", "<>")),
        ('loss f labels or-x "value" a#b\n at:2 value 1', ("or-x", "value", "a", "at:2")),
    ],
)
def test_labels_may_be_signs_words_and_in_the_next_line(text, labels):
    assert fsmeu.loads(text).labels == labels


PAIR = ("AB", "AA")
ALIKE = [
    ('labels A B count c when (if i == 1 then z else y) == "A" value c', "ABB", "BAB", 2),
    ("labels A B count c when (z == y) == (i == 1) value c", "AAB", "ABB", 2),
    ("labels A B memory m of z last 2 memory k of y last 2 value (m == k)", "BAB", "AAB", 1),
    ("labels A B memory m of z last n memory k of y last n value (m == k)", "AB", "AB", 1),
    ("labels A B memory m of (z == y) last 2 value sum(m) + (if m[0] then 2 else 4)", *PAIR, 5),
    ('labels A 1 count c when z == "1" value c', "A1", "AA", 1),
    ("count c by z - y count d by abs(z) * 2 value c + d", "11", "10", 5),
    ('count c when z == "1" count d by "1" + y value c + d', "11", "10", 5),
    ("(t: table = 2) count c by t[z, 1] + t[1 - z, \"0\"] value c", "01", "00", 8),
    ("memory m of z in .. last 2 value tally(m, 1)", "011", "000", 2),
    ("labels 0 1 memory m of z last 1 count c when z != old m[0] value c", "0110", "0000", 3),
    ("(a = 3, b = a / 2, c = a + b in b..2 * a) value c", "", "", 4.5),
]  # fmt: skip


@pytest.mark.parametrize(("text", "z", "y", "value"), ALIKE)
def test_what_may_meet(text, z, y, value):
    assert fsmeu.loads(f"loss f {text}")(z, y) == value


def test_labels_that_a_file_names_need_not_occur():
    """In sequences whose labels are read from them; beside numbers, a name is a mistake."""
    named = fsmeu.loads('loss f labels any count c when z == "A" and y != "A" value c')
    assert [named(z, y) for z, y in (("", ""), ("XY", "YY"), ("AAX", "AXX"))] == [0, 0, 1]
    tags = fsmeu.loads('loss f labels bio count c when z != y and y == "B-NP" value c')
    assert [tags(["O"], [y]) for y in ("O", "B-NP", "B-VP")] == [0, 1, 0]
    assert fsmeu.evaluate_corpus(tags, [["O"], ["O"]], [["O"], ["B-NP"]]) == 1
    with pytest.raises(LossFileError, match='"A" is not a label; the labels are 0, 1'):
        named("01", "11")
    number = fsmeu.loads("loss f labels any count c when z == 2 value c")
    assert (number("01", "11"), number("02", "11"), number([2, 5], [2, 2])) == (0, 1, 1)


def test_new_names_for_the_labels_of_a_file():
    """They keep what those are; in tables, what the file writes is by its own names."""
    renamed = fsmeu.loads("loss f labels 0 1 count c by z * y value c", labels=("no", "yes"))
    assert renamed(["yes", "no"], ["yes", "yes"]) == 1
    written = 'p: label = "A", w: table = {"A": 2, "B": 1 / 2, "C": 3}'
    text = f"loss f({written}) labels A B C count c by w[y] when z == p and y != p value c"
    loss = fsmeu.loads(text, labels="PQR", w={"P": 9})
    assert (loss("P", "Q"), loss("P", "R"), loss("Q", "P")) == (0.5, 3, 0)
    assert fsmeu.loads(text, labels="PQR", p="Q")("Q", "P") == 2
    assert loss.params["p"] == "P"


W = [0.5, 2.0, 1.0, 0.25]
BY_AGE = "age az since z == 1 up to 3 count c by w[az] when z != y"
BY_NUMBER = {
    BY_AGE: [0.25, 0.5, 0, 0.5],
    "count c by w[i, y] when z != y": [2 * 0.5, 2.0, 0, 0.25],
}


@pytest.mark.parametrize(("text", "amounts"), BY_NUMBER.items())
def test_entries_by_number(text, amounts):
    """z = 0101 against y = 1000: mistakes at 1, 2 and 4; what decisions make of it is explored."""
    table = [[w, 2 * w] for w in W] if "w[i, y]" in text else W
    loss = fsmeu.loads(f"loss f(w: table) labels 0 1 {text} value c", w=table)
    assert loss("0101", "1000") == sum(amounts)
    decision = fsmeu.decode(loss, [0.2, 0.6, 0.45, 0.7])
    assert (decision.method, decision.exact) == ("additive", True)


@pytest.mark.parametrize("labels", ["ABC", "CAB"])
def test_tables_by_label_are_of_any_order_of_labels(labels):
    """A row of one number is that number throughout; what is not given keeps its default."""
    text = "loss f(v: table = 1) labels any count c by v[z, y] value c"
    loss = fsmeu.loads(text, labels=labels, v={"A": 3, "C": {"A": 7, "B": 9}})
    found = [loss(z, y) for z, y in product("ABC", repeat=2)]
    assert found == [3, 3, 3, 1, 1, 1, 7, 9, 1]


def test_a_table_that_is_written_out_lists_the_labels():
    text = "loss f(p: label = {0}, w: table = {{{0}: 2, {1}: 1 / 2}}) labels any count c by w[y]"
    for names in (('"A"', '"B"'), "01"):
        loss = fsmeu.loads(f"{text.format(*names)} when z == p value c", p=names[1].strip('"'))
        labels = [name.strip('"') for name in names]
        assert list(map(str, loss.labels)) == labels
        assert loss(labels[::-1], labels[::-1]) == 0.5


def test_the_default_of_a_table_may_look_at_its_labels():
    """Each entry by itself, in every order of the labels, and of swapped tapes."""
    text = "loss f({}) labels any count c by cost[z, y] value c"
    zero_one = fsmeu.loads(text.format("k = 3, cost: table = k * (z != y)"))
    assert zero_one("0110", "0101") == 6
    assert zero_one(["N", "V"], ["N", "D"]) == 3
    for labels in ((0, 1, 2), (2, 0, 1)):
        loss = fsmeu.loads(text.format("cost: table = if z > y then 2 else y"), labels=labels)
        for z, y in product(range(3), repeat=2):
            want = 2 if z > y else y
            assert loss([z], [y]) == loss.swapped([y], [z]) == want
    model = fsmeu.models.Independent([[0.25, 0.25, 0.5]], ("a", "b", "c"))
    assert fsmeu.decode(fsmeu.loads(text.format("cost: table = z != y")), model).labels == ["c"]


LETTERS = ("a", "b", "c")
ATOM = r'"[^"]*"|\b(?:kind|type)\([zy]\)|\br\d(?:\[\d\])?|\b[zyin]\b|\b[0-9]\b(?!\.)'


def accepted(seed, labels):
    """The first random file that is not refused with some atoms in the places of others."""
    source = random.Random(seed)
    while True:
        text = re.sub(r"(?m)^labels .*$", "labels any", Writer(source, labels).file()[0])
        first = text.index("\n", text.index("labels"))
        places = list(re.finditer(ATOM, text[first:]))
        swaps = {source.choice(places).span(): source.choice(places)[0] for _ in range(3)}
        for (begin, end), atom in sorted(swaps.items(), reverse=True):
            text = text[: first + begin] + atom + text[first + end :]
        if re.search("table|last n", text):  # tables have the order of labels; n may be 0
            continue
        try:
            return text, fsmeu.loads(text, labels=labels)
        except LossFileError:
            continue


def value_of(loss, z, y):
    try:
        return fsmeu.evaluate(loss, z, y)
    except LossFileError:
        return None


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 2**32), labels=st.sampled_from((LETTERS[:2], TAGS[:3])))
def test_what_is_accepted_never_reckons_with_texts(seed, labels):
    """Read as texts and tuples, an accepted file meets no text or memory in place of a number.

    Another order of the labels leaves its values alone.
    """
    text, loss = accepted(seed, labels)
    turned = fsmeu.loads(text, labels=labels[::-1])
    for n in range(3):
        world = World(read(text), labels, n)
        for z, y in itertools.product(itertools.product(labels, repeat=n), repeat=2):
            why = ""
            try:
                wanted = pytest.approx(float(world.run(z, y)), rel=1e-12, abs=1e-12)
            except Undefined as error:
                wanted, why = None, str(error)
            assert not re.match(r"['(]|kind of|type of|no row", why)
            for one in (loss, turned):
                assert value_of(one, z, y) == wanted
