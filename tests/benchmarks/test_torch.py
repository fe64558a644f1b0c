"""Expected scores with PyTorch, beside the engine on one core; on a CUDA device, to its bars."""

import numpy as np
import pytest

import fsmeu
from tests.benchmarks import measure

torch = pytest.importorskip(
    "torch", reason="PyTorch is not installed: ./run bench --torch installs it"
)

from fsmeu.torch import ExpectedScore  # noqa: E402
from tests.benchmarks import torch_cuda, torch_files  # noqa: E402

torch.set_num_threads(1)


def batch(size, n, labels):
    """Random tags and scores."""
    rng = np.random.default_rng(0)
    tags = torch.tensor(rng.integers(0, labels, (size, n)))
    emissions = torch.tensor(rng.normal(size=(size, n, labels))).requires_grad_()
    moves = torch.tensor(rng.normal(size=(labels, labels))).requires_grad_()
    return tags, emissions, moves


def test_chunk_f1_on_one_core():
    """Value and derivatives of 64 sentences of 25 tokens, 23 tags."""
    score = ExpectedScore(torch_files.chunk_fscore(), reduction="none")
    labels = score.loss.labels
    tags, emissions, moves = batch(64, 25, 23)
    plan = score.plan(tags)
    references = [[labels[k] for k in row] for row in tags.tolist()]
    unary = emissions.detach().numpy()
    pairwise = moves.detach().numpy()

    def engine():
        models = [fsmeu.models.from_potentials(rows, pairwise, labels) for rows in unary]
        return fsmeu.value_and_gradient_many(score.loss.swapped, references, models)[0]

    def layer():
        emissions.grad = None
        moves.grad = None
        values = score(emissions, plan, None, moves)
        values.sum().backward()
        return values.detach().numpy()

    title = "chunk F1, 64 x 25 x 23 tags, value and derivatives: engine | layer"
    measure.versus(title, engine, layer, at_most=1.5)


def test_f1_on_one_core():
    """Value and derivatives of 256 rows of 200 independent labels."""
    tags, emissions, _ = batch(256, 200, 2)
    score = ExpectedScore("fscore", reduction="none")
    plan = score.plan(tags)
    loss = score.loss.swapped
    shares = torch.softmax(emissions.detach(), 2)[..., 1].numpy()

    def engine():
        models = [fsmeu.models.Bernoulli(row) for row in shares]
        return fsmeu.value_and_gradient_many(loss, tags.tolist(), models)[0]

    def layer():
        emissions.grad = None
        values = score(emissions, plan)
        values.sum().backward()
        return values.detach().numpy()

    title = "F1, 256 x 200, value and derivatives: engine | layer"
    measure.versus(title, engine, layer, rel=1e-11, at_most=1.5)


def test_on_a_cuda_device(tmp_path):
    """Times of an H200; a smaller device will not keep to them."""
    if not torch.cuda.is_available():
        pytest.skip(torch_cuda.NO_DEVICE)
    torch_files.write(tmp_path)
    rows = list(torch_cuda.measurements(tmp_path))
    for row in rows:
        measure.record(f"{row.title}: the bar | ours", row.most or 1.0, row.number, at_most=1)
    assert all(row.holds for row in rows), "\n".join(map(str, rows))
