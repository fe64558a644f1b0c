"""Every method that claims to be exact, against the listing of all sequences.

A value that no pair of sequences betters is proven best, whichever method found it.
"""

import numpy as np
import pytest

import fsmeu
from fsmeu import limits
from fsmeu.decoding.choice import METHODS
from fsmeu.decoding.problem import RefusalError
from tests.decoding.listing import (
    TOLERANCE,
    ask,
    check,
    make_listing,
    probabilities,
    random_model,
    shelf_listing,
)
from tests.explore.cases import written_case
from tests.explore.trial import run_check
from tests.strategies import LossCase
from tests.support.kernels import kernels_that_run
from tests.support.nightly import every_third, mostly_nightly

RANKED = {"ratios", "ranking"}
SUMS = {"additive", "counting"}
ALGEBRA = {
    "accuracy": SUMS | RANKED,
    "balanced_accuracy": RANKED | {"counting"},
    "boundary_fscore": set(),
    "chunk_fscore": {"counting"},
    "chunk_fscore_iob1": {"counting"},
    "chunk_fscore_iobes": {"counting"},
    "chunk_precision": {"counting"},
    "chunk_recall": {"counting"},
    "fscore": RANKED | {"counting"},
    "g_tp_pr": RANKED | {"counting"},
    "hamming": SUMS | RANKED,
    "jaccard": RANKED,
    "mcc": {"counting", "ranking"},
    "pk": SUMS,
    "precision": RANKED | {"counting"},
    "recall": RANKED | {"counting"},
    "run_length": SUMS,
    "specificity": RANKED | {"counting"},
    "threshold": set(),
    "weighted_cost": SUMS | RANKED,
    "windowdiff": SUMS,
    "zero_one": {"viterbi"},
}
"""Which exact methods but ``exhaustive`` the algebra of a loss allows at some n > 1."""

BY_ALGEBRA = ("ratios", "additive", "counting", "viterbi", "ranking")


@pytest.mark.thirds
@pytest.mark.parametrize("name", every_third(fsmeu.library()))
def test_shelf(name, rounds):
    """Decisions of every method under random models: values always, optima where claimed."""
    rng = np.random.default_rng(sum(map(ord, name)))
    labels = shelf_listing(name, 1).labels
    exact = set()
    for round_ in rounds(30, least=16):
        n = int(rng.integers(0, {2: 8, 3: 5, 5: 3, 9: 3}[len(labels)]))
        listing = shelf_listing(name, n)
        case = random_model(rng, labels, n)
        methods = BY_ALGEBRA if round_ % 6 or n > 5 else tuple(METHODS)
        for method in ("auto", *methods):
            decision = ask(listing.loss, case.model, method=method)
            assert decision is not None or method != "auto"
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
    ("fractional_linear", {"c2": -0.5, "d2": 0}),  # 0/0 without ones of y, whatever z is
    ("fractional_linear", {"c2": -1, "d0": 1, "d2": 0, "d3": -1}),  # where y has nothing else
    ("fractional_linear", {"c0": 1, "c1": 1, "c2": -1, "c3": -1, "d0": 1, "d2": -1, "d3": 0}),
    ("fractional_linear", {"c0": 1, "c1": 3, "c3": -1, "d0": 1, "d1": 0, "d2": 1, "d3": 0}),
    ("fractional_linear", {"c0": 0, "c1": 3, "c3": -1, "d0": 1, "d1": 0, "d2": 1, "d3": 2}),
]


@pytest.mark.parametrize(("name", "params"), FAST)
@pytest.mark.thirds
def test_thousands_of_independent_vectors(name, params, rounds):
    """The quadratic method, all together, on a few hundred vectors for each of these."""
    rng = np.random.default_rng(len(name))
    loss = fsmeu.load(name, **params)
    for n in range(7):
        listing = make_listing(loss, (0, 1), n)
        ones = np.array(listing.sequences, float).reshape(2**n, n)
        vectors = [probabilities(rng, n) for _ in rounds(60)]
        for p, decision in zip(vectors, fsmeu.decode_many(loss, vectors), strict=True):
            values = listing.sign * listing.table @ np.prod(np.where(ones == 1, p, 1 - p), axis=1)
            own = values[listing.sequences.index(tuple(decision.labels))]
            assert decision.exact
            assert own >= values.max() - TOLERANCE
            assert listing.sign * decision.value == pytest.approx(own, rel=1e-12, abs=1e-12)


def test_one_label():
    """With one label there is one sequence."""
    loss = fsmeu.load("hamming", labels=["A"])
    model = fsmeu.models.Independent(np.ones((4, 1)), labels=["A"])
    for method in ("auto", "additive", "counting", "viterbi", "exhaustive", "search", "nbest"):
        decision = fsmeu.decode(loss, model, method=method)
        assert decision.labels == ["A"] * 4
        assert decision.value == 0.0


@pytest.mark.parametrize("scale", [1e30, 1e200, 3e18])
def test_denominators_of_any_size(scale):
    """Whole weights of a denominator may pass what an integer of numpy holds."""
    text = f"utility f\nlabels 0 1\ncount tp when z == 1 and y == 1\nvalue (1 + tp) / {scale!r}"
    model = fsmeu.models.Bernoulli([0.5, 0.25])
    found = fsmeu.decode(fsmeu.loads(text), model, method="ratios")
    assert found.labels == [1, 1]
    assert found.value == pytest.approx(1.75 / scale, rel=1e-12)


# -- losses that split by tape in other words ------------------------------------------------------

STATES = (
    "state A B arc A -> B when {0} == 1 arc A -> A otherwise "
    "arc B -> A when {0} == 1 arc B -> B otherwise"
)
OF_Z, OF_Y = STATES.format("z"), STATES.format("y")
TP = "count tp when z == 1 and y == 1"
F1 = "value 2 * tp / both or 1 when both == 0"
RISE = "memory a of z last 1 let rise = z == 1 and not old a[0] == 1"
FILES = {
    "states of z": f"{OF_Z} count c when at B and y == 1 value c",
    "states of y": f"{OF_Y} count c when at B and z == 1 count d when z == 1 value c - d / 3",
    "states and a flag": f"{OF_Z} flag f when y == 1 count c when at B and f value c / n",
    "F1 of one sum": f"{TP} count both by z + y {F1}",
    "F1 of conditions": f"{TP} count both by (z == 1) + (y == 1) {F1}",
    "F1 shifted": f"{TP} count both by (y == 1) - (z == 0) + 1 value tp / (both + 1)",
    "rises": f"{RISE} count tp when rise and y == 1 count both by (rise) + y value tp / (1 + both)",
    "clock": f"register p in 0..1 start 0 next i % 2 {TP} count c when y == 1 and p == 1 "
    "count h when z == 1 value tp / (1 + c + h)",
    "clock states": f"state S T arc S -> T when i >= 2 arc S -> S otherwise arc T -> T otherwise "
    f"{TP} count c when y == 1 and at T count h when z == 1 value tp / (1 + c + h)",
    "tally of the other tape": "memory m of y last 2 count c when tally(m, z) == 1 value c",
    "difference": f"{TP} count d by y - z value tp - abs(d)",
}
SPLIT = set(FILES) - {"difference", "tally of the other tape"}


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("order", [0, 1, 2])
@pytest.mark.parametrize("n", mostly_nightly([1, 3, 5], quick=2))
@pytest.mark.thirds
def test_decisions_are_the_best_of_the_list(name, order, n):
    """Against the second reading of the file, for every pair of sequences."""
    program = LossCase(f"utility f labels 0 1 {FILES[name]}", (0, 1), False, {})
    kind, more = ("markov", {"order": order}) if order else ("independent", {})
    case = written_case(program, kind, n, 10 * n + order, **more)
    assert run_check(case, "decode", n).result == "passed"
    decided = fsmeu.decode(case.loss, case.built[0])
    assert decided.exact
    if order and n > 1 and name in SPLIT:
        assert decided.method in ("additive", "counting")


# -- the best of all values ------------------------------------------------------------------------

TRIVIAL = {
    "nothing to find": (fsmeu.load("fscore", empty=0), 0.0, 0.0),
    "everything found": (fsmeu.load("fscore"), 1.0, 1.0),
    "boundaries everywhere": (fsmeu.load("pk", k=3), 1.0, 0.0),
    "no error": (fsmeu.load("hamming", labels=[0, 1]), 0.0, 0.0),
}


@pytest.mark.parametrize("n", [5, 14])
@pytest.mark.parametrize("case", TRIVIAL)
def test_trivial_optima(case, n):
    loss, p, best = TRIVIAL[case]
    for method in ("auto", *(METHODS if n < 6 else ())):
        found = ask(loss, [p] * n, method=method)
        if found is not None:
            assert found.exact
            assert found.value == pytest.approx(best, abs=1e-15)
            assert method == "search" or found.method != "search"
    assert fsmeu.decode_many(loss, [[p] * n] * 2)[1].exact
    whole = fsmeu.decode_corpus(loss, [[p] * n] * 2)
    assert whole.exact
    assert whole.value == pytest.approx(best, abs=1e-12)


def test_states_that_no_sequence_reaches_may_lack_steps():
    """A register that grows to 3 has no step from 9: who looks ahead at 4, 5, ... does not mind."""
    steps = "if {1} == 1 and {0} < 3 then {0} + 1 else 0 / (9 - {0})"
    grows = f"register {{0}} in 0..n start 0 next {steps}"
    loss = fsmeu.loads(
        f"utility f labels 0 1 {grows.format('a', 'z')} {grows.format('b', 'y')} {TP} and a == b "
        "count hyp when z == 1 count ref when y == 1 value tp / (1 + hyp + ref)"
    )
    model = fsmeu.models.Bernoulli([0.3, 0.7, 0.5, 0.9, 0.2, 0.6, 0.6, 0.8, 0.9, 0.4, 0.7])
    found, listed = (fsmeu.decode(loss, model, method=one) for one in ("counting", "exhaustive"))
    assert found.value == pytest.approx(listed.value, rel=TOLERANCE)


def test_amounts_that_only_some_positions_count():
    """Rows are moved by 300 at positions where no pair counts that: within their arrays."""
    text = "age m since y == 0 up to 2 count tp count r by 300 when y == 1 and m < 2 value r^1"
    loss = fsmeu.loads(f"utility f labels 0 1 {text}")
    lists = [[0, 0, 1, 1], [0, 1, 0, 0], [0, 0, 0, 0]]
    model = fsmeu.models.NBest(lists, [0.4, 0.6, 0.0], (0, 1))
    with kernels_that_run("plain"):  # plain loops see what lies outside
        assert fsmeu.decode(loss, model, method="counting").value == pytest.approx(300.0)


def test_a_search_of_long_sequences_ends_at_once():
    """A loss of which no algebra is known, and a reference that is certain."""
    loss = fsmeu.loads(
        "loss runs\nlabels 0 1\nage a since z != y up to 3\ncount c by a * a when z != y\n"
        "count d when z != y\nvalue sqrt(c + d)\nrange 0 .. n"
    )
    found = fsmeu.decode(loss, [1.0, 0.0] * 60)
    assert (found.labels, found.value, found.exact) == ([1, 0] * 60, 0.0, True)
    assert found.candidates == 1


def test_what_is_not_at_the_end_is_not_proven():
    """Neither by a range that is wide, nor by one label that is certain."""
    loss = fsmeu.loads("utility u\nlabels 0 1\ncount c when z == y\nvalue c * c\nrange 0 .. 10^9")
    for p in ([0.5] * 6, [1.0, *[0.5] * 5]):
        assert not fsmeu.decode(loss, p, method="marginal").exact
    found = fsmeu.decode(loss, [1.0] * 6, method="marginal")
    assert (found.value, found.exact) == (36.0, True)


def test_expectations_of_ratios_that_are_no_numbers():
    """References count 1e12 each, far beyond what a rule serves: it is not asked for the best."""
    counts = "count tp when z and y count ref by 1e12 when y"
    text = f"loss f labels any {counts} value -(tp / (1 + ref - tp)) range -1.1e-12 .. 0"
    loss = fsmeu.loads(text, labels=[0, 1])
    p = [0.0, 1.0, 0.5028575977596241]
    best = fsmeu.decode(loss, p, method="exhaustive")
    with limits.lowered(FEWEST_FOR_NODES=0, SHORT_RULE=1):
        found = fsmeu.decode(loss, p)
        assert found.value == pytest.approx(best.value, rel=1e-12)
        with pytest.raises(RefusalError, match="doubles hold"):
            fsmeu.decode(loss, p, method="ratios")


ZERO_BELOW = """utility f
labels 0 1
count hyp when z == 1
count ref when y == 1
value 1 / ((hyp - 1) * (hyp - 1) + n - ref) or 1 when (hyp - 1) * (hyp - 1) + n - ref == 0
range 0 .. 1
"""


@pytest.mark.parametrize("n", [3, 40, 2000])
@pytest.mark.parametrize("method", ["ratios", "chain_ratios"])
def test_a_denominator_that_is_0_for_one_number_of_ones(n, method):
    """Where y has nothing but ones; the numerator is 1 there, so that it is no sum of ratios."""
    loss = fsmeu.loads(ZERO_BELOW)
    p = np.full(n, 0.5)
    model = fsmeu.models.Markov([0.5, 0.5], [[0.3, 0.7], [0.6, 0.4]], n=n)
    with limits.lowered(limits.LONG), pytest.raises(RefusalError, match="ratios of counts"):
        fsmeu.decode(loss, p if method == "ratios" else model, method=method)
    if n == 3:
        best = fsmeu.decode(loss, p, method="exhaustive")
        assert fsmeu.decode(loss, p).value == pytest.approx(best.value, rel=1e-12)


@pytest.mark.parametrize("method", ["auto", "ranking", "exhaustive"])
def test_bounds_hold_what_values_lose_to_rounding(method):
    """All values are 0, as labels are independent and alike; doubles miss it by 3e-17."""
    text = """loss f
    labels 0 1
    count tp when z == 1 and y == 1
    count hyp when z == 1
    count ref when y == 1
    value (hyp - tp) * (ref - tp) - tp * (n - hyp - ref + tp)
    """
    found = fsmeu.decode(fsmeu.loads(text), [0.616909777630732] * 3, method=method)
    assert found.lower <= 0 <= found.upper
    assert found.upper - found.lower < 1e-12


def test_references_that_count_very_much():
    """Powers of exp(-x) for all that references count would take petabytes."""
    text = """loss f
    labels 0 1
    count tp when z == 1 and y == 1
    count hyp when z == 1
    count ref by (if y == 1 then 1e15 else 1)
    value tp / (hyp + ref) or 0 when hyp + ref == 0
    range 0 .. 1
    """
    loss = fsmeu.loads(text)
    steps = ([[0.3, 0.7], [0.6, 0.4]], [[0.2, 0.8], [0.5, 0.5]])
    chains = [fsmeu.models.Markov([0.5, 0.5], rows, n=4) for rows in steps]
    model = fsmeu.models.Mixture(chains, [0.5, 0.5])
    with pytest.raises(RefusalError, match="not be so much"):
        fsmeu.decode(loss, model, method="lanes")
    assert fsmeu.expect(loss, [1, 0, 1, 0], model).value < 1e-15


def test_a_total_that_the_rule_does_not_serve(lowered):
    """The best total is far from what references count: its value has all digits all the same."""
    text = """utility f
    labels 0 1
    age mz since z == 0 up to 2
    age my since y == 0 up to 2
    count tp when z == 1 and mz < 2 and y == 1 and my < 2
    count hyp when z
    count ref when y and my < 2
    value tp / (hyp + 0.3 * ref) or 0 when ref == 0
    range 0 .. 1
    """
    lowered(LANE_DECISION_WORK=1)
    loss = fsmeu.loads(text)
    model = fsmeu.models.Bernoulli([0.5, 0.5, 0.5, 0.25])
    made = fsmeu.decode(loss, model, method="lanes")
    best = fsmeu.decode(loss, model, method="exhaustive")
    assert made.labels == best.labels
    assert made.value == pytest.approx(best.value, rel=1e-13)
