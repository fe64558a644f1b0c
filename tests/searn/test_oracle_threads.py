"""Cost oracles of one loss whose caches threads share, or that an exception left half-way.

A trace function stands at each line of the modules that fill caches: it raises there, or has
another thread ask the same loss before the line is executed.
"""

import sys
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager, suppress

import numpy as np
import pytest

import fsmeu
from fsmeu.searn import CostOracles
from fsmeu.searn.oracle import product, steps

FILES = (product.__file__, steps.__file__)
LOSSES = {
    "clocked": "loss f labels 0 1 count a by i + 100 * y when z != y value a",
    "states": """utility f labels 0 1 2
        register run in 0..9 start 0 next if z == y then min(run + 1, 9) else 0
        register most in 0..9 start 0 next max(most, run)
        value most""",
    "references": """loss f labels 0 1 2
        register seen in 0..99 start 0 next min(99, seen + y)
        register odd in 0..1 start 0 next if z == 1 then 1 - odd else odd
        count c by seen when z != y
        value c + odd""",
}
FIRST, SECOND, THIRD = (0,), (1, 0, 0, 1, 0, 1), (1, 1, 0, 1, 0)


def answers(loss, *ys):
    """For each reference the costs of the first label and of one after half of z, and the value."""
    oracles, found = CostOracles(loss, ys), []
    for number, y in enumerate(ys):
        oracle, z = oracles.oracle(number), [1 - k % 2 for k in range(len(y) // 2)]
        found.append((oracle.costs([]).tolist(), oracle.costs(z).tolist(), oracle.value()))
    return found


class Stop(BaseException):
    """An exception that nothing expects, as KeyboardInterrupt is one."""


@contextmanager
def at_line(place, act):
    """Calls a function where this thread first comes to a place, a pair of file and line."""
    waiting = [place]

    def trace(frame, event, argument):
        if frame.f_code.co_filename not in FILES:
            return None
        if event == "line" and waiting == [(frame.f_code.co_filename, frame.f_lineno)]:
            waiting.clear()
            act()
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        yield
    finally:
        sys.settrace(before)


def lines_of(ask):
    """The lines of the modules that a query executes, in order, each once."""
    found = {}

    def trace(frame, event, argument):
        if frame.f_code.co_filename not in FILES:
            return None
        if event == "line":
            found[frame.f_code.co_filename, frame.f_lineno] = None
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        ask()
    finally:
        sys.settrace(before)
    return list(found)


def warmed(kind):
    """A loss whose caches have something in them."""
    loss = fsmeu.loads(LOSSES[kind])
    answers(loss, FIRST)
    return loss


def lines_when_warm(kind):
    """The lines that the third reference executes after the first."""
    loss = warmed(kind)
    return lines_of(lambda: answers(loss, THIRD))


def truth_of(kind, ys=(FIRST, SECOND, THIRD)):
    """The answers of losses that are asked once."""
    return {y: answers(fsmeu.loads(LOSSES[kind]), y) for y in ys}


def stop():
    raise Stop


@pytest.mark.nightly
@pytest.mark.parametrize("kind", ["clocked", "states"])
def test_an_exception_at_any_line_leaves_no_trace(kind):
    truth, places = truth_of(kind), lines_when_warm(kind)
    assert len(places) > 40
    for place in places:
        loss = warmed(kind)
        with suppress(Stop), at_line(place, stop):
            answers(loss, THIRD)
        assert answers(loss, *truth) == [one for y in truth for one in truth[y]], place


@pytest.mark.nightly
@pytest.mark.thirds
@pytest.mark.parametrize("kind", ["clocked", "states"])
def test_another_thread_asks_at_any_line(kind):
    truth = truth_of(kind)
    for place in lines_when_warm(kind):
        loss = warmed(kind)
        with ThreadPoolExecutor(1) as pool:
            others = []

            def switch(loss=loss, others=others, pool=pool):
                others.append(pool.submit(answers, loss, SECOND))
                wait(others, 0.005)  # it may have to wait for this thread

            with at_line(place, switch):
                assert answers(loss, THIRD) == truth[THIRD], place
            assert [other.result() for other in others] == [truth[SECOND]] * len(others), place
        assert answers(loss, *truth) == [one for y in truth for one in truth[y]], place


class Slow(dict):
    """A dictionary that lets another thread go on after it has said how long it is."""

    def __init__(self, switch):
        super().__init__()
        self.switch = switch

    def __len__(self):
        length = super().__len__()
        self.switch()
        return length


@pytest.mark.parametrize("turn", range(1, 5))
def test_amounts_are_numbered_by_one_thread_at_a_time(turn):
    zeros, ones = (0, 0), (1, 1, 1)
    truth, loss = truth_of("clocked", (zeros, ones)), fsmeu.loads(LOSSES["clocked"])
    with ThreadPoolExecutor(1) as pool:
        others, turns = [], iter(range(1, 100))

        def switch():
            if next(turns) == turn:
                others.append(pool.submit(answers, loss, ones))
                wait(others, 0.1)

        loss.derived.get(("oracles", None), dict)["amounts"] = Slow(switch)
        assert answers(loss, zeros) == truth[zeros]
        assert [other.result() for other in others] == [truth[ones]]
    assert answers(loss, zeros, ones) == truth[zeros] + truth[ones]


@pytest.mark.parametrize("kind", LOSSES)
def test_many_threads_ask_one_loss(kind):
    rng, before = np.random.default_rng(3), sys.getswitchinterval()
    ys = [tuple(rng.integers(0, 2, n).tolist()) for n in rng.integers(1, 24, 32)]
    loss, truth = fsmeu.loads(LOSSES[kind]), truth_of(kind, ys)
    with ThreadPoolExecutor(8, initializer=sys.setswitchinterval, initargs=[1e-6]) as pool:
        found = dict(zip(ys, pool.map(lambda y: answers(loss, y), ys), strict=True))
    sys.setswitchinterval(before)
    assert found == truth
