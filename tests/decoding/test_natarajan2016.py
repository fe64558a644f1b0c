"""The statements of Natarajan et al. (2016) on all tables, labellings and references of few labels.

Measures are written from their definitions in fractions: u, v, p are the shares of true positives,
of positives in z and of positives in y. Nothing here is shared with the package but its answers.
"""

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import fsmeu
from tests.brute_force import bernoulli

N = 4
EVERY = list(product((0, 1), repeat=N))


def tables(n):
    """A pair (z, y) for each table of tp, hyp and ref."""
    for hyp, ref in product(range(n + 1), repeat=2):
        for tp in range(max(0, hyp + ref - n), min(hyp, ref) + 1):
            y = [1] * tp + [0] * (hyp - tp) + [1] * (ref - tp) + [0] * (n - hyp - ref + tp)
            yield [1] * hyp + [0] * (n - hyp), y


def shares(z, y):
    """u, v, p."""
    return tuple(
        Fraction(sum(x), len(z)) for x in ([a * b for a, b in zip(z, y, strict=True)], z, y)
    )


def rates(z, y):
    """TPR, TNR and p of a reference with both labels."""
    u, v, p = shares(z, y)
    return u / p, (1 - v - p + u) / (1 - p), p


DEFINITIONS = {  # Table 1, second column, of TPR, TNR and precision; F_beta has beta = 2
    "balanced_accuracy": lambda tpr, tnr, prec: (tpr + tnr) / 2,
    "fscore": lambda tpr, tnr, prec: 5 / (1 / prec + 4 / tpr),
    "jaccard": lambda tpr, tnr, prec: 1 / (1 / prec + 1 / tpr - 1),
    "g_tp_pr": lambda tpr, tnr, prec: math.sqrt(tpr * prec),
    "g_mean": lambda tpr, tnr, prec: math.sqrt(tpr * tnr),
    "h_mean": lambda tpr, tnr, prec: 2 / (1 / tpr + 1 / tnr),
    "q_mean": lambda tpr, tnr, prec: 1 - ((1 - tpr) ** 2 + (1 - tnr) ** 2) / 2,
}
PRINTED = {  # Table 1, third column
    "balanced_accuracy": lambda u, v, p: (u + p * (1 - v - p)) / (p * (1 - p)),
    "fscore": lambda u, v, p: 5 * u / (4 * p + v),
    "jaccard": lambda u, v, p: u / (p + v - u),
    "g_tp_pr": lambda u, v, p: u / math.sqrt(p * v),
    "g_mean": lambda u, v, p: u * (1 - v - p + u) / (p * (1 - p)),
    "h_mean": lambda u, v, p: 2 * u * (1 - v - p + u) / ((1 - v - p) * p + u),
    "q_mean": lambda u, v, p: 1 - (((p - u) / 2) ** 2 + ((v - u) / 2) ** 2) / 2,
}
SLIPS = {"balanced_accuracy", "g_mean", "q_mean"}
"""Where the third column is not the second: 1/2 is missing, the root, rates are divided by 2."""


def load(name):
    return fsmeu.load(name, **({"beta": 2} if name == "fscore" else {}))


@pytest.mark.parametrize("name", DEFINITIONS)
def test_table_1_and_propositions_4_and_9(name):
    """The files follow the definitions; the printed functions of u, v, p do so with three slips.

    A measure is a function of (u, v, p), and of (TPR, TNR, p) where y has both labels.
    """
    loss, same, by_shares, by_rates = load(name), True, {}, {}
    for z, y in product(EVERY, repeat=2):
        found = loss(list(z), list(y))
        u, v, p = shares(z, y)
        assert by_shares.setdefault((u, v, p), found) == pytest.approx(found, abs=1e-12)
        if 0 < p < 1:
            assert by_rates.setdefault(rates(z, y), found) == pytest.approx(found, abs=1e-12)
        if 0 < p < 1 and u > 0 and 1 - v - p + u > 0:  # no 0/0 in any of them
            tpr, tnr, p = rates(z, y)
            value = float(DEFINITIONS[name](tpr, tnr, u / v))
            assert found == pytest.approx(value, abs=1e-12)
            same = same and math.isclose(PRINTED[name](u, v, p), value, abs_tol=1e-12)
    assert same == (name not in SLIPS)


# -- which measures rank examples by probability --------------------------------------------------


def expectations(loss, p):
    """E[value] of each labelling by listing every reference."""
    chances = bernoulli(p)
    return {
        z: sum(loss(list(z), list(y)) * mass for y, mass in chances.items())
        for z in product((0, 1), repeat=len(p))
    }


def is_ranked(z, p):
    on, off = ([q for q, one in zip(p, z, strict=True) if one == k] for k in (1, 0))
    return not on or not off or min(on) >= max(off)


@pytest.mark.parametrize("name", DEFINITIONS)
def test_theorem_6(name):
    """The best labelling of all is ranked, and ``decode`` has its value."""
    loss, random = load(name), np.random.default_rng(6)
    for _ in range(3):
        p = random.random(N)
        values = expectations(loss, p)
        best = max(values, key=values.get)
        assert is_ranked(best, p)
        decision = fsmeu.decode(loss, p)
        assert decision.exact
        assert decision.value == pytest.approx(values[best], abs=1e-12)


def test_proposition_7():
    """Squared error in counting does not look at true positives: a best labelling is ranked."""
    loss, p = fsmeu.load("sec"), [0.9, 0.2, 0.6, 0.4]
    values = expectations(loss, p)
    best = min(values.values()) if loss.kind == "loss" else max(values.values())
    attained = [z for z, value in values.items() if math.isclose(value, best, abs_tol=1e-12)]
    assert any(is_ranked(z, p) for z in attained)
    assert not all(is_ranked(z, p) for z in attained)  # "the" optimum of Definition 2 is not one
    assert fsmeu.decode(loss, p).value == pytest.approx(best, abs=1e-12)


def test_counterexample_to_proposition_8():
    """c1 = 2 > 1 = d1, yet the value falls with true positives, and the best labelling is unranked.

    (4 + 2u + v) / (1 + u) has the derivative (2 - 4 - v) / (1 + u)^2 in u.
    """
    loss = fsmeu.load("fractional_linear", c0=4, c1=2, c2=1, d0=1, d1=1, d2=0, d3=0)
    known = fsmeu.check(loss, n=4).properties
    assert known.confusion
    assert known.tp_monotonic is False
    assert known.counterexample.value_with_one_more < known.counterexample.value
    p = [0.9, 0.1]
    values = expectations(loss, p)
    assert max(values, key=values.get) == (0, 1)
    assert values[0, 1] == pytest.approx(0.1 * 11 / 3 + 0.9 * 9 / 2)
    assert values[0, 1] > max(value for z, value in values.items() if is_ranked(z, p)) + 0.3
    decision = fsmeu.decode(loss, p)
    assert (tuple(decision.labels), decision.exact) == ((0, 1), True)
    with pytest.raises(fsmeu.FsmeuError):
        fsmeu.decode(loss, p, method="ranking")


def grows_with_rates(loss, n):
    """Definition 10: whether the value is greater where TPR and TNR are, with p given."""
    cases = [(rates(z, y), loss(z, y)) for z, y in tables(n) if 0 < sum(y) < n]
    return all(
        one > other
        for (a, b, p), one in cases
        for (c, d, q), other in cases
        if p == q and a > c and b > d
    )


COEFFICIENTS = st.integers(-2, 3)


@given(st.tuples(*[COEFFICIENTS] * 4), st.tuples(st.integers(1, 3), *[st.integers(0, 2)] * 3))
@settings(max_examples=30)
def test_proposition_11(above, below):
    """What grows with both rates grows with true positives, and is decided so."""
    names = [f"{letter}{k}" for letter in "cd" for k in range(4)]
    loss = fsmeu.load("fractional_linear", **dict(zip(names, above + below, strict=True)))
    assume(grows_with_rates(loss, 3))
    assert fsmeu.decode(loss, [0.5, 0.3, 0.8], method="ranking").exact
    for (z, y), (s, t) in product(tables(3), repeat=2):
        (u, v, p), (w, *same) = shares(z, y), shares(s, t)
        if same == [v, p] and u > w and 0 < p < 1:
            assert loss(z, y) > loss(s, t)


def test_remark_12():
    """2 TP + FP grows with true positives and falls with TNR: it is ranked all the same."""
    loss = fsmeu.load("fractional_linear", c0=0, c1=1, c2=1, c3=0, d0=1, d1=0, d2=0, d3=0)
    for z, y in product(EVERY, repeat=2):
        u, v, _ = shares(z, y)
        assert loss(list(z), list(y)) == pytest.approx(float(2 * u + (v - u)))
    assert fsmeu.check(loss, n=4).properties.tp_monotonic
    assert not grows_with_rates(loss, 3)
    p = [0.3, 0.8, 0.5]
    assert fsmeu.decode(loss, p).value == pytest.approx(max(expectations(loss, p).values()))


# -- consistency ----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [*DEFINITIONS, "unranked"])
def test_theorem_13(name):
    """Inequality 9: the regret is at most twice the greatest error of a utility, and goes to 0."""
    unranked = {"c0": 4, "c1": 2, "c2": 1, "d0": 1, "d1": 1, "d2": 0, "d3": 0}
    loss = fsmeu.load("fractional_linear", **unranked) if name == "unranked" else load(name)
    random = np.random.default_rng(13)
    truth, other = random.random((2, 4))
    values = expectations(loss, truth)
    regrets = []
    for far in (1.0, 0.5, 0.1, 0.01, 0.0):
        estimate = truth + far * (other - truth)
        believed = expectations(loss, estimate)
        regret = max(values.values()) - values[tuple(fsmeu.decode(loss, estimate).labels)]
        assert -1e-12 <= regret <= 2 * max(abs(values[z] - believed[z]) for z in values) + 1e-12
        regrets.append(regret)
    assert regrets[-1] == pytest.approx(0, abs=1e-12)


def test_algorithms_skip_the_empty_labelling():
    """Algorithms 1 and 2 try k = 1..n; with 0/0 = 1, k = 0 can be better than all of these."""
    p = [0.05, 0.1, 0.02]
    values = expectations(fsmeu.load("fscore"), p)
    assert values[0, 0, 0] > max(value for z, value in values.items() if any(z))
    assert fsmeu.decode(fsmeu.load("fscore"), p).labels == [0, 0, 0]
