"""Every test of online learners runs twice: the loop in Python, and compiled."""

import math

import pytest

from fsmeu.learning.online import loops


@pytest.fixture(params=["plain", "compiled"], autouse=True)
def loop(request, monkeypatch):
    """What runs over examples."""
    if request.param == "compiled":
        pytest.importorskip("numba", reason="numba is not installed (it is the extra 'fast')")
    monkeypatch.setattr(loops, "COMPILED_EXAMPLES", 0 if request.param == "compiled" else math.inf)
