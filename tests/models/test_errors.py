"""What is said about arguments that make no model."""

import numpy as np
import pytest

from fsmeu.errors import EmptyError, InputError, SizeLimitError
from fsmeu.models import (
    Bernoulli,
    Independent,
    Markov,
    Mixture,
    NBest,
    as_model,
    from_potentials,
    hmm,
)

INF = np.inf
HALF = [[0.5, 0.5], [0.5, 0.5]]

BAD = {
    "nan": (lambda: Bernoulli([0.5, np.nan]), ["Bernoulli p", "entry 1", "nan"]),
    "text": (lambda: Bernoulli("0.5"), ["Bernoulli p"]),
    "complex": (lambda: Bernoulli([1j]), ["Bernoulli p", "real"]),
    "table": (lambda: Bernoulli(HALF), ["one-dimensional", "Independent"]),
    "flat rows": (lambda: Independent([0.5, 0.5]), ["(n, L)", "(2,)"]),
    "no labels": (lambda: Independent(np.zeros((2, 0))), ["(n, L)"]),
    "row sum": (lambda: Independent([[1, 0], [0.5, 0.4]]), ["row 1", "0.9"]),
    "further off than single precision": (
        lambda: Independent(np.float32([[0.1, 0.2, 0.7]]) * np.float32(1.000001)),
        ["row 0 must sum to 1", "1.0000009", "Divide by the sum"],
    ),
    "order 0": (lambda: Markov(1.0, HALF), ["Markov initial", "Independent"]),
    "uneven axes": (lambda: Markov(np.ones((2, 3)) / 6, HALF), ["same length"]),
    "no n": (lambda: Markov([0.5, 0.5], HALF), ["Markov n", "n="]),
    "wrong n": (lambda: Markov([0.5, 0.5], [HALF] * 3, n=3), ["2 tables", "3 tables"]),
    "too many for n": (lambda: Markov([0.5, 0.5], [HALF], n=0), ["0 tables"]),
    "negative n": (lambda: Markov([0.5, 0.5], HALF, n=-1), ["Markov n", "-1"]),
    "axes": (lambda: Markov([0.5, 0.5], [0.5, 0.5], n=3), ["2 axes", "(2,)"]),
    "shape": (lambda: Markov([0.5, 0.5], [[0.2, 0.3, 0.5]] * 3, n=3), ["(2, 2)"]),
    "initial sum": (lambda: Markov([0.5, 0.6], HALF, n=2), ["initial", "1.1"]),
    "transition sum": (
        lambda: Markov([0.5, 0.5], [HALF, [[1, 0], [0, 0]]]),
        ["transition", "row (1, 1)", "0.0"],
    ),
    "labels": (lambda: Markov([0.5, 0.5], HALF, 2, "abc"), ["2 labels", "'c'"]),
    "no number of labels": (lambda: Markov([0.5, 0.5], HALF, 2, 7), ["labels"]),
    "unary shape": (lambda: from_potentials([1, 2], HALF), ["(n, L)"]),
    "pairwise shape": (
        lambda: from_potentials(np.zeros((4, 2)), np.zeros((4, 2, 2))),
        ["(2, 2)", "(3, 2, 2)", "(4, 2, 2)"],
    ),
    "infinite": (lambda: from_potentials([[INF, 0]], HALF), ["unary", "inf"]),
    "huge": (lambda: from_potentials([[1e305, 0]], HALF), ["1e+300"]),
    "forbidden": (
        lambda: from_potentials(np.zeros((3, 2)), np.array([HALF, np.full((2, 2), -INF)])),
        ["position 3"],
    ),
    "impossible": (
        lambda: hmm([1, 0], [[1, 0], [0, 1]], [[1, 0], [0, 1]], [0, 0, 1, 0]),
        ["symbol 1", "position 3"],
    ),
    "symbol": (lambda: hmm([1, 0], HALF, HALF, [0, 2]), ["from 0 to 1", "2"]),
    "fraction": (lambda: hmm([1, 0], HALF, HALF, [0, 0.5]), ["position 2", "0.5"]),
    "no symbols": (lambda: hmm([1, 0], HALF, HALF, 3), ["observations"]),
    "emission": (lambda: hmm([1, 0], HALF, [[1.0]], [0]), ["emission", "(2, 1)"]),
    "hmm transition": (lambda: hmm([1, 0], [1.0], HALF, [0]), ["transition"]),
    "empty list": (lambda: NBest([], []), ["at least one sequence"]),
    "lengths": (lambda: NBest(["01", "011"], [1, 1]), ["lengths 2", "3"]),
    "weights": (lambda: NBest(["01"], [1, 1]), ["1 weights", "(2,)"]),
    "negative": (lambda: NBest(["01", "10"], [1, -1]), ["-1.0 at entry 1"]),
    "all zero": (lambda: NBest(["01"], [0]), ["positive"]),
    "all -inf": (lambda: NBest(["01"], [-INF], log=True), ["positive"]),
    "log nan": (lambda: NBest(["01"], [np.nan], log=True), ["nan"]),
    "unknown label": (lambda: NBest(["02"], [1], labels=(0, 1)), ["0, 1"]),
    "no models": (lambda: Mixture([], []), ["at least one model"]),
    "no model": (lambda: Mixture([[0.5]], [1]), ["label model"]),
    "one weight": (lambda: Mixture([Bernoulli([1])], [0.5, 0.5]), ["(1,)"]),
    "weights of 0.9": (lambda: Mixture([Bernoulli([1])] * 2, [0.5, 0.4]), ["sum to 1", "0.9"]),
    "mixed lengths": (
        lambda: Mixture([Bernoulli([1]), Bernoulli([1, 1])], [0.5, 0.5]),
        ["lengths 1 and 2"],
    ),
    "mixed labels": (
        lambda: Mixture([Bernoulli([1]), Independent([[1, 0]], "ab")], [0.5, 0.5]),
        ["[0, 1]", "['a', 'b']"],
    ),
    "number": (lambda: as_model(0.5), ["label model"]),
    "nothing": (lambda: as_model(None), ["model"]),
    "cube": (lambda: as_model(np.ones((1, 1, 1))), ["(1, 1, 1)"]),
}
EMPTY = {"forbidden", "impossible", "empty list", "all zero", "all -inf", "no models"}


@pytest.mark.parametrize("case", BAD)
def test_message(case):
    make, fragments = BAD[case]
    with pytest.raises(EmptyError if case in EMPTY else InputError) as caught:
        make()
    for fragment in fragments:
        assert fragment in str(caught.value)


HUGE = {
    "order 20": lambda: Markov(wide(0.25**20, *(4,) * 20), wide(0.25, *(4,) * 21), n=30),
    "long chain": lambda: Markov([0.5, 0.5], HALF, n=10**15),
    "long table": lambda: Bernoulli(wide(0.5, 10**12)),
    "whole numbers": lambda: Bernoulli(wide(1, 10**12)),
    "many labels": lambda: from_potentials(np.zeros((3, 10_000)), wide(0.0, 10_000, 10_000)),
}


def wide(number, *shape):
    """An array of any shape that takes no room."""
    return np.broadcast_to(number, shape)


@pytest.mark.parametrize("case", HUGE)
def test_refused_before_it_is_built(case):
    """None of these could be built in the memory of any machine, or only after minutes."""
    with pytest.raises(SizeLimitError, match=r"limit of 20,000,000.*FSMEU_MAX_ARCS"):
        HUGE[case]()


def test_the_limit_can_be_moved(monkeypatch):
    monkeypatch.setenv("FSMEU_MAX_ARCS", "10")
    with pytest.raises(SizeLimitError, match="12 arcs, more than the limit of 10"):
        Bernoulli([0.5] * 6)
    monkeypatch.setenv("FSMEU_MAX_ARCS", "12")
    assert Bernoulli([0.5] * 6).n == 6
    monkeypatch.setenv("FSMEU_MAX_ARCS", "many")
    with pytest.raises(InputError, match="FSMEU_MAX_ARCS"):
        Bernoulli([0.5])


def test_rounding_is_forgiven():
    assert Bernoulli([1 + 1e-15, -1e-17]).p.tolist() == [1.0, 0.0]
    model = Independent([[0.3, 0.7 - 5e-10]])
    assert abs(model.total_mass() - 1) < 1e-15


TRANSPOSED = {
    "Markov": lambda: Markov([0.5, 0.5], [[0.5, 0.2], [0.5, 0.8]], n=4),
    "Markov, each": lambda: Markov([0.5, 0.5], [[[0.5, 0.2], [0.5, 0.8]], HALF]),
    "Independent": lambda: Independent([[0.5, 0.2, 0.1], [0.5, 0.8, 0.9]]),
    "hmm": lambda: hmm([0.5, 0.5], HALF, [[0.7, 0.2], [0.2, 0.2], [0.1, 0.6]], [0, 1]),
}


@pytest.mark.parametrize("name", TRANSPOSED)
def test_transposed_probabilities_are_told_so(name):
    with pytest.raises(InputError, match="The columns sum to 1: exchange rows and columns"):
        TRANSPOSED[name]()


@pytest.mark.parametrize(("initial", "axes"), [([0.5, 0.5], 3), ([0.5, 0.5], 4), (HALF, 4)])
def test_an_initial_of_another_order_is_told_so(initial, axes):
    with pytest.raises(InputError, match=rf"the order is {axes - 1}, initial must have shape \(2,"):
        Markov(initial, np.full((2,) * axes, 0.5), n=7)


KINDS = {
    "potentials": lambda labels: from_potentials(np.zeros((2, 2)), np.zeros((2, 2)), labels),
    "independent": lambda labels: Independent(HALF, labels),
    "markov": lambda labels: Markov([0.5, 0.5], HALF, 2, labels),
}


@pytest.mark.parametrize("make", KINDS.values(), ids=KINDS)
@pytest.mark.parametrize("labels", [(True, 0), (1.0, 0), ([1], 0), (1, "1"), (None, 0), (1, 0, 2)])
def test_refused_whatever_was_seen_before(make, labels):
    """True and 1.0 are equal to 1, which is a label."""
    assert make((1, 0)).labels == (1, 0)
    assert make(["1", "0"]).labels == ("1", "0")
    assert make(None).labels == (0, 1)
    with pytest.raises(InputError):
        make(labels)
