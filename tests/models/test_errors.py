"""What is said about arguments that make no model."""

import math

import numpy as np
import pytest

import fsmeu
from fsmeu import models as m
from fsmeu.errors import EmptyError, InputError, SizeLimitError

INF, NAN = np.inf, np.nan
HALF = [[0.5, 0.5], [0.5, 0.5]]
EVEN = m.Independent([[0.5, 0.5]])
TURN = "The columns sum to 1: exchange rows and columns"


def wide(number, *shape):
    """An array of any shape that takes no room."""
    return np.broadcast_to(number, shape)


BAD = {
    "nan": (lambda: m.Bernoulli([0.5, NAN]), "Bernoulli p", "entry 1", "nan"),
    "text": (lambda: m.Bernoulli("0.5"), "Bernoulli p"),
    "complex": (lambda: m.Bernoulli([1j]), "Bernoulli p", "real"),
    "table": (lambda: m.Bernoulli(HALF), "one-dimensional", "Independent"),
    "flat rows": (lambda: m.Independent([0.5, 0.5]), "(n, L)", "(2,)"),
    "no labels": (lambda: m.Independent(np.zeros((2, 0))), "(n, L)"),
    "row sum": (lambda: m.Independent([[1, 0], [0.5, 0.4]]), "row 1", "0.9"),
    "further off than single precision": (
        lambda: m.Independent(np.float32([[0.1, 0.2, 0.7]]) * np.float32(1.000001)),
        *("row 0 must sum to 1", "1.0000009", "Divide by the sum"),
    ),
    "no singles": (lambda: m.Independent([[0.5, 0.4999999]]), "must sum to 1"),
    "singles": (lambda: m.Independent(np.float32([[0.5, 0.4999]])), "must sum to 1"),
    "a row of singles": (lambda: m.Independent(np.float32([[1, 0], [0.5, 0.50001]])), "sum to 1"),
    "half precision": (lambda: m.Independent(np.float16([[0.5, 0.45]])), "must sum to 1"),
    "transposed": (lambda: m.Independent([[0.5, 0.2, 0.1], [0.5, 0.8, 0.9]]), TURN),
    "order 0": (lambda: m.Markov(1.0, HALF), "Markov initial", "Independent"),
    "uneven axes": (lambda: m.Markov(np.ones((2, 3)) / 6, HALF), "same length"),
    "no n": (lambda: m.Markov([0.5, 0.5], HALF), "Markov n", "n="),
    "wrong n": (lambda: m.Markov([0.5, 0.5], [HALF] * 3, n=3), "2 tables", "3 tables"),
    "too many for n": (lambda: m.Markov([0.5, 0.5], [HALF], n=0), "0 tables"),
    "negative n": (lambda: m.Markov([0.5, 0.5], HALF, n=-1), "Markov n", "-1"),
    "axes": (lambda: m.Markov([0.5, 0.5], [0.5, 0.5], n=3), "2 axes", "(2,)"),
    "shape": (lambda: m.Markov([0.5, 0.5], [[0.2, 0.3, 0.5]] * 3, n=3), "(2, 2)"),
    "order": (lambda: m.Markov([0.5] * 2, wide(0.5, 2, 2, 2), n=7), "order is 2", "shape (2, 2)"),
    "higher": (lambda: m.Markov([0.5] * 2, wide(0.5, 2, 2, 2, 2), n=7), "order is 3", "(2, 2, 2)"),
    "order 3": (lambda: m.Markov(HALF, wide(0.5, 2, 2, 2, 2), n=7), "order is 3", "(2, 2, 2)"),
    "initial sum": (lambda: m.Markov([0.5, 0.6], HALF, n=2), "initial", "1.1"),
    "transition sum": (
        lambda: m.Markov([0.5, 0.5], [HALF, [[1, 0], [0, 0]]]),
        *("transition", "row (1, 1)", "0.0"),
    ),
    "transposed chain": (lambda: m.Markov([0.5, 0.5], [[0.5, 0.2], [0.5, 0.8]], n=4), TURN),
    "transposed step": (lambda: m.Markov([0.5, 0.5], [[[0.5, 0.2], [0.5, 0.8]], HALF]), TURN),
    "labels": (lambda: m.Markov([0.5, 0.5], HALF, 2, "abc"), "2 labels", "'c'"),
    "no number of labels": (lambda: m.Markov([0.5, 0.5], HALF, 2, 7), "labels"),
    "unary shape": (lambda: m.from_potentials([1, 2], HALF), "(n, L)"),
    "pairwise shape": (
        lambda: m.from_potentials(np.zeros((4, 2)), np.zeros((4, 2, 2))),
        *("(2, 2)", "(3, 2, 2)", "(4, 2, 2)"),
    ),
    "infinite": (lambda: m.from_potentials([[INF, 0]], HALF), "unary", "inf"),
    "huge": (lambda: m.from_potentials([[1e305, 0]], HALF), "1e+300"),
    "symbol": (lambda: m.hmm([1, 0], HALF, HALF, [0, 2]), "from 0 to 1", "2"),
    "fraction": (lambda: m.hmm([1, 0], HALF, HALF, [0, 0.5]), "position 2", "0.5"),
    "no symbols": (lambda: m.hmm([1, 0], HALF, HALF, 3), "observations"),
    "emission": (lambda: m.hmm([1, 0], HALF, [[1.0]], [0]), "emission", "(2, 1)"),
    "transposed emission": (
        lambda: m.hmm([0.5, 0.5], HALF, [[0.7, 0.2], [0.2, 0.2], [0.1, 0.6]], [0, 1]),
        TURN,
    ),
    "hmm transition": (lambda: m.hmm([1, 0], [1.0], HALF, [0]), "transition"),
    "lengths": (lambda: m.NBest(["01", "011"], [1, 1]), "lengths 2", "3"),
    "weights": (lambda: m.NBest(["01"], [1, 1]), "1 weights", "(2,)"),
    "negative": (lambda: m.NBest(["01", "10"], [1, -1]), "-1.0 at entry 1"),
    "log nan": (lambda: m.NBest(["01"], [NAN], log=True), "nan"),
    "unknown label": (lambda: m.NBest(["02"], [1], labels=(0, 1)), "0, 1"),
    "no model": (lambda: m.Mixture([[0.5]], [1]), "label model"),
    "one weight": (lambda: m.Mixture([EVEN], [0.5, 0.5]), "(1,)"),
    "weights of 0.9": (lambda: m.Mixture([EVEN] * 2, [0.5, 0.4]), "sum to 1", "0.9"),
    "mixed lengths": (
        lambda: m.Mixture([EVEN, m.Bernoulli([1, 1])], [0.5, 0.5]),
        "lengths 1 and 2",
    ),
    "mixed labels": (
        lambda: m.Mixture([EVEN, m.Independent([[1, 0]], "ab")], [0.5, 0.5]),
        *("[0, 1]", "['a', 'b']"),
    ),
    "number": (lambda: m.as_model(0.5), "label model"),
    "nothing": (lambda: m.as_model(None), "model"),
    "cube": (lambda: m.as_model(np.ones((1, 1, 1))), "(1, 1, 1)"),
    "nan logit": (lambda: m.from_logits([[NAN, 0.0]]), "must be a number"),
    "infinite logit": (lambda: m.from_logits([[0.0, INF]]), "inf at"),
    "no logit": (lambda: m.from_logits([[0, 1], [-INF, -INF]]), "row 1 must allow some label"),
    "cube of logits": (lambda: m.from_logits([[[0.0]]]), "shape"),
    "one logit": (lambda: m.from_logits(0.5), "shape"),
    "text of logits": (lambda: m.from_logits("abc"), "array of"),
    "columns": (lambda: m.from_logits([[0.0, 1.0]], {1: "a", 2: "b"}), "columns"),
    "one label": (lambda: m.from_logits([[0.0, 1.0]], ["a"]), "2 labels"),
    "no references": (lambda: fsmeu.calibrate([[0.5]], []), "as many references"),
    "no sentences": (lambda: fsmeu.calibrate([], []), "at least one"),
    "longer reference": (lambda: fsmeu.calibrate([[0.5]], [[1, 0]]), "length 1"),
    "impossible reference": (
        lambda: fsmeu.calibrate([[0.5, 0.0]], [[1, 1]]),
        "references[0]: must have positive probability",
    ),
    "strange reference": (lambda: fsmeu.calibrate([[0.5]], [["x"]]), "must be one of 0, 1"),
    "no lists": (lambda: fsmeu.calibrate(3, 4), "models must be a list"),
    "several paths": (lambda: m.tempered(m.Mixture([EVEN] * 2, [0.5, 0.5]), 2.0), "one path"),
    **{
        f"temperature {wrong}": (lambda wrong=wrong: m.tempered(EVEN, wrong), "temperature")
        for wrong in (0, -1, math.inf, math.nan, "hot", [1.0])
    },
}
EMPTY = {
    "forbidden": (
        lambda: m.from_potentials(np.zeros((3, 2)), np.array([HALF, np.full((2, 2), -INF)])),
        "position 3",
    ),
    "first": (lambda: m.from_potentials([[-INF, -INF], [0, 0]], HALF), "position 1"),
    "cut off": (
        lambda: m.from_potentials([[0, -INF], [-INF, 0]], [[0, -INF], [0, 0]]),
        "position 2",
    ),
    "impossible": (
        lambda: m.hmm([1, 0], [[1, 0], [0, 1]], [[1, 0], [0, 1]], [0, 0, 1, 0]),
        *("symbol 1", "position 3"),
    ),
    "empty list": (lambda: m.NBest([], []), "at least one sequence"),
    "all zero": (lambda: m.NBest(["01"], [0]), "positive"),
    "all -inf": (lambda: m.NBest(["01"], [-INF], log=True), "positive"),
    "no models": (lambda: m.Mixture([], []), "at least one model"),
}
MANY = ("limit of 20,000,000", "FSMEU_MAX_ARCS")
HUGE = {
    "order 20": (lambda: m.Markov(wide(0.25**20, *(4,) * 20), wide(0.25, *(4,) * 21), 30), *MANY),
    "long chain": (lambda: m.Markov([0.5, 0.5], HALF, n=10**15), *MANY),
    "long table": (lambda: m.Bernoulli(wide(0.5, 10**12)), *MANY),
    "whole numbers": (lambda: m.Bernoulli(wide(1, 10**12)), *MANY),
    "many labels": (lambda: m.from_potentials(wide(0.0, 3, 9999), wide(0.0, 9999, 9999)), *MANY),
}
"""None of these could be built in the memory of any machine, or only after minutes."""
KINDS = {InputError: BAD, EmptyError: EMPTY, SizeLimitError: HUGE}
REFUSED = [(kind, row) for kind, rows in KINDS.items() for row in rows.values()]


@pytest.mark.parametrize(("kind", "row"), REFUSED, ids=[*BAD, *EMPTY, *HUGE])
def test_message(kind, row):
    make, *fragments = row
    with pytest.raises(kind) as caught:
        make()
    for fragment in fragments:
        assert fragment in str(caught.value)


def test_the_limit_can_be_moved(monkeypatch):
    monkeypatch.setenv("FSMEU_MAX_ARCS", "10")
    with pytest.raises(SizeLimitError, match="12 arcs, more than the limit of 10"):
        m.Bernoulli([0.5] * 6)
    monkeypatch.setenv("FSMEU_MAX_ARCS", "12")
    assert m.Bernoulli([0.5] * 6).n == 6
    monkeypatch.setenv("FSMEU_MAX_ARCS", "many")
    with pytest.raises(InputError, match="FSMEU_MAX_ARCS"):
        m.Bernoulli([0.5])


def test_rounding_is_forgiven():
    assert m.Bernoulli([1 + 1e-15, -1e-17]).p.tolist() == [1.0, 0.0]
    assert abs(m.Independent([[0.3, 0.7 - 5e-10]]).total_mass() - 1) < 1e-15


MAKERS = {
    "potentials": lambda labels: m.from_potentials(np.zeros((2, 2)), np.zeros((2, 2)), labels),
    "independent": lambda labels: m.Independent(HALF, labels),
    "markov": lambda labels: m.Markov([0.5, 0.5], HALF, 2, labels),
}


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
@pytest.mark.parametrize("labels", [(True, 0), (1.0, 0), ([1], 0), (1, "1"), (None, 0), (1, 0, 2)])
def test_labels_are_refused_whatever_was_seen_before(make, labels):
    """True and 1.0 are equal to 1, which is a label."""
    for right in ((1, 0), ("1", "0")):
        assert make(right).labels == right
    assert make(None).labels == (0, 1)
    with pytest.raises(InputError):
        make(labels)
