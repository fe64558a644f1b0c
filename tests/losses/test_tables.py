"""Tables read by labels, positions and other whole numbers; entries that are not there."""

from itertools import product

import numpy as np
import pytest

import fsmeu
from fsmeu.checking.report import report
from fsmeu.errors import FsmeuError, InputError, LossFileError
from fsmeu.losses.language.read import read

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
