"""Constraints whose acceptors would be large: only sequences of the length asked for matter."""

import itertools
import random
import re

import numpy as np
import pynini
import pytest

import fsmeu
from fsmeu.errors import EmptyError, FsmeuError, SizeLimitError
from fsmeu.fst import regex
from fsmeu.fst.alphabet import BINARY, Alphabet
from fsmeu.fst.constraint import as_constraint
from tests.decoding.test_constraints import write


def accepted(constraint, n):
    """The sequences of length n that a constraint accepts, as texts."""
    every = itertools.product((0, 1), repeat=n)
    return ["".join(map(str, z)) for z in every if constraint.accepts(np.array(z, np.int64))]


@pytest.mark.parametrize("few", [1, 1000])
def test_expressions_for_one_length_are_those_of_python(monkeypatch, few):
    """Random expressions with ``&`` and ``!``, states of each position apart or not."""
    monkeypatch.setattr(regex, "_FEW_STATES", few)
    rng = random.Random(5)
    empty = 0
    for number in range(150):
        (first, one), (second, two) = write(rng, 3), write(rng, 2)
        n = rng.randrange(6)
        every = ["".join(z) for z in itertools.product("01", repeat=n)]
        sign, rule = (("&", all), ("|", any))[number % 2]
        expected = [z for z in every if rule([re.fullmatch(one, z), not re.fullmatch(two, z)])]
        try:
            found = as_constraint(f"(({first}) {sign} !({second})) | (0 1){{9}}", BINARY, n)
        except EmptyError:
            assert expected == []
            empty += 1
            continue
        assert accepted(found, n) == expected, (first, second, n)
    assert 0 < empty < 100


@pytest.mark.parametrize(
    ("text", "n", "rule"),
    [
        (".* 1 .{16}", 18, lambda z: z[1] == 1),
        ("((0? 1?){300}){400}", 7, lambda z: True),
        ("(.{0,999}){0,999} 1", 5, lambda z: z[-1] == 1),
        ("!(.* 1 .{300})", 4, lambda z: True),
        ("(1{1000}){100} | 0*", 3, lambda z: not any(z)),
        ("(0 | 1 | " * 90 + "0" + ")*" * 90, 9, lambda z: True),
        ("(0 | 1?" * 90 + "0" + ")*" * 90, 200, lambda z: True),
    ],
)
def test_large_expressions_of_short_sequences(text, n, rule):
    """What is longer than the sequences costs nothing."""
    constraint = as_constraint(text, BINARY, n)
    assert constraint.states <= n + 1
    rng = np.random.default_rng(2)
    for z in rng.integers(0, 2, (50, n)):
        assert constraint.accepts(z) == rule(z)


@pytest.mark.parametrize(("text", "n"), [("(1{1000}){100}", 2), (".* 1 .{16}", 2), (".{18}", 2)])
def test_sequences_that_are_too_short(text, n):
    with pytest.raises(FsmeuError, match="at least one sequence of length 2"):
        fsmeu.decode(fsmeu.load("fscore"), [0.5] * n, constraint=text)


@pytest.mark.parametrize(
    "text",
    [
        "!(.* 1 .{16} 1 .*)",
        "(.* 1 .{16} .*) & (.* 0 .{15} 1 .*)",
        "((.{0,999}){0,999}){0,999} & (.* 1 .{30} 1 .{0,99} 0 .*)",
        "0? 1? " * 15000,
        "((0? 1?){70}){70} & !((0? 1? 0? 1?){99} 0)",
    ],
)
def test_too_many_states_are_refused(text):
    """The sentence names the limit and how to raise it; as many states are never made."""
    with pytest.raises(SizeLimitError, match=r"at most 20,000 states, .*raise FSMEU_MAX_STATES"):
        as_constraint(text, BINARY, 200)


def test_the_limit_can_be_raised(monkeypatch):
    """The position of the last 1 but eight: 2^9 states, when sequences have any length."""
    monkeypatch.setenv("FSMEU_MAX_STATES", str(250 * 400))
    with pytest.raises(SizeLimitError, match="at most 400 states"):
        as_constraint(".* 1 .{8}", BINARY)
    monkeypatch.setenv("FSMEU_MAX_STATES", str(250 * 1600))
    assert as_constraint(".* 1 .{8}", BINARY).states == 2**9


def one_before(k):
    """An OpenFst machine with an epsilon: a 1, then k labels, then the end."""
    fst = pynini.Fst()
    one = pynini.Weight.one("tropical")
    for _ in range(k + 3):
        fst.add_state()
    for label in (1, 2):
        fst.add_arc(0, pynini.Arc(label, label, one, 0))
        for state in range(2, k + 2):
            fst.add_arc(state, pynini.Arc(label, label, one, state + 1))
    fst.add_arc(0, pynini.Arc(0, 0, one, 1))
    fst.add_arc(1, pynini.Arc(2, 2, one, 2))
    fst.set_start(0)
    fst.set_final(k + 2, one)
    return fst


def test_machines_that_read_a_sequence_in_many_ways():
    """Determinised they have 2^17 states, but few that matter for sequences of length 25."""
    constraint = as_constraint(one_before(16), BINARY, 25)
    assert constraint.states == 26
    for z in np.random.default_rng(1).integers(0, 2, (50, 25)):
        assert constraint.accepts(z) == (z[8] == 1)
    with pytest.raises(SizeLimitError, match="at most 20,000 states"):
        as_constraint(one_before(16), BINARY)
    assert as_constraint(one_before(3), BINARY).states == 2**4


def test_labels_that_are_never_told_apart_cost_nothing():
    """5,000 labels, of which an expression names two."""
    alphabet = Alphabet(tuple(f"t{k}" for k in range(5000)))
    constraint = as_constraint("!(.* t7 t9 .*) & .* t3", alphabet, 40)
    assert constraint.states == 3
    assert constraint.accepts(np.array([7, 8, 9] * 13 + [3]))
    assert not constraint.accepts(np.array([7, 9, 9] * 13 + [3]))
    assert not constraint.accepts(np.array([7, 8, 9] * 13 + [4]))


def test_long_lists_of_sequences():
    """A thousand sequences of eight labels each, of which many share their beginnings."""
    rng = np.random.default_rng(4)
    rows = np.unique(rng.integers(0, 9, (1000, 8)), axis=0)
    alphabet = Alphabet(tuple(f"t{k}" for k in range(9)))
    text = " | ".join(" ".join(f"t{k}" for k in row) for row in rows)
    constraint = as_constraint(text, alphabet, 8)
    allowed = {tuple(row) for row in rows.tolist()}
    for row in [*rows[:50], *rng.integers(0, 9, (50, 8))]:
        assert constraint.accepts(row) == (tuple(row.tolist()) in allowed)
