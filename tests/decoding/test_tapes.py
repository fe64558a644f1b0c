"""Losses that split by tape in other words: explicit states, counts of both tapes that are sums."""

import itertools

import numpy as np
import pytest

import fsmeu
from fsmeu.losses.algebra.rewrite import separated
from tests import brute_force
from tests.decoding.listing import ask
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


def test_sums_are_written_as_two_counts():
    bound = fsmeu.loads(f"utility f labels 0 1 {FILES['F1 of one sum']}").bound
    names = [register.name for register in separated(bound).spec.registers]
    assert names == ["tp", "both.z", "both.y"]


@pytest.mark.parametrize(
    "count",
    [
        "count c by z * y",
        "count c when z == 1 and y == 1",
        "count c by max(z, y)",
        "count c by 2 * y",
        "count c by z + y count d when c > 1",
    ],
)
def test_other_counts_stay_as_they_are(count):
    bound = fsmeu.loads(f"loss f labels 0 1 {count} value c ^ 2").bound
    assert separated(bound) is bound


REGISTERS = {
    "age": ("age {t}a since {t} == 1 up to 2", ["{t}a == 0", "{t}a > 1"]),
    "memory": (
        "memory {t}m of {t} last 2",
        ["{t}m[1] == 1", "tally({t}m, 1) == 1", "sum({t}m) > 1"],
    ),
    "flag": ("flag {t}f when {t} == 1 and i > 1", ["{t}f"]),
    "register": ("register {t}r in 0..2 start 1 next ({t}r + {t}) % 3", ["{t}r == 2", "{t}r < 1"]),
    "state": (
        "state A B C arc A -> B when {t} == 1 arc A -> A otherwise arc B -> C when {t} == 0 "
        "arc B -> A otherwise arc C -> C when {t} == 0 arc C -> B otherwise",
        ["at A", "at C"],
    ),
    "clock": ("register {t}c in 0..1 start 0 next 1 - {t}c", ["{t}c == 1"]),
}


def random_split(rng):
    """A file whose registers read one tape each, but for counts in which the value is linear."""
    lines, seen = [], {"z": ["z == 1"], "y": ["y == 1", "y == 0"]}
    kinds = rng.permutation(list(REGISTERS))[: rng.integers(1, 4)]
    for kind in kinds:
        tape = str(rng.choice(["z", "y"]))
        line, conditions = REGISTERS[kind]
        lines.append(line.format(t=tape))
        seen[tape] += [condition.format(t=tape) for condition in conditions]
    z, y = (str(rng.choice(seen[tape])) for tape in "zy")
    other = str(rng.choice(seen["y"]))
    lines.append(f"count c when {z} and {y}")
    lines.append(f"count d by ({z}) - 2 * ({other}) when not {y}")
    lines.append("count hyp when z == 1 count ref when y == 1")
    value = rng.choice(
        ["c", "c - d / 3", "c / (1 + hyp + ref)", "(c - d) / (2 + hyp)", "c * hyp - d"]
    )
    kind = rng.choice(["loss", "utility"])
    return f"{kind} f labels 0 1 " + " ".join([*lines, f"value {value}"])


def test_files_that_split_at_random(rounds):
    """What every method claims holds by the second reading of the file."""
    rng = np.random.default_rng(7)
    used, tried = [], rounds(120)
    for _ in tried:
        loss = fsmeu.loads(random_split(rng))
        n = int(rng.integers(1, 5))
        model = model_case(rng, (0, 1), n, int(rng.integers(0, 3)))
        world = World(loss.spec, (0, 1), n)
        sign = 1.0 if loss.kind == "utility" else -1.0
        values = {
            z: float(brute_force.mean(brute_force.joint(world.every_y(z), model.distribution)))
            for z in itertools.product((0, 1), repeat=n)
        }
        best = max(sign * value for value in values.values())
        for method in ("auto", "additive", "counting"):
            decided = ask(loss, model.model, method=method)
            if decided is not None:
                used.append(decided.method)
                own = values[tuple(decided.labels)]
                assert decided.value == pytest.approx(own, rel=1e-11, abs=1e-11), loss.spec.source
                assert sign * own == pytest.approx(best, rel=1e-11, abs=1e-11), loss.spec.source
    assert min(used.count(method) for method in ("additive", "counting")) > len(tried) // 3
