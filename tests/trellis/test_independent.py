"""Independent labels at the nodes of rules: bounds hold exact sums, and decisions agree."""

from fractions import Fraction
from math import expm1, log1p

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fsmeu
from fsmeu import limits
from fsmeu.decoding.problem import UNSEEN
from fsmeu.losses.algebra.confusion import value_of_counts
from fsmeu.losses.algebra.ratio_family import family_of
from fsmeu.trellis.count_tables import count_tables
from fsmeu.trellis.independent import expected_value, node_values
from fsmeu.trellis.independent_search import ranked_values
from fsmeu.trellis.ranked_kernels import BestOfRows, choose_best
from tests.support.nightly import mostly_nightly
from tests.support.ratios import LOSSES, TEXTS, chances, loaded
from tests.support.values import CHANCES, count_weights

TEXTS["tversky"] = TEXTS["one side"].split("value")[0] + (
    "value tp / (0.7 * tp + 0.2 * hyp + 0.1 * ref) or 1 when hyp + ref == 0"
)
SERVED = [*LOSSES, ("tversky", {}), ("weighted_cost", {})]


def family(name, params, n):
    return family_of(loaded(name, params).confusion, n)


def sign_of(name, params):
    return 1.0 if loaded(name, params).kind == "utility" else -1.0


def exact_values(form, eighths):
    """Expected values of all k, and of absolute values, by tables weighed in whole numbers."""
    n, values, sizes = len(eighths), [], []
    for k in range(n + 1):
        sides = [count_weights([(8 - p, p) for p in some]) for some in (eighths[:k], eighths[k:])]
        a, b = (x.ravel().astype(float) for x in np.mgrid[: k + 1, : n - k + 1])
        table = value_of_counts(form, n, a, float(k), a + b)
        weights = np.multiply.outer(*sides).ravel()
        terms = [Fraction(x) * int(w) for x, w in zip(table.tolist(), weights, strict=True) if w]
        values.append(float(sum(terms, Fraction(0)) / 8**n))
        sizes.append(float(sum(map(abs, terms), Fraction(0)) / 8**n))
    return np.array(values), np.array(sizes)


@pytest.mark.thirds
@pytest.mark.parametrize(("name", "params"), SERVED)
@settings(max_examples=12, deadline=None)
@given(eighths=st.lists(st.integers(0, 8), min_size=1, max_size=9))
def test_values_are_within_their_bounds_of_fractions(name, params, eighths):
    """Of all numbers of ones together, and of one hypothesis; 0 and 1 are among probabilities."""
    eighths = sorted(eighths, reverse=True)
    form, n = loaded(name, params).confusion, len(eighths)
    p = np.array(eighths) / 8
    wanted, sizes = exact_values(form, eighths)
    room = 1e-15 * sizes  # of the file's own divisions
    for ranking in (node_values(family_of(form, n)), count_tables(form, n)):
        values, errors = (x[0] for x in ranking.values(p[None]))
        assert (np.abs(values - wanted) <= errors + room).all()
        assert (errors <= 1e-12 * np.maximum(1.0, n * sizes)).all()
    z = np.random.default_rng(n).permutation(np.arange(n) < n // 2).astype(np.int64)
    order = np.argsort(-z, kind="stable")
    wanted, sizes = exact_values(form, np.array(eighths)[order].tolist())
    k = n // 2
    found = expected_value(form, z, p)
    assert abs(found.value - wanted[k]) <= found.error + 1e-15 * sizes[k]


@pytest.mark.thirds
@pytest.mark.parametrize(("name", "params"), SERVED)
@settings(max_examples=8, deadline=None)
@given(seed=st.integers(0, 2**32), n=st.integers(2, 60))
def test_bounds_hold_all_numbers_of_ones(name, params, seed, n):
    """Those that are valued, and those that are excluded by bounds on blocks."""
    form, p, sign = loaded(name, params).confusion, chances(seed, n), sign_of(name, params)
    values, errors = (x[0] for x in node_values(family_of(form, n)).values(p[None]))
    with limits.lowered(FEW_NUMBERS=1, COARSE_BLOCKS=8, NUMBERS_AT_ONCE=16):
        found = ranked_values(family_of(form, n), p, sign)
    assert (np.abs(found.values - values[found.ks]) <= found.errors + errors[found.ks]).all()
    excluded = np.setdiff1d(np.arange(n + 1), found.ks)
    assert (sign * values[excluded] - errors[excluded] <= found.outside).all()
    assert (sign * found.values).max() >= (sign * values - errors).max() - found.errors.max()


def long_double_value(form, n, k, p):
    """The expected value with ones at the first k labels, by distributions in long doubles."""
    sides = []
    for some in (p[:k], p[k:]):
        mass = np.ones(1, np.longdouble)
        for x in some.astype(np.longdouble):
            grown = np.append(mass * (1 - x), np.longdouble(0))
            grown[1:] += mass * x
            mass = grown
        counts = np.flatnonzero(mass > 1e-26)
        sides.append((counts.astype(float), mass[counts]))
    (a, first), (b, last) = sides
    table = value_of_counts(form, n, a[:, None], float(k), a[:, None] + b[None])
    return float(first @ (table.astype(np.longdouble) @ last))


LONG_DOUBLES = np.finfo(np.longdouble).eps < 1e-18
KINDS = {
    **CHANCES,
    "few": lambda random, n: random.random(n) * 3 / n,
    "sure ones": lambda random, n: np.where(random.random(n) < 0.3, 1.0, random.random(n) / 100),
    "0 or 1": lambda random, n: (random.random(n) < 0.5).astype(float),
}


@pytest.mark.skipif(not LONG_DOUBLES, reason="long doubles are doubles on this machine")
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n", mostly_nightly([600, 3000], quick=1))
@pytest.mark.parametrize(
    "name", ["fscore", "jaccard", "balanced_accuracy", "kappa", "g_tp_pr", "tversky"]
)
@pytest.mark.thirds
def test_long_sequences_are_within_their_bounds_of_long_doubles(name, n, kind):
    if (name, kind) == ("kappa", "all .3"):
        pytest.skip("its expectation is 0: no relative error is promised")
    p = np.sort(KINDS[kind](np.random.default_rng(4), n))[::-1].copy()
    form = loaded(name, {}).confusion
    found = ranked_values(family_of(form, n), p, 1.0)
    best = int(found.values.argmax())
    some = {best, 0, len(found.ks) - 1, len(found.ks) // 3, max(best - 5, 0)}
    for row in some:
        wanted = long_double_value(form, n, int(found.ks[row]), p)
        room = 4e-16 * max(1.0, abs(wanted))  # of the file's own divisions
        assert abs(found.values[row] - wanted) <= found.errors[row] + room
    assert found.errors[best] <= 1e-12 * max(abs(found.values[best]), 1e-3)


@pytest.mark.parametrize("sure", [0, 700])
@pytest.mark.parametrize("p", [0.3, 1e-4])
def test_a_hundred_thousand_labels_in_fifty_digits(p, sure):
    """All have one probability but for some ones that are sure: then E[tp | ref] is known."""
    n, form = 100_000, fsmeu.load("fscore").confusion
    rest = n - sure
    with mpmath.workdps(50):
        chance, mean = mpmath.mpf(p), rest * p
        spread = 16 * (mean * (1 - p)) ** 0.5 + 60
        for k in (max(sure, 1), sure + 200, n // 2):
            low, high = max(0, int(mean - spread)), min(rest, int(mean + spread))
            mass = mpmath.binomial(rest, low) * chance**low * (1 - chance) ** (rest - low)
            wanted = mpmath.mpf(0)
            for r in range(low, high + 1):
                tp = min(sure, k) + mpmath.mpf(r) * max(k - sure, 0) / rest
                wanted += mass * 2 * tp / (k + sure + r)
                mass *= (rest - r) * chance / ((r + 1) * (1 - chance))
            z = (np.arange(n) < k).astype(np.int64)
            chances_ = np.where(np.arange(n) < sure, 1.0, p)
            found = expected_value(form, z, chances_)
            assert abs(mpmath.mpf(found.value) - wanted) <= found.error
            assert found.error <= 1e-12 * found.value


def test_recall_of_a_million_labels_of_which_one_in_five_sequences_has_a_one():
    """By symmetry, half of the ones are in the first half: E[tp / ref] = P(ref > 0) / 2."""
    n, p = 10**6, 2e-7
    wanted = -expm1(n * log1p(-p)) / 2
    z = np.repeat([1, 0], n // 2)
    found = expected_value(loaded("recall", {"empty": 0}).confusion, z, np.full(n, p))
    assert abs(found.value - wanted) <= found.error + 1e-16
    assert found.error <= 1e-12 * wanted


@pytest.mark.thirds
@pytest.mark.parametrize(("name", "params"), SERVED)
@pytest.mark.parametrize("n", mostly_nightly([40, 200], quick=1))
def test_decisions_are_those_of_ranking(name, params, n):
    """Its table of all counts takes n^3 steps, and shares nothing with rules."""
    loss = loaded(name, params)
    for seed in range(4):
        p = np.random.default_rng(seed).permutation(chances(seed, n))
        found, wanted = (fsmeu.decode(loss, p, method=one) for one in ("ratios", "ranking"))
        assert found.method == "ratios"
        assert found.exact or found.gap <= UNSEEN  # where terms cancel, and the best value is 0
        assert found.value == pytest.approx(wanted.value, rel=1e-12, abs=1e-13)
        again = fsmeu.expect(loss, found.labels, p)
        assert again.lower - 1e-13 <= found.value <= again.upper + 1e-13


@pytest.mark.parametrize("kind", CHANCES)
@pytest.mark.parametrize("name", ["fscore", "jaccard", "balanced_accuracy"])
def test_short_and_long_rows_are_decided_alike(name, kind, lowered):
    """By rules for all D, and by one rule and bounds on far numbers of ones."""
    p = CHANCES[kind](np.random.default_rng(3), limits.SHORT_RULE)
    loss = fsmeu.load(name)
    short = fsmeu.decode(loss, p)
    lowered(SHORT_RULE=0)
    long = fsmeu.decode(fsmeu.load(name), p)
    assert (short.method, short.exact) == (long.method, long.exact) == ("ratios", True)
    assert short.labels == long.labels or kind == "all .3"  # ties
    assert short.value == pytest.approx(long.value, rel=1e-12)


@pytest.mark.parametrize(("name", "params"), SERVED)
def test_tables_of_counts_and_nodes_value_rows_alike(name, params):
    """At the length from which nodes are taken."""
    n = limits.FEWEST_FOR_NODES
    form = loaded(name, params).confusion
    rows = np.stack([chances(seed, n) for seed in range(6)])
    values, errors = node_values(family_of(form, n)).values(rows)
    others, other_errors = count_tables(form, n).values(rows)
    assert (np.abs(values - others) <= errors + other_errors).all()


@pytest.mark.parametrize("p", [0.0, 5e-324, 1e-9, 1.0 - 1e-9, 1.0])
@pytest.mark.parametrize("name", ["fscore", "recall", "balanced_accuracy"])
@pytest.mark.parametrize("n", [1, 7, 1200])
def test_labels_that_are_nearly_sure(name, p, n):
    """All the same: the best value is next to that of the sure reference."""
    found = fsmeu.decode(fsmeu.load(name), np.full(n, p))
    assert (found.method, found.exact) == ("ratios", True)
    assert found.value == pytest.approx(1.0, abs=1e-5)


def test_ten_ones_of_many_labels():
    p = np.random.default_rng(1).beta(0.05, 5, 20000)
    found = fsmeu.decode(fsmeu.load("fscore"), p * 10 / p.sum())
    assert (found.method, found.exact) == ("ratios", True)


@pytest.mark.parametrize("n", [2, 10, 40, pytest.param(1200, marks=pytest.mark.thirds)])
@pytest.mark.parametrize("p", [0.3, 0.5])
def test_kappa_of_equal_labels_is_0_whatever_is_decided(n, p):
    """E[tp | ref] is hyp ref / n, so that its numerator is 0 in the mean: all are best."""
    found = fsmeu.decode(fsmeu.load("kappa"), np.full(n, p))
    assert (found.method, found.exact) == ("ratios", True)
    again = fsmeu.expect("kappa", found.labels, np.full(n, p))
    assert abs(found.value - again.value) <= again.upper - again.lower


@pytest.mark.parametrize(("name", "params"), SERVED)
def test_ratios_of_equal_labels_have_the_same_expectations(name, params):
    n = 12
    form = loaded(name, params).confusion
    equal = family_of(form, n).of_equal_labels
    assert (equal is not None) == (name == "kappa")
    if equal is not None:
        wanted, sizes = exact_values(form, [3] * n)
        values, errors = (x[0] for x in node_values(equal).values(np.full((1, n), 3 / 8)))
        assert (np.abs(values - wanted) <= errors + 1e-15 * sizes).all()


def test_of_equal_probabilities_the_first_positions_are_taken():
    p = np.array([[0.2, 0.5, 0.5, 0.5], [0.1, 0.1, 0.1, 0.1], [0.3, 0.2, 0.9, 0.2]])
    values = np.zeros((3, 5))
    values[[0, 1, 2], [2, 0, 3]] = 1.0  # the best numbers of ones
    best = BestOfRows(np.empty(p.shape, np.int64), *np.empty((3, 3)))
    descending = np.ascontiguousarray(np.sort(p, axis=1)[:, ::-1])
    choose_best(p, descending, values, np.full(values.shape, 0.25), 1.0, best)
    assert best.indices.tolist() == [[0, 1, 1, 0], [0, 0, 0, 0], [1, 1, 1, 0]]
    assert best.values.tolist() == [1.0] * 3
    assert best.gaps.tolist() == [0.5] * 3  # the best itself is the one that may be above it


def test_many_rows_are_decided_as_one_by_one():
    random, loss = np.random.default_rng(7), fsmeu.load("fscore")
    rows = [random.beta(0.5, 1, n) for n in random.integers(1, 40, size=60)]
    rows += [np.full(5, 0.5), np.zeros(3), np.ones(4)]
    for many, p in zip(fsmeu.decode_many(loss, rows), rows, strict=True):
        alone = fsmeu.decode(loss, p)
        assert (many.labels, many.method, many.exact) == (alone.labels, "ratios", True)
        assert many.value == alone.value
