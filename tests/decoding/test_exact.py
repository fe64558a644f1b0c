"""Every method that claims to be exact, against the listing of all sequences."""

import numpy as np
import pytest

import fsmeu
from fsmeu.decoding.decode import METHODS
from tests.decoding.listing import (
    TOLERANCE,
    ask,
    check,
    make_listing,
    probabilities,
    random_model,
    shelf_listing,
)
from tests.support.nightly import every_third

RANKED = {"ranking_fast", "ranking"}
SUMS = {"additive", "counting"}
ALGEBRA = {
    "accuracy": SUMS | {"ranking"},
    "balanced_accuracy": {"counting", "ranking"},
    "boundary_fscore": set(),
    "chunk_fscore": {"counting"},
    "chunk_fscore_iob1": {"counting"},
    "chunk_fscore_iobes": {"counting"},
    "chunk_precision": {"counting"},
    "chunk_recall": {"counting"},
    "fscore": RANKED | {"counting"},
    "g_tp_pr": {"counting", "ranking"},
    "hamming": SUMS | {"ranking"},
    "jaccard": RANKED,
    "mcc": {"counting", "ranking"},
    "pk": SUMS,
    "precision": RANKED | {"counting"},
    "recall": RANKED | {"counting"},
    "run_length": SUMS,
    "specificity": {"ranking_fast", "counting", "ranking"},
    "threshold": set(),
    "weighted_cost": SUMS | {"ranking"},
    "windowdiff": SUMS,
    "zero_one": {"viterbi"},
}
"""Which exact methods but ``exhaustive`` the algebra of a loss allows at some n > 1."""

BY_ALGEBRA = ("ranking_fast", "additive", "counting", "viterbi", "ranking")


def longest(labels):
    return {2: 7, 3: 4, 5: 2, 9: 2}[len(labels)]


@pytest.mark.parametrize("name", every_third(fsmeu.library()))
def test_shelf(name, rounds):
    """Decisions of every method under random models: values always, optima where claimed."""
    rng = np.random.default_rng(sum(map(ord, name)))
    labels = shelf_listing(name, 1).labels
    exact = set()
    for round_ in rounds(30, least=16):
        n = int(rng.integers(0, longest(labels) + 1))
        listing = shelf_listing(name, n)
        case = random_model(rng, labels, n)
        methods = BY_ALGEBRA if round_ % 6 or n > 5 else tuple(METHODS)
        for method in ("auto", *methods):
            decision = ask(listing.loss, case.model, method=method)
            if decision is not None:
                check(listing, case, decision)
                if decision.exact and n > {2: 3, 3: 2}.get(len(labels), 1):
                    exact.add(method)
    if name in ALGEBRA:
        assert exact & set(BY_ALGEBRA) == ALGEBRA[name]


FAST = [
    ("fscore", {}),
    ("fscore", {"empty": 0}),
    ("fscore", {"beta": 2}),
    ("fscore", {"alpha": 0.25, "empty": 0.5}),
    ("fscore", {"alpha": 0}),
    ("fscore", {"alpha": 1, "empty": 0.3}),
    ("precision", {"empty": 0}),
    ("recall", {}),
    ("jaccard", {}),
    ("jaccard", {"empty": 0}),
    ("fractional_linear", {}),
]


@pytest.mark.parametrize(("name", "params"), FAST)
def test_thousands_of_independent_vectors(name, params, rounds):
    """The quadratic method, all together, on a few hundred vectors for each of these."""
    rng = np.random.default_rng(len(name))
    loss = fsmeu.load(name, **params)
    for n in range(9):
        listing = make_listing(loss, (0, 1), n)
        ones = np.array(listing.sequences, float).reshape(2**n, n)
        vectors = [probabilities(rng, n) for _ in rounds(60)]
        for p, decision in zip(vectors, fsmeu.decode_many(loss, vectors), strict=True):
            weight = np.prod(np.where(ones == 1, p, 1 - p), axis=1)
            values = listing.sign * listing.table @ weight
            own = values[listing.sequences.index(tuple(decision.labels))]
            assert decision.exact
            assert own >= values.max() - TOLERANCE
            assert listing.sign * decision.value == pytest.approx(own, rel=1e-12, abs=1e-12)


ORACLE = [
    ([0.9, 0.5, 0.3], 1, "110", 0.731333),
    ([0.9, 0.5, 0.3], 0, "110", 0.731333),
    ([0.45, 0.3, 0.2, 0.1], 1, "1100", 0.423720),
    ([0.2, 0.2, 0.1], 1, "000", 0.576),
    ([0.2, 0.2, 0.1], 0, "110", 0.2472),
]


@pytest.mark.parametrize("method", ["ranking_fast", "ranking", "counting", "exhaustive"])
@pytest.mark.parametrize(("p", "empty", "labels", "value"), ORACLE)
def test_points_computed_elsewhere(p, empty, labels, value, method):
    """Six digits from a listing in plain Python and from a maximiser of the general F-measure."""
    decision = fsmeu.decode(fsmeu.load("fscore", empty=empty), p, method=method)
    assert "".join(map(str, decision.labels)) == labels
    assert decision.value == pytest.approx(value, abs=5e-7)
    assert decision.exact


@pytest.mark.parametrize("method", METHODS)
def test_nothing_to_decide(method):
    """Length 0, and one position."""
    for name in ("fscore", "hamming", "zero_one"):
        loss = fsmeu.load(name)
        empty = ask(loss, [], method=method)
        if empty is not None:
            assert empty.labels == []
            assert empty.value == loss([], [])
        one = ask(loss, [0.75], method=method)
        if one is not None:
            assert one.labels == [1]
            assert one.value == pytest.approx(0.75 if loss.kind == "utility" else 0.25)


def test_one_label():
    """With one label there is one sequence."""
    loss = fsmeu.load("hamming", labels=["A"])
    model = fsmeu.models.Independent(np.ones((4, 1)), labels=["A"])
    for method in ("auto", *METHODS):
        decision = ask(loss, model, method=method)
        if decision is not None:
            assert decision.labels == ["A"] * 4
            assert decision.value == 0.0


@pytest.mark.parametrize("scale", [1e30, 1e200, 3e18])
def test_denominators_of_any_size(scale):
    """Whole weights of a denominator may pass what an integer of numpy holds."""
    text = f"utility f\nlabels 0 1\ncount tp when z == 1 and y == 1\nvalue (1 + tp) / {scale!r}"
    model = fsmeu.models.Bernoulli([0.5, 0.25])
    found = fsmeu.decode(fsmeu.loads(text), model, method="ranking_fast")
    assert found.labels == [1, 1]
    assert found.value == pytest.approx(1.75 / scale, rel=1e-12)
