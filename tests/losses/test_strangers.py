"""Loss files that the package has never seen, with examples worked out without it."""

import itertools
import random
from pathlib import Path

import pytest

import fsmeu
from fsmeu.checking.examples import run_examples
from fsmeu.losses.loss import read_spec
from tests import brute_force
from tests.losses.meaning import World

FILES = Path(__file__).parent / "files"
COST = [[0, 1, 2, 3], [1, 0, 1, 2], [2, 1, 0, 1], [3, -2, 1, 0]]
TAGS = ("O", "B-PER", "I-PER", "B-LOC")


STRANGERS = [
    ("hail", (0, 1, 2), {}),
    ("hail", (0, 1, 2), {"lead": 1, "surprise": 0.5}),
    ("hail", (0, 1, 2), {"lead": 4}),
    ("turnstile", ("c", "p", "r"), {}),
    ("turnstile", ("c", "p", "r"), {"bonus": -2}),
    ("rhythm", (0, 1, 2), {}),
    ("rhythm", (0, 1, 2, 3), {"cost": COST, "lag": 2}),
    ("rhythm", (0, 3), {"tolerance": 0, "lag": 3}),
    ("entity_order", TAGS, {}),
    ("entity_order", ("O", "B-x", "I-x"), {}),
]


@pytest.mark.parametrize("name", sorted({name for name, *_ in STRANGERS}))
def test_examples_of_the_file(name):
    """Their values were worked out without the package."""
    results = run_examples(read_spec(FILES / f"{name}.loss"))
    assert len(results) > 3
    assert all(result.holds for result in results), results


@pytest.mark.parametrize(("name", "labels", "params"), STRANGERS)
def test_every_short_pair_and_some_long_ones(name, labels, params, rounds):
    """By the second reading of the language."""
    spec, source = read_spec(FILES / f"{name}.loss"), random.Random(7)
    given = None if spec.labels is not None else labels
    loss = fsmeu.load(FILES / f"{name}.loss", labels=given, **params)
    for n in (0, 1, 2, 6, 10, 25):
        world, some = World(spec, labels, n, **params), brute_force.sequences(labels, min(n, 2))
        pairs = itertools.product(some, repeat=2)
        if n > 2:
            pairs = [[source.choices(labels, k=n) for _ in "zy"] for _ in rounds(20)]
        for z, y in pairs:
            wanted = float(world.run(z, y))
            assert fsmeu.evaluate(loss, z, y) == pytest.approx(wanted, rel=1e-12, abs=1e-12)
