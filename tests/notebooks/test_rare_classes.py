"""F1 of rare classes in four ways, on data that are drawn here."""

import numpy as np


def test_scores(load):
    """No decision that ranks by the same probabilities is above the best threshold."""
    random = np.random.default_rng(0)
    rows = random.normal(size=(400, 3))
    positive = rows @ [1.0, 1.0, 0.0] + random.normal(size=400) > 2.5
    script = load("rare_classes")
    at_half, tuned, whole, best = script.scores(rows, positive, 200, 200, 0)
    assert 0 < at_half <= best
    assert 0 < tuned <= best
    assert 0 < whole <= best
