"""What a tape knows of its counter, against a walk over all label sequences."""

from itertools import product

import numpy as np
import pytest

import fsmeu
from fsmeu.trellis.kept import split_trellis

FIRST_OF_A_RUN = """
utility runs
labels 0 1 2
memory mz of z last 1
count hyp by 3 when z == 1 and old mz[0] != 1
count tp when z == y
value tp * 2^hyp
"""
BY_POSITION = """
utility jumps
labels 0 1 2
count hyp by if z == 1 then 1 else if z == 2 then i else 0
count tp when z == y
value tp * 2^hyp
"""


def runs(z):
    return 3 * sum(after == 1 != before for before, after in zip((0, *z), z, strict=False))


def jumps(z):
    return sum((0, 1, i)[k] for i, k in enumerate(z, start=1))


@pytest.mark.parametrize("n", range(5))
@pytest.mark.parametrize(("text", "counted"), [(FIRST_OF_A_RUN, runs), (BY_POSITION, jumps)])
def test_reachable_counts_are_those_of_sequences(text, counted, n):
    loss = fsmeu.loads(text)
    reached = split_trellis(loss, loss.split, n).z.reachable(n)
    assert set(np.flatnonzero(reached)) == {counted(z) for z in product(range(3), repeat=n)}


def test_values_of_counts_that_no_sequence_has_are_not_asked_for():
    """2^1200 is no double, but at most two of four positions count."""
    text = FIRST_OF_A_RUN.replace("by 3", "by 300")
    found = fsmeu.decode(fsmeu.loads(text), fsmeu.models.Independent(np.full((4, 3), 1 / 3)))
    assert found.exact
    assert found.value == pytest.approx(4 / 3 * 2.0**600, rel=1e-12)
