"""Tables read by labels, positions and other whole numbers; entries that are not there."""

from itertools import product

import numpy as np
import pytest

import fsmeu
from fsmeu.checking.report import report
from fsmeu.errors import FsmeuError, InputError, LossFileError
from fsmeu.fst.alphabet import Alphabet
from fsmeu.losses.language.read import read
from fsmeu.losses.language.write import file_text
from tests.losses.meaning import World

W = [0.5, 2.0, 1.0, 0.25]
BY_POSITION = "loss f(w: table) labels 0 1 count c by w[i] when z != y value c"
BY_AGE = """
loss f(w: table) labels 0 1
age az since z == 1 up to 3
count c by w[az] when z != y
value c
"""
BY_BOTH = "loss f(w: table) labels 0 1 count c by w[i, y] when z != y value c"


def ages(z, top):
    age, found = top, []
    for label in z:
        age = 0 if label == 1 else min(age + 1, top)
        found.append(age)
    return found


def expected(text, z, y):
    wrong = [a != b for a, b in zip(z, y, strict=True)]
    if text == BY_POSITION:
        return sum(W[k] for k, bad in enumerate(wrong) if bad)
    if text == BY_AGE:
        return sum(W[age] for age, bad in zip(ages(z, 3), wrong, strict=True) if bad)
    return sum(W[k] * (1 + y[k]) for k, bad in enumerate(wrong) if bad)


@pytest.mark.parametrize("text", [BY_POSITION, BY_AGE, BY_BOTH], ids=["i", "age", "i, y"])
def test_entries_by_number(text):
    loss = fsmeu.loads(text, w=[[w, 2 * w] for w in W] if text == BY_BOTH else W)
    p = np.array([0.2, 0.6, 0.45, 0.7])
    machine, means = loss.compile(4), {}
    for z in product((0, 1), repeat=4):
        means[z] = 0.0
        for y in product((0, 1), repeat=4):
            value = expected(text, z, y)
            state = 0
            for a, b in zip(z, y, strict=True):
                state = machine.next[state, a, b]
            assert loss(z, y) == pytest.approx(value)
            assert machine.values[state] == pytest.approx(value)
            means[z] += value * np.prod(np.where(y, p, 1 - p))
    decision = fsmeu.decode(loss, fsmeu.models.Bernoulli(p))
    assert (decision.method, decision.exact) == ("additive", True)
    assert decision.value == pytest.approx(min(means.values()))
    assert means[tuple(decision.labels)] == pytest.approx(decision.value)


def test_labels_in_another_order_leave_positions_alone():
    loss = fsmeu.loads(BY_BOTH.replace("0 1", "any"), labels="AB", w=[[w, 2 * w] for w in W])
    other = loss.with_labels(loss.alphabet)
    assert other("AAAA", "ABAB") == loss("AAAA", "ABAB") == 2 * (W[1] + W[3])
    model = fsmeu.models.Independent(np.full((4, 2), 0.5), ("B", "A"))
    assert fsmeu.expect(loss, "AAAA", model).value == pytest.approx(sum(W))


@pytest.mark.parametrize(
    ("text", "z", "words"),
    [
        (BY_POSITION, "00000", "w has entries 1 to 4 on this side, 5 is asked for when"),
        (BY_AGE.replace("up to 3", "up to 9"), "0000", "0 to 3 on this side, 9 is asked for"),
        (BY_POSITION.replace("w[i]", "w[i / 2]"), "1000", "0.5 is asked for"),
    ],
)
def test_entries_that_are_not_there(text, z, words):
    loss = fsmeu.loads(text, w=W)
    with pytest.raises(LossFileError, match=words) as caught:
        loss(z, "1" * len(z) if z != "1000" else "0000")
    assert " i=" in str(caught.value)


def test_check_finds_entries_that_are_not_there():
    found = report(read(BY_POSITION), params={"w": W})
    assert not found.holds
    assert "5 is asked for" in found.determinism.fault
    assert report(read(BY_POSITION)).holds  # a table that is assumed has as many as are asked for


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("loss f labels 0 1 memory m of y last 2 count c when i > 99 and m[2] == 1 value c",
         r"m keeps 'last 2', m\[0\] to m\[1\]: there is no m\[2\]. Write 'last 3' where m is decl"),
        ("loss f labels 0 1 memory m of y last 1 count c when m[1] == 1 value c",
         r"m keeps 'last 1', m\[0\]: there is no m\[1\]. Write 'last 2' where m is declared"),
        ("loss f(w: table) labels 0 1 count c by w[i] + w[z] value c", "Use two tables"),
        ("loss f(w: table = 1) labels 0 1 count c by w[i] value c", "it has no default"),
        ("loss f labels 0 1 count c by if z == 1 then 2 elif y == 1 then 3 else 0 value c",
         "Write 'else if'"),
        ("loss f labels 0 1 count c when prev(z) == 1 value c", "Write 'memory m of z last 1'"),
    ],
)  # fmt: skip
def test_slips_are_found_when_a_file_is_loaded(text, words):
    with pytest.raises(FsmeuError, match=words):
        fsmeu.loads(text)


NAMED = """loss f({})
labels {}
count c by w[y] when z == p and y != p
count d by v[z, y]
value c + 8 * d
"""
LISTED = "p: label = {p}, w: table = {{{a}: 2, {b}: 1 / 2, {c}: 3}}, v: table = 1"


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"p": "B"},
        {"w": {"B": 5}},
        {"w": [1, 2, 4], "v": {"A": 3, "C": {"A": 7, "B": 9}}},
        {"v": {"A": {"B": 2}}, "p": "C"},
        {"v": [[1, 2, 3], [4, 5, 6], [7, 8, 9]]},
    ],
)
@pytest.mark.parametrize("labels", [("A", "B", "C"), (0, 1, 2)])
@pytest.mark.parametrize("open_labels", [True, False])
def test_labels_and_tables_by_label(given, labels, open_labels):
    """As parameters, given or written in the file, and in whatever order labels are."""
    names = dict(zip("ABC", labels, strict=True))
    quoted = {k: f'"{x}"' if isinstance(x, str) else x for k, x in zip("abc", labels, strict=True)}
    text = NAMED.format(
        LISTED.format(p=quoted["a"], **quoted), "any" if open_labels else " ".join(map(str, labels))
    )

    def named(value):
        if isinstance(value, dict):
            return {names[key]: named(row) for key, row in value.items()}
        return names[value] if isinstance(value, str) else value

    given = {key: named(value) for key, value in given.items()}
    loss = fsmeu.loads(text, labels=labels if open_labels else None, **given)
    turned = loss.with_labels(Alphabet(labels[::-1]))
    world = World(read(text), labels, 2, **given)
    for z in product(labels, repeat=2):
        for y in product(labels, repeat=2):
            assert loss(z, y) == turned(z, y) == float(world.run(z, y))
    p = np.array([[0.2, 0.3, 0.5], [0.6, 0.3, 0.1]])
    truth = sum(
        p[0, j] * p[1, k] * float(world.run((labels[0],) * 2, (labels[j], labels[k])))
        for j, k in product(range(3), repeat=2)
    )
    model = fsmeu.models.Independent(p, labels)
    assert fsmeu.expect(loss, [labels[0]] * 2, model).value == pytest.approx(truth)
    again = fsmeu.loads(file_text(loss.spec), labels=labels if open_labels else None, **given)
    assert again("A" * 2 if labels[0] == "A" else "00", labels[:2]) == loss(
        [labels[0]] * 2, labels[:2]
    )
    if open_labels and not any(isinstance(value, list) for value in given.values()):
        unlabelled = fsmeu.loads(text, **given)
        assert unlabelled.labels == labels
        assert unlabelled([labels[0]] * 2, labels[:2]) == loss([labels[0]] * 2, labels[:2])


def test_new_names_of_labels_in_tables():
    """What the file writes is by its own names, what is given by the new ones."""
    text = NAMED.format(LISTED.format(p='"A"', a='"A"', b='"B"', c='"C"'), "A B C")
    loss = fsmeu.loads(text, labels="PQR", v=0, w={"P": 9})
    assert (loss("P", "Q"), loss("P", "R"), loss("Q", "P")) == (0.5, 3, 0)
    assert fsmeu.loads(text, labels="PQR", v=0, p="Q")("Q", "P") == 2
    assert loss.params["p"] == "P"


@pytest.mark.parametrize(
    ("inside", "given", "words"),
    [
        ('p: label = "Q"', {}, "parameter p: the labels are A, B. Got Q"),
        ('p: label = "A"', {"p": "a"}, "parameter p: the labels are A, B. Got a instead"),
        ('p: label = "A"', {"p": [1]}, "parameter p: must be a label"),
        ("p: label", {}, "the parameter 'p' has no default. Give p=VALUE"),
        ("w: table", {"w": {"A": 1}}, "w: must have an entry for each label. Got none for B"),
        ("w: table = 1", {"w": {"Q": 1}}, "parameter w: the labels are A, B. Got Q"),
        ("w: table = 1", {"w": {}}, "parameter w: must have one entry per label"),
        ("w: table = 1", {"w": {"A": "x"}}, "parameter w: must be a table of numbers"),
        ("w: table = [1, 2, 3]", {}, "entries in order need labels in order, and those of"),
        ('w: table = {"A": 1}', {}, "must have an entry for each label. Got none for B"),
        ("p: label in 0..1", {}, "a parameter that is a label is written NAME: label, or"),
        ("p: label = 1 + 1", {}, "a parameter that is a label is written NAME: label, or"),
        ('p: label = "A", k = p', {}, "only parameters above it may be used here"),
        ("w: table = {A: 1}", {}, "a table is written out as"),
        ('w: table = {"A": 1, "A": 2}', {}, "the labels of a table must differ"),
        ('w: table = {"A": }', {}, "a table is written out as"),
        ('w: table = {"A": z}', {}, "only parameters above it may be used here"),
        ('w: table = {"A": [1, {"B": 2}]}', {}, "a table is written out as"),
    ],
)
def test_labels_and_tables_that_do_not_suit_a_file(inside, given, words):
    used = "when z == p" if inside.startswith("p") else "by w[z]"
    with pytest.raises(FsmeuError) as caught:
        fsmeu.loads(f"loss f({inside}) labels A B count c {used} value c", **given)
    assert words in str(caught.value)


def test_entries_in_order_are_refused_where_labels_are_open():
    for text in ("[1, 2]", '{"A": [1, 2], "B": 3}'):
        side = "z, y" if text.startswith("{") else "z"
        with pytest.raises(LossFileError, match="those of the file are open"):
            fsmeu.loads(f"loss f(w: table = {text}) labels any count c by w[{side}] value c")


def test_shapes_of_tables():
    for given in (2, [[1, 2]], []):
        with pytest.raises(InputError, match="one number per position"):
            fsmeu.loads(BY_POSITION, w=given)
    with pytest.raises(InputError, match="one row per position and one column per label"):
        fsmeu.loads(BY_BOTH, w=[[1, 2, 3]])


def test_a_register_that_leaves_its_bounds_shows_value_state_and_step():
    loss = fsmeu.loads("loss f labels 0 1 register r in 0..2 start 0 next r + z + 1 value r")
    words = r"r leaves its bounds 0..2: it would be 3 when r=1 z=1 y=0 i=2 n=3"
    with pytest.raises(LossFileError, match=words):
        loss("010", "000")
    for ask in (
        lambda: loss.compile(3),
        lambda: fsmeu.expect(loss, "010", [0.5] * 3),
    ):
        with pytest.raises(
            LossFileError, match=r"leaves its bounds 0..2: it would be [34] when r="
        ):
            ask()
