"""Documents as label models of gaps: annotators, and chains of orders 0 to 2."""

from itertools import product

import numpy as np
import pytest


def test_annotators(load):
    """Each annotator is the reference once; votes are of the others; their list is the model."""
    orders = load("choi_orders")
    cuts = [orders.boundaries(sizes) for sizes in ([2, 3], [2, 1, 2], [1, 4])]
    assert [one.tolist() for one in cuts] == [[0, 1, 0, 0], [0, 1, 1, 0], [1, 0, 0, 0]]
    (rows, labels), listed = orders.by_votes(cuts)[0]
    assert labels.tolist() == [0, 1, 0, 0]
    assert rows[:, 0].tolist() == [0.5, 0.5, 0.5, 0.0]
    assert rows[:, 1].tolist() == [0.0, 0.5, 0.5, 0.5]
    assert rows[:, 2].tolist() == [0.5, 0.5, 0.0, 0.0]
    assert listed.marginals()[:, 1] == pytest.approx(rows[:, 0])


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
