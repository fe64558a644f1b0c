"""``lower`` and ``upper`` hold the truth, which is summed in fractions; also where terms cancel."""

from fractions import Fraction
from itertools import pairwise, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fsmeu
from tests.expectation.checks import engines, exact_pairs

CASES = {
    "cancelling": """utility cancels labels 0 1
count a when y == 1
count b when y == 0
count tp when z == 1 and y == 1
count hyp when z == 1
count ref when y == 1
value 10^{great} * (a + b - n) + 2 * tp / (hyp + ref + 1)""",
    "signed": """loss signed labels 0 1
count c by (if y == 1 then 3 else -2) when z != y
count d by 7 * (z - y)
value 10^{great} * c + d""",
    "last": """loss windowed labels 0 1
memory m of y last 6
count c by (sum(m) - 3) * (if z == 1 then 10^{great} else 1 / 10^{great}) when i >= 6
value c""",
}


def assert_holds(found, pairs):
    assert Fraction(found.lower) <= sum(v * p for v, p in pairs) <= Fraction(found.upper)


@engines
def test_what_cancels_is_summed_again(engine):
    """Great terms of a pair add up to 0: with counts as states nothing is lost."""
    p, z = [0.1, 0.3, 0.7, 0.2, 0.9, 0.5, 0.35, 0.6], (0, 1, 1, 0, 1, 1, 0, 1)
    text = CASES["cancelling"].format(great=12)
    pairs = exact_pairs(text, z, p)
    found = fsmeu.expect(fsmeu.loads(text), z, p, engine=engine)
    assert_holds(found, pairs)
    mean = float(sum(v * chance for v, chance in pairs))
    assert found.value == pytest.approx(mean, rel=1e-12)
    assert found.upper - found.lower < 1e-12
    assert (
        fsmeu.expect_many(fsmeu.loads(text), [z] * 2, [p] * 2).tolist()
        == [pytest.approx(mean, rel=1e-12)] * 2
    )


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
    text, z = CASES[name].format(great=great), tuple(bits >> i & 1 for i in range(len(p)))
    assert_holds(fsmeu.expect(fsmeu.loads(text), z, p, **how), exact_pairs(text, z, p))


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
    pairs = []
    for y, value in zip(ys, values.tolist(), strict=True):
        chance = Fraction(rows[0, y[0]])
        for a, b in pairwise(y):
            chance *= Fraction(rows[1 + a, b])
        pairs.append((Fraction(value).limit_denominator(100), chance))
    found = fsmeu.expect(loss, [labels[k] for k in z], model)
    assert_holds(found, pairs)
    assert found.upper - found.lower <= 1e-12 * abs(found.value)


@pytest.mark.parametrize("keep", [None, 10**6])
def test_values_that_are_all_zero_have_no_error(keep):
    """Where nothing is worth anything, there are no roundings to bound."""
    loss = fsmeu.loads("loss nothing\nlabels 0 1\ncount c when z != y\nvalue 0 * c")
    found = fsmeu.expect(loss, "0110", [0.3, 0.8, 0.5, 0.9], keep=keep)
    assert (found.lower, found.value, found.upper) == (0.0, 0.0, 0.0)
