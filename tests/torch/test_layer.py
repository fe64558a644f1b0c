"""Values and derivatives of the layer: by listing, by the engine, by finite differences."""

import random
import subprocess
import sys

import numpy as np
import pytest

import fsmeu
from tests.explore.programs import random_program
from tests.torch.support import NAMES, Batch, difference, load, torch

from fsmeu.torch import ExpectedScore, Plan  # isort: skip

LANES = ["fscore", "jaccard", "precision", "chunk_fscore", "g_tp_pr", "mcc", "zero_one"]


def chained(batch, is_chain):
    return batch.transitions if is_chain else None


@pytest.mark.parametrize("is_chain", [True, False])
@pytest.mark.parametrize("name", NAMES)
def test_values_are_those_of_all_sequences(name, is_chain):
    """Every built-in loss, with sequences of several lengths and tags that count nothing."""
    loss = load(name)
    n = 5 if len(loss.alphabet) < 4 else 3
    batch = Batch(loss, [n, n - 1, 1, n])
    moves = chained(batch, is_chain)
    found = ExpectedScore(loss, reduction="none")(batch.emissions, batch.tags, batch.mask, moves)
    assert difference(found, batch.listed(moves)) < 1e-13


@pytest.mark.parametrize("is_chain", [True, False])
@pytest.mark.parametrize("name", NAMES)
def test_values_and_derivatives_are_those_of_the_engine(name, is_chain):
    loss = load(name)
    batch = Batch(loss, [11, 7, 2])
    moves = chained(batch, is_chain)
    score = ExpectedScore(loss, reduction="none")
    emissions = batch.emissions.clone().requires_grad_()
    values, single, double = batch.by_engine(moves)
    if is_chain:
        moves = moves.clone().requires_grad_()
    found = score(emissions, batch.tags, batch.mask, moves)
    found.sum().backward()
    assert difference(found, values) < 1e-10
    assert difference(emissions.grad, single) < 1e-10
    if is_chain:
        assert difference(moves.grad, double) < 1e-10
    coarse = score(batch.emissions.float(), batch.tags, batch.mask, chained(batch, is_chain))
    assert coarse.dtype == torch.float32
    assert difference(coarse, values) < 1e-5


@pytest.mark.parametrize("name", LANES)
def test_derivatives_are_finite_differences(name):
    loss = load(name)
    batch = Batch(loss, [4, 3])
    score = ExpectedScore(loss, reduction="none")
    plan = score.plan(batch.tags, batch.mask)

    def chain(emissions, moves, start, end):
        return score(emissions, plan, None, moves, start, end)

    parts = (batch.emissions, batch.transitions, batch.start, batch.end)
    assert torch.autograd.gradcheck(chain, [part.clone().requires_grad_() for part in parts])
    own = (batch.emissions, batch.by_position)
    assert torch.autograd.gradcheck(
        lambda e, t: score(e, plan, None, t), [part.clone().requires_grad_() for part in own]
    )
    alone = batch.emissions.clone().requires_grad_()
    assert torch.autograd.gradcheck(lambda e: score(e, plan), [alone])


@pytest.mark.parametrize("name", ["fscore", "chunk_fscore", "g_mean", "kappa", "zero_one"])
def test_transitions_of_each_position_and_scores_of_ends(name):
    batch = Batch(load(name), [4, 3, 1])
    score = ExpectedScore(batch.loss, reduction="none")
    found = score(
        batch.emissions, batch.tags, batch.mask, batch.by_position, batch.start, batch.end
    )
    assert difference(found, batch.listed(batch.by_position, ends=True)) < 1e-13


@pytest.mark.parametrize("name", ["chunk_fscore", "chunk_fscore_iob1", "run_length", "fscore"])
def test_tables_hold_for_long_sequences(name):
    """Chunks of 40 tokens, which no horizon of short sequences has seen."""
    batch = Batch(load(name), [90, 60], seed=3, spread=2.0)
    is_inside = [str(label).startswith("I") or label == 1 for label in batch.loss.labels]
    batch.tags[:, 5:45] = is_inside.index(True)
    values, single, double = batch.by_engine(batch.transitions)
    emissions = batch.emissions.clone().requires_grad_()
    moves = batch.transitions.clone().requires_grad_()
    found = ExpectedScore(batch.loss, reduction="none")(emissions, batch.tags, batch.mask, moves)
    found.sum().backward()
    assert difference(found, values) < 1e-10
    assert difference(emissions.grad, single) < 1e-10
    assert difference(moves.grad, double) < 1e-10


def test_labels_that_are_independent_in_long_rows():
    """Sums of exponentials, where Gauss's rule would need too many nodes."""
    batch = Batch(load("fscore"), [700, 300], spread=2.0)
    batch.emissions[..., 1] -= 3.0
    score = ExpectedScore("fscore", reduction="none")
    emissions = batch.emissions.clone().requires_grad_()
    found = score(emissions, batch.tags, batch.mask)
    found.sum().backward()
    values, single, _ = batch.by_engine()
    assert score.plan(batch.tags, batch.mask).lanes < 60
    assert difference(found, values) < 1e-12
    assert difference(emissions.grad, single) < 1e-12


def test_scores_that_lie_far_apart():
    batch = Batch(load("chunk_fscore"), [9, 5], spread=100.0)
    found = ExpectedScore(batch.loss, reduction="none")(
        batch.emissions, batch.tags, batch.mask, batch.transitions
    )
    assert difference(found, batch.by_engine(batch.transitions)[0]) < 1e-10


@pytest.mark.parametrize("name", ["mcc", "kappa", "jaccard"])
def test_probabilities_of_a_half_and_of_nothing(name):
    """A factor of the product over positions is 0, or next to it."""
    batch = Batch(load(name), [6, 6])
    batch.emissions[0] = 0.0
    batch.emissions[1, :3, 0] = -1e4
    batch.emissions[1, 3:, 1] = -torch.inf
    score = ExpectedScore(name, reduction="none")
    emissions = batch.emissions.clone().requires_grad_()
    found = score(emissions, batch.tags)
    found.sum().backward()
    values, single, _ = batch.by_engine()
    assert difference(found, values) < 1e-12
    assert difference(emissions.grad, single) < 1e-12


@pytest.mark.parametrize("seed", range(40))
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


def test_padding_does_not_matter():
    """Not even where scores are no numbers there."""
    for name in ("fscore", "chunk_fscore", "mcc", "g_mean"):
        batch = Batch(load(name), [6, 3])
        score = ExpectedScore(batch.loss, reduction="none")
        for moves in (None, batch.transitions):
            wanted = score(batch.emissions, batch.tags, batch.mask, moves)
            holes = batch.emissions.clone()
            holes[1, 3:] = torch.nan
            tags = batch.tags.clone()
            tags[1, 3:] = -100
            holes.requires_grad_()
            found = score(holes, tags, batch.mask, moves)
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


def test_exact_value_beside_200_samples():
    """What a sampled estimate of the same number varies by, and the exact one does not."""
    batch = Batch(load("fscore"), [30])
    batch.tags[0, ::3] = 1
    value = float(ExpectedScore("fscore")(batch.emissions, batch.tags))
    rng = np.random.default_rng(0)
    shares = torch.softmax(batch.emissions[0], 1)[:, 1].numpy()
    reference = [batch.reference(0)] * 200
    draws = [
        np.mean(fsmeu.evaluate_many("fscore", rng.random((200, 30)) < shares, reference))
        for _ in range(20)
    ]
    error = np.std(draws)
    assert error > 1e-3
    assert abs(np.mean(draws) - value) < 5 * error / np.sqrt(20)


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


def test_sweeps_need_no_toolkit():
    """What runs on a device imports neither numba nor pynini."""
    text = (
        "import sys; sys.modules.update(dict.fromkeys(('numba', 'pynini', 'sklearn')))\n"
        "import fsmeu.torch.core, fsmeu.torch.rows\n"
    )
    subprocess.run([sys.executable, "-c", text], check=True)


def test_modules_move_and_keep_their_precision():
    """As a part of a model that is made smaller: ``half`` is not meant for sums."""
    batch = Batch(load("chunk_fscore"), [5, 4])
    score = ExpectedScore(batch.loss, reduction="none")
    wanted = score(batch.emissions, batch.tags, batch.mask, batch.transitions)
    moved = torch.nn.Sequential(score).bfloat16()[0]
    found = moved(batch.emissions, batch.tags, batch.mask, batch.transitions)
    assert torch.equal(found, wanted)
    assert not moved.state_dict()


@pytest.mark.parametrize("name", ["fscore", "chunk_fscore", "g_mean"])
def test_derivatives_of_derivatives_are_refused(name):
    """They would be wrong without a word: PyTorch takes our derivatives for constants."""
    batch = Batch(load(name), [3])
    emissions = batch.emissions.clone().requires_grad_()
    value = ExpectedScore(batch.loss)(emissions, batch.tags)
    with pytest.raises(fsmeu.InputError, match="derivatives of derivatives"):
        torch.autograd.grad(value, emissions, create_graph=True)


@pytest.mark.parametrize("name", ["fscore", "chunk_fscore", "g_mean"])
def test_compiled_models(name):
    """``torch.compile`` leaves sweeps as they are, and the numbers too."""
    batch = Batch(load(name), [5, 4])
    score = ExpectedScore(batch.loss, reduction="none")
    plan = score.plan(batch.tags, batch.mask)
    weight = torch.eye(len(batch.loss.alphabet), dtype=torch.float64)

    def model(emissions):
        return score(emissions @ weight, plan, None, batch.transitions).sum()

    slopes = []
    for function in (model, torch.compile(model, backend="aot_eager")):
        emissions = batch.emissions.clone().requires_grad_()
        function(emissions).backward()
        slopes.append(emissions.grad)
    torch.testing.assert_close(*slopes)


@pytest.mark.parametrize("name", ["fscore", "zero_one", "mcc", "g_mean"])
def test_plans_of_some_sequences(name):
    """They are those of a batch of these: by numbers, in another order, and by a mask."""
    loss = load(name)
    batch = Batch(loss, [4, 3, 4, 2])
    score = ExpectedScore(loss, reduction="none")
    plan = score.plan(batch.tags, batch.mask)
    whole = batch.listed()
    for chosen in (torch.tensor([2, 0]), torch.tensor([False, True, True, False])):
        found = score(batch.emissions[chosen], plan.rows(chosen))
        assert difference(found, whole[chosen.numpy()]) < 1e-13


def test_a_plan_of_a_corpus_has_no_parts():
    plan = ExpectedScore("fscore", corpus=True).plan(torch.tensor([[0, 1], [1, 1]]))
    with pytest.raises(fsmeu.InputError, match="belongs to all of its sequences"):
        plan.rows(torch.tensor([0]))


def test_files_that_are_no_plans_are_refused(tmp_path):
    place = tmp_path / "plan.npz"
    ExpectedScore("fscore").tables.save(place)
    with pytest.raises(fsmeu.InputError, match="must be one that save wrote"):
        Plan.load(place)
    place.write_bytes(b"no archive")
    with pytest.raises(fsmeu.InputError, match="must be one that save wrote"):
        Plan.load(place)
