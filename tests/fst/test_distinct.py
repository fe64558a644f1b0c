"""Numbers of distinct values and rows, against sorting."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from fsmeu.fst.distinct import distinct, distinct_rows

anything = st.one_of(st.integers(-3, 3), st.integers(-(2**62), 2**62))
counts = st.one_of(st.integers(0, 3), st.integers(0, 2**62))


@given(st.lists(anything, max_size=12))
def test_values_are_those_of_a_sort(values):
    found, place = distinct(np.array(values, np.int64))
    assert found.tolist() == sorted(set(values))
    assert found[place].tolist() == values


@given(st.integers(1, 4).flatmap(lambda k: st.lists(st.tuples(*[counts] * k), max_size=8)))
def test_rows_are_those_of_a_sort(rows):
    width = len(rows[0]) if rows else 1
    first, number = distinct_rows(list(np.array(rows, np.int64).reshape(-1, width).T))
    assert [rows[k] for k in first.tolist()] == sorted(set(rows))
    assert first.tolist() == [rows.index(row) for row in sorted(set(rows))]
    assert [rows[first[k]] for k in number.tolist()] == rows


def test_an_array_keeps_its_shape():
    found, place = distinct(np.array([[2**60, 0], [0, 5]]))
    assert found[place].tolist() == [[2**60, 0], [0, 5]]
