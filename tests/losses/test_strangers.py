"""Loss files that the package has never seen, with examples worked out without it."""

from pathlib import Path

import pytest

from fsmeu.checking.examples import run_examples
from fsmeu.losses.loss import read_spec


@pytest.mark.parametrize("file", sorted((Path(__file__).parent / "files").iterdir()), ids=str)
def test_examples_of_the_file(file):
    results = run_examples(read_spec(file))
    assert len(results) > 3
    assert all(result.holds for result in results), results
