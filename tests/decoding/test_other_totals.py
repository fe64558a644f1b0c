"""Bounds on the values of all totals by the best sums at one: not below any hypothesis' value.

Hypotheses are made up: for each sentence a joint distribution of T and S for each of a few choices,
all sums over sentences being enumerated.
"""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fsmeu.decoding.other_totals import JointCounts, values_by_one
from fsmeu.expectation.totals import RatioByTotal
from fsmeu.trellis.lanes import CountRange

MOST = 3  # counts of a sentence
TOTALS = 5


def sentences(random, count):
    """P(S_s), and for each choice of a hypothesis E[T_s | S_s] and its count, for each sentence."""
    made = []
    for _ in range(count):
        shares = random.dirichlet(np.ones(MOST + 1) * random.choice([0.3, 3.0]))
        choices = [
            (int(random.integers(0, TOTALS)), random.uniform(0, 2, MOST + 1) * random.uniform())
            for _ in range(3)
        ]
        made.append((shares, choices))
    return made


def all_hypotheses(made):
    """The total of each hypothesis, and P(S) and E[T; S] by the sum S."""
    for chosen in product(*(choices for _, choices in made)):
        mass = np.ones(1)
        joint = np.zeros(1)
        for (shares, _), (_, means) in zip(made, chosen, strict=True):
            joint = np.convolve(joint, shares) + np.convolve(mass, shares * means)
            mass = np.convolve(mass, shares)
        yield sum(count for count, _ in chosen), mass, joint


@settings(max_examples=150)
@given(st.integers(0, 10**6), st.integers(1, 4), st.sampled_from([0.5, 1.0]))
def test_no_hypothesis_has_a_greater_value(seed, count, power):
    """For any total whose sums are known, and a mean that is not quite that of S."""
    random = np.random.default_rng(seed)
    made = sentences(random, count)
    hypotheses = list(all_hypotheses(made))
    totals = count * TOTALS + 1
    sums = np.arange(count * MOST + 1.0)
    mass = hypotheses[0][1]
    mean = float(mass @ sums)
    about = mean + random.normal() * random.choice([0.0, 0.3])
    reach = CountRange(
        mean=about,
        bias=abs(about - mean),
        deviation=float(np.sqrt(mass @ (sums - about) ** 2)),
        low=0.0,
        high=float(sums[-1]),
        none=float(mass[0]),
        escaped=0.0,
    )
    v = np.sort(random.uniform(0.5, 3.0, totals) * random.choice([1, 10])) + np.arange(totals)
    gain = random.uniform(0.5, 2.0, totals)
    offset = random.normal(size=totals)
    ratio = RatioByTotal(gain, v, power, offset, 0.0, 1e3, 0, reach)
    expected = np.zeros(totals)
    one = int(random.integers(totals))
    best = np.full(totals, -np.inf)
    for k, _, joint in hypotheses:
        expected[k] = max(expected[k], joint.sum())
        best[k] = max(best[k], joint @ (v[one] + sums) ** -power)
    joint_counts = JointCounts(expected, 2.0 * count, 2.0, count * MOST)
    bounds = values_by_one(ratio, joint_counts, one, best)
    for k, _, joint in hypotheses:
        value = gain[k] * (joint @ (v[k] + sums) ** -power) + offset[k]
        assert value <= bounds[k] + 1e-12 * abs(value)
        if k == one:
            assert bounds[k] == pytest.approx(gain[k] * best[k] + offset[k], rel=1e-12)
