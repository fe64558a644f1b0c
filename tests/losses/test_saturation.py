"""Ages that stop at a cap: the value is the same as long as no age of y gets there."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fsmeu

BIO = ("O", "B-A", "I-A", "B-B", "I-B")
IOBES = ("O", "B-A", "I-A", "E-A", "S-A", "B-B", "I-B", "E-B", "S-B")
WITH_AGES = {
    "chunk_fscore": BIO,
    "chunk_fscore_iob1": BIO,
    "chunk_fscore_iobes": IOBES,
    "chunk_precision": BIO,
    "chunk_recall": BIO,
    "span_fscore": BIO,
}


def inside_more(tags):
    """A strategy for tags of which many are inside of chunks."""
    return st.sampled_from([*tags, *("I-A" for _ in tags)])


def shortened(tags, cap):
    """The tags, with O in place of each at which an age would reach the cap."""
    length = 0
    kept = []
    for tag in tags:
        length = length + 1 if tag[0] == "I" else int(tag != "O")
        if length == cap:
            tag = "O"
            length = 0
        kept.append(tag)
    return kept


@settings(max_examples=300)
@given(st.data(), st.sampled_from(sorted(WITH_AGES)), st.integers(2, 5))
def test_the_value_is_that_of_the_loss(data, name, cap):
    """For chunks of z of any length."""
    tags = WITH_AGES[name]
    n = data.draw(st.integers(0, 16))
    z = data.draw(st.lists(inside_more(tags), min_size=n, max_size=n))
    drawn = data.draw(st.lists(inside_more(tags), min_size=n, max_size=n))
    # References that agree with the hypothesis in most places have chunks in common with it.
    agrees = data.draw(st.lists(st.integers(0, 3), min_size=n, max_size=n))
    mixed = [own if k else other for own, other, k in zip(z, drawn, agrees, strict=True)]
    y = shortened(mixed, cap)
    loss = fsmeu.load(name, labels=tags)
    assert set(loss.ages.values()) == {"z", "y"}
    assert loss.least_cap < cap
    assert fsmeu.evaluate(loss.saturated(cap), z, y) == fsmeu.evaluate(loss, z, y)


def test_a_chunk_of_y_that_reaches_the_cap_may_be_valued_otherwise():
    """Lengths 2 and 3 are both 2: the condition is needed."""
    loss = fsmeu.load("chunk_fscore_iobes", labels=IOBES)
    z = ["O", "B-A", "I-A", "E-A"]
    y = ["B-A", "I-A", "I-A", "E-A"]
    assert [fsmeu.evaluate(loss.saturated(cap), z, y) for cap in (2, 3, 4)] == [1, 0, 0]
    assert fsmeu.evaluate(loss, z, y) == 0


TEXT = """
utility f
labels  0 1
register a in 0..n start 0 next {update}
register b in 0..n start 0 next if y == 1 then b + 1 else 0
register c in 0..n start 0 next if z == y then c + 1 else 0
count   ref when y == 1
count   tp when {asked}
value   {value}
"""
RUN = "if z == 1 then a + 1 else 0"


def written(asked="a == b", value="tp / (1 + ref)", update=RUN):
    """The loss of a text."""
    return fsmeu.loads(TEXT.format(asked=asked, value=value, update=update))


ORDER = {
    "an age of the other tape": "a == b",
    "before the step": "old a >= old b",
    "numbers": "a > 3 and 2 <= b",
    "both by numbers": "(a > 2) == (b > 2)",
    "a choice": "(if z == 1 then a else 0) == (if y == 0 then 0 else old b)",
    "neither": "z == y",
}


@pytest.mark.parametrize("asked", ORDER.values(), ids=ORDER)
@settings(max_examples=60)
@given(st.data())
def test_order_is_all_that_may_be_asked(asked, data):
    """And then no value is another one."""
    loss = written(asked)
    assert loss.ages == {"a": "z", "b": "y"}
    n = data.draw(st.integers(0, 12))
    label = st.sampled_from([0, 1, 1, 1])
    z = data.draw(st.lists(label, min_size=n, max_size=n))
    y = data.draw(st.lists(label, min_size=n, max_size=n))
    cap = 1 + max(int(loss.least_cap), max(map(len, "".join(map(str, y)).split("0"))))
    assert fsmeu.evaluate(loss.saturated(cap), z, y) == fsmeu.evaluate(loss, z, y)


REFUSED = {
    "an age of the same tape": {"asked": "a == old a"},
    "a choice of both tapes": {"asked": "(if z == 1 then a else b) == 2"},
    "an age of both tapes": {"asked": "a == c"},
    "a sum": {"asked": "a + 1 == b"},
    "a difference": {"asked": "a - b == 0"},
    "a minimum": {"asked": "min(a, 2) == b"},
    "the length": {"asked": "a == n"},
    "the position": {"asked": "b < i"},
    "a count": {"asked": "a == ref"},
    "in a choice's condition": {"asked": "(if a == n then 1 else 0) == 1"},
    "as a number": {"asked": "a * b > 2"},
    "in the value": {"value": "tp / (1 + b)"},
    "compared in the value with the length": {"value": "tp / (1 + (b == n))"},
    "in an age's condition": {"update": "if a + 1 == n then 0 else a + 1"},
}


@pytest.mark.parametrize("given", REFUSED.values(), ids=REFUSED)
def test_all_else_is_refused(given):
    """No age may stop where something else than order is asked of one."""
    assert written(**given).ages == {}


@pytest.mark.parametrize(
    "update",
    [
        "if z == 1 then min(a + 2, n) else 0",
        "if z == 1 then max(a - 1, 0) else 0",
        "if z == 1 then n else 0",
        "if z == 1 then min(2 * a, n) else 1",
    ],
)
def test_what_moves_otherwise_is_no_age(update):
    """It is compared with one, so that none may stop."""
    assert written(update=update).ages == {}


@pytest.mark.parametrize(
    ("given", "least"),
    [
        ({}, 1),
        ({"asked": "a > 7 and b > 5"}, 7),
        ({"asked": "a == b and 9 > old b"}, 9),
        ({"update": "if z == 1 then a + 1 else 3"}, 3),
        ({"update": "if z == 1 and a < 4 then a + 1 else 0"}, 4),
        ({"value": "tp / (1 + (b > 11))"}, 11),
    ],
)
def test_caps_are_above_all_numbers(given, least):
    assert written(**given).least_cap == least


def test_losses_without_ages():
    assert fsmeu.load("fscore").ages == {}
    assert fsmeu.load("pk", k=3).ages == {}
