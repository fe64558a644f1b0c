"""Windows of 12 slots in sequences of 200: expectations in little memory, against sums by hand."""

import json
import subprocess
import sys

import numpy as np
import pytest

N, K, MEMORY = 200, 12, 2 << 30

SCRIPT = """
import json, resource, sys
resource.setrlimit(resource.RLIMIT_AS, (int(sys.argv[1]),) * 2)
import fsmeu
name, k, z, p = json.loads(sys.argv[2])
print(json.dumps(fsmeu.expect(fsmeu.load(name, k=k), z, p).value))
"""


def count_in(probabilities):
    """The distribution of how many of these independent events happen."""
    sums = np.ones(1)
    for p in probabilities:
        sums = np.convolve(sums, [1 - p, p])
    return sums


@pytest.mark.parametrize("name", ["pk", "windowdiff"])
def test_long_windows(name):
    """Boundaries are independent, so each window is a sum that can be worked out alone."""
    rng = np.random.default_rng(0)
    p, z = rng.uniform(0.01, 0.3, N), (rng.random(N) < 0.1).astype(int)
    wrong = []
    for i in range(N - K + 1):
        chance, count = count_in(p[i : i + K]), z[i : i + K].sum()
        differs = chance[0] if count else 1 - chance[0]
        wrong.append(differs if name == "pk" else 1 - chance[count])
    asked = json.dumps([name, K, z.tolist(), p.tolist()])
    command = [sys.executable, "-c", SCRIPT, str(MEMORY), asked]
    ran = subprocess.run(command, capture_output=True, text=True, check=True)
    assert json.loads(ran.stdout) == pytest.approx(np.mean(wrong), rel=1e-12)
