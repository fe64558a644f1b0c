"""Loss files that the package has never seen, each with its meaning written out in Python."""

import itertools
import math
import random
from pathlib import Path

import pytest

import fsmeu
from fsmeu.checking.examples import run_examples
from fsmeu.losses.loss import read_spec
from tests import brute_force

FILES = Path(__file__).parent / "files"
COST = [[0, 1, 2, 3], [1, 0, 1, 2], [2, 1, 0, 1], [3, -2, 1, 0]]
TAGS = ("O", "B-PER", "I-PER", "B-LOC")


def hail(z, y, lead=2, surprise=3):
    n, missed, distrust = len(z), 0.0, False
    for i in range(n):
        warned = any(z[j] >= 1 for j in range(max(0, i - lead + 1), i + 1))
        if y[i] == 2 and z[i] != 2:
            missed += (1 if warned else surprise) * (1 if 2 in z[: i + 1] else 2)
        if i >= 1 and z[i] == z[i - 1] == 2 and 2 not in y[max(0, i - 2) : i + 1]:
            distrust = True
    return (missed + (n if distrust else 0)) / n if n else 0.0


def turnstile(z, y, bonus=0.5):
    state, working, agreed, jams, fresh = "locked", 0, 0, 0, False
    for i in range(len(z)):
        before = state
        if before == "locked":
            state = "open" if y[i] == "c" else "locked"
        elif before == "open":
            state = {"p": "locked", "c": "jammed", "r": "open"}[y[i]]
        elif i >= 2 and tuple(y[i - 2 : i + 1]) == ("r", "r", "r"):
            state = "locked"
        works = state != "jammed"
        fresh = works and z[i] == y[i]
        working, agreed = working + works, agreed + fresh
        jams += not works and before != "jammed"
    return (agreed + (bonus if fresh else 0)) / working - jams if working else -jams


def rhythm(z, y, lag=1, tolerance=1, cost=None):
    n, echo, price, strong, restless = len(z), 0, 0.0, 0.0, False
    for i in range(n):
        changed = [j >= 1 and y[j] != y[j - 1] for j in range(max(0, i - 3), i + 1)]
        restless = restless or sum(changed) > 3
        if i >= lag:
            echo += z[i - lag] - tolerance <= y[i] <= z[i - lag]
        if z[i] != y[i] and cost is not None:
            price += cost[z[i]][y[i]] / 2
        if y[i] > z[i] and not restless:
            strong += y[i] ** 2 / 4
    if n == 0:
        return 0.0
    if n <= lag:
        return strong - price
    if restless:
        return min(echo, 1) / (1 + strong)
    return (echo - price) / (n - lag) + math.sqrt(strong)


def entity_order(z, y):
    names, lost, since, late = 0, 0.0, None, False
    for i in range(len(z)):
        follows = i >= 1 and y[i - 1] != "O"
        if y[i].startswith("B-") or (y[i].startswith("I-") and not follows):
            names, since = names + 1, 0
            near = {z[j][2:] for j in (i - 1, i) if j >= 0}
            if y[i][2:] not in near:
                lost += 0.5 if i >= 1 and y[i - 1][2:] == y[i][2:] else 1
        elif since is not None:
            since += 1
        late = late or (since is not None and since >= 2)
    return lost / names + (0.25 if late else 0) if names else 0.0


STRANGERS = [
    ("hail", hail, (0, 1, 2), {}),
    ("hail", hail, (0, 1, 2), {"lead": 1, "surprise": 0.5}),
    ("hail", hail, (0, 1, 2), {"lead": 4}),
    ("turnstile", turnstile, ("c", "p", "r"), {}),
    ("turnstile", turnstile, ("c", "p", "r"), {"bonus": -2}),
    ("rhythm", rhythm, (0, 1, 2), {}),
    ("rhythm", rhythm, (0, 1, 2, 3), {"cost": COST, "lag": 2}),
    ("rhythm", rhythm, (0, 3), {"tolerance": 0, "lag": 3}),
    ("entity_order", entity_order, TAGS, {}),
    ("entity_order", entity_order, ("O", "B-x", "I-x"), {}),
]


@pytest.mark.parametrize("name", sorted({name for name, *_ in STRANGERS}))
def test_examples_of_the_file(name):
    results = run_examples(read_spec(FILES / f"{name}.loss"))
    assert all(result.holds for result in results), results


@pytest.mark.parametrize(("name", "meaning", "labels", "params"), STRANGERS)
def test_every_short_pair_and_some_long_ones(name, meaning, labels, params, rounds):
    fixed = read_spec(FILES / f"{name}.loss").labels is not None
    loss = fsmeu.load(FILES / f"{name}.loss", labels=None if fixed else labels, **params)
    source = random.Random(7)
    short = [brute_force.sequences(labels, n) for n in range(3)]
    pairs = [pair for some in short for pair in itertools.product(some, repeat=2)]
    for n in (6, 10, 25):
        pairs += [[tuple(source.choices(labels, k=n)) for _ in "zy"] for _ in rounds(20)]
    for z, y in pairs:
        wanted = meaning(z, y, **params)
        assert fsmeu.evaluate(loss, z, y) == pytest.approx(wanted, rel=1e-12, abs=1e-12)
