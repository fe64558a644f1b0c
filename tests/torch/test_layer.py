"""Values and derivatives of the layer: by listing, by the engine, by finite differences."""

import random
import subprocess
import sys

import numpy as np
import pytest

import fsmeu
from tests.explore.programs import random_program
from tests.shelf import load
from tests.torch.support import NAMES, Batch, difference, torch

from fsmeu.torch import ExpectedScore, Plan  # isort: skip


def chained(batch, is_chain):
    return batch.transitions if is_chain else None


def agrees_with_the_engine(batch, is_chain, most=1e-10, sums=torch.float64):
    """Values and derivatives, in either precision."""
    score = ExpectedScore(batch.loss, reduction="none", sums=sums)
    values, single, double = batch.by_engine(chained(batch, is_chain))
    emissions = batch.emissions.clone().to(sums).requires_grad_()
    moves = batch.transitions.clone().requires_grad_()
    found = score(emissions, batch.tags, batch.mask, moves if is_chain else None)
    found.sum().backward()
    assert difference(found, values) < most
    assert difference(emissions.grad, single) < most
    if is_chain:
        assert difference(moves.grad, double) < most
    return score


@pytest.mark.parametrize("is_chain", [True, False])
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.thirds
def test_values_and_derivatives_are_those_of_the_engine(name, is_chain):
    batch = Batch(load(name), [11, 7, 2])
    agrees_with_the_engine(batch, is_chain)
    score, moves = ExpectedScore(batch.loss, reduction="none"), chained(batch, is_chain)
    coarse = score(batch.emissions.float(), batch.tags, batch.mask, moves)
    assert coarse.dtype == torch.float32
    assert difference(coarse, batch.by_engine(moves)[0]) < 1e-5


def test_sums_in_single_precision():
    agrees_with_the_engine(Batch(load("chunk_fscore"), [9, 5]), True, 1e-5, torch.float32)


@pytest.mark.parametrize("name", ["chunk_fscore", "chunk_fscore_iob1", "run_length", "fscore"])
def test_tables_hold_for_long_sequences(name):
    """Chunks of 40 tokens, which no horizon of short sequences has seen; also scores far apart."""
    batch = Batch(load(name), [90, 60], seed=3, spread=2.0)
    is_inside = [str(label).startswith("I") or label == 1 for label in batch.loss.labels]
    batch.tags[:, 5:45] = is_inside.index(True)
    agrees_with_the_engine(batch, True)
    batch.emissions *= 50.0
    agrees_with_the_engine(batch, True)


@pytest.mark.parametrize("name", ["fscore", "g_tp_pr"])
def test_labels_that_are_independent_in_long_rows(name):
    """Sums of exponentials, where Gauss's rule would need too many nodes."""
    batch = Batch(load(name), [700, 300], spread=2.0)
    batch.emissions[..., 1] -= 3.0
    score = agrees_with_the_engine(batch, False, 1e-12)
    assert score.plan(batch.tags, batch.mask).lanes < 60


@pytest.mark.parametrize("name", ["mcc", "kappa", "jaccard"])
def test_probabilities_of_a_half_and_of_nothing(name):
    """A factor of the product over positions is 0, or next to it."""
    batch = Batch(load(name), [6, 6])
    batch.emissions[0] = 0.0
    batch.emissions[1, :3, 0] = -1e4
    batch.emissions[1, 3:, 1] = -torch.inf
    agrees_with_the_engine(batch, False, 1e-12)


@pytest.mark.parametrize("name", ["fscore", "chunk_fscore", "g_mean", "kappa", "zero_one"])
def test_transitions_of_each_position_and_scores_of_ends(name):
    """Values by listing, and derivatives by finite differences."""
    batch = Batch(load(name), [4, 3, 1])
    score = ExpectedScore(batch.loss, reduction="none")
    plan, given = score.plan(batch.tags, batch.mask), (batch.by_position, batch.start, batch.end)
    found = score(batch.emissions, plan, None, *given)
    assert difference(found, batch.listed(batch.by_position, ends=True)) < 1e-13
    if score.tables is not None:
        parts = [part.clone().requires_grad_() for part in (batch.emissions, *given)]
        assert torch.autograd.gradcheck(lambda e, *others: score(e, plan, None, *others), parts)


@pytest.mark.parametrize("seed", range(20))
def test_losses_that_are_drawn(seed):
    """Where the engine has a value, the layer has the same."""
    case = random_program(random.Random(seed))
    try:
        loss = case.load()
        batch = Batch(loss, [4, 2, 1], seed)
        wanted = batch.listed(batch.transitions)
        layer = ExpectedScore(loss, reduction="none")
    except fsmeu.FsmeuError:
        pytest.skip("the file has no value for some of these sequences")
    size = max(1.0, np.abs(wanted).max())
    found = layer(batch.emissions, batch.tags, batch.mask, batch.transitions)
    assert difference(found, wanted) < 1e-9 * size


@pytest.mark.parametrize("name", ["fscore", "chunk_fscore", "mcc", "g_mean"])
def test_padding_does_not_matter(name):
    """Not even where scores are no numbers there."""
    batch = Batch(load(name), [6, 3])
    score = ExpectedScore(batch.loss, reduction="none")
    for moves in (None, batch.transitions):
        wanted = score(batch.emissions, batch.tags, batch.mask, moves)
        holes, tags = batch.emissions.clone(), batch.tags.clone()
        holes[1, 3:], tags[1, 3:] = torch.nan, -100
        found = score(holes.requires_grad_(), tags, batch.mask, moves)
        found.sum().backward()
        assert torch.equal(found, wanted)
        assert not holes.grad[1, 3:].any()


def test_reductions_and_logits():
    """Logits (B, n) are scores of the label 1 beside 0."""
    batch = Batch(load("fscore"), [5, 5, 5])
    logits = batch.emissions[..., 1] - batch.emissions[..., 0]
    each = ExpectedScore("fscore", reduction="none")(batch.emissions, batch.tags)
    torch.testing.assert_close(ExpectedScore("fscore")(logits, batch.tags), each.mean())
    whole = ExpectedScore("fscore", reduction="sum")(logits.bfloat16(), batch.tags)
    assert whole.dtype == torch.bfloat16
    assert abs(float(whole) - float(each.sum())) < 0.05


# -- a corpus: counts are summed over sentences before the value is taken -------------------------


@pytest.mark.parametrize("name", ["fscore", "chunk_fscore", "mcc", "hamming"])
def test_a_corpus_is_that_of_the_engine(name):
    """Many sentences, so that the count of all lies far from 0; slopes by finite differences."""
    many = Batch(load(name), [12, 9, 12, 5] * (16 if "fscore" in name else 2))
    few = Batch(load(name), [1, 2])
    score = ExpectedScore(few.loss, corpus=True)
    for batch, moves in ((many, many.transitions), (few, None), (few, few.transitions)):
        found = score(batch.emissions, batch.tags, batch.mask, moves)
        wanted = fsmeu.expect_corpus(batch.loss.swapped, *batch.asked(moves)).value
        assert difference(found, wanted) < 1e-11
    parts = [part.clone().requires_grad_() for part in (few.emissions, few.transitions)]
    plan = score.plan(few.tags, few.mask)
    assert torch.autograd.gradcheck(lambda e, t: score(e, plan, None, t), parts)


# -- modules and plans ----------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["chunk_fscore", "zero_one", "mcc"])
def test_plans_and_tables_are_kept_in_files(name, tmp_path):
    from fsmeu.torch.core import TableScore
    from fsmeu.torch.tables import ScoreTables

    batch = Batch(load(name), [5, 4])
    score = ExpectedScore(batch.loss, reduction="none")
    plan = score.plan(batch.tags, batch.mask)
    plan.save(tmp_path / "plan.npz")
    score.tables.save(tmp_path / "tables.npz")
    core = TableScore(ScoreTables.load(tmp_path / "tables.npz"))
    found = core(batch.emissions, Plan.load(tmp_path / "plan.npz"), batch.transitions)
    assert torch.equal(found, score(batch.emissions, plan, None, batch.transitions))


@pytest.mark.parametrize("name", ["fscore", "zero_one", "mcc", "g_mean"])
def test_plans_of_some_sequences(name):
    """They are those of a batch of these: by numbers, in another order, and by a mask."""
    batch = Batch(load(name), [4, 3, 4, 2])
    score = ExpectedScore(batch.loss, reduction="none")
    plan = score.plan(batch.tags, batch.mask)
    whole = batch.listed()
    for chosen in (torch.tensor([2, 0]), torch.tensor([False, True, True, False])):
        found = score(batch.emissions[chosen], plan.rows(chosen))
        assert difference(found, whole[chosen.numpy()]) < 1e-13


@pytest.mark.parametrize("name", ["fscore", "chunk_fscore", "g_mean"])
def test_modules_are_moved_and_compiled(name):
    """``half`` is not meant for sums, and ``torch.compile`` leaves sweeps as they are."""
    batch = Batch(load(name), [5, 4])
    score = ExpectedScore(batch.loss, reduction="none")
    plan = score.plan(batch.tags, batch.mask)
    moved = torch.nn.Sequential(score).bfloat16()[0]
    assert not moved.state_dict()

    def model(emissions):
        return moved(emissions + 0, plan, None, batch.transitions).sum()

    slopes = []
    for function in (model, torch.compile(model, backend="aot_eager")):
        emissions = batch.emissions.clone().requires_grad_()
        function(emissions).backward()
        slopes.append(emissions.grad)
    torch.testing.assert_close(*slopes)
    assert difference(slopes[0], batch.by_engine(batch.transitions)[1]) < 1e-10


def test_sweeps_need_no_toolkit():
    """What runs on a device imports neither numba nor pynini."""
    text = (
        "import sys; sys.modules.update(dict.fromkeys(('numba', 'pynini', 'sklearn')))\n"
        "import fsmeu.torch.core, fsmeu.torch.rows\n"
    )
    subprocess.run([sys.executable, "-c", text], check=True)
