"""Labels, texts and memories are not numbers: what is refused, where, and that nothing leaks."""

import itertools
import random
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fsmeu
from fsmeu.errors import InputError, LossFileError
from fsmeu.losses.language.read import read
from tests.losses.meaning import Undefined, World
from tests.losses.refusals import refusal
from tests.losses.writer import TAGS, Writer
from tests.support.tables import by_message

TABLE = """
the value must be a number
    M: value m | M: value m[0] | M: value 1 or m when n == 0 | M: value if n == 0 then 1 else m |
    L: value "A" |
the entries of a table must be numbers
    (w: table = z) labels A B count c by w[z] value c |
    (w: table = kind(z)) labels O B-x count c by w[z] value c |
what a count adds must be a number
    L: count c by z value c | L: let a = y count c by a when z == y value c |
    L: count c by (if i == 1 then 1 else z) value c | M: count c by old m value c |
    T: count c by kind(z) value c |
a condition must be a truth value or a number
    L: count c when z value c | L: count c when z == y and z value c |
    L: count c when not y value c | L: flag g when "A" value g | L: age a since z up to 3 value a |
    L: state S arc S -> S when z value 1 | M: value if m then 1 else 2 | M: value 1 or 2 when m |
    T: count c when type(z) or i == 1 value c |
a register holds whole numbers
    L: register r in 0..3 start 0 next z value r |
    M: register r in 0..3 start 0 next if z == y then r else m value r |
a memory is of z, y, kind(z), type(z) and the like, of a condition, or of numbers in LO..HI
    L: memory m of z in 0..1 last 2 value 1 |
    L: memory m of (if z == y then z else y) last 2 value 1 | M: memory k of m last 2 value 1 |
    M: memory k of m[1] in 0..1 last 2 value 1 |
arithmetic is for numbers
    L: count c by z + 1 value c | L: count c when abs(z - y) == 1 value c |
    L: count c by -z value c | M: value m + 1 | M: value 2 * m[0] | T: count c by "O" ^ 2 value c |
<, <=, > and >= put numbers in order
    L: count c when z < y value c | L: count c when 1 >= y value c |
    T: count c when kind(z) <= "O" value c | M: value (m > old m) |
functions other than kind, type, tally and sum are of numbers
    L: count c by min(1, z) value c | L: count c by abs(z) value c | M: value max(m, 3) |
    T: count c by floor(type(z)) value c |
== and != compare like with like
    L: count c when z == 1 value c | L: count c when 0 != y value c |
    L: count c when "B" == 1 value c | L: count c when z == (z == y) value c |
    T: count c when kind(z) == 1 value c |
    T: memory m of type(z) last 2 count c when m[0] == 1 value c | M: value (m[0] == 1) |
    M: value (m == 1) | M: count c when m == z value c | M: memory k of z last 3 value (m == k) |
    M: memory k of (z == y) last 2 value (m == k) |
    M: memory k of (z == y) in 0..2 last n value (k != m) |
'then' and 'else' must give the same sort of thing
    L: count c when (if i == 1 then z else 1) == y value c |
    M: value ((if n == 1 then m else 0) == m) |
tally counts entries that equal its second argument, so it must be like them
    M: value tally(m, 1) | M: value tally(m, m) |
    L: memory m of (z == y) last 2 value tally(m, true) + tally(m, "A") |
    T: memory m of kind(z) last 2 value tally(m, n) |
sum adds the entries of a memory
    M: value sum(m) | T: memory m of kind(z) last 2 value sum(m) |
kind and type need tags such as B-NP
    D: count c when kind(z) == "B" value c | T: count c when kind(kind(z)) == "B" value c |
    T: count c when type("B") == "B" value c | T: count c when type(i) == "x" value c |
a table has one entry for each label
    (t: table = 1) labels A B count c by t[z, 1] value c |
    (t: table = 1) labels O B-x count c by t[kind(z), y] value c |
"""
"""Messages with files that can be read but take one sort of thing for another."""
EXAMPLES = by_message(
    TABLE,
    {
        "": "loss f",
        "D": "loss f labels 0 1 ",
        "L": "loss f labels A B ",
        "M": "loss f labels A B memory m of z last 2 ",
        "T": "loss f labels O B-x ",
    },
)


@pytest.mark.parametrize(("why", "text"), EXAMPLES, ids=[text for _, text in EXAMPLES])
def test_each_message_points_at_what_it_names(why, text):
    said, under = refusal(text)
    named, is_a, wanted, rest = re.fullmatch(r"(.+) is (.+), not (.+?): (.+)", said).groups()
    assert rest.startswith(why + ". ")
    assert len(rest) > len(why) + 10  # and what to do
    assert is_a != wanted
    assert under.startswith(named)


def test_labels_are_shown_as_they_help():
    """One that looks like the number is offered, and many are cut short."""
    assert 'z == "2"' in refusal("loss f labels 1 2 many count c when z == 2 value c")[0]
    labels = [f"label{k}" for k in range(500)]
    said, _ = refusal("loss f labels any count c by z value c", labels=labels)
    assert "label0, " in said
    assert len(said) < 240


@pytest.mark.parametrize(
    ("text", "z", "y", "value"),
    [
        ("labels A B count c by (z == y) - (z != y) value c", "AAB", "ABB", 1),
        ('labels A B count c when (if i == 1 then z else y) == "A" value c', "ABB", "BAB", 2),
        ("labels A B count c when (z == y) == (i == 1) value c", "AAB", "ABB", 2),
        ('labels A B memory m of z last 2 value tally(m, "A") + (m[0] == "B")', "AAB", "AAA", 2),
        ("labels A B memory m of z last 2 count c when m == old m value c", "AAAAB", "AAAAA", 2),
        ("labels A B memory m of z last 2 memory k of y last 2 value (m == k)", "BAB", "AAB", 1),
        ("labels A B memory m of z last 2 memory k of y last 2 value (m == k)", "AAB", "ABB", 0),
        ("labels A B memory m of (z == y) last 2 memory k of i % 2 in 0..1 last 2 "
         "count c when m == k value c", "AB", "AA", 2),
        ("labels A B memory m of z last n memory k of y last n value (m == k)", "AB", "AB", 1),
        ("labels A B memory m of z last 2 memory k of y last 2 "
         "value ((if n == 2 then m else k) == m)", "AB", "BB", 1),
        ("labels A B memory m of (z == y) last 2 value sum(m) + (if m[0] then 2 else 4)",
         "AB", "AA", 5),
        ("labels A B flag g when z == y age a since z != y up to 3 value g + a + 2 * g * a",
         "AB", "AA", 1),
        ("labels A B state S T arc S -> T when z == y arc S -> S otherwise arc T -> T "
         "value (at T) + 1", "AB", "BB", 2),
        ("labels A 1 count c when z == \"1\" value c", "A1", "AA", 1),
        ("count c by z - y count d by abs(z) * 2 value c + d", "11", "10", 5),
        ('count c when z == "1" count d by "1" + y value c + d', "11", "10", 5),
        ("memory m of z last 2 value sum(m) + m[0] + tally(m, 1) + tally(m, \"0\")", "01", "00", 4),
        ("memory m of z last 1 register r in 0..9 start 0 next r + m[0] value r", "11", "00", 2),
        ("(t: table = 2) labels A B count c by t[z, y] + t[\"A\", \"B\"] value c", "AB", "BB", 8),
        ("(t: table = 2) count c by t[z, 1] + t[1 - z, \"0\"] value c", "01", "00", 8),
        ("memory m of z in .. last 2 value tally(m, 1)", "011", "000", 2),
    ],
)  # fmt: skip
def test_accepted(text, z, y, value):
    assert fsmeu.loads(f"loss f {text}")(z, y) == value


@pytest.mark.parametrize(
    ("condition", "value"),
    [
        ('kind(z) == "B"', 1),
        ("kind(z) == kind(y)", 3),
        ("z == kind(z)", 1),
        ("type(z) != type(y)", 1),
        ('kind(m[1]) == "O"', 1),
        ("(if i == 1 then kind(z) else type(z)) == t[0]", 2),
        ("tally(t, type(z)) == 2", 1),
        ('type(z) == "Q"', 0),
    ],
)
def test_accepted_of_tags(condition, value):
    head = "loss f labels bio memory m of z last 2 memory t of type(z) last 2"
    loss = fsmeu.loads(f"{head} count c when {condition} value c", types=["x", "y"])
    assert loss(["O", "B-x", "I-x"], ["O", "B-y", "I-x"]) == value


def test_labels_are_checked_when_they_are_known():
    """When the file is loaded with them, or with those of the model."""
    text = "loss f labels any count c when z == 1 value c"
    assert fsmeu.loads(text)("011", "000") == 2
    assert fsmeu.loads(text, labels=(1, 2))([1, 2], [1, 1]) == 1
    assert "z is a label (a, b), not a number" in refusal(text, labels=("a", "b"))[0]
    model = fsmeu.models.Independent([[0.5, 0.5]], ("a", "b"))
    counts = fsmeu.loads('loss f labels any count c when z == "b" and y == "b" value c')
    assert fsmeu.expect(counts, "b", model).value == 0.5
    differs = fsmeu.loads("loss f labels any count c by abs(z - y) value c")
    assert fsmeu.expect(differs, [1], [0.5]).value == 0.5
    with pytest.raises(LossFileError, match=r"1:34: z is a label \(a, b\), not a number"):
        fsmeu.expect(differs, "b", model)
    tags = fsmeu.models.Independent([[0.5, 0.5]], ("O", "B-x"))
    begins = fsmeu.loads('loss f labels any count c when kind(y) == "B" value c')
    assert fsmeu.expect(begins, ["O"], tags).value == 0.5


@pytest.mark.parametrize(
    ("labels", "condition", "given", "said"),
    [
        ("any", 'z != »"A"', (0, 1), '"A" is not a label; the labels are 0, 1. Give labels with'),
        ("any", 'z != »"A"', ("B", "C"), '"A" is not a label; the labels are "B", "C". Give'),
        ("any", 'y == (if i == 1 then "B" else »"A")', ("B", "C"), '"A" is not a label'),
        ("any", 'm[0] == »"A"', (0, 1), '"A" is not a label'),
        ("any", 'tally(m, »"A") > 0', (0, 1), '"A" is not a label'),
        ("any", "z == »-3", (0, 1), "-3 is not a label"),
        ("any", 'w[»"A"] > 0', (0, 1), '"A" is not a label'),
        ("any", 'w[»"A"] > 0', ("B", "C"), '"A" is not a label'),
        ("bio", 'z == »"B-NP"', ("O", "B-VP"), '"B-NP" is not a label; the labels are "O", "B-VP"'),
        ("bio", 'z == »"Q-NP"', None, '"Q-NP" is not a label; the labels are O, B-TYPE, I-TYPE'),
        ("iob1", '»"NP" != y', None, '"NP" is not a label; the labels are O, B-TYPE, I-TYPE'),
        ("bio", 'kind(z) == »"S"', None, '"S" is not a kind; the kinds are "O", "B", "I"'),
        ("bio", 'k[0] == »"E"', None, '"E" is not a kind'),
        ("O B-x", 'type(z) == »"y"', None, '"y" is not a type; the types are "x"'),
        ("O B-x", 'kind(z) == »"I"', None, '"I" is not a kind; the kinds are "O", "B"'),
        ("O B-x", 'tally(k, »"I") > 0', None, '"I" is not a kind'),
    ],
)
def test_what_no_label_can_be_is_refused(labels, condition, given, said):
    """As soon as labels are known; chunk tags of a scheme are always known to be such."""
    tagged = labels != "any"
    head = f"loss f(w: table = 1) labels {labels} memory m of z last 2 "
    head += "memory k of kind(y) last 2 " * tagged
    text = f"{head}count c when {condition} value c"
    assert refusal(text, labels=given)[0].startswith(said)
    if given:
        plain = fsmeu.loads(text.replace("»", ""))
        model = fsmeu.models.Independent([[0.5, 0.5]], given)
        for ask in (lambda: fsmeu.decode(plain, model), lambda: fsmeu.expect(plain, model, model)):
            with pytest.raises(LossFileError, match=re.escape(said.split(";")[0])):
                ask()


def test_labels_that_a_file_names_need_not_occur():
    """In sequences whose labels are read from them; beside numbers, a name is a mistake."""
    named = fsmeu.loads('loss f labels any count c when z == "A" and y != "A" value c')
    assert [named(z, y) for z, y in (("", ""), ("XY", "YY"), ("AAX", "AXX"))] == [0, 0, 1]
    tags = fsmeu.loads('loss f labels bio count c when z != y and y == "B-NP" value c')
    assert [tags(["O"], [y]) for y in ("O", "B-NP", "B-VP")] == [0, 1, 0]
    assert fsmeu.evaluate_corpus(tags, [["O"], ["O"]], [["O"], ["B-NP"]]) == 1
    with pytest.raises(LossFileError, match='"A" is not a label; the labels are 0, 1'):
        named("01", "11")
    with pytest.raises(InputError, match=r"must be given\. Give labels with A among them"):
        named.compile(2)
    number = fsmeu.loads("loss f labels any count c when z == 2 value c")
    assert (number("01", "11"), number("02", "11"), number([2, 5], [2, 2])) == (0, 1, 1)
    model = fsmeu.models.Independent([[0.5, 0.5]], ("X", "Y"))  # a label of probability zero
    wide = fsmeu.loads(named.spec.source, labels="XYA")
    assert fsmeu.expect(wide, "A", model).value == 1


def test_new_names_for_the_labels_of_a_file():
    """Labels that take the place of a file's own keep what those are."""
    renamed = fsmeu.loads("loss f labels 0 1 count c by z * y value c", labels=("no", "yes"))
    assert renamed(["yes", "no"], ["yes", "yes"]) == 1
    text = "loss f labels no yes count c by z value c"
    assert "z is a label (no, yes)" in refusal(text, labels=(0, 1))[0]


LETTERS = ("a", "b", "c")
RENAMED = {"a": "w", "b": "c", "c": "A"}
RETYPED = {"B-x": "B-w", "I-x": "I-w", "B-y": "B-u", "x": "w", "y": "u"}
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
@given(seed=st.integers(0, 2**32), labels=st.sampled_from((LETTERS, TAGS)), data=st.data())
def test_names_and_order_of_labels_do_not_matter(seed, labels, data):
    """What is accepted has the same value when labels change places or names."""
    text, loss = accepted(seed, labels)
    names = RENAMED if labels == LETTERS else RETYPED
    turned = fsmeu.loads(text, labels=data.draw(st.permutations(labels)))
    fresh = re.sub(r'"([^"]*)"', lambda m: f'"{names.get(m[1], m[1])}"', text)
    order = data.draw(st.permutations([names.get(x, x) for x in labels]))
    renamed = fsmeu.loads(fresh, labels=order)
    for n in range(4):
        z, y = (data.draw(st.lists(st.sampled_from(labels), min_size=n, max_size=n)) for _ in "zy")
        value = value_of(loss, z, y)
        assert value_of(turned, z, y) == value
        new_z, new_y = ([names.get(x, x) for x in sequence] for sequence in (z, y))
        assert value_of(renamed, new_z, new_y) == value


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 2**32), labels=st.sampled_from((LETTERS[:2], TAGS[:3])))
def test_what_is_accepted_never_reckons_with_texts(seed, labels):
    """Read as texts and tuples, an accepted file meets no text or memory in place of a number."""
    text, loss = accepted(seed, labels)
    for n in range(3):
        world = World(read(text), labels, n)
        for z, y in itertools.product(itertools.product(labels, repeat=n), repeat=2):
            why = ""
            try:
                wanted = pytest.approx(float(world.run(z, y)), rel=1e-12, abs=1e-12)
            except Undefined as error:
                wanted, why = None, str(error)
            assert not re.match(r"['(]|kind of|type of|no row", why)
            assert value_of(loss, z, y) == wanted


@pytest.mark.parametrize("sign", ["==", "!=", "<", "<=", ">", ">="])
def test_only_unequal_holds_for_an_entry_from_before_the_start(sign):
    """As the description of the language has it."""
    text = f"loss f labels 0 1 memory m of z last 2 count c when m[1] {sign} 1 value c"
    assert fsmeu.loads(text)([1], [1]) == (sign == "!=")
    assert World(read(text), (0, 1), 1).run((1,), (1,)) == (sign == "!=")


def test_the_default_of_a_table_may_look_at_its_labels():
    """Each entry by itself, in every order of the labels, and of swapped tapes."""
    text = "loss f({}) labels any count c by cost[z, y] value c"
    zero_one = fsmeu.loads(text.format("k = 3, cost: table = k * (z != y)"))
    assert zero_one("0110", "0101") == 6
    assert zero_one(["N", "V"], ["N", "D"]) == 3
    assert fsmeu.loads(text.format("cost: table = z != y"), cost=2)("01", "00") == 4
    for labels in ((0, 1, 2), (2, 0, 1)):
        loss = fsmeu.loads(text.format("cost: table = if z > y then 2 else y"), labels=labels)
        for z in range(3):
            for y in range(3):
                want = 2 if z > y else y
                assert loss([z], [y]) == loss.swapped([y], [z]) == want
    tags = 'loss f(w: table = if type(z) == "NP" then 2 else 1) labels bio count c by w[y] value c'
    assert fsmeu.loads(tags)(["O", "O", "O"], ["B-NP", "I-NP", "B-VP"]) == 5
    model = fsmeu.models.Independent([[0.25, 0.25, 0.5]], ("a", "b", "c"))
    assert fsmeu.decode(fsmeu.loads(text.format("cost: table = z != y")), model).labels == ["c"]
