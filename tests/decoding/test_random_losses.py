"""Losses that nobody has named: what is claimed of them holds by listing."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import fsmeu
from fsmeu.errors import FsmeuError
from tests.decoding.listing import ask, check, make_listing, probabilities, random_model
from tests.strategies import losses

METHODS = ("auto", "ranking_fast", "additive", "counting", "viterbi", "ranking", "search")


@given(losses(), st.integers(0, 2**32))
@settings(max_examples=120, deadline=None, suppress_health_check=list(HealthCheck))
def test_any_file(written, seed):
    """Whatever a file says, a decision has its value, and the best one if it claims so."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(0, {1: 5, 2: 5, 3: 4}.get(len(written.labels), 3)))
    try:
        listing = make_listing(written.load(), written.labels, n)
    except FsmeuError:
        return
    case = random_model(rng, tuple(listing.labels), n)
    for method in METHODS:
        decision = ask(listing.loss, case.model, method=method)
        if decision is not None:
            check(listing, case, decision)


def ratio_text(rng):
    """A ratio of sums of counts with small coefficients, some of them negative."""
    c, d = rng.integers(-2, 4, 4), rng.integers(-1, 4, 4)
    c[3] *= rng.random() < 0.2
    names = ("n", "tp", "hyp", "ref")
    top = " + ".join(f"({a}) * {name}" for a, name in zip(c, names, strict=True))
    bottom = " + ".join(f"({a}) * {name}" for a, name in zip(d, names, strict=True))
    kind = rng.choice(["loss", "utility"])
    return (
        f"{kind} ratio labels 0 1 count tp when z == 1 and y == 1 count hyp when z == 1 "
        f"count ref when y == 1 value ({top}) / ({bottom}) or 0.75 when {bottom} == 0"
    )


def test_ratios(rounds):
    """Where the fast recurrence accepts a ratio, it decides as the slow one and the listing do."""
    rng = np.random.default_rng(11)
    accepted, refused, tried = 0, 0, rounds(300)
    for _ in tried:
        loss = fsmeu.loads(ratio_text(rng))
        n = int(rng.integers(1, 6))
        p = probabilities(rng, n)
        decision = ask(loss, p, method="ranking_fast")
        if decision is None:
            refused += 1
            continue
        accepted += 1
        listing = make_listing(loss, (0, 1), n)
        ones = np.array(listing.sequences, float)
        weight = np.prod(np.where(ones == 1, p, 1 - p), axis=1)
        values = listing.sign * (listing.table @ weight)
        own = values[listing.sequences.index(tuple(decision.labels))]
        assert listing.sign * decision.value == pytest.approx(own, rel=1e-12, abs=1e-12)
        assert own == pytest.approx(values.max(), rel=1e-12, abs=1e-12)
        slow = fsmeu.decode(loss, p, method="ranking")
        assert slow.value == pytest.approx(decision.value, rel=1e-12, abs=1e-12)
    assert accepted > len(tried) // 6
    assert refused > len(tried) // 6


def test_accumulators_that_start_elsewhere(rounds):
    """A ratio whose count starts at 1 is not one of sums; a sum may start at 3."""
    ratio = fsmeu.loads(
        "utility f labels 0 1 register tp in 1..n + 1 start 1 next tp + z * y "
        "count hyp by z count ref by y value 2 * tp / (hyp + ref) or 0 when hyp + ref == 0"
    )
    total = fsmeu.loads(
        "loss f labels 0 1 register bad in 3..n + 3 start 3 next bad + (z != y) value bad"
    )
    rng = np.random.default_rng(8)
    for loss in (ratio, total):
        for n in (1, 2, 4):
            listing = make_listing(loss, (0, 1), n)
            for _ in rounds(10):
                case = random_model(rng, (0, 1), n)
                for method in METHODS:
                    decision = ask(loss, case.model, method=method)
                    if decision is not None:
                        check(listing, case, decision)
