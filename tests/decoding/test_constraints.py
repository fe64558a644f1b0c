"""Constraints on the hypothesis: the best allowed sequence, and regular expressions themselves.

What an expression allows is asked of a model under which every sequence is possible: conditioned on
the expression, it gives a probability to those that are allowed, and to no others.
"""

import itertools
import random
import re

import numpy as np
import pytest

import fsmeu
from fsmeu.errors import EmptyError
from tests.support.missing import openfst

pynini = openfst()


def uniform(labels, n):
    """A model of independent labels, each as probable as any."""
    return fsmeu.models.Independent(np.full((n, len(labels)), 1 / len(labels)), labels)


def allowed_by(constraint, labels, n):
    """The sequences of length n that a constraint allows; none if it is refused for that."""
    try:
        model = uniform(labels, n).given(constraint)
    except EmptyError:
        return []
    return [z for z in itertools.product(labels, repeat=n) if model.probability(z) > 0]


def at_most(count):
    """An acceptor of sequences with at most this many ones, built with OpenFst's own hands."""
    fst, weight = pynini.Fst(), pynini.Weight.one("tropical")
    for state in [fst.add_state() for _ in range(count + 1)]:
        fst.set_final(state, weight).add_arc(state, pynini.Arc(1, 1, weight, state))
    for state in range(count):
        fst.add_arc(state, pynini.Arc(2, 2, weight, state + 1))
    return fst.set_start(0)


def test_acceptors_of_openfst():
    for engine in ("auto", "openfst"):
        found = fsmeu.decode("hamming", [0.9] * 6, constraint=at_most(2), engine=engine)
        assert (found.exact, sum(found.labels)) == (True, 2)
    assert allowed_by(at_most(2), (0, 1), 5) == allowed_by("0* (1 0*){0,2}", (0, 1), 5)


def write(rng, depth):
    """A random expression, for us and for Python."""
    if depth == 0 or rng.random() < 0.2:
        return rng.choice([("0", "0"), ("1", "1"), (".", "."), ("[01]", "[01]"), ("[^1]", "0")])
    kind = rng.randrange(4)
    ours, theirs = write(rng, depth - 1)
    if kind == 0:
        sign = rng.choice(["*", "+", "?", "{2}", "{1,3}", "{2,}", "{0,1}", "{0}"])
        return f"({ours}){sign}", f"(?:{theirs}){sign}"
    more, them = write(rng, depth - 1)
    if kind == 1:
        return f"({ours} | {more})", f"(?:{theirs}|{them})"
    return f"{ours} {more}", f"(?:{theirs})(?:{them})"


@pytest.mark.parametrize("few", [1, 1000])
def test_expressions_are_those_of_python(lowered, few):
    """Random ones with ``&`` and ``!``, states of positions apart or not."""
    lowered(FEW_CONSTRAINT_STATES=few)
    rng = random.Random(5)
    empty = 0
    for number in range(60):
        (first, one), (second, two) = write(rng, 3), write(rng, 2)
        n = rng.randrange(6)
        sign, rule = (("&", all), ("|", any))[number % 2]
        expected = [
            z
            for z in itertools.product((0, 1), repeat=n)
            for text in ["".join(map(str, z))]
            if rule([re.fullmatch(one, text), not re.fullmatch(two, text)])
        ]
        text = f"(({first}) {sign} !({second})) | (0 1){{9}}"
        assert allowed_by(text, (0, 1), n) == expected, (first, second, n)
        empty += not expected
    assert 0 < empty < 40


def test_labels_that_look_like_operators():
    """Quotes make a label of anything; words need spaces between them."""
    found = allowed_by('"*"+ "a.b" [^ "*" "a.b"]', ("*", "a.b", "O"), 4)
    assert found == [("*", "*", "a.b", "O")]


@pytest.mark.parametrize(
    ("constraint", "n", "rule"),
    [
        (".* 1 .{16}", 18, lambda z: z[1] == 1),
        ("((0? 1?){300}){400}", 7, lambda z: True),
        ("(.{0,999}){0,999} 1", 5, lambda z: z[-1] == 1),
        ("!(.* 1 .{300})", 4, lambda z: True),
        ("(0 | 1?" * 90 + "0" + ")*" * 90, 200, lambda z: True),
    ],
)
def test_large_constraints_of_short_sequences(constraint, n, rule):
    """What is longer than the sequences costs nothing."""
    found = uniform((0, 1), n).given(constraint)
    for z in np.random.default_rng(2).integers(0, 2, (20, n)).tolist():
        assert (found.probability(z) > 0) == rule(z)


@pytest.mark.parametrize("k", [1, 2, 3])
@pytest.mark.parametrize("labels", [(0, 1), ("A", "B", 1)])
def test_gaps_and_durations_of_all_sequences(k, labels):
    gap, every = fsmeu.constraints.min_gap(k), fsmeu.constraints.min_duration(k)
    made = {
        "gap": gap,
        "ones": fsmeu.constraints.min_duration(k, 1),
        "all": every,
        "both": fsmeu.constraints.all_of(gap, every),
    }
    for n in range(8 - len(labels)):
        wanted = {name: [] for name in made}
        for z in itertools.product(labels, repeat=n):
            places = [i for i, label in enumerate(z) if label == 1]
            runs = [(label, len(list(run))) for label, run in itertools.groupby(z)]
            apart = all(b - a >= k for a, b in itertools.pairwise(places))
            lasts = {label: all(m >= k for a, m in runs if a == label) for label in labels}
            holds = (apart, lasts[1], all(lasts.values()), apart and all(lasts.values()))
            for name, holding in zip(made, holds, strict=True):
                if holding:
                    wanted[name].append(z)
        for name, constraint in made.items():
            assert allowed_by(constraint, labels, n) == wanted[name], (name, n)
