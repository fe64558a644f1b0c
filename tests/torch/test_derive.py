"""Tables hold for every length: ages that stand for others, the last position, what has none."""

import pytest

import fsmeu
from tests.shelf import load
from tests.torch.support import Batch, difference

from fsmeu.torch import ExpectedScore  # isort: skip

# Ages that are compared with numbers, with each other, and with each other one step later.
AGES = """loss ages "positions at which ages of both sequences compare so"
labels 0 1
register az in 0..n start 0 next if z == 1 then 0 else az + 1
register ay in 0..n start 0 next if y == 1 then 2 else ay + 1
count bad when {}
value bad
"""
COMPARISONS = ["old az > ay and az > 3", "az >= 4 or ay == az"]


@pytest.mark.parametrize("comparison", COMPARISONS)
def test_ages_that_stand_for_others(comparison):
    """Runs of 40 zeros, by the engine, and short ones by listing."""
    loss = fsmeu.loads(AGES.format(comparison))
    batch = Batch(loss, [60, 33], spread=0.5)
    batch.emissions[..., 0] += 2.0
    batch.tags[:] = 0
    batch.tags[0, [3, 7, 50]] = 1
    score = ExpectedScore(loss, reduction="none")
    assert score.tables is not None
    found = score(batch.emissions, batch.tags, batch.mask, batch.transitions)
    assert difference(found, batch.by_engine(batch.transitions)[0]) < 1e-10
    short = Batch(loss, [9, 4])
    found = score(short.emissions, short.tags, short.mask, short.transitions)
    assert difference(found, short.listed(short.transitions)) < 1e-12


MEMORY = """utility f "a count that another reads, without bounds" labels 0 1
count c by 0.5 when z == 1 count d when c > 1 and y == 1 value d"""
NEVER = """utility f "what the value divides by never changes" labels 0 1
count tp when z == 1 and y == 1 count d when z != z value tp / d or 3 when d == 0"""
WHY = [
    (lambda: load("g_mean"), "linear in neither of tp and hyp"),
    (lambda: load("threshold"), "looks at the position, or at the length"),
    (lambda: fsmeu.loads(MEMORY), "too many pairs of memories"),
    (lambda: fsmeu.loads(NEVER), None),
    (lambda: fsmeu.loads(NEVER).swapped, None),
]


@pytest.mark.parametrize(("make", "why"), WHY)
def test_losses_without_tables_say_why(make, why):
    """They go to the engine; those that have tables, to these."""
    batch = Batch(make(), [5, 3])
    score = ExpectedScore(batch.loss, reduction="none")
    assert (why or "") in (score.why or "")
    assert (score.tables is None) == bool(why)
    for moves in (None, batch.transitions):
        found = score(batch.emissions, batch.tags, batch.mask, moves)
        assert difference(found, batch.listed(moves)) < 1e-12
