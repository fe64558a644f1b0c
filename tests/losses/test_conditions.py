"""Conditions guard amounts: what a count adds is asked for only where its condition holds."""

from itertools import product

import numpy as np
import pytest

import fsmeu
from fsmeu.errors import LossFileError
from fsmeu.models import Independent

HEAD = """
loss guarded(w: table = 2 * (z != y) + (z == "B"))
labels A B
memory ly of y last 1
memory lz of z last 1
age az since z == "A" up to 3
age ay since y == "A" up to 3
flag f when y == "A"
register s in 0..1 start 0 next 1
"""
GUARDED = {
    "one tape": "count c by w[old ly[0], y] when i > 1  count d by w[z, y]  value c + d",
    "both tapes": "count c by w[old lz[0], old ly[0]] when i > 1 and z != y  value c",
    "if": 'count c by if i > 1 and z == "A" then w[old ly[0], y] else 0  value c',
    "register": 'count c by w[old ly[0], y] when old s == 1 and z == "A"  value c',
    "division": 'count h when z == "A"  count c by 1/f when f == 1 and z == y  value c / (1 + h)',
    "logarithms": (
        "count c by log(az) * log(ay) when az > 0 and ay > 0  count d by w[z, y]  value c + d"
    ),
    "or": 'count c when az == 0 or log(az) > (y == "A")  value c',
}
EVERY = list(product("AB", repeat=3))


@pytest.mark.parametrize("text", GUARDED.values(), ids=GUARDED)
def test_guarded_amounts(text):
    """In decisions by the algebra of a loss and in expectations; proven at 30."""
    loss, method = fsmeu.loads(f"{HEAD}\n{text}\n"), "counting" if "(1 + h)" in text else "additive"
    rows = np.random.default_rng(0).dirichlet([1, 1], 30)
    model = Independent(rows[:3], ("A", "B"))
    weights = [np.prod([row["AB".index(b)] for row, b in zip(rows, y)]) for y in EVERY]  # noqa: B905
    expected = {z: np.dot(weights, [loss(z, y) for y in EVERY]) for z in EVERY}
    decision = fsmeu.decode(loss, model, method=method)
    assert decision.value == pytest.approx(min(expected.values()), abs=1e-12)
    assert expected[tuple(decision.labels)] == pytest.approx(decision.value, abs=1e-12)
    for z in EVERY[::3]:
        assert fsmeu.expect(loss, z, model).value == pytest.approx(expected[z], abs=1e-12)
    assert fsmeu.decode(loss, Independent(rows, ("A", "B"))).method == method


def test_an_amount_that_is_asked_for_and_has_no_value_is_refused():
    loss = fsmeu.loads(f'{HEAD} count c by w[old ly[0], y] when z == "A"  value c')
    models = [Independent([[0.5, 0.5]] * n, ("A", "B")) for n in (4, 60)]
    for ask in (
        lambda: fsmeu.decode(loss, models[0]),
        lambda: fsmeu.decode(loss, models[1]),
        lambda: fsmeu.expect(loss, "ABBA", models[0]),
    ):
        with pytest.raises(LossFileError):
            ask()
