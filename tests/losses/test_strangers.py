"""Loss files that the package has never seen, with examples worked out without it."""

from pathlib import Path

import pytest

from fsmeu.checking.examples import run_examples
from fsmeu.losses.loss import read_spec
from tests.strategies import LossCase

FILES = Path(__file__).parent / "files"
COST = [[0, 1, 2, 3], [1, 0, 1, 2], [2, 1, 0, 1], [3, -2, 1, 0]]
STRANGERS = [
    ("rhythm", (0, 1, 2, 3), {"cost": COST, "lag": 2}),
    ("rhythm", (0, 3), {"tolerance": 0, "lag": 3}),
    ("entity_order", ("O", "B-PER", "I-PER", "B-LOC"), {}),
]


def stranger(name, labels, given):
    """The file with labels and parameters; the explorer's tests ask everything of it."""
    spec = read_spec(FILES / f"{name}.loss")
    return LossCase(spec.source, labels, spec.labels is None, given)


@pytest.mark.parametrize("name", sorted({name for name, *_ in STRANGERS}))
def test_examples_of_the_file(name):
    """Their values were worked out without the package."""
    results = run_examples(read_spec(FILES / f"{name}.loss"))
    assert len(results) > 3
    assert all(result.holds for result in results), results
