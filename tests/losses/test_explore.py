"""The size of a machine is foreseen before it is built, where it grows as a polynomial does."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fsmeu
from fsmeu.errors import SizeLimitError
from fsmeu.losses.machine.least_size import least_states
from fsmeu.losses.machine.machine import machine_view
from fsmeu.losses.machine.reachability import explore, foresee
from fsmeu.losses.machine.sampled_size import has_more_states
from tests.strategies import losses


@given(st.lists(st.integers(0, 9), min_size=1, max_size=4), st.integers(0, 50))
def test_polynomials_are_foreseen(coefficients, more):
    terms = [sum(c * x**k for k, c in enumerate(coefficients)) for x in range(16 + more)]
    assert foresee(terms[:16], more) == sum(terms[16:])


@pytest.mark.parametrize("base", [2, 3])
def test_other_growth_is_not_foreseen(base):
    assert foresee([base**k for k in range(30)], 10) == 0
    assert foresee([k % base for k in range(30)], 10) == 0


@pytest.mark.parametrize("n", [400, 1000])
def test_large_machines_are_refused_with_their_size(n):
    """(tp, hyp, ref) with tp at most hyp and ref, all within n positions: (n + 3 over 3) states."""
    with pytest.raises(SizeLimitError, match=f"{math.comb(n + 3, 3):,}"):
        fsmeu.load("fscore").compile(n)


def test_a_machine_that_stops_growing_is_built():
    """Two ages up to 40: new states up to depth 40, none after it."""
    ages = "age a since z == 1 up to 40 age b since y == 1 up to 40"
    loss = fsmeu.loads(f"loss f labels 0 1 {ages} value a + b")
    assert loss.compile(10_000, max_states=41 * 41).states == 41 * 41


def test_registers_that_fill_up_are_given_time():
    """Three counts up to 30 and their sum: 31^3 states, however long the sequences are."""
    counts = {"a": "z == 1 and y == 1", "b": "z == 1 and y == 0", "c": "z == 0 and y == 1"}
    lines = [f"register {r} in 0..30 start 0 next min({r} + ({c}), 30)" for r, c in counts.items()]
    lines.append("register s in 0..300 start 0 next min(a + b + c, 300)")
    loss = fsmeu.loads(f"loss f labels 0 1 {' '.join(lines)} value a * b * c + s")
    assert loss.compile(2000).states == 31**3


@pytest.mark.parametrize("n", [10, 11, 1_000_000, 1_000_001])
def test_where_pairs_of_a_length_end_in_turns(n):
    """Two states in turn: which one is final depends on the length being even or odd."""
    loss = fsmeu.loads("loss f labels 0 1 register r in 0..1 start 0 next 1 - r value r + 1")
    machine = loss.compile(n)
    assert [int(v) for v in machine.values if not np.isnan(v)] == [1 + n % 2]


@settings(max_examples=80, deadline=None)
@given(losses(), st.integers(0, 4))
def test_there_are_never_fewer_states_than_the_tapes_alone_make(case, n):
    loss = case.load()
    assert 1 <= least_states(loss.bound, n, 10**9) <= loss.compile(n).states


@pytest.mark.parametrize("k", [2, 3, 4])
def test_windows_of_both_tapes_multiply(k):
    """After k positions each of 2^k windows of z is met with each of 2^k windows of y."""
    bound = fsmeu.load("windowdiff", k=k).bound
    assert least_states(bound, k, 10**9) == 4**k
    assert least_states(bound, 50, 10**9) == 4**k


def test_a_large_machine_of_windows_is_refused_before_it_is_built():
    with pytest.raises(SizeLimitError, match="at least 16,777,216"):
        fsmeu.load("windowdiff", k=12).compile(200)


MET = "loss f labels any memory m of (z != y) last 30 value (m[29] == 1)"
"""What the memory holds depends on both tapes, so that neither alone shows how much that is."""


@pytest.mark.parametrize("size", [2, 33])
def test_a_sample_shows_what_the_tapes_do_not(cells, size):
    """2^30 states are refused when there are a few hundred thousand, not five million."""
    with pytest.raises(SizeLimitError, match="at least"):
        fsmeu.loads(MET, labels=list(range(size))).compile(40)
    assert sum(cells) < 4_000_000


@pytest.mark.parametrize("limit", [900, 1024, 2000, 100_000])
@pytest.mark.parametrize("text", ["memory m of (z != y) last 9", "count m when z != y"])
def test_a_sample_never_shows_too_much(text, limit):
    """1023 contents of a memory that fills, and 41 of a count: not more than the limit."""
    loss = fsmeu.loads(f"loss f labels 0 1 {text} value n")
    view = machine_view(loss.bound, 40, None)
    states = len(explore("f", view, None, 2, None)[0])
    assert states == (2**10 - 1 if "memory" in text else 41)
    assert not has_more_states(view, max(limit, states))


def test_a_sample_shows_memories_of_any_size():
    loss = fsmeu.loads("loss f labels 0 1 memory m of (z != y) last 20 value (m[0] == 1)")
    view = machine_view(loss.bound, 64, None)
    for limit in (10, 1000, 50_000):
        assert has_more_states(view, limit)
    assert not has_more_states(view, 2**20)
