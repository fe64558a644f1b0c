"""``require``: which hypotheses a loss is defined for, as a file says it."""

import itertools

import numpy as np
import pytest

import fsmeu
from fsmeu.errors import EmptyError, InputError, LossFileError
from fsmeu.losses.language.read import read
from fsmeu.losses.language.write import file_text
from fsmeu.searn import CostOracle

HEAD = "loss f(k: int = 2) labels 0 1 count c when z != y "


def text(z):
    return "".join(map(str, z))


STATES = "state A B C arc A -> B when z == 1 arc A -> A otherwise "
STATES += "arc B -> C when z == 1 arc B -> A otherwise arc C -> C"
REQUIREMENTS = [
    ("require z == 0 or i > k", lambda z: not any(z[:2])),
    ("require not (i == n and z == 1)", lambda z: not z or not z[-1]),
    ("count ones when z == 1 require ones <= k", lambda z: sum(z) <= 2),
    ("memory m of z last 2 require not (m[0] == 1 and m[1] == 1)", lambda z: "11" not in text(z)),
    ("flag f when z == 1 require f == 0 or z == 1", lambda z: "10" not in text(z)),
    (
        "age a since z == 1 up to k require z == 1 or a < k or i < 3",
        lambda z: "00" not in text(z)[1:],
    ),
    (f"{STATES} require not at C", lambda z: "11" not in text(z)),
    ("register r in 0..n start n next max(0, r - z) require r >= n - 1", lambda z: sum(z) <= 1),
    ("require true", lambda z: True),
]


@pytest.mark.parametrize(("said", "holds"), REQUIREMENTS)
def test_hypotheses_are_those_in_which_it_holds(said, holds):
    loss = fsmeu.loads(f"{HEAD} {said} value c")
    for n in (0, 3, 1, 5, 2, 4):
        allowed = loss.allowed(n)
        for z in itertools.product((0, 1), repeat=n):
            accepted = allowed is None or allowed.accepts(np.array(z, int))
            assert accepted == holds(z), (said, z)
            if accepted:
                assert loss(z, [0] * n) == sum(z)
            else:
                with pytest.raises(InputError, match="loss f is defined where"):
                    loss(z, [0] * n)


def test_registers_that_it_alone_reads_are_no_states_of_the_loss():
    loss = fsmeu.loads(f"{HEAD} age a since z == 1 up to 9 require z == 0 or old a > 2 value c")
    assert [r.name for r in loss.spec.registers] == ["c"]
    assert [r.name for r in loss.defined.spec.registers] == ["c", "a", "require"]


def test_what_holds_in_all_restricts_nothing():
    loss = fsmeu.loads(f"{HEAD} require z == 0 or z == 1 value c")
    assert loss.allowed(5) is None
    assert fsmeu.decode(loss, [0.9, 0.2, 0.6]).labels == [1, 0, 1]


def test_what_never_holds_leaves_no_decision():
    loss = fsmeu.loads(f'{HEAD} require z > 1 "pigs fly" value c')
    with pytest.raises(EmptyError, match="some sequence of length 2 must be allowed in which pigs"):
        fsmeu.decode(loss, [0.5, 0.5])
    assert fsmeu.decode(loss, []).labels == []


@pytest.mark.parametrize(
    ("method", "engine"),
    [
        *((method, "auto") for method in ("auto", "search", "exhaustive")),
        *((method, "openfst") for method in ("auto", "exhaustive")),
    ],
)
def test_a_loss_that_is_no_sum_is_decided_among_them(method, engine):
    """Its range holds for allowed hypotheses alone: no other is valued on the way."""
    loss = fsmeu.loads(
        "loss f labels 0 1 register worst in 0..n start 0 next max(worst, z) "
        "count c when z == y count ones when z == 1 require ones <= 1 "
        "value (c - 1)^2 + ones range 0 .. (n - 1)^2 + 2"
    )
    p = [0.9, 0.8, 0.3, 0.6]
    model = fsmeu.models.Bernoulli(p)
    decision = fsmeu.decode(loss, model, method=method, engine=engine)
    values = {}
    for z in [(0, 0, 0, 0), (1, 0, 0, 0), (0, 1, 0, 0), (0, 0, 1, 0), (0, 0, 0, 1)]:
        values[z] = sum(
            np.prod([q if b else 1 - q for q, b in zip(p, y, strict=True)])
            * ((sum(a == b for a, b in zip(z, y, strict=True)) - 1) ** 2 + sum(z))
            for y in itertools.product((0, 1), repeat=4)
        )
    assert decision.value == pytest.approx(values[tuple(decision.labels)])
    if method != "search":
        assert decision.value == pytest.approx(min(values.values()))


def test_a_file_that_is_written_out_is_the_same_loss():
    given = fsmeu.load("event_fscore", tolerance=1)
    again = read(file_text(given.spec))
    assert again.requirement == given.spec.requirement
    assert [r.name for r in again.registers] == [r.name for r in given.spec.registers]
    loss = fsmeu.loads(file_text(given.spec), tolerance=1)
    assert loss.requirement == given.requirement
    for n in range(6):
        for z in itertools.product((0, 1), repeat=n):
            rows = np.array(z, int)
            assert loss.allowed(n).accepts(rows) == given.allowed(n).accepts(rows)
    assert loss("10010", "01100") == 1.0


@pytest.mark.parametrize(
    ("said", "message"),
    [
        ("require z == 0 require z == 1 value c", "there may be only one 'require' statement"),
        ("require y == 0 value c", "may not depend on the reference"),
        ("require z == y value c", "may not depend on the reference"),
        ("require c < 3 value c", "may not depend on the reference"),
        (
            "age a since y == 1 up to 3 flag g when a > 1 require g == 0 value c",
            "not depend on the",
        ),
        ("count require when z == 1 value c", "'require' is a word of the language"),
        ("require value c", "'require' is followed by a condition on z"),
        ("require z == 2 value c", "2 is not a label"),
        ('require z == 0 "unclosed value c', "needs a closing quote"),
        ("require ones < 2 count ones value c", "'ones' is not known here"),
    ],
)
def test_mistakes_are_named(said, message):
    with pytest.raises(LossFileError) as caught:
        fsmeu.loads(f"{HEAD} {said}")
    assert message in str(caught.value)


def test_labels_are_no_numbers_in_it():
    with pytest.raises(LossFileError, match="a condition must be"):
        fsmeu.loads("loss f labels A B require z value 1")


@pytest.mark.parametrize("engine", ["auto", "openfst"])
def test_costs_of_any_prefix_need_a_loss_that_is_defined_for_all(engine):
    """By the explicit engine, hypotheses that are not allowed were among the completions."""
    loss = fsmeu.loads(f"{HEAD} require z == 0 or i > k value c")
    with pytest.raises(InputError, match="must be defined for all hypotheses"):
        CostOracle(loss, [1, 0, 1], engine=engine)
