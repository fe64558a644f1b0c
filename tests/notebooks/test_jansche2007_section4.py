"""The table of the experiment on inexact decoding has each range of lengths once."""

import pytest


@pytest.mark.parametrize(
    ("longest", "ranges"),
    [
        (3, [(1, 3)]),
        (10, [(1, 10)]),
        (12, [(1, 12), (1, 10), (11, 12)]),
        (20, [(1, 20), (1, 10), (11, 20)]),
    ],
)
def test_ranges(load, longest, ranges):
    assert load("jansche2007_section4").ranges_of(longest) == ranges
