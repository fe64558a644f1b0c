"""Which losses are sums over windows, and what a window is worth."""

import itertools
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fsmeu
from fsmeu.losses.algebra.rewrite import partial_eval
from fsmeu.losses.language.read import read
from fsmeu.losses.language.syntax import Number
from fsmeu.losses.windows import windows
from tests.losses.meaning import Undefined, World

MEMORIES = "memory a of z last 6 memory b of y last 6"


def found(body, n=9):
    return windows(fsmeu.loads(f"loss f labels 0 1 {body}"), n)


@pytest.mark.parametrize(
    "body",
    [
        "count c by abs(tally(a, 1) - tally(b, 1)) when i >= 6 value c",
        "count c when i >= 6 and tally(a, 1) > tally(b, 0) value 3 - 2 * c / n",
        "register s in 0..6 start 0 next min(s + 1, 6) count c by sum(a) when s == 6 value c",
        "age g since y == 1 up to 5 count c when i > 5 and tally(a, 1) > g value c",
        "count c by sum(a) when i >= 6 count d by sum(b) ^ 2 when i >= 6 value c - d",
        "count c by if i < 6 then 0 else tally(a, 1) value c",
    ],
)
def test_sums_over_windows_are_found(body):
    form = found(f"{MEMORIES} {body}")
    assert form is not None
    assert form.k == 6
    assert all(register.sugar != "memory" for register in form.loss.spec.registers)


@pytest.mark.parametrize(
    "body",
    [
        "count c when i >= 6 and a[5] == 1 value c",  # looks at one entry
        "count c when tally(a, 1) > 2 value c",  # gains before the first whole window
        "count c by i * tally(a, 1) when i >= 6 value c",  # gains differ from window to window
        "count c by tally(a, 1) when i >= 6 and z == 1 value c",  # looks at the tape as well
        "count c by tally(a, 1) when i >= 6 value c ^ 2",  # not linear
        "count c by tally(a, 1) when i >= 6 value c + tally(a, 1)",  # the end matters by itself
        "flag f when z == 1 count c by tally(a, 1) when i >= 6 and f value c",  # looks further back
        "age g since y == 1 up to 7 count c by tally(a, 1) * g when i >= 6 value c",  # so does this
        "memory d of z last 5 count c by tally(a, 1) * tally(d, 1) when i >= 6 value c",
        "count c by tally(a, z) when i >= 6 value c",
        "age g since y == 1 up to 6 count c by tally(a, 1) when i >= 6 and old g < 2 value c",
        "register r in 0..9 start 0 next r + z count c by tally(a, 1) when i >= 6 value c",
        "count c when i >= 6 and z == y value c",
        # what else the file does may have no answer, and has to be looked at
        "memory m of 1 + z in 0..1 last 6 count c by sum(m) when i >= 6 value c",
        "memory m of 1 + z in 0..1 last 6 count c by sum(a) when i >= 6 value c",
        "age g since 1 / z > 0 up to 3 count c by sum(a) when i >= 6 value c",
        "count d by 1 / z when i >= 6 count c by sum(a) when i >= 6 value c + 0 * d",
        "memory t of i % 2 in 0..1 last 6 count c by sum(a) * sum(t) when i >= 6 value c",
    ],
)
def test_other_losses_are_not(body):
    assert found(f"{MEMORIES} {body}") is None


def test_sequences_shorter_than_a_window_have_none():
    loss = fsmeu.load("windowdiff", k=12)
    for n in (0, 1, 11):
        assert windows(loss, n).base == 0.0
        assert fsmeu.expect(loss, [1] * n, [0.5] * n).value == 0.0
        assert fsmeu.compile_summed(loss, n).states <= 14


@pytest.mark.parametrize(("k", "weighted"), [(6, 0), (6, 1), (9, 0)])
def test_what_a_window_of_windowdiff_adds(k, weighted):
    """The windows of a pair, cut out and added up, are its value."""
    n = 11
    loss = fsmeu.load("windowdiff", k=k, weighted=weighted)
    form = windows(loss, n)
    rng = np.random.default_rng(k)
    for z, y in rng.integers(0, 2, (30, 2, n)):
        parts = [form.loss(z[i : i + k], y[i : i + k]) for i in range(n - k + 1)]
        counts = [abs(z[i : i + k].sum() - y[i : i + k].sum()) for i in range(n - k + 1)]
        wanted = np.mean(counts if weighted else np.minimum(counts, 1))
        assert form.base + sum(parts) == pytest.approx(wanted, rel=1e-12)
        assert loss(z, y) == pytest.approx(wanted, rel=1e-12)


NUMBERS = st.integers(-2, 3).map(lambda x: str(x) if x >= 0 else f"({x})")
NAMES = st.sampled_from(["a", "b", "n", "i"])
OPERATORS = ["+", "-", "*", "/", "==", "<", "and", "or"]
EXPRESSIONS = st.recursive(
    NUMBERS | NAMES,
    lambda inner: (
        st.tuples(inner, st.sampled_from(OPERATORS), inner).map(lambda t: f"({t[0]} {t[1]} {t[2]})")
        | st.tuples(inner, inner, inner).map(lambda t: f"(if {t[0]} then {t[1]} else {t[2]})")
        | inner.map(lambda t: f"(not {t})")
        | st.tuples(inner, inner).map(lambda t: f"min({t[0]}, {t[1]})")
    ),
    max_leaves=8,
)


@given(EXPRESSIONS, st.sets(st.sampled_from(["a", "b", "i", "n"])))
def test_what_is_filled_in_does_not_change_the_meaning(text, names):
    """An expression worked out in part has the value of the whole, or none where that has none."""
    spec = read(f"loss f(a = 0, b = 0) count c by {text} value c")
    amount = spec.registers[0].update
    for a, b, i in itertools.product((0, 2), (-1, 0), (1, 3)):
        held = {"a": a, "b": b, "i": i, "n": 3}
        part = partial_eval(amount, {k: float(v) for k, v in held.items() if k in names}, {}, spec)
        assert meaning(spec, part, held) == meaning(spec, amount, held)
        if names == set(held) and meaning(spec, amount, held) is not None:
            whole = partial_eval(
                amount, {k: float(v) for k, v in {**held, "c": 0}.items()}, {}, spec
            )
            assert isinstance(whole, Number)


def meaning(spec, expr, held):
    """The value by the second reading of the language, with c = 0; None if there is none."""
    world = World(spec, (0, 1), held["n"], a=held["a"], b=held["b"])
    names = {**world.fixed(), "c": Fraction(0), "i": Fraction(held["i"])}
    try:
        return float(world.look(expr, names, names))
    except Undefined:
        return None
