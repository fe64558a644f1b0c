"""The value of one pair, against a second reading of the file."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fsmeu
from fsmeu.errors import LossFileError
from fsmeu.losses.evaluate import trace_pairs
from tests.losses.meaning import Undefined
from tests.strategies import lengths, losses


def draw_pair(data, case, most):
    n = data.draw(lengths(case.labels, most))
    sequence = st.lists(st.sampled_from(case.labels), min_size=n, max_size=n)
    return data.draw(sequence), data.draw(sequence)


@settings(max_examples=200, deadline=None)
@given(data=st.data(), case=losses())
def test_value_is_what_the_file_means(data, case):
    z, y = draw_pair(data, case, 6)
    meant = case.world(len(z)).run(z, y)
    assert fsmeu.evaluate(case.load(), z, y) == pytest.approx(float(meant), rel=1e-12, abs=1e-12)


@settings(max_examples=200, deadline=None)
@given(data=st.data(), case=losses(risky=True))
def test_what_means_nothing_is_refused(data, case):
    """A file is refused for a pair exactly when the second reading finds no value."""
    z, y = draw_pair(data, case, 4)
    loss = case.load()
    try:
        meant = float(case.world(len(z)).run(z, y))
    except Undefined:
        with pytest.raises(LossFileError):
            fsmeu.evaluate(loss, z, y)
    else:
        assert fsmeu.evaluate(loss, z, y) == pytest.approx(meant, rel=1e-12, abs=1e-12)


@settings(max_examples=60, deadline=None)
@given(data=st.data(), case=losses())
def test_trace_shows_every_register(data, case):
    z, y = draw_pair(data, case, 5)
    loss, world = case.load(), case.world(len(z))
    encode = loss.alphabet.encode
    trace = trace_pairs(loss.bound, encode(z)[None, :], encode(y)[None, :])
    state, states = world.start(), []
    for i, (a, b) in enumerate([(None, None), *zip(z, y, strict=True)]):
        state = world.step(state, a, b, i) if i else state
        states.append(state)
    assert len(trace) == len(states)
    for ours, meant in zip(trace, states, strict=True):
        plain = {k: float(v) for k, v in meant.items() if not isinstance(v, tuple)}
        assert {k: float(ours[k][0]) for k in plain} == pytest.approx(plain, rel=1e-12)
