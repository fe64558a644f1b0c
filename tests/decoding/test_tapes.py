"""Losses that split by tape in other words: explicit states, counts of both tapes that are sums."""

import itertools

import numpy as np
import pytest

import fsmeu
from tests import brute_force
from tests.losses.meaning import World
from tests.strategies import model_case
from tests.support.nightly import mostly_nightly

STATES = (
    "state A B arc A -> B when {0} == 1 arc A -> A otherwise "
    "arc B -> A when {0} == 1 arc B -> B otherwise"
)
OF_Z, OF_Y = STATES.format("z"), STATES.format("y")
TP = "count tp when z == 1 and y == 1"
F1 = "value 2 * tp / both or 1 when both == 0"
RISE = "memory a of z last 1 let rise = z == 1 and not old a[0] == 1"
FILES = {
    "states of z": f"{OF_Z} count c when at B and y == 1 value c",
    "states of y": f"{OF_Y} count c when at B and z == 1 count d when z == 1 value c - d / 3",
    "states and a flag": f"{OF_Z} flag f when y == 1 count c when at B and f value c / n",
    "F1 of one sum": f"{TP} count both by z + y {F1}",
    "F1 of conditions": f"{TP} count both by (z == 1) + (y == 1) {F1}",
    "F1 shifted": f"{TP} count both by (y == 1) - (z == 0) + 1 value tp / (both + 1)",
    "rises": f"{RISE} count tp when rise and y == 1 count both by (rise) + y value tp / (1 + both)",
    "clock": f"register p in 0..1 start 0 next i % 2 {TP} count c when y == 1 and p == 1 "
    "count h when z == 1 value tp / (1 + c + h)",
    "clock states": f"state S T arc S -> T when i >= 2 arc S -> S otherwise arc T -> T otherwise "
    f"{TP} count c when y == 1 and at T count h when z == 1 value tp / (1 + c + h)",
    "tally of the other tape": "memory m of y last 2 count c when tally(m, z) == 1 value c",
    "difference": f"{TP} count d by y - z value tp - abs(d)",
}
SPLIT = set(FILES) - {"difference", "tally of the other tape"}


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("order", [0, 1, 2])
@pytest.mark.parametrize("n", mostly_nightly([1, 3, 5], quick=2))
@pytest.mark.thirds
def test_decisions_are_the_best_of_the_list(name, order, n):
    """Against the second reading of the file, for every pair of sequences."""
    loss = fsmeu.loads(f"utility f labels 0 1 {FILES[name]}")
    model = model_case(np.random.default_rng(10 * n + order), (0, 1), n, order)
    world = World(loss.spec, (0, 1), n)
    values = {
        z: float(brute_force.mean(brute_force.joint(world.every_y(z), model.distribution)))
        for z in itertools.product((0, 1), repeat=n)
    }
    best = max(values.values())
    decided = fsmeu.decode(loss, model.model)
    assert decided.exact
    assert decided.value == pytest.approx(best, rel=1e-12, abs=1e-12)
    assert values[tuple(decided.labels)] == pytest.approx(best, rel=1e-12, abs=1e-12)
    if order and n > 1 and name in SPLIT:
        assert decided.method in ("additive", "counting")
