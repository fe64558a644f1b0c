"""Documents as label models of gaps: annotators, and chains of orders 0 to 2."""

from itertools import product

import numpy as np
import pytest


@pytest.mark.parametrize("order", [0, 1, 2])
def test_chains(load, order):
    orders, random = load("choi_orders"), np.random.default_rng(order)
    given = [(random.normal(size=(6, 2)), np.array([0, 1, 0, 0, 1, 0])) for _ in range(4)]
    fitted, rows = orders.trained(given, order), random.normal(size=(4, 2))
    model = orders.chain(fitted, rows, order)
    for y in product((0, 1), repeat=4):
        padded, mass = (*[0] * order, *y), 1.0
        for t, label in enumerate(y):
            past = np.array([padded[t : t + order]], np.int64).reshape(1, order)
            mass *= fitted.predict_proba(orders.with_past(rows[t : t + 1], past, order))[0, label]
        assert model.probability(list(y)) == pytest.approx(mass, abs=1e-12)
