"""What is said about arguments that make no model."""

import numpy as np
import pytest

import fsmeu
from fsmeu import errors
from fsmeu import models as m
from fsmeu.errors import InputError, SizeLimitError
from fsmeu.models import base
from fsmeu.models.chains import as_model
from fsmeu.searn import CostOracle

HALF = [[0.5, 0.5], [0.5, 0.5]]


def wide(number, *shape):
    """An array of any shape that takes no room."""
    return np.broadcast_to(number, shape)


TABLE = """
Bernoulli([0.5, NAN]) => Bernoulli p ; entry 1 ; nan
Bernoulli("0.5") | Bernoulli([1j]) => Bernoulli p ; real
Bernoulli(HALF) => one-dimensional ; Independent ; p.ravel()
as_model([[0.4, 0.3, 0.1]]) | as_model([[0.4, 0.3], [0.1, 0.9]]) => row 0 ; Bernoulli(x.ravel())
as_model(np.zeros((4, 5, 2))) => x.reshape(-1, x.shape[-1])
Independent([0.5, 0.5]) => (n, L) ; (2,)
Independent(np.zeros((2, 0))) | from_potentials([1, 2], HALF) => (n, L)
Independent([[1, 0], [0.5, 0.4]]) => row 1 ; 0.9
Independent(NEARLY * np.float32(1.000001)) => row 0 must sum to 1 ; 1.0000009 ; Divide by the sum
Independent([[0.5, 0.4999999]]) | Independent(np.float32([[0.5, 0.4999]])) => must sum to 1
Independent(np.float32([[1, 0], [0.5, 0.50001]])) => must sum to 1
Independent(np.float16([[0.5, 0.45]])) | Independent([[0.5, 0.453125]]) => must sum to 1
Independent([[0.5, 0.2, 0.1], [0.5, 0.8, 0.9]]) => TURN
Markov(1.0, HALF) => Markov initial ; Independent
Markov(np.ones((2, 3)) / 6, HALF) => same length
Markov([0.5, 0.5], HALF) => Markov: the length n ; n=
Markov([0.5, 0.5], [HALF] * 3, n=3) => 2 tables ; 3 tables
Markov([0.5, 0.5], [HALF], n=0) => 0 tables
Markov([0.5, 0.5], HALF, n=-1) => Markov: the length n ; -1
Markov([0.5, 0.5], [0.5, 0.5], n=3) => 2 axes ; (2,)
Markov([0.5, 0.5], [[0.2, 0.3, 0.5]] * 3, n=3) => (2, 2)
Markov([0.5] * 2, wide(0.5, 2, 2, 2), n=7) => order is 2 ; shape (2, 2)
Markov([0.5] * 2, wide(0.5, 2, 2, 2, 2), n=7) => order is 3 ; (2, 2, 2)
Markov(HALF, wide(0.5, 2, 2, 2, 2), n=7) => order is 3 ; (2, 2, 2)
Markov([0.5, 0.6], HALF, n=2) => initial ; 1.1
Markov([0.5, 0.5], [HALF, [[1, 0], [0, 0]]]) => transition ; row (1, 1) ; 0.0
Markov([0.5, 0.5], TURNED, n=4) | Markov([0.5, 0.5], [TURNED, HALF]) => TURN
Markov([0.5, 0.5], HALF, 2, "abc") => 2 labels ; 'c'
Markov([0.5, 0.5], HALF, 2, 7) => labels
from_potentials(np.zeros((4, 2)), np.zeros((4, 2, 2))) => (2, 2) ; (3, 2, 2) ; (4, 2, 2)
from_potentials([[INF, 0]], HALF) => unary ; inf
from_potentials([[1e305, 0]], HALF) => 1e+300
hmm([1, 0], HALF, HALF, [0, 2]) => from 0 to 1 ; 2
hmm([1, 0], HALF, HALF, [0, 0.5]) => entry 1 ; 0.5
hmm([1, 0], HALF, HALF, 3) => observations
hmm([1, 0], HALF, [[1.0]], [0]) => emission ; (2, 1)
hmm([0.5, 0.5], HALF, [*TURNED, [0.0, 0.0]], [0, 1]) => TURN
hmm([1, 0], [1.0], HALF, [0]) => transition
NBest(["01", "011"], [1, 1]) => lengths 2 at entry 0 and 3 at entry 1
NBest(["01"], [1, 1]) => 1 weights ; (2,)
NBest(["01", "10"], [1, -1]) => -1.0 at entry 1
NBest(["01", "10"], [-0.5, -1.2]) => at least 0 ; exponentiate ; np.exp ; log=True
NBest(["01", "10"], [-INF, -1.2]) | NBest(["01", "10"], [0.0, -3.0]) => exponentiate ; log=True
Bernoulli([-0.1, -2.5]) | Bernoulli([0.0, -2.5]) => from 0 to 1 ; exponentiate ; np.exp
Independent([[-0.1, -2.5]]) | Markov([-0.1, -2.5], HALF, 2) => exponentiate ; np.exp
Mixture([EVEN] * 2, [-0.7, -0.7]) | hmm([-0.7, -0.7], HALF, HALF, [0]) => exponentiate ; np.exp
as_model([-0.1, -2.5]) | as_model([[-0.1, -2.5]]) => exponentiate ; np.exp
NBest(["01"], [NAN], log=True) => nan
NBest(["02"], [1], labels=(0, 1)) => 0, 1
Mixture([[0.5]], [1]) | as_model(0.5) => label model
Mixture([EVEN], [0.5, 0.5]) => (1,)
Mixture([EVEN] * 2, [0.5, 0.4]) => sum to 1 ; 0.9
Mixture([EVEN, Bernoulli([1, 1])], [0.5, 0.5]) => lengths 1 and 2
Mixture([EVEN, Independent([[1, 0]], "ab")], [0.5, 0.5]) => [0, 1] ; ['a', 'b']
as_model(None) | tempered(None, 2.0) => model ; Got None
as_model(np.ones((1, 1, 1))) => (1, 1, 1)
from_logits([[NAN, 0.0]]) => must be a number
from_logits([[0.0, INF]]) => inf at
from_logits([[0, 1], [-INF, -INF]]) => row 1 must allow some label
from_logits([[[0.0]]]) | from_logits(0.5) => shape
from_logits("abc") => array of
from_logits([[0.0, 1.0]], {1: "a", 2: "b"}) => columns
from_logits([[0.0, 1.0]], ["a"]) => 2 labels
calibrate([[0.5]], []) | calibrate([], []) => as many references ; at least one
base.marginals_many([]) | base.marginals_many([EVEN, Bernoulli([1, 1])]) => of one length
calibrate([[0.5]], [[1, 0]]) => length 1
calibrate([[0.5, 0.0]], [[1, 1]]) => references[0]: must have positive probability
calibrate([[0.5]], [["x"]]) => must be one of 0, 1
calibrate(3, 4) => models must be a list
calibrate([[0.5]], [["x"]], skip_impossible=True) => some reference ; Got none
calibrate([[0.5]], [[1, 0]], skip_impossible=True) => length 1
calibrate([[0.5]], [[1]], skip_impossible=2) => skip_impossible
tempered(Mixture([EVEN] * 2, [0.5, 0.5]), 2.0) => no two paths
tempered(EVEN, 0) | tempered(EVEN, -1) | tempered(EVEN, INF) => temperature
tempered(EVEN, NAN) | tempered(EVEN, "hot") | tempered(EVEN, [1.0]) => temperature
EmptyError
from_potentials(np.zeros((3, 2)), np.array([HALF, np.full((2, 2), -INF)])) => entry 2
from_potentials([[-INF, -INF], [0, 0]], HALF) => entry 0
from_potentials([[0, -INF], [-INF, 0]], [[0, -INF], [0, 0]]) => entry 1
hmm([1, 0], [[1, 0], [0, 1]], [[1, 0], [0, 1]], [0, 0, 1, 0]) => symbol 1 ; entry 2
NBest([], []) => at least one sequence
NBest(["01"], [0]) | NBest(["01"], [-INF], log=True) => positive
Mixture([], []) => at least one model
SizeLimitError
Markov(wide(0.25**20, *(4,) * 20), wide(0.25, *(4,) * 21), 30) => MANY
Markov([0.5, 0.5], HALF, n=10**15) | Bernoulli(wide(0.5, 10**12)) => MANY
Bernoulli(wide(1, 10**12)) | from_potentials(wide(0.0, 3, 9999), wide(0.0, 9999, 9999)) => MANY
"""
"""Calls and what is said of them, by the error. Those of SizeLimitError no machine could hold."""
SAID = {
    "MANY": "at most 20,000,000 ; FSMEU_MAX_ARCS",
    "TURN": "The columns sum to 1: exchange rows and columns",
}
NAMES = {
    **{name: getattr(m, name) for name in m.__all__},
    "as_model": as_model,
    "base": base,
    "np": np,
    "calibrate": fsmeu.calibrate,
    "wide": wide,
    "INF": np.inf,
    "NAN": np.nan,
    "HALF": HALF,
    "TURNED": [[0.5, 0.2], [0.5, 0.8]],
    "EVEN": m.Independent([[0.5, 0.5]]),
    "NEARLY": np.float32([[0.1, 0.2, 0.7]]),
}


def refused():
    """The rows of the table: error, call, words."""
    kind = "InputError"
    for line in TABLE.strip().split("\n"):
        calls, _, words = line.partition(" => ")
        kind = kind if words else line
        yield from ((kind, call, words) for call in calls.split(" | ") if words)


@pytest.mark.parametrize(("kind", "call", "words"), list(refused()))
def test_message(kind, call, words):
    with pytest.raises(getattr(errors, kind)) as caught:
        eval(call, NAMES)
    for fragment in SAID.get(words, words).split(" ; "):
        assert fragment in str(caught.value)


def test_the_limit_can_be_moved(monkeypatch):
    monkeypatch.setenv("FSMEU_MAX_ARCS", "10")
    with pytest.raises(SizeLimitError, match=r"at most 10 arcs\. Got 12 instead"):
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


@pytest.mark.parametrize("labels", [b"01", bytearray(b"01"), memoryview(b"01")], ids=type)
def test_bytes_are_no_labels(labels):
    """Their items are numbers, so that b"01" would be the labels 48 and 49."""
    two = np.full((2, 2), 0.5)
    for ask in (
        lambda: fsmeu.load("hamming", labels=labels),
        lambda: fsmeu.loads("loss l\ncount c when z != y\nvalue c", labels=labels),
        lambda: m.Independent(two, labels),
        lambda: m.from_potentials(two, two, labels),
        lambda: m.NBest(["01"], [1.0], labels=labels),
        lambda: CostOracle(fsmeu.load("hamming"), "01", labels=labels),
    ):
        with pytest.raises(InputError, match="Decode bytes first"):
            ask()
