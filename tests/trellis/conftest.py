"""Every test of the trellis runs twice: kernels as Python, and compiled."""

import pytest

from tests.support.kernels import run_kernels


@pytest.fixture(params=["plain", "compiled"], autouse=True)
def kernels(request, monkeypatch):
    """What runs the kernels."""
    run_kernels(request.param, monkeypatch.setattr)
