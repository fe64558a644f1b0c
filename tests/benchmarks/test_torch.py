"""Expected scores with PyTorch, beside the engine on one core; on a CUDA device, to its bars."""

import time

import numpy as np
import pytest

import fsmeu
from tests.benchmarks import measure

torch = pytest.importorskip(
    "torch", reason="PyTorch is not installed: ./run bench --torch installs it"
)

from fsmeu.torch import ExpectedScore  # noqa: E402
from fsmeu.torch.decisions import row_rule  # noqa: E402
from fsmeu.torch.rows import decide_rows  # noqa: E402

torch.set_num_threads(1)
TYPES = ["NP", "VP", "PP", "ADVP", "SBAR", "ADJP", "PRT", "CONJP", "INTJ", "LST", "UCP"]
CHUNKS = fsmeu.load("chunk_fscore", types=TYPES)
"""Over the 23 tags of CoNLL-2000."""


def batch(size, n, labels, device="cpu"):
    """Random tags and scores."""
    rng = np.random.default_rng(0)
    tags = torch.tensor(rng.integers(0, labels, (size, n)))
    emissions = rng.normal(size=(size, n, labels))
    moves = rng.normal(size=(labels, labels))
    return tags, *(torch.tensor(x, device=device).requires_grad_() for x in (emissions, moves))


def step_of(score, plan, *scores):
    """A function that returns the expected values, after their derivatives were computed."""

    def step():
        for tensor in scores:
            tensor.grad = None
        values = score(scores[0], plan, None, *scores[1:])
        values.sum().backward()
        return values.detach()

    return step


def engine_of(score, tags, emissions, moves, lengths):
    """A function that returns values, and derivatives of each sentence, as the engine has them."""
    labels = score.loss.labels
    rows = list(zip(tags.tolist(), emissions.detach().cpu().numpy(), lengths, strict=True))
    references = [[labels[k] for k in row[:n]] for row, _, n in rows]
    pairwise = moves.detach().cpu().numpy()

    def engine():
        models = [fsmeu.models.from_potentials(x[:n], pairwise, labels) for _, x, n in rows]
        return fsmeu.value_and_gradient_many(score.loss.swapped, references, models)

    return engine


def test_chunk_f1_on_one_core():
    """Value and derivatives of 64 sentences of 25 tokens, 23 tags."""
    score = ExpectedScore(CHUNKS, reduction="none")
    tags, emissions, moves = batch(64, 25, 23)
    engine = engine_of(score, tags, emissions, moves, [25] * 64)
    layer = step_of(score, score.plan(tags), emissions, moves)
    title = "chunk F1, 64 x 25 x 23 tags, value and derivatives: engine | layer"
    measure.versus(title, lambda: engine()[0], lambda: layer().numpy(), at_most=1.5)


def test_f1_on_one_core():
    """Value and derivatives of 256 rows of 200 independent labels."""
    tags, emissions, _ = batch(256, 200, 2)
    score = ExpectedScore("fscore", reduction="none")
    layer = step_of(score, score.plan(tags), emissions)
    loss = score.loss.swapped
    shares = torch.softmax(emissions.detach(), 2)[..., 1].numpy()

    def engine():
        models = [fsmeu.models.Bernoulli(row) for row in shares]
        return fsmeu.value_and_gradient_many(loss, tags.tolist(), models)[0]

    title = "F1, 256 x 200, value and derivatives: engine | layer"
    measure.versus(title, engine, lambda: layer().numpy(), rel=1e-11, at_most=1.5)


# -- on a CUDA device; bars are times of an H200, which a smaller device will not keep to ----------

ON_A_DEVICE = pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no CUDA device")


def in_time(title, most, step, repeats=20):
    """Whether a call takes at most so many milliseconds in the mean, after three others."""
    for _ in range(3):
        step()
    torch.cuda.synchronize()
    begin = time.perf_counter()
    for _ in range(repeats):
        step()
    torch.cuda.synchronize()
    taken = (time.perf_counter() - begin) / repeats * 1e3
    return measure.record(f"{title}, float64, ms: the bar | ours", most, taken, at_most=1)


def captured(step):
    """The replay of a call that was captured as a CUDA graph."""
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            step()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        step()
    return graph.replay


@ON_A_DEVICE
def test_a_device_and_the_engine():
    """Values and derivatives of 32 sentences of several lengths, of chunk F1."""
    score = ExpectedScore(CHUNKS, reduction="none").to("cuda")
    tags, emissions, moves = batch(32, 25, 23, "cuda")
    lengths = np.random.default_rng(0).integers(1, 26, 32)
    mask = torch.tensor(np.arange(25) < lengths[:, None])
    values = step_of(score, score.plan(tags, mask).to("cuda"), emissions, moves)()
    wanted, slopes = engine_of(score, tags, emissions, moves, lengths)()
    unary = np.zeros(emissions.shape)
    for row, n, slope in zip(unary, lengths, slopes, strict=True):
        row[:n] = slope["unary"]
    pairs = np.sum([slope["pairwise"] for slope in slopes], axis=0)
    for found, known in ((values, wanted), (emissions.grad, unary), (moves.grad, pairs)):
        np.testing.assert_allclose(found.cpu().numpy(), known, atol=1e-10)


@ON_A_DEVICE
@pytest.mark.parametrize(("size", "eager", "graph"), [(512, 10.0, 3.0), (4096, 20.0, 20.0)])
def test_chunk_f1_on_a_device(size, eager, graph):
    """Under a conditional random field of 23 tags; the captured graph has the same derivatives."""
    score = ExpectedScore(CHUNKS, reduction="none").to("cuda")
    tags, emissions, moves = batch(size, 25, 23, "cuda")
    step = step_of(score, score.plan(tags).to("cuda"), emissions, moves)
    held = in_time(f"chunk F1, {size} x 25 x 23, eager", eager, step)
    plain = emissions.grad.clone()
    replay = captured(step)
    held &= in_time(f"chunk F1, {size} x 25 x 23, CUDA graph", graph, replay)
    torch.testing.assert_close(emissions.grad, plain, rtol=0, atol=1e-12)
    assert held


@ON_A_DEVICE
def test_f1_on_a_device():
    """Values with derivatives, and decisions, of 1,024 rows of 1,000 independent labels."""
    torch.manual_seed(0)
    logits = torch.randn(1024, 1000, dtype=torch.float64, device="cuda") * 2 - 3
    scores = torch.stack([torch.zeros_like(logits), logits], 2).requires_grad_()
    score = ExpectedScore("fscore", reduction="none").to("cuda")
    tags = torch.tensor(np.random.default_rng(0).random((1024, 1000)) < 0.05).long()
    step = step_of(score, score.plan(tags).to("cuda"), scores)
    rule, lengths = row_rule(fsmeu.load("fscore"), (1000,)), torch.full((1024,), 1000).cuda()
    held = [
        in_time("F1, 1024 x 1000, eager", 4.0, step),
        in_time("F1, 1024 x 1000, CUDA graph", 4.0, captured(step)),
        in_time("best F1, 1024 x 1000", 4.0, lambda: decide_rows(rule, logits, lengths)),
    ]
    assert decide_rows(rule, logits, lengths).exact.all()
    assert all(held)
