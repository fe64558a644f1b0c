"""The quick run of notebooks/liu2018.py prints what it promises."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.nightly
def test_quick():
    """Where a9a is missing, the part on the threshold is run all the same."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, str(ROOT / "notebooks" / "liu2018.py"), "--quick"]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    ends = {(rate, scale): errors[-1] for rate, scale, _, errors in found["thresholds"]}
    assert len(ends) == 8
    # where positives are rare, printed steps are short
    assert ends["about .014", "auto"] < ends["about .014", "1"] / 4
    if "No data" not in done.stderr:
        assert set(found["tasks"]["a9a"]) == {"curves", "online", "offline"}


def test_best_threshold_is_half_the_best_f(load):
    """The root of q by quadrature is half the best F over all cuts of a large sample."""
    best = load("liu2018").best_threshold(-2.0)
    random = np.random.default_rng(0)
    eta = np.sort(1 / (1 + np.exp(2.0 - 2 * random.normal(size=1_000_000))))[::-1]
    wanted = np.max(np.cumsum(eta) / (eta.sum() + np.arange(1, len(eta) + 1)))
    assert best == pytest.approx(wanted, abs=2e-3)
