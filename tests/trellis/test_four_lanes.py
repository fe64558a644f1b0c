"""Arithmetic of four lanes against numpy's, in every lane."""

import numpy as np
import pytest

from fsmeu.trellis import four_lanes as lanes

A = (1.5, -2.0, 0.0, 3.0)
B = (0.5, 4.0, -1.0, -2.5)
a, b = np.array(A), np.array(B)


@pytest.mark.parametrize(
    ("found", "wanted"),
    [
        (lanes.plus(A, B), a + b),
        (lanes.minus(A, B), a - b),
        (lanes.times(A, B), a * b),
        (lanes.over(A, B), a / b),
        (lanes.scaled(2.0, A), 2 * a),
        (lanes.mixed(2.0, A, 0.5, B), 2 * a + b / 2),
        (lanes.absolute(B), np.abs(b)),
        (lanes.greater(A, B), np.maximum(a, b)),
        (lanes.lesser(A, B), np.minimum(a, b)),
    ],
)
def test_lane_by_lane(found, wanted):
    assert found == tuple(wanted.tolist())


def test_what_is_no_number_is_passed_over():
    unknown = (np.nan,) * 4
    assert lanes.greater(A, unknown) == A
    assert lanes.lesser(A, unknown) == A


@pytest.mark.parametrize("lane", range(4))
def test_some_lane_is_positive(lane):
    assert lanes.any_positive(tuple(float(m == lane) for m in range(4)))
    assert not lanes.any_positive((0.0, -1.0, 0.0, np.nan))


def test_rows_of_tables():
    tables = np.arange(24.0).reshape(2, 3, 4)
    assert lanes.four(tables[1], 2) == (20.0, 21.0, 22.0, 23.0) == lanes.four_at(tables, 1, 2)
    lanes.put(tables[0], 1, A)
    lanes.put_at(tables, 1, 0, B)
    assert tables[0, 1].tolist() == list(A)
    assert tables[1, 0].tolist() == list(B)
