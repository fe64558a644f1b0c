"""Windows of 12 slots in sequences of 200: machines and expectations in little memory."""

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
loss = fsmeu.load(name, k=k)
values = [fsmeu.expect(loss, z, p, engine=engine).value for engine in ("lattice", "openfst")]
machine = fsmeu.compile_summed(loss, len(z))
if name == "pk":
    states = loss.compile(len(z)).states
else:
    states = machine.fst.num_states()
print(json.dumps([values, states, machine.states]))
"""


def count_in(probabilities):
    """The distribution of how many of these independent events happen."""
    sums = np.ones(1)
    for p in probabilities:
        sums = np.convolve(sums, [1 - p, p])
    return sums


@pytest.mark.parametrize("name", ["pk", "windowdiff"])
def test_long_windows(name):
    """Boundaries are independent, so each window is a sum that can be worked out alone.

    Pk is compiled with one path per pair, WindowDiff so that its paths add up; the second engine
    composes such machines with OpenFst.
    """
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
    values, states, summed = json.loads(ran.stdout)
    assert values == pytest.approx([np.mean(wrong)] * 2, rel=1e-11)  # one of them by logarithms
    assert summed <= states < 40_000
