"""Sums of exponentials for D^-a: what they leave out, in many digits."""

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import roots_genlaguerre

from fsmeu.trellis.rules import one_sided_rule, rule_for, wide_rule

POWERS = st.sampled_from([1.0, 0.5])


def laguerre(order: int, power: float, x: mpmath.mpf) -> mpmath.mpf:
    """The polynomial that is orthogonal for s^(a-1) exp(-s), by its three-term recurrence."""
    before, now = mpmath.mpf(0), mpmath.mpf(1)
    for k in range(order):
        before, now = now, ((2 * k + power - x) * now - (k + power - 1) * before) / (k + 1)
    return now


def exact_remainder(order: int, centre: float, power: float, denominator: float) -> mpmath.mpf:
    """R(D) of the one-sided rule with nodes and weights in 60 digits."""
    with mpmath.workdps(60):
        a = mpmath.mpf(power)
        total = mpmath.mpf(0)
        for near in roots_genlaguerre(order, power - 1.0)[0].tolist():
            low, high = near * (1 - mpmath.mpf("1e-10")), near * (1 + mpmath.mpf("1e-10"))
            s = mpmath.findroot(lambda x: laguerre(order, a, x), (low, high), tol=1e-100)
            weight = mpmath.gamma(order + a) * s / mpmath.factorial(order)
            weight /= (order + 1) ** 2 * laguerre(order + 1, a, s) ** 2
            total += weight * mpmath.exp(s - s * denominator / centre)
        total /= mpmath.gamma(a) * mpmath.mpf(centre) ** a
        return mpmath.mpf(denominator) ** -a - total


@given(st.integers(1, 10), st.floats(0.5, 1e6), POWERS, st.floats(0.02, 6.0))
def test_the_remainder_is_positive_and_bounded(order, centre, power, quotient):
    """(i) and (iii) of the module, and the bound that is computed, at one D."""
    denominator = centre * quotient
    exact = exact_remainder(order, centre, power, denominator)
    bound = one_sided_rule(order, centre, power).remainder(denominator, denominator)
    assert exact * centre**power >= -1e-45
    assert exact * centre**power <= float(bound) * centre**power * (1 + 1e-12) + 1e-45


@given(st.integers(1, 8), POWERS, st.floats(0.05, 0.95), st.floats(0.05, 0.95))
def test_the_remainder_falls_below_the_centre(order, power, one, other):
    """(ii) of the module."""
    low, high = sorted((one, other))
    with mpmath.workdps(60):
        ends = [exact_remainder(order, 1.0, power, end) for end in (low, high)]
        assert ends[0] - ends[1] >= -1e-45


@given(st.floats(1.0, 1e6), st.floats(1.0, 1e4), POWERS, st.sampled_from([1e-14, 1e-8]))
def test_the_rule_of_an_interval(low, quotient, power, eps):
    """What is left out is bounded, and small, wherever D lies; nodes and weights are positive."""
    high = low * quotient
    centre = (low * high) ** 0.5
    rule = rule_for(low, high, centre, power, eps)
    assert (rule.nodes > 0).all()
    assert (rule.weights > 0).all()
    assert rule.is_one_sided or quotient > 1.5
    places = np.geomspace(low, high, 65)
    off = np.abs(places**-power - rule.value(places))
    bound = rule.remainder(low, high)
    assert off.max() <= bound + 1e-14 * low**-power
    if rule.is_one_sided:
        assert bound <= max(eps, 1e-13) * centre**-power * 4


@pytest.mark.parametrize("power", [1.0, 0.5])
def test_the_wide_rule_in_many_digits(power):
    """The bound holds against sums in 60 digits of the nodes as doubles."""
    rule = wide_rule(1.0, 1e6, power)
    with mpmath.workdps(40):
        for denominator in np.geomspace(1.0, 1e6, 200).tolist():
            terms = zip(rule.nodes.tolist(), rule.weights.tolist(), strict=True)
            total = mpmath.fsum(w * mpmath.exp(-mpmath.mpf(x) * denominator) for x, w in terms)
            assert abs(total * mpmath.mpf(denominator) ** power - 1) <= rule.off


def test_a_narrow_interval_needs_few_nodes():
    """Between 1 and 1.2 six nodes leave out 1e-13, between 1 and 2 ten."""
    assert len(rule_for(1.0, 1.2, 1.1, eps=1e-13).nodes) <= 6
    assert len(rule_for(1.0, 2.0, 1.4, eps=1e-13).nodes) <= 11
