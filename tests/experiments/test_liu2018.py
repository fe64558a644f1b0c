"""The script of Liu 2018: Theorems 2 and 4, of what FOFO learns."""

import math

import numpy as np
import pytest


@pytest.mark.nightly
def test_theorem_2(script):
    """A first stage of FOFO is a call of SFO; the bound holds where it says something."""
    known, steps, delta = script.Population(-2.0), 2**22, 0.05
    best, random = known.objective(known.best_threshold), np.random.default_rng(2)
    margins = -2 + 2 * random.normal(size=steps)
    labels = (random.random(steps) < 1 / (1 + np.exp(-margins))).astype(int)
    theta = script.learned_threshold(margins, labels, 1.0, horizon=9 * steps)  # of nine stages
    bound = (math.sqrt(10) + 10 * math.sqrt(math.log(12 * steps / delta))) / math.sqrt(steps)
    assert known.objective(theta) - best < bound < known.objective(0.0) - best


@pytest.mark.nightly
def test_theorem_4(script):
    """F of what was learned nears F*, and never exceeds it; weights near the true ones."""
    for _, name, _, lost, error in script.consistency([2**10, 2**15], 2):
        assert lost.min() > -1e-6
        assert lost[1] < lost[0] * (0.7 if "printed" in name else 0.5)  # its steps are short
        assert error[1] < error[0] / 2
