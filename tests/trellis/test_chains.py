"""Ratios of counts under chains: values within their bounds, decisions as by counting."""

import itertools
import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fsmeu
from fsmeu import limits
from fsmeu.models.chains import binary_chain
from fsmeu.trellis import chain_shares, chains
from fsmeu.trellis.rules import rule_for
from tests.support.ratios import COUNTS, TEXTS, loaded

TEXTS["both signs"] = f"utility f {COUNTS} value (tp - hyp) / (2 * n + hyp - 2 * tp + ref)"
ONE_RATIO = ["fscore", "recall", "precision", "g_tp_pr", "kappa", "accuracy", "specificity"]
ONE_RATIO += ["one side", "a loss"]
LOSSES = [*ONE_RATIO, "jaccard", "balanced_accuracy", "an offset", "both signs"]


def two(up, stay, n, first=None):
    """A chain of order 1, the same at all positions."""
    first = up if first is None else first
    return fsmeu.models.Markov([1 - first, first], [[1 - up, up], [1 - stay, stay]], n=n)


KINDS = {
    "mixing": lambda random, n: two(0.25, 0.75, n),
    "slow": lambda random, n: two(2.0**-10, 1 - 2.0**-10, n, 0.5),
    "rare": lambda random, n: two(2.0 ** -math.ceil(math.log2(4 * n)), 0.25, n),
    "a few": lambda random, n: two(2.0 ** -math.ceil(math.log2(n / 4)), 0.25, n),
    "zeros": lambda random, n: two(0.375, 0.0, n, 0.5),
    "periodic": lambda random, n: two(1.0, 0.0, n, 0.5),
    "absorbing": lambda random, n: two(2.0 ** -math.ceil(math.log2(n)), 1.0, n, 0.125),
    "order 2": lambda random, n: drawn(random, n, 2),
    "order 3": lambda random, n: drawn(random, n, 3),
}
"""Chains whose probabilities are multiples of powers of 2, and sum to 1 without rounding."""


def drawn(random, n, order):
    """A chain whose steps are 64ths, drawn at each position, one of eight 0 or 1."""
    shape = (n - order, *(2,) * order)
    high = random.integers(1, 64, shape)
    high[random.random(shape) < 0.125] = random.choice([0, 64])
    steps = np.stack([64 - high, high], axis=-1) / 64
    first = random.multinomial(64, np.full(2**order, 0.5**order)).reshape((2,) * order) / 64
    return fsmeu.models.Markov(first, steps)


def tables_of(model):
    """P(first m labels), (2^m,), and P(next | last m), (n - m, 2^m, 2)."""
    return binary_chain(model)


def estimate(loss, z, model):
    return chains.chain_value(
        loss.confusion, np.asarray(z), chains.chain_of(*tables_of(model), model.roundings)
    )


def exact(loss, z, model):
    """The expected value by listing all references, their probabilities as fractions."""
    first, steps = tables_of(model)
    order = len(first).bit_length() - 1
    terms = []
    for y in itertools.product((0, 1), repeat=len(z)):
        state = int("".join(map(str, y[:order])), 2)
        chance = Fraction(float(first[state]))
        for label, table in zip(y[order:], steps, strict=True):
            chance *= Fraction(float(table[state, label]))
            state = (2 * state + label) % len(first)
        if chance:
            terms.append(float(chance) * loss(z, y))
    return math.fsum(terms)


@pytest.mark.thirds
@pytest.mark.parametrize("name", LOSSES)
@settings(max_examples=8, deadline=None)
@given(seed=st.integers(0, 2**32), kind=st.sampled_from(sorted(KINDS)), n=st.integers(4, 9))
def test_values_against_all_references(name, seed, kind, n):
    loss, random = loaded(name), np.random.default_rng(seed)
    model = KINDS[kind](random, n)
    z = (random.random(n) < random.choice([0.0, 0.4, 1.0])).astype(np.int64)
    found, wanted = estimate(loss, z, model), exact(loss, z.tolist(), model)
    assert abs(found.value - wanted) <= found.error + 1e-15
    assert found.error <= 1e-11 * max(1.0, abs(wanted))


# -- long chains, by distributions of counts in more digits ---------------------------------------


def counted_f1(z, model):
    """E[2 tp / (k + ref)], and a bound on its own error: E[tp; ref = r] by r, in long doubles."""
    first, steps = tables_of(model)
    steps = steps.astype(np.longdouble)
    n, states = len(z), len(first)
    order = states.bit_length() - 1
    mass = np.zeros((states, n + 1), np.longdouble)
    hits = np.zeros((states, n + 1), np.longdouble)
    for state in range(states):
        y = [int(digit) for digit in f"{state:0{order}b}"]
        mass[state, sum(y)] += first[state]
        hits[state, sum(y)] += first[state] * sum(a * b for a, b in zip(y, z, strict=False))
    for one, table in zip(z[order:], steps, strict=True):
        mass_after, hits_after = np.zeros_like(mass), np.zeros_like(hits)
        for state in range(states):
            zero = (2 * state) % states
            mass_after[zero] += table[state, 0] * mass[state]
            hits_after[zero] += table[state, 0] * hits[state]
            mass_after[zero + 1, 1:] += table[state, 1] * mass[state, :-1]
            more = hits[state, :-1] + mass[state, :-1] if one else hits[state, :-1]
            hits_after[zero + 1, 1:] += table[state, 1] * more
        mass, hits = mass_after, hits_after
    below = np.maximum(np.arange(n + 1) + int(sum(z)), 1).astype(np.longdouble)
    value = float((2 * hits.sum(axis=0) / below).sum())
    return value, 8 * n * float(np.finfo(np.longdouble).eps) * value + 2e-16 * value


@pytest.mark.thirds
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n", [150, pytest.param(2_000, marks=pytest.mark.thirds)])
def test_expected_fscore_against_distributions_of_counts(kind, n):
    random = np.random.default_rng(n)
    model = KINDS[kind](random, n)
    loss = fsmeu.load("fscore", empty=0)
    for share in (0.02, 0.3):
        z = (random.random(n) < share).astype(np.int64)
        wanted, off = counted_f1(z.tolist(), model)
        found = estimate(loss, z, model)
        assert abs(found.value - wanted) <= found.error + off
        forgets = kind not in ("slow", "absorbing", "periodic")
        assert found.error <= (1e-12 if forgets else 1e-11) * wanted


def powered_f1(up, stay, first, periods):
    """E[2 tp / (k + ref)] of z = 0 0 1 0 0 1 ..., by powers of matrices in 40 digits.

    1 / D is the integral of exp(-s D) over s > 0: the sum at Gauss and Laguerre's 24 nodes.
    """
    nodes, weights = np.polynomial.laguerre.laggauss(24)
    n, k = 3 * periods, periods
    stationary = up / (up + 1 - stay)
    centre = k + n * stationary
    total = mpmath.mpf(0)
    with mpmath.workdps(40):
        for s, weight in zip(nodes.tolist(), weights.tolist(), strict=True):
            t = mpmath.exp(-mpmath.mpf(s) / centre)
            plain = mpmath.matrix([[1 - mpmath.mpf(up), up * t], [1 - mpmath.mpf(stay), stay * t]])
            step, hit = mpmath.zeros(4), mpmath.zeros(4)  # masses, and masses times tp
            for a, b in itertools.product((0, 1), repeat=2):
                for matrix in (step, hit):
                    matrix[a, b] = matrix[2 + a, 2 + b] = plain[a, b]
            for a in (0, 1):
                hit[a, 3] = plain[a, 1]
            begin = mpmath.matrix([[1 - mpmath.mpf(first), first * t, 0, 0]])
            end = begin * step * hit * (step * step * hit) ** (periods - 1)
            at_k = mpmath.exp(mpmath.mpf(s) * (1 - mpmath.mpf(k) / centre))
            total += 2 * weight * at_k / centre * (end[2] + end[3])
        return float(total)


@pytest.mark.parametrize(
    "periods", [2**12, 33_333, pytest.param(333_333, marks=pytest.mark.thirds)]
)
@pytest.mark.parametrize(
    ("up", "stay"), [(0.125, 0.75), (0.5, 0.5), (0.25, 0.0), (2**-10, 0.9990234375)]
)
def test_expected_fscore_of_a_million_labels(up, stay, periods):
    """The bound holds, and is a part of 2e-12 of the value, or 1e-12 where the chain forgets."""
    loss = fsmeu.load("fscore", empty=0)
    model = two(up, stay, 3 * periods, 0.5)
    found = estimate(loss, np.arange(3 * periods) % 3 // 2, model)
    wanted = powered_f1(up, stay, 0.5, periods)
    assert abs(found.value - wanted) <= found.error + 4e-15 * wanted
    assert abs(found.value - wanted) <= 5e-14 * wanted
    assert found.error <= (2e-12 if stay > 0.99 else 1e-12) * wanted


def test_labels_nobody_expects():
    """The value is a small number, and its error a part of it; no ones at all have none."""
    loss = fsmeu.load("fscore", empty=0)
    found = estimate(loss, [0, 1] * 600, two(1e-100, 0.5, 1_200))
    assert 0 < found.error <= 1e-12 * found.value
    assert found.value == pytest.approx(2e-100 * 1200 / 601, rel=1e-2)
    assert estimate(loss, [0] * 1_200, two(0.3, 0.5, 1_200)) == (0.0, 0.0)


# -- all positions ---------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("label", [0, 1])
def test_scores_of_positions_against_all_references(kind, label):
    """E[y_i / (3 + C)], C counting a label: sums of any of them are within their bounds."""
    n = 9
    model = KINDS[kind](np.random.default_rng(1), n)
    first, steps = tables_of(model)
    order = len(first).bit_length() - 1
    wanted = np.zeros(n)
    mean = 0.0
    for y in itertools.product((0, 1), repeat=n):
        state = int("".join(map(str, y[:order])), 2)
        chance = float(first[state])
        for one, table in zip(y[order:], steps, strict=True):
            chance *= table[state, one]
            state = (2 * state + one) % len(first)
        wanted += chance * np.array(y) / (3 + y.count(label))
        mean += chance * sum(y)
    rule = rule_for(3.0, 12.0, 6.0)
    found = chain_shares.tilted_shares(chains.chain_of(first, steps, model.roundings), rule, label)
    off = found.scores(3.0) - wanted
    bound = found.error(3.0) + rule.remainder(3.0, 12.0) * mean
    assert np.maximum(off, 0).sum() <= bound
    assert np.maximum(-off, 0).sum() <= bound
    assert bound <= 1e-12


def test_shares_that_take_too_much_room_are_not_made(lowered):
    lowered(KEPT_SHARES=100)
    model = two(0.25, 0.75, 400)
    with pytest.raises(fsmeu.errors.InputError, match="fit in memory"):
        fsmeu.decode(fsmeu.load("fscore"), model, method="chain_ratios")


# -- decisions -------------------------------------------------------------------------------------


@pytest.mark.thirds
@pytest.mark.parametrize("name", ONE_RATIO)
@settings(max_examples=10, deadline=None)
@given(seed=st.integers(0, 2**32), kind=st.sampled_from(sorted(KINDS)), n=st.integers(4, 60))
def test_decisions_are_those_of_counting(name, seed, kind, n):
    loss = loaded(name)
    model = KINDS[kind](np.random.default_rng(seed), n)
    wanted = fsmeu.decode(loss, model, method="counting")
    with limits.lowered(LONG_CHAIN=2):
        found = fsmeu.decode(loss, model, method="chain_ratios")
    assert found.value == pytest.approx(wanted.value, rel=1e-9, abs=1e-12)
    assert found.exact or name == "kappa"  # large terms cancel there, and values are next to 0


@pytest.mark.parametrize("empty", [0, -1, 0.5])
@pytest.mark.parametrize("kind", ["mixing", "rare", "periodic", "absorbing"])
def test_one_label_that_is_most_sure(kind, empty):
    """The best is known from P(y = 1) alone, so that a bound which is off would exclude it."""
    loss = fsmeu.load("precision", empty=empty)
    model = KINDS[kind](np.random.default_rng(0), 300)
    found, wanted = (fsmeu.decode(loss, model, method=one) for one in ("chain_ratios", "counting"))
    assert found.exact
    assert found.value == pytest.approx(wanted.value, rel=1e-12)
    own = fsmeu.expect(loss, found.labels, model)
    assert found.value == pytest.approx(own.value, rel=1e-12)


@pytest.mark.thirds
@pytest.mark.parametrize("name", ONE_RATIO)
@settings(max_examples=30, deadline=None)
@given(
    seed=st.integers(0, 2**32),
    kind=st.sampled_from(sorted(KINDS)),
    n=st.integers(4, 60),
    left_out=st.sampled_from([(0.1, 0.3), (1e-3, 1e-2), (1e-5, 1e-3)]),
)
def test_bounds_hold_whatever_rules_leave_out(name, seed, kind, n, left_out):
    """Rules that leave out much exclude nothing wrongly: they only prove less."""
    loss = loaded(name)
    model = KINDS[kind](np.random.default_rng(seed), n)
    best = fsmeu.decode(loss, model, method="counting").value
    with limits.lowered(LONG_CHAIN=2, PRECISE_RULE=left_out[0], ROUGH_RULE=left_out[1]):
        found = fsmeu.decode(loss, model, method="chain_ratios")
    slack = 1e-9 * abs(best) + 1e-12
    assert found.lower - slack <= best <= found.upper + slack
    own = fsmeu.expect(loss, found.labels, model).value
    assert own == pytest.approx(found.value, rel=1e-9, abs=1e-12)
    if found.exact:
        assert own == pytest.approx(best, rel=1e-8, abs=1e-12)


@pytest.mark.thirds
@pytest.mark.parametrize("name", ["fscore", "g_tp_pr", "a loss"])
@pytest.mark.parametrize("kind", ["mixing", "rare", "a few", "zeros", "absorbing", "order 2"])
def test_decisions_of_a_thousand_labels(name, kind):
    loss = loaded(name)
    model = KINDS[kind](np.random.default_rng(6), 1_000)
    found, wanted = (fsmeu.decode(loss, model, method=one) for one in ("chain_ratios", "counting"))
    assert found.exact
    assert found.value == pytest.approx(wanted.value, rel=1e-12)


WIDE = {
    "sticky": (0.02, 0.9, 3_000),
    "rare runs": (40 / 20_000, 0.9, 20_000),
    "rare": (50 / 30_000, 0.3, 30_000),
}


@pytest.mark.parametrize("kind", WIDE)
@pytest.mark.parametrize("name", ["fscore", "kappa", "g_tp_pr", "a loss"])
@pytest.mark.thirds
def test_numbers_of_ones_far_from_the_best_are_excluded(name, kind):
    """By a rule that leaves out more than others; the best is no worse than ranked candidates."""
    up, stay, n = WIDE[kind]
    loss = loaded(name)
    model = two(up, stay, n, 0.1)
    found = fsmeu.decode(loss, model)
    assert (found.method, found.exact) == ("chain_ratios", True)
    sign = 1 if loss.kind == "utility" else -1
    own = fsmeu.expect(loss, found.labels, model)
    assert found.value == pytest.approx(own.value, rel=1e-12)
    order = np.argsort(-np.array([row[1] for row in model.marginals()]), kind="stable")
    for k in (n // 50, n // 3, n - 100, n - 1):
        z = np.zeros(n, int)
        z[order[:k]] = 1
        assert sign * fsmeu.expect(loss, z, model).value <= sign * own.value + 1e-15


def test_long_chains_are_decided_by_generating_functions():
    """A chain that forgets at once, beside independent labels, of 20,000 labels."""
    n, p = 20_000, 0.3
    chain = fsmeu.models.Markov([1 - p, p], [[1 - p, p]] * 2, n=n)
    z, loss = [1, 0, 0, 1] * (n // 4), fsmeu.load("fscore")
    found, wanted = fsmeu.expect(loss, z, chain), fsmeu.expect(loss, z, np.full(n, p))
    assert found.value == pytest.approx(wanted.value, rel=1e-12)
    assert found.upper - found.lower < 2e-12
    decided = fsmeu.decode(loss, chain)
    assert (decided.method, decided.exact, sum(decided.labels)) == ("chain_ratios", True, n)


def test_the_ends_of_a_range_are_tried():
    """The best number of ones may be the least or the greatest that was not excluded."""
    random = np.random.default_rng(0)
    loss = fsmeu.load("fscore", empty=0)
    for _ in range(40):
        first = random.dirichlet(np.ones(2))
        steps = random.dirichlet([[3, 1], [0.1, 0.1], [50, 1], [1, 1]][random.integers(4)], (19, 2))
        model = fsmeu.models.Markov(first, steps)
        wanted = fsmeu.decode(loss, model, method="counting")
        with limits.lowered(LONG_CHAIN=2):
            found = fsmeu.decode(loss, model, method="chain_ratios")
        assert found.exact
        assert found.value == pytest.approx(wanted.value, rel=1e-12)
