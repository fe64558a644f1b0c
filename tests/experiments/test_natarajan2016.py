"""The script of Natarajan 2016: regrets, and how near both ways come."""

import numpy as np
import pytest


def test_regrets(script):
    """No decision beats that with the true probabilities; Corollary 14 at two sizes."""
    found = {}
    for name, _, size, regret in script.regrets(0, (30, 1000)):
        assert regret > -1e-12
        found.setdefault((name, size), []).append(regret)
    means = {key: np.mean(values) for key, values in found.items()}
    assert means["logistic", 1000] < means["logistic", 30] / 5
    assert means["logistic", 1000] < means["one feature", 1000] / 5


@pytest.mark.nightly
def test_dta_and_eum_draw_near(script):
    """Neither loses to the other by its own measure more than 0; less on larger test sets."""
    rows = script.equivalence(10, (30, 3000))
    means = {(measure, size): values for measure, size, values, _ in rows}
    for measure in script.LOSSES:
        assert means[measure, 30].min() > -1e-12
        assert (means[measure, 3000][:2] < means[measure, 30][:2] / 10).all()
