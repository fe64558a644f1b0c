"""The value of one pair, against a second reading of the file."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fsmeu
from tests.strategies import lengths, losses


@settings(max_examples=250, deadline=None)
@given(data=st.data(), case=losses())
def test_value_is_what_the_file_means(data, case):
    n = data.draw(lengths(case.labels, most=6))
    sequence = st.lists(st.sampled_from(case.labels), min_size=n, max_size=n)
    z, y = data.draw(sequence), data.draw(sequence)
    meant = case.world(n).run(z, y)
    assert fsmeu.evaluate(case.load(), z, y) == pytest.approx(float(meant), rel=1e-12, abs=1e-12)
