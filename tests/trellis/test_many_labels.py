"""Thousands of labels, and lengths without end: what grows with them is not built, or refused."""

import time
import tracemalloc
from contextlib import contextmanager

import numpy as np
import pytest

import fsmeu
from fsmeu import load, models
from fsmeu.errors import SizeLimitError


@contextmanager
def at_most(megabytes):
    tracemalloc.start()
    try:
        yield
        assert tracemalloc.get_traced_memory()[1] < megabytes * 1e6
    finally:
        tracemalloc.stop()


def some_rows(n, labels):
    rows = np.random.default_rng(0).random((n, labels)) ** 4
    return rows / rows.sum(axis=1, keepdims=True)


@pytest.mark.parametrize("labels", [2_500, pytest.param(10_000, marks=pytest.mark.nightly)])
def test_wrong_labels_of_thousands(labels):
    rows, z = some_rows(2, labels), [5, 0]
    loss, model = load("hamming", labels=list(range(labels))), models.Independent(rows)
    fsmeu.gradient("hamming", [0], models.Independent(np.full((1, 3), 1 / 3)))  # loads its loops
    with at_most(600):
        found, decided = fsmeu.expect(loss, z, model), fsmeu.decode(loss, model)
        slopes = fsmeu.gradient(loss, z, model)
    right = rows[[0, 1], z]
    assert found.value == pytest.approx(1 - right.mean(), rel=1e-13)
    assert (decided.labels, decided.exact) == (rows.argmax(axis=1).tolist(), True)
    assert decided.value == pytest.approx(np.mean(1 - rows.max(axis=1)), rel=1e-13)
    wanted = np.full((2, labels), 0.5) + (1 - right[::-1, None]) / 2
    wanted[[0, 1], z] -= 0.5  # every entry is free: the rest may be wrong, too
    assert np.allclose(slopes, wanted, rtol=0, atol=1e-12)


@pytest.mark.parametrize(
    ("name", "given"), [("fscore", {}), ("boundary_fscore", {}), ("pk", {"k": 5}), ("kappa", {})]
)
@pytest.mark.parametrize("n", [10**7, 10**9])
def test_lengths_far_too_great_are_refused_at_once(name, given, n):
    """By what counts come to, or after some thousands of layers; not when the limit is passed."""
    loss, begin = load(name, **given), time.process_time()
    with pytest.raises(SizeLimitError, match="FSMEU_MAX_STATES"):
        loss.compile(n)
    assert time.process_time() - begin < 1.0
