"""Tables hold for every length: ages that stand for others, the last position, what has none."""

import numpy as np
import pytest

import fsmeu
from tests.torch.support import Batch, difference, load, torch

from fsmeu.torch import ExpectedScore  # isort: skip
from fsmeu.torch.derive import NoTables, derive  # isort: skip
from fsmeu.torch.lanes import gauss_jacobi, ratio_lanes, RatioValue  # isort: skip

# Ages that are compared with numbers, with each other, and with each other one step later.
AGES = """loss ages "positions at which ages of both sequences compare so"
labels 0 1
register az in 0..n start 0 next if z == 1 then 0 else az + 1
register ay in 0..n start 0 next if y == 1 then 2 else ay + 1
count bad when {}
value bad
"""
COMPARISONS = ["az == ay", "az < old ay", "old az > ay and az > 3", "az >= 4 or ay == az", "ay > 5"]


@pytest.mark.parametrize("comparison", COMPARISONS)
def test_ages_that_stand_for_others(comparison):
    """Runs of 40 zeros, against a count by hand of sampled sequences, and against the engine."""
    loss = fsmeu.loads(AGES.format(comparison))
    batch = Batch(loss, [60, 33], spread=0.5)
    batch.emissions[..., 0] += 2.0
    batch.tags[:] = 0
    batch.tags[0, [3, 7, 50]] = 1
    batch.tags[1, 1] = 1
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
    assert (tables.classes, tables.states, tables.labels) == (155, 35, 23)


def test_memories_that_never_end():
    """A count that another register reads, and that has no bounds: it has no tables."""
    text = (
        'utility f "f"\nlabels 0 1\ncount c by 0.5 when z == 1\n'
        "count d when c > 1 and y == 1\nvalue d\n"
    )
    batch = Batch(fsmeu.loads(text), [5, 3])
    score = ExpectedScore(batch.loss, reduction="none")
    assert "too many pairs of memories" in score.why
    found = score(batch.emissions, batch.tags, batch.mask)
    assert difference(found, batch.listed()) < 1e-13


REFUSED = {
    "g_mean": "linear in neither of tp and hyp",
    "threshold": "looks at the position, or at the length",
}


@pytest.mark.parametrize("name", REFUSED)
def test_losses_without_tables_say_why(name):
    with pytest.raises(NoTables, match=REFUSED[name]):
        derive(load(name))
    assert REFUSED[name] in ExpectedScore(load(name)).why


CONSTANT = {
    "memory": """register kept in 0..3 start 2 next kept
        count hyp when z == 1 value kept / (hyp + 1)""",
    "denominator": """count tp when z == 1 and y == 1 count d when z != z
        value tp / d or 3 when d == 0""",
    "sum": "count hyp when z == 1 count d by 0 when z == 1 value hyp / (d + n) or 1 when n == 0",
}


@pytest.mark.parametrize("what", CONSTANT)
def test_what_the_value_reads_may_never_change(what):
    batch = Batch(fsmeu.loads(f"utility f labels 0 1 {CONSTANT[what]}"), [5, 3])
    for loss in (batch.loss, batch.loss.swapped):
        batch.loss = loss
        score = ExpectedScore(loss, reduction="none")
        found = score(batch.emissions, batch.tags, batch.mask)
        assert difference(found, batch.listed()) < 1e-13
    assert score.tables is not None


class Mismatches:
    """The number of positions with different labels, up to 2."""

    def start(self):
        return 0

    def step(self, state, z, y):
        return min(2, state + (z != y))

    def value(self, state):
        return float(state)


def test_a_function_of_python_goes_to_the_engine():
    loss = fsmeu.function_loss(Mismatches())
    score = ExpectedScore(loss, reduction="none")
    assert "no file" in score.why
    batch = Batch(loss, [4, 2])
    found = score(batch.emissions, batch.tags, batch.mask, batch.transitions)
    assert difference(found, batch.listed(batch.transitions)) < 1e-12


@pytest.mark.parametrize("shift", [0.01, 0.5, 1.0, 7.25, 300.0])
def test_rules_of_gauss_and_jacobi(shift):
    nodes, weights = gauss_jacobi(9, np.array([shift, 2.0]))
    for k in range(18):
        np.testing.assert_allclose((weights[0] * nodes[0] ** k).sum(), 1 / (k + shift), rtol=1e-12)


@pytest.mark.parametrize(("power", "most"), [(1.0, 20), (1.0, 3000), (0.5, 12), (0.5, 500)])
def test_lanes_are_the_function(power, most):
    """For counts from 0 to the greatest, with an answer of its own at 0."""
    numbers = (np.array([1.5, 0.0]), np.array([-2.0, 3.0]), np.array([4.0, 1.0]))
    values = [RatioValue(*numbers, 0.0, power, 1), RatioValue(*numbers, 2.5, power, 0)]
    lanes = ratio_lanes(values, most, 1e-13)
    k = np.arange(most + 1)[:, None, None]
    found = (lanes.nodes[None, :, :, None] ** k[..., None] * lanes.weights[None, ..., 0]).sum(2)
    for row, value in enumerate(values):
        with np.errstate(divide="ignore"):
            ratio = (np.arange(most + 1.0) + value.shift)[:, None] ** -power
        wanted = value.offsets + value.gains * ratio
        if value.least:
            wanted[0] = value.at_zero
        np.testing.assert_allclose(found[:, row], wanted, rtol=1e-11, atol=1e-11)


def test_sums_in_single_precision():
    for name in ("chunk_fscore", "fscore", "mcc"):
        batch = Batch(load(name), [9, 5])
        score = ExpectedScore(batch.loss, reduction="none", sums=torch.float32)
        for moves in (None, batch.transitions):
            emissions = batch.emissions.float().requires_grad_()
            found = score(emissions, batch.tags, batch.mask, moves)
            found.sum().backward()
            values, single, _ = batch.by_engine(moves)
            assert difference(found, values) < 1e-5
            assert difference(emissions.grad, single) < 1e-5
