"""Ages that stop at a cap in long sequences: only where order is all that is asked of them.

Which losses have such ages is asked of the loss itself: what stops too early is a wrong number in
documents that are longer than tests are.
"""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fsmeu

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
    "an age of the other tape": ("a == b", 1),
    "before the step": ("a == b and 9 > old b", 9),
    "numbers": ("a > 3 and 2 <= b", 3),
    "both by numbers": ("(a > 2) == (b > 2)", 2),
    "a choice": ("(if z == 1 then a else 0) == (if y == 0 then 0 else old b)", 1),
}


@pytest.mark.parametrize(("asked", "least"), ORDER.values(), ids=ORDER)
@settings(max_examples=60)
@given(st.data())
def test_order_may_be_asked_and_then_no_value_is_another_one(asked, least, data):
    """A cap is above all numbers, and above all ages of y."""
    loss = written(asked)
    assert (loss.ages, loss.least_cap) == ({"a": "z", "b": "y"}, least)
    n = data.draw(st.integers(0, 12))
    label = st.sampled_from([0, 1, 1, 1])
    z, y = (data.draw(st.lists(label, min_size=n, max_size=n)) for _ in "zy")
    cap = 1 + max(least, max(map(len, "".join(map(str, y)).split("0"))))
    assert fsmeu.evaluate(loss.saturated(cap), z, y) == fsmeu.evaluate(loss, z, y)


REFUSED = {
    "an age of the same tape": {"asked": "a == old a"},
    "a choice of both tapes": {"asked": "(if z == 1 then a else b) == 2"},
    "an age of both tapes": {"asked": "a == c"},
    "a sum": {"asked": "a + 1 == b"},
    "a minimum": {"asked": "min(a, 2) == b"},
    "the length": {"asked": "a == n"},
    "in a choice's condition": {"asked": "(if a == n then 1 else 0) == 1"},
    "as a number": {"asked": "a * b > 2"},
    "in the value": {"value": "tp / (1 + b)"},
    "compared in the value with the length": {"value": "tp / (1 + (b == n))"},
    "in an age's condition": {"update": "if a + 1 == n then 0 else a + 1"},
    "two at a time": {"update": "if z == 1 then min(a + 2, n) else 0"},
    "to the length": {"update": "if z == 1 then n else 0"},
}


@pytest.mark.parametrize("given", REFUSED.values(), ids=REFUSED)
def test_no_age_may_stop_where_something_else_is_asked(given):
    assert written(**given).ages == {}
