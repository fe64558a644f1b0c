"""Hashed features: the same in every run, rows put together as they should."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array

from fsmeu.searn.features.sentences import (
    hashed_sentences,
    history_columns,
    joined_rows,
    rows_of_columns,
    uniform,
)


def test_hashes_are_those_of_every_run():
    """Figures from BLAKE2 as Python's library computes it, not from a run of this code."""
    from hashlib import blake2b

    found = hashed_sentences([[{"w": "the", "n": 2}], [["w=the"], []]], 16, ("w",))
    for name, row in (("w:the", 0), ("w=the", 1)):
        number = int.from_bytes(blake2b(name.encode(), digest_size=8).digest(), "big")
        assert number >> 48 in found.matrix[[row]].indices
        assert found.crossed[row, 0] == number
    assert found.matrix.sum() == 1 + 2 + 1
    assert found.starts.tolist() == [0, 1, 3]
    assert found.lengths.tolist() == [1, 2]
    assert found.crossed[2, 0] == 0


@given(st.integers(0, 1000))
def test_rows_are_joined(seed):
    rng = np.random.default_rng(seed)
    dense = rng.integers(0, 3, (5, 8)) * (rng.random((5, 8)) < 0.4)
    at, added = rng.integers(5, size=4), rng.integers(-1, 8, (4, 3)).astype(np.int32)
    want = dense[at].astype(float)
    for row, columns in zip(want, added, strict=True):
        np.add.at(row, columns[columns >= 0], 1)
    matrix = csr_array(dense.astype(np.float32))
    assert np.array_equal(joined_rows(matrix, at, added).toarray(), want)
    alone = rows_of_columns(added, 8)
    assert np.array_equal(alone.toarray(), want - dense[at])


def test_histories_are_told_apart():
    past = np.array([[0, 1], [1, 0], [0, 2], [0, 1]], np.int16)
    crossed = np.array([[5], [5], [5], [6]], np.uint64)
    found = history_columns(past, crossed, 20)
    assert found.shape == (4, 4)  # a constant, the last, the last crossed, the last two
    assert len(set(found[:, 0])) == 1
    assert [len(set(found[:, k])) for k in (1, 2, 3)] == [2, 3, 3]
    assert found[0, 1] == found[2, 1] == found[3, 1]


def test_draws_are_uniform():
    """Each tenth has a tenth of them, up to Hoeffding's bound at 1e-9."""
    found = uniform(3, np.arange(50_000), np.arange(50_000) % 7)
    shares = np.histogram(found, 10, (0, 1))[0] / 50_000
    assert np.abs(shares - 0.1).max() < np.sqrt(np.log(2e10) / 100_000)
    assert not np.array_equal(found, uniform(4, np.arange(50_000), np.arange(50_000) % 7))
