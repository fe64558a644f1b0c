"""The states of a machine are counted while it is built, very many labels before that."""

import math

import numpy as np
import pytest

import fsmeu
from fsmeu.errors import SizeLimitError


@pytest.mark.parametrize("n", [60, 400, 100_000, 10**300])
def test_large_machines_are_refused_before_they_are_built(cells, n):
    """(tp, hyp, ref) has (n + 3 over 3) states, as the gains of one step tell."""
    least = f"{min(math.comb(n + 3, 3), 10**18):,}"
    with pytest.raises(SizeLimitError, match=f"at most 20,000 states, .* have at least {least}"):
        fsmeu.load("fscore").compile(n, max_states=20_000)
    assert sum(cells) == 4


@pytest.mark.parametrize("name", ["fscore", "jaccard", "hamming", "sec"])
def test_no_machine_is_refused_that_has_as_many_states_as_the_limit(name):
    states = fsmeu.load(name).compile(12).states
    assert fsmeu.load(name).compile(12, max_states=states).states == states


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


MEMORY = "loss f labels any memory m of (z != y) last 30 value (m[29] == 1)"


@pytest.mark.parametrize("size", [0, 2, 33])
def test_memories_are_refused_at_the_limit(monkeypatch, cells, size):
    """2^24 pairs of windows, or 2^30 contents of one memory, found up to the limit."""
    monkeypatch.setenv("FSMEU_MAX_STATES", "50000")
    loss = fsmeu.load("windowdiff", k=12) if not size else fsmeu.loads(MEMORY, labels=range(size))
    with pytest.raises(SizeLimitError, match="this one would have at least"):
        loss.compile(200)
    assert sum(cells) < 2_000_000


@pytest.mark.parametrize(
    ("register", "states"), [("memory m of (z != y) last 9", 1023), ("count m when z != y", 41)]
)
def test_a_machine_of_as_many_states_as_the_limit_is_built(register, states):
    loss = fsmeu.loads(f"loss f labels 0 1 {register} value n")
    assert loss.compile(40, max_states=states).states == states
    with pytest.raises(SizeLimitError, match=f"at least {states:,}"):
        loss.compile(40, max_states=states - 1)


def over(name, labels):
    return fsmeu.load(name, labels=list(range(labels)))


@pytest.mark.parametrize("build", [lambda loss: loss.compile(3), lambda loss: compile_summed(loss)])
@pytest.mark.parametrize("name", ["hamming", "accuracy"])
def test_too_many_pairs_are_refused_before_a_step(cells, name, build):
    with pytest.raises(SizeLimitError, match=r"5,000 labels make 25,000,000.*FSMEU_MAX_STATES"):
        build(over(name, 5000))
    assert cells == []


def compile_summed(loss):
    return fsmeu.compile_summed(loss, 25)


def test_arcs_are_counted_before_there_is_room_for_them(cells):
    """The first state has a target for each pair, and all of those arcs are too many."""
    text = "loss f labels any register a in 0..9999 start 0 next z * 100 + y value a"
    with pytest.raises(SizeLimitError, match="arcs"):
        fsmeu.loads(text, labels=list(range(100))).compile(2)
    assert sum(cells) == 100 * 100


def test_what_counts_gain_is_asked_for_all_pairs_at_once(cells):
    """300 labels make 90,000 pairs, but a few calls are enough."""
    machine = compile_summed(over("hamming", 300))
    assert machine.states == 2
    assert machine.arcs == 2 * 300 * 300 + 300 * 299
    assert len(cells) < 10
