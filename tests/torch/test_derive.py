"""Tables hold for every length: ages that stand for others, the last position, what has none."""

import pytest

import fsmeu
from tests.torch.support import Batch, difference, load

from fsmeu.torch import ExpectedScore  # isort: skip
from fsmeu.torch.derive import derive  # isort: skip

# Ages that are compared with numbers, with each other, and with each other one step later.
AGES = """loss ages "positions at which ages of both sequences compare so"
labels 0 1
register az in 0..n start 0 next if z == 1 then 0 else az + 1
register ay in 0..n start 0 next if y == 1 then 2 else ay + 1
count bad when {}
value bad
"""
COMPARISONS = ["az < old ay", "old az > ay and az > 3", "az >= 4 or ay == az", "ay > 5"]


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


def test_chunks_of_23_tags_are_few_classes():
    types = ["NP", "VP", "PP", "ADVP", "SBAR", "ADJP", "PRT", "CONJP", "INTJ", "LST", "UCP"]
    tables = derive(fsmeu.load("chunk_fscore", types=types)).tables
    assert tables.labels == 23
    assert tables.classes <= 155


MEMORY = """utility f "a count that another reads, without bounds" labels 0 1
count c by 0.5 when z == 1 count d when c > 1 and y == 1 value d"""
CONSTANT = [  # what the value reads may never change
    """utility f labels 0 1 register kept in 0..3 start 2 next kept
    count hyp when z == 1 value kept / (hyp + 1)""",
    """utility f labels 0 1 count tp when z == 1 and y == 1 count d when z != z
    value tp / d or 3 when d == 0""",
    """utility f labels 0 1 count hyp when z == 1 count d by 0 when z == 1
    value hyp / (d + n) or 1 when n == 0""",
]


class Mismatches:
    """The number of positions with different labels, up to 2."""

    def start(self):
        return 0

    def step(self, state, z, y):
        return min(2, state + (z != y))

    def value(self, state):
        return float(state)


WHY = [
    (lambda: load("g_mean"), "linear in neither of tp and hyp"),
    (lambda: load("threshold"), "looks at the position, or at the length"),
    (lambda: fsmeu.loads(MEMORY), "too many pairs of memories"),
    (lambda: fsmeu.function_loss(Mismatches()), "no file"),
    *((lambda text=text: fsmeu.loads(text), None) for text in CONSTANT),
    *((lambda text=text: fsmeu.loads(text).swapped, None) for text in CONSTANT),
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
