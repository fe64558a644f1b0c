"""When compiled loops are taken."""

import pytest

import fsmeu
from fsmeu.trellis import numpy_steps, steps
from fsmeu.trellis.kept import split_trellis


@pytest.fixture(autouse=True)
def positions(monkeypatch):
    """A fixture of the folder that these tests do without: each asks for both."""
    pytest.importorskip("numba", reason="numba is not installed (it is the extra 'fast')")


def test_loops_are_taken_once_a_trellis_was_swept_often(monkeypatch):
    monkeypatch.setattr(steps, "COMPILED_AFTER", 20)
    loss = fsmeu.load("fscore")
    trellis = split_trellis(loss, loss.split, 8)
    taken = [trellis.steps(8) for _ in range(4)]
    assert taken[0] is taken[1] is numpy_steps
    assert taken[2] is taken[3] is not numpy_steps


def test_numpy_does_without_numba(monkeypatch):
    monkeypatch.setattr(steps, "is_installed", lambda name: False)
    assert steps.steps_after(10**9) is numpy_steps
