"""Sparse matrices with weights from a vector, and sets that occur often."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fsmeu.trellis.sparse import distinct_sets, sparse

places = st.sets(st.tuples(st.integers(0, 4), st.integers(0, 3)), max_size=12)


@given(places, st.integers(1, 3), st.integers(0, 2**32 - 1))
def test_products_are_those_of_dense_matrices(held, batch, seed):
    random = np.random.default_rng(seed)
    rows, columns = np.array(sorted(held), np.int64).reshape(-1, 2).T
    index = random.integers(0, 6, len(rows))
    weights, values = random.random((batch, 6)), random.random((batch, 4, 2))
    matrix = sparse(rows, columns, (5, 4), index)
    plain = np.zeros((batch, 5, 4))
    plain[:, rows, columns] = weights[:, index]
    entries = matrix.taken(weights)
    assert matrix.times(values, entries) == pytest.approx(plain @ values, rel=1e-14)
    others = random.random((batch, 5, 2))
    turned = matrix.transposed_times(others, entries)
    assert turned == pytest.approx(plain.transpose(0, 2, 1) @ others, rel=1e-14)
    ones = sparse(rows, columns, (5, 4))
    assert ones.times(values) == pytest.approx((plain > 0) @ values, rel=1e-14)


@given(st.lists(st.sets(st.integers(0, 5), min_size=1), min_size=1, max_size=8))
def test_equal_sets_have_one_number(sets):
    owner = np.array([k for k, held in enumerate(sets) for _ in held])
    member = np.array([m for held in sets for m in held])
    number, found, members = distinct_sets(owner, member, len(sets))
    listed = {}
    for one, m in zip(found.tolist(), members.tolist(), strict=True):
        listed.setdefault(one, set()).add(m)
    assert [listed[k] for k in number.tolist()] == sets
    assert len(listed) == len({frozenset(held) for held in sets})
