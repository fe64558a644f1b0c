"""``lower`` and ``upper`` hold the truth, which is summed in fractions; also where terms cancel."""

from fractions import Fraction
from itertools import pairwise, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fsmeu

CANCELLING = """utility cancels
labels 0 1
count a when y == 1
count b when y == 0
count tp when z == 1 and y == 1
count hyp when z == 1
count ref when y == 1
value {great} * (a + b - n) + 2 * tp / (hyp + ref + 1)
"""
SIGNED = """loss signed
labels 0 1
count c by (if y == 1 then 3 else -2) when z != y
count d by 7 * (z - y)
value {great} * c + d
"""
LAST = """loss windowed
labels 0 1
memory m of y last 6
count c by (sum(m) - 3) * (if z == 1 then {great} else 1 / {great}) when i >= 6
value c
"""


def f_of(tp, hyp, ref):
    return Fraction(2 * tp, hyp + ref + 1)


def cancelling(z, y, great):
    return f_of(sum(a & b for a, b in zip(z, y, strict=True)), sum(z), sum(y))


def signed(z, y, great):
    pairs = list(zip(z, y, strict=True))
    return great * sum((3 if b else -2) for a, b in pairs if a != b) + 7 * sum(
        a - b for a, b in pairs
    )


def last(z, y, great):
    ends = range(6, len(z) + 1)
    return sum((sum(y[i - 6 : i]) - 3) * (great if z[i - 1] else Fraction(1, great)) for i in ends)


CASES = {"cancelling": (CANCELLING, cancelling), "signed": (SIGNED, signed), "last": (LAST, last)}


def mean(z, p, value):
    """The expectation under independent labels, a fraction."""
    found = Fraction(0)
    for y in product((0, 1), repeat=len(p)):
        chance = Fraction(1)
        for one, label in zip(p, y, strict=True):
            chance *= Fraction(one) if label else 1 - Fraction(one)
        found += chance * value(z, y)
    return found


def holds(found, true):
    assert Fraction(found.lower) <= true <= Fraction(found.upper)


@pytest.mark.parametrize("engine", ["lattice", "openfst"])
def test_what_cancels_is_summed_again(engine):
    """Great terms of a pair add up to 0: with counts as states nothing is lost."""
    p, z = [0.1, 0.3, 0.7, 0.2, 0.9, 0.5, 0.35, 0.6], (0, 1, 1, 0, 1, 1, 0, 1)
    true = mean(z, p, lambda z, y: cancelling(z, y, 0))
    found = fsmeu.expect(fsmeu.loads(CANCELLING.format(great="10^12")), z, p, engine=engine)
    holds(found, true)
    assert found.value == pytest.approx(float(true), rel=1e-12)
    assert found.upper - found.lower < 1e-12


@settings(max_examples=25, deadline=None)
@given(
    st.sampled_from(sorted(CASES)),
    st.integers(0, 15),
    st.lists(st.floats(0, 1), min_size=1, max_size=8),
    st.integers(0, 255),
    st.sampled_from([{}, {"engine": "openfst"}, {"keep": 3}, {"keep": 3, "engine": "openfst"}]),
)
def test_bounds_hold_fractions(name, great, p, bits, how):
    """Every pair is listed; what is added has both signs, or cancels, by powers of ten."""
    text, value = CASES[name]
    z = tuple(bits >> i & 1 for i in range(len(p)))
    true = mean(z, p, lambda z, y: value(z, y, 10**great))
    found = fsmeu.expect(fsmeu.loads(text.format(great=f"10^{great}")), z, p, **how)
    holds(found, true)


@settings(max_examples=4, deadline=None)
@given(st.sampled_from(["chunk_fscore", "hamming", "accuracy"]), st.integers(0, 10**6))
def test_bounds_of_many_labels(name, seed):
    """Losses that are swept by tape, under chains whose numbers are sixty-fourths."""
    rng = np.random.default_rng(seed)
    labels = ["O", *(f"{kind}-{t}" for t in "VWXY" for kind in "BI")]
    size, n = len(labels), 3
    rows = rng.multinomial(64, np.ones(size) / size, size + 1) / 64
    model = fsmeu.models.Markov(rows[0], rows[1:], n=n, labels=labels)
    loss = fsmeu.load(name, labels=labels)
    z, ys = rng.integers(0, size, n), list(product(range(size), repeat=n))
    values = loss.pair_values(np.tile(z, (len(ys), 1)), np.array(ys))
    true = Fraction(0)
    for y, value in zip(ys, values.tolist(), strict=True):
        chance = Fraction(rows[0, y[0]])
        for a, b in pairwise(y):
            chance *= Fraction(rows[1 + a, b])
        true += chance * Fraction(value).limit_denominator(100)
    z = [labels[k] for k in z]
    found = fsmeu.expect(loss, z, model)
    holds(found, true)
    assert found.upper - found.lower <= 1e-12 * abs(found.value)


def test_bounds_of_long_sequences():
    """F1 of 1,200 labels: P(ref of the others) as whole numbers over a power of two."""
    n, rng = 1200, np.random.default_rng(7)
    p = rng.integers(1, 16, n) / 16
    z = (p > 0.4).astype(int)
    hyp = int(z.sum())
    weights = [_counts(p[z == side]) for side in (1, 0)]  # times 16^n together
    of_ref = {}
    for tp, one in enumerate(weights[0]):
        for rest, other in enumerate(weights[1]):
            of_ref[tp + rest] = of_ref.get(tp + rest, 0) + 2 * tp * one * other
    unit = 16**n << 200  # whole parts of it, rounded down
    least = sum((tops << 200) // (hyp + ref) for ref, tops in of_ref.items())
    found = fsmeu.expect(fsmeu.load("fscore"), z, p)
    holds(found, Fraction(least, unit))
    holds(found, Fraction(least + len(of_ref), unit))
    assert found.upper - found.lower <= 4e-12 * found.value


def _counts(p):
    """The distribution of a count of independent events, times 16 for each of them."""
    found = [1]
    for k in (16 * p).astype(int).tolist():
        moved = [(16 - k) * one for one in [*found, 0]]
        for c, one in enumerate(found):
            moved[c + 1] += k * one
        found = moved
    return found


@pytest.mark.parametrize("keep", [None, 10**6])
def test_values_that_are_all_zero_have_no_error(keep):
    """Where nothing is worth anything, there are no roundings to bound."""
    loss = fsmeu.loads("loss nothing\nlabels 0 1\ncount c when z != y\nvalue 0 * c")
    found = fsmeu.expect(loss, "0110", [0.3, 0.8, 0.5, 0.9], keep=keep)
    assert (found.lower, found.value, found.upper) == (0.0, 0.0, 0.0)
