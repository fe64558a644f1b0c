"""Which methods the algebra of a loss allows, and that what they call best is best."""

from contextlib import suppress

import numpy as np
import pytest

import fsmeu
from fsmeu import limits
from fsmeu.errors import InputError, SizeLimitError
from tests.decoding.listing import (
    BY_ALGEBRA,
    METHODS,
    ask,
    check,
    shelf_listing,
)
from tests.explore.cases import written_case
from tests.explore.trial import run_check
from tests.label_models import random_model as random_spec
from tests.strategies import LossCase, listed

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


@pytest.mark.parametrize("name", fsmeu.library())
def test_methods_of_the_shelf(name):
    """Values always, optima where claimed; and which methods claim them."""
    rng = np.random.default_rng(sum(map(ord, name)))
    labels = shelf_listing(name, 1).labels
    most = {2: 5, 3: 4}.get(len(labels), 2)
    listing = shelf_listing(name, most)
    exact = set()
    for kind in ("bernoulli", "independent", "markov", "potentials"):
        if kind == "bernoulli" and labels != (0, 1):
            continue
        case = listed(random_spec(rng, labels, most, (kind,)))
        for method in ("auto", *BY_ALGEBRA):
            decision = ask(listing.loss, case.model, method=method)
            assert decision is not None or method != "auto"
            if decision is not None:
                check(listing, case, decision)
                if decision.exact:
                    exact.add(method)
    if name in ALGEBRA:
        assert exact & set(BY_ALGEBRA) == ALGEBRA[name]


# -- losses that split by tape in other words ------------------------------------------------------

RISE = "memory a of z last 1 let rise = z == 1 and not old a[0] == 1"
TP = "count tp when z == 1 and y == 1"
SPLIT = {
    "states of y": "state A B arc A -> B when y == 1 arc A -> A otherwise arc B -> A when y == 1 "
    "arc B -> B otherwise count c when at B and z == 1 count d when z == 1 value c / (1 + d)",
    "F1 shifted": f"{TP} count both by (y == 1) - (z == 0) + 1 value tp / (both + 1)",
    "rises": f"{RISE} count tp when rise and y == 1 count both by (rise) + y value tp / (1 + both)",
}


@pytest.mark.parametrize("name", SPLIT)
def test_losses_that_split_in_other_words(name):
    """Against the second reading of the file; they are still sums or counts of both tapes."""
    program = LossCase(f"utility f labels 0 1 {SPLIT[name]}", (0, 1), False, {})
    case = written_case(program, "markov", 3, 32, order=2)
    assert run_check(case, "decode", 3).result == "passed"
    decided = fsmeu.decode(case.loss, case.built[0])
    assert (decided.exact, decided.method) == (True, "counting")


# -- ends of the range, and numbers that are great, small or none ----------------------------------

TRIVIAL = {
    "nothing to find": (fsmeu.load("fscore", empty=0), 0.0, 0.0),
    "everything found": (fsmeu.load("fscore"), 1.0, 1.0),
    "boundaries everywhere": (fsmeu.load("pk", k=3), 1.0, 0.0),
    "no error": (fsmeu.load("hamming", labels=[0, 1]), 0.0, 0.0),
}


@pytest.mark.parametrize("case", TRIVIAL)
def test_a_value_that_no_pair_betters_is_proven_by_whichever_method(case):
    loss, p, best = TRIVIAL[case]
    for method, n in (("auto", 14), *((method, 5) for method in METHODS)):
        found = ask(loss, [p] * n, method=method)
        if found is not None:
            assert found.exact or found.method in ("search", "nbest", "marginal")
            assert found.value == pytest.approx(best, abs=1e-15)
    whole = fsmeu.decode_corpus(loss, [[p] * 14] * 2)
    assert whole.exact
    assert whole.value == pytest.approx(best, abs=1e-12)


AS_LISTED = {
    "counts that no rule serves": (
        "loss f labels 0 1 count tp when z and y count ref by 1e12 when y "
        "value -(tp / (1 + ref - tp)) range -1.1e-12 .. 0",
        [0.0, 1.0, 0.5028575977596241],
        {"SHORT_RULE": 1},
    ),
    "totals that no hypothesis has": (
        f"utility f labels 0 1 {TP} count hyp by 3 when z == 1 count ref when y == 1 value "
        "tp / (hyp + ref) or 0.75 when hyp + ref == 0 range 0 .. 1",
        [1.0, 0.5, 0.0, 0.1, 0.6],
        limits.LONG,
    ),
    "references that count very much": (
        f"utility f labels 0 1 {TP} count hyp when z == 1 count ref by if y == 1 then 1e15 else 1 "
        "value tp / (hyp + ref) or 0 when hyp + ref == 0 range 0 .. 1",
        [0.3, 0.7, 0.6, 0.4],
        limits.LONG,
    ),
}


@pytest.mark.parametrize("case", AS_LISTED)
def test_odd_losses_are_decided_as_listing_does(case):
    """Each was once decided otherwise in the ways of long sequences."""
    text, p, values = AS_LISTED[case]
    loss = fsmeu.loads(text)
    best = fsmeu.decode(loss, p, method="exhaustive").value
    with limits.lowered(values):
        for method in ("auto", "ratios", "counting", "lanes"):
            with suppress(InputError, SizeLimitError):
                found = fsmeu.decode(loss, p, method=method)
                own = fsmeu.expect(loss, found.labels, p).value
                assert found.value == pytest.approx(own, rel=1e-11, abs=1e-15)
                assert found.lower - 1e-15 <= best <= found.upper + 1e-15
                assert not found.exact or own == pytest.approx(best, rel=1e-9, abs=1e-15)


@pytest.mark.parametrize("method", ["auto", "ranking", "exhaustive"])
def test_bounds_hold_what_values_lose_to_rounding(method):
    """All values are 0, as labels are independent and alike; doubles miss it by 3e-17."""
    text = "loss f labels 0 1 count tp when z == 1 and y == 1 count hyp when z == 1 "
    text += "count ref when y == 1 value (hyp - tp) * (ref - tp) - tp * (n - hyp - ref + tp)"
    found = fsmeu.decode(fsmeu.loads(text), [0.616909777630732] * 3, method=method)
    assert found.lower <= 0 <= found.upper
    assert found.upper - found.lower < 3e-12


# -- long rows -------------------------------------------------------------------------------------


def count_of(p):
    """The probability of each number of ones."""
    masses = np.ones(1)
    for one in p:
        masses = np.convolve(masses, [1 - one, one])
    return masses


MEANS = {
    "g_mean": lambda tpr, tnr: np.sqrt(tpr * tnr),
    "h_mean": lambda tpr, tnr: np.where(tpr + tnr > 0, 2 * tpr * tnr / (tpr + tnr), 0.0),
}
"""Of the rates of both labels, of which one is left out where the reference lacks its label."""


@np.errstate(divide="ignore", invalid="ignore")
@pytest.mark.parametrize("name", MEANS)
def test_long_rows(name):
    """The best of all ranked sequences of 200 labels, from all tables that each may have."""
    p = np.random.default_rng(3).random(200) ** 3
    order, n = np.argsort(-p), len(p)
    values = []
    for k in range(n + 1):
        tp = np.arange(k + 1.0)[:, None]
        ref = tp + np.arange(n - k + 1.0)
        tpr, tnr = tp / ref, (n - k - ref + tp) / (n - ref)
        table = np.where(ref == 0, tnr, np.where(ref == n, tpr, MEANS[name](tpr, tnr)))
        values.append(count_of(p[order[:k]]) @ table @ count_of(p[order[k:]]))
    found = fsmeu.decode(name, p)
    assert found.exact
    assert found.value == pytest.approx(max(values), rel=1e-11)
    assert np.flatnonzero(found.labels).tolist() == sorted(order[: np.argmax(values)].tolist())
