"""Conditions guard amounts: what a count adds is asked for only where its condition holds."""

from itertools import product

import numpy as np
import pytest

import fsmeu
from fsmeu.errors import LossFileError
from fsmeu.losses.sum_over_paths import compile_summed
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
    "a label of z": 'count c by w[old ly[0], y] when i > 1 and z == "A"  value c',
    "the other tape": "count c by w[old ly[0], z] when i > 1  value c",
    "both tapes": "count c by w[old lz[0], old ly[0]] when i > 1 and z != y  value c",
    "if": 'count c by if i > 1 and z == "A" then w[old ly[0], y] else 0  value c',
    "register": 'count c by w[old ly[0], y] when old s == 1 and z == "A"  value c',
    "division": 'count h when z == "A"  count c by 1/f when f == 1 and z == y  value c / (1 + h)',
    "logarithm": 'count c by log(az) * (y == "A") when az > 0  count d by w[z, y]  value c + d',
    "logarithms": (
        "count c by log(az) * log(ay) when az > 0 and ay > 0  count d by w[z, y]  value c + d"
    ),
    "implied": "count c by log(ay) when az < ay  value c",
    "or": 'count c when az == 0 or log(az) > (y == "A")  value c',
}


def loss_of(text):
    return fsmeu.loads(f"{HEAD}\n{text}\n")


def some_model(n, seed=0):
    rows = np.random.default_rng(seed).dirichlet([1, 1], n)
    return Independent(rows, ("A", "B"))


def by_listing(loss, z, model_rows):
    """The expected value of a hypothesis, over all references."""
    total = 0.0
    for y in product("AB", repeat=len(z)):
        weight = np.prod([row["AB".index(label)] for row, label in zip(model_rows, y, strict=True)])
        total += weight * loss(z, y)
    return total


@pytest.mark.parametrize("text", GUARDED.values(), ids=GUARDED)
def test_guarded_amounts_are_decided_by_their_algebra(text):
    loss, n = loss_of(text), 4
    rows = np.random.default_rng(0).dirichlet([1, 1], n)
    expected = {z: by_listing(loss, z, rows) for z in product("AB", repeat=n)}
    method = "counting" if "value c / (1 + h)" in text else "additive"
    decision = fsmeu.decode(loss, Independent(rows, ("A", "B")), method=method)
    assert decision.exact
    assert decision.value == pytest.approx(min(expected.values()), abs=1e-12)
    assert expected[tuple(decision.labels)] == pytest.approx(decision.value, abs=1e-12)
    for z in ("ABBA", "BABA"):
        value = fsmeu.expect(loss, z, Independent(rows, ("A", "B"))).value
        assert value == pytest.approx(expected[tuple(z)], abs=1e-12)


@pytest.mark.parametrize("text", GUARDED.values(), ids=GUARDED)
def test_guarded_amounts_are_proven_at_60(text):
    decision = fsmeu.decode(loss_of(text), some_model(60))
    assert decision.exact
    assert decision.method in ("additive", "counting")


@pytest.mark.parametrize("text", GUARDED.values(), ids=GUARDED)
def test_machines_of_guarded_amounts(text):
    loss, n = loss_of(text), 3
    machines = [loss.compile(n), loss.compile(n, minimize=True)]
    summed = compile_summed(loss, n)
    for z, y in product(product("AB", repeat=n), repeat=2):
        pair = loss.alphabet.encode(z), loss.alphabet.encode(y)
        for machine in machines:
            state = 0
            for a, b in zip(*pair, strict=True):
                state = machine.next[state, a, b]
            assert machine.values[state] == pytest.approx(loss(z, y), abs=1e-12)
        mass = np.zeros(summed.states)
        mass[0] = 1.0
        table = summed.table
        for a, b in zip(*pair, strict=True):
            taken = (table.ilabel == a + 1) & (table.olabel == b + 1)
            after = np.zeros(summed.states)
            paid = mass[table.source[taken]] * np.exp(-table.weight[taken])
            np.add.at(after, table.target[taken], paid)
            mass = after
        assert mass @ np.exp(-table.final) - summed.shift == pytest.approx(loss(z, y), abs=1e-9)


@pytest.mark.parametrize("text", GUARDED.values(), ids=GUARDED)
def test_oracles_of_guarded_amounts(text):
    loss, y = loss_of(text), "BABB"
    oracle = fsmeu.searn.CostOracle(loss, y)
    for prefix in (p for size in range(4) for p in product("AB", repeat=size)):
        rest = list(product("AB", repeat=3 - len(prefix)))
        best = [min(loss((*prefix, a, *more), y) for more in rest) for a in "AB"]
        assert oracle.costs(prefix) == pytest.approx(np.array(best) - min(best), abs=1e-9)


@pytest.mark.nightly
def test_an_amount_that_is_asked_for_and_has_no_value_is_refused():
    loss = loss_of('count c by w[old ly[0], y] when z == "A"  value c')
    for ask in (
        lambda: fsmeu.decode(loss, some_model(4)),
        lambda: fsmeu.decode(loss, some_model(4), method="additive"),
        lambda: fsmeu.decode(loss, some_model(60)),
        lambda: fsmeu.expect(loss, "ABBA", some_model(4)),
    ):
        with pytest.raises(LossFileError):
            ask()
