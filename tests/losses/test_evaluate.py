"""The value of one pair, against a second reading of the file."""

import itertools
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fsmeu
from fsmeu.errors import InputError, LossFileError
from fsmeu.losses.semantics.walk import trace_pairs
from tests.strategies import lengths, losses
from tests.support.python_losses import Mistakes


def draw_pair(data, case, most):
    n = data.draw(lengths(case.labels, most))
    sequence = st.lists(st.sampled_from(case.labels), min_size=n, max_size=n)
    return data.draw(sequence), data.draw(sequence)


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 2**32), case=losses(risky=True))
def test_many_pairs_have_the_values_of_each(seed, case):
    """Many are walked over together, each alone by itself: the same bits, or both refuse."""
    rng, loss = random.Random(seed), case.load()
    zs = [rng.choices(case.labels, k=rng.choice((0, 1, 2, 5))) for _ in range(110)]
    ys = [rng.choices(case.labels, k=len(z)) for z in zs]
    try:
        each = [loss(z, y) for z, y in zip(zs, ys, strict=True)]
    except LossFileError:
        with pytest.raises(LossFileError):
            fsmeu.evaluate_many(loss, zs, ys)
    else:
        assert fsmeu.evaluate_many(loss, zs, ys).tolist() == each
        assert fsmeu.evaluate_many(loss, zs[:9], ys[:9]).tolist() == each[:9]


def test_a_fault_among_many_is_told_with_its_own_length():
    loss = fsmeu.loads("loss f labels 0 1 count c by 1 / (2 - z * i) value c")
    zs = ["0000"] * 200 + ["01"]
    with pytest.raises(LossFileError, match=r"division by zero when .*i=2 n=2"):
        fsmeu.evaluate_many(loss, zs, zs)
    assert fsmeu.evaluate_many(loss, zs[:-1], zs[:-1]).tolist() == [2.0] * 200


def test_explicit_states_are_followed():
    """An arc depends on the state, whatever its condition looks at."""
    text = "loss f state a b c arc a -> b when z != y arc a -> a otherwise arc b -> c when z == y "
    text += "arc b -> b otherwise arc c -> c value if at c then 2 else if at b then 1 else 0"
    loss = fsmeu.loads(text)
    zs, ys = zip(*itertools.product(itertools.product("01", repeat=4), repeat=2), strict=True)
    wanted = []
    for z, y in zip(zs, ys, strict=True):
        wrong = [a != b for a, b in zip(z, y, strict=True)]
        after = wrong[wrong.index(True) :] if any(wrong) else []
        wanted.append(1 + (False in after) if after else 0)
    assert [loss(z, y) for z, y in zip(zs, ys, strict=True)] == wanted
    assert fsmeu.evaluate_many(loss, zs, ys).tolist() == wanted


def test_many_pairs_of_a_python_loss():
    loss = fsmeu.function_loss(Mistakes(), "ab")
    assert fsmeu.evaluate_many(loss, ["ab", "", "bba"], ["bb", "", "abb"]).tolist() == [1, 0, 2]


def test_many_pairs_over_open_labels():
    """Labels are read from all sentences together."""
    zs, ys = [["B-A", "I-A"], ["O"]], [["B-A", "O"], ["B-C"]]
    values = fsmeu.evaluate_many(fsmeu.load("chunk_fscore"), zs, ys)
    assert values.tolist() == [0.0, 0.0]
    assert fsmeu.evaluate_many(fsmeu.load("chunk_fscore"), [], []).tolist() == []


@pytest.mark.parametrize(
    ("zs", "ys"), [(["0"], []), (["01"], ["0"]), (["02"], ["00"]), (5, []), ([5], ["0"])]
)
def test_many_pairs_that_do_not_match_are_refused(zs, ys):
    with pytest.raises(InputError, match="evaluate_many"):
        fsmeu.evaluate_many(fsmeu.load("fscore"), zs, ys)


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
