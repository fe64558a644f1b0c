"""Figure 1 of Jansche 2005: O(nk) time and, beside the data, O(k) memory for value and gradient."""

import tracemalloc

import numpy as np
import pytest
from scipy.sparse import csr_array, random_array

from fsmeu.learning.max_expected_f import SmoothF
from tests.benchmarks.measure import compare, record

SPARE = 2
"""Time may grow by so much more than the data, of which caches hold less; squares would give 16."""


def made(n, k, sparse):
    """The objective of n random examples with k features, a fifth of them not 0 if sparse."""
    random = np.random.default_rng(0)
    if sparse:
        rows = csr_array(random_array((n, k), density=0.2, format="csr", rng=random))
    else:
        rows = random.normal(size=(n, k))
    return SmoothF(rows, (random.random(n) < 0.1).astype(float), random.random(n))


def called(smooth, times):
    theta = np.full(smooth.rows.shape[1] + 1, 0.1)

    def calls():
        for _ in range(times):
            smooth(theta)

    calls()
    return calls


@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "sparse"])
@pytest.mark.parametrize(
    ("small", "large"), [((16_384, 32), (262_144, 32)), ((32_768, 32), (32_768, 512))]
)
def test_time_grows_no_faster_than_examples_and_features(small, large, sparse):
    first, second = compare(called(made(*small, sparse), 16), called(made(*large, sparse), 1))
    kind, sizes = "sparse" if sparse else "dense", [f"{n:,} x {k}" for n, k in (small, large)]
    assert record(f"F~, {kind}: 16 times {sizes[0]} | {sizes[1]}", first, second, at_most=SPARE)


def peak(smooth):
    """The greatest number of bytes that one call holds beside the data."""
    call = called(smooth, 1)
    tracemalloc.start()
    call()
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return most


def test_memory_grows_as_the_features():
    """Sixteen times as many examples take no more; the growth with features has exponent 1."""
    assert peak(made(262_144, 32, False)) < 1.01 * peak(made(16_384, 32, False))
    sizes = np.array([1_024, 4_096, 16_384])
    more = [peak(made(64, int(k), False)) for k in sizes]
    exponent = np.polyfit(np.log(sizes), np.log(more), 1)[0]
    assert 0.9 < exponent < 1.05
