"""Constraints on the hypothesis: the best allowed sequence, and regular expressions themselves."""

import itertools
import random
import re

import numpy as np
import pynini
import pytest

import fsmeu
from fsmeu.errors import FsmeuError
from fsmeu.fst.alphabet import BINARY, Alphabet
from fsmeu.fst.constraint import as_constraint
from tests.decoding.listing import ask, check, make_listing, random_model, shelf_listing

FEW_ONES = "0* (1 0*){0,3}"


def few_ones(z):
    return sum(z) <= 3


def separate(z):
    return (1, 1) not in itertools.pairwise(z)


def at_most(count):
    """An acceptor of sequences with at most this many ones, built with OpenFst's own hands."""
    fst = pynini.Fst()
    one = pynini.Weight.one("tropical")
    for state in range(count + 1):
        fst.add_state()
        fst.set_final(state, one)
        fst.add_arc(state, pynini.Arc(1, 1, one, state))
        if state:
            fst.add_arc(state - 1, pynini.Arc(2, 2, one, state))
    fst.set_start(0)
    return fst


CONSTRAINTS = [
    (FEW_ONES, few_ones),
    ("(0 | 1 0)* 1?", separate),
    ("!(.* 1 1 .*)", separate),
    ("(0* (1 0*){0,3}) & !(.* 1 1 .*)", lambda z: few_ones(z) and separate(z)),
    ("1 .* | 0*", lambda z: not any(z) or z[0] == 1),
    (at_most(3), few_ones),
]
METHODS = ("additive", "counting", "viterbi", "exhaustive")


@pytest.mark.parametrize(("constraint", "allowed"), CONSTRAINTS)
@pytest.mark.parametrize("name", ["fscore", "hamming", "pk", "zero_one", "g_mean", "recall"])
@pytest.mark.thirds
def test_the_best_that_is_allowed(name, constraint, allowed, rounds):
    """What claims to be exact is the best of the listed sequences that the rule allows."""
    rng = np.random.default_rng(7)
    proven = set()
    for _ in rounds(5, least=2):
        n = int(rng.integers(2, 7))
        listing = shelf_listing(name, n)
        case = random_model(rng, (0, 1), n)
        for method in (*METHODS, "auto", "search", "nbest"):
            decision = ask(listing.loss, case.model, method=method, constraint=constraint)
            if decision is not None:
                check(listing, case, decision, allowed)
                at_end = min(abs(decision.value), abs(1 - decision.value)) < 1e-12
                if decision.exact and not (method == "search" and at_end):
                    proven.add(method)  # a search proves nothing but an end of the range, 0..1
        for method in ("ranking", "ranking_fast"):
            refused = ask(listing.loss, case.model, method=method, constraint=constraint)
            assert refused is None
    expected = {
        "fscore": {"counting"},
        "recall": {"counting"},
        "hamming": {"additive", "counting"},
        "pk": {"additive", "counting"},
        "zero_one": {"viterbi"},
        "g_mean": set(),
    }
    assert proven - {"nbest", "search"} >= expected[name] | {"exhaustive", "auto"}
    assert "search" not in proven


def test_inside_never_follows_outside():
    """Chunk tags: I of a type only after B or I of that type, the best F-score of chunks."""
    loss = fsmeu.load("chunk_fscore", types=["X"])
    rng = np.random.default_rng(9)
    rule = "!(I-X .*) & !(.* O I-X .*)"

    def allowed(z):
        return z[0] != "I-X" and ("O", "I-X") not in itertools.pairwise(z)

    for n in (1, 2, 3, 4, 4, 4):
        listing = make_listing(loss, loss.labels, n)
        case = random_model(rng, loss.labels, n)
        for method in ("counting", "exhaustive", "auto"):
            decision = fsmeu.decode(loss, case.model, method=method, constraint=rule)
            assert decision.exact
            check(listing, case, decision, allowed)


def test_zero_probability_is_no_obstacle():
    """Where no probable sequence is allowed, the best allowed one is still found."""
    for name, method in (("zero_one", "viterbi"), ("fscore", "counting"), ("hamming", "additive")):
        decision = fsmeu.decode(fsmeu.load(name), [1.0, 1.0], constraint="0 0")
        assert (decision.labels, decision.method) == ([0, 0], method)
        assert decision.exact


def test_far_from_what_is_probable():
    """Millions of forbidden sequences are more probable than the best one that is allowed."""
    p = [0.9 - 0.01 * i for i in range(40)]
    few = fsmeu.decode(fsmeu.load("zero_one"), p, constraint=FEW_ONES)
    assert (few.labels, few.exact) == ([1] * 3 + [0] * 37, True)
    assert fsmeu.decode(fsmeu.load("jaccard"), p, constraint=FEW_ONES).labels == few.labels


@pytest.mark.parametrize("name", ["fscore", "hamming", "zero_one", "jaccard"])
def test_nothing_of_the_length_is_allowed(name):
    """A rule that no sequence of this length keeps is an error, not a decision."""
    with pytest.raises(FsmeuError, match="constraint"):
        fsmeu.decode(fsmeu.load(name), [0.5, 0.5, 0.5], constraint="0 1")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("0 (1", "not closed"),
        ("0 [1", "not closed"),
        ("0 )", "not expected"),
        ("0 2", "'2' is not a label"),
        ("1{3,1}", "low to high"),
        ("1{}", "{2}"),
        ("1{5000}", "1000"),
        ("[^ 0 1]", "no label is left"),
        ("* 0", "not a label"),
        ("(" * 200 + "0" + ")" * 200, "100 deep"),
        ("!(.*)", "at least one sequence"),
        (5, "regular expression"),
    ],
)
def test_malformed(text, says):
    with pytest.raises(FsmeuError) as caught:
        fsmeu.decode(fsmeu.load("fscore"), [0.5, 0.5], constraint=text)
    assert says in str(caught.value)


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


SHORT = ["".join(s) for n in range(7) for s in itertools.product("01", repeat=n)]


def test_regular_expressions_are_those_of_python():
    """Random expressions accept the short sequences that the re module accepts."""
    rng = random.Random(13)
    for _ in range(250):
        ours, theirs = write(rng, 3)
        pattern = re.compile(theirs)
        constraint = as_constraint(ours, BINARY)
        accepted = [s for s in SHORT if constraint.accepts(np.array([int(c) for c in s], int))]
        assert accepted == [s for s in SHORT if pattern.fullmatch(s)], (ours, theirs)


def test_labels_that_look_like_operators():
    """Quotes make a label of anything; words need spaces between them."""
    alphabet = Alphabet(("*", "a.b", "O"))
    constraint = as_constraint('"*"+ "a.b" [^ "*" "a.b"]', alphabet)
    assert constraint.accepts(np.array([0, 0, 1, 2]))
    assert not constraint.accepts(np.array([0, 1, 1]))
