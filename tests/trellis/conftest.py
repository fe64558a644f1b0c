"""Every test of the trellis runs twice: positions by numpy, and by compiled loops."""

import math

import pytest

from fsmeu.trellis import steps


@pytest.fixture(params=["numpy", "compiled"], autouse=True)
def positions(request, monkeypatch):
    """What computes the positions of sweeps."""
    if request.param == "compiled":
        pytest.importorskip("numba", reason="numba is not installed (it is the extra 'fast')")
    monkeypatch.setattr(steps, "COMPILED_AFTER", 0 if request.param == "compiled" else math.inf)
