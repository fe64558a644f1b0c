"""Expected scores and decisions on a CUDA device: ``python -m tests.benchmarks.torch_cuda FOLDER``.

The folder has what ``torch_files.py`` wrote: tables, plans, rules, and values of the engine. Here
only PyTorch and numpy are needed, and of the toolkit the modules that need no more. Prints a line
for each measurement with its bar, and ends with 1 where one does not hold.
"""

import sys
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch

from fsmeu.torch.core import TableScore
from fsmeu.torch.plan import Plan
from fsmeu.torch.rows import RowRule, decide_rows
from fsmeu.torch.tables import ScoreTables

NO_DEVICE = "There is no CUDA device: measurements on it are skipped."
DEVICE = "cuda"
REPEATS = 20


class Bar(NamedTuple):
    """A measurement: milliseconds or an error, the most that it may be, and what else is told."""

    title: str
    number: float
    most: float
    told: str = ""

    @property
    def holds(self):
        return self.number <= self.most

    def __str__(self):
        mark = "pass" if self.holds else "FAIL"
        return f"{self.title:64} {self.number:10.3g}   at most {self.most:<8g} {mark}  {self.told}"


def milliseconds(step):
    """The mean time of a call after three that are not measured, in milliseconds."""
    for _ in range(3):
        step()
    torch.cuda.synchronize()
    begin = time.perf_counter()
    for _ in range(REPEATS):
        step()
    torch.cuda.synchronize()
    return (time.perf_counter() - begin) / REPEATS * 1e3


def timed(title, step, most):
    """A row of the time of a call, with the memory of the device that it takes."""
    torch.cuda.empty_cache()
    torch.cuda.reset_peak_memory_stats()
    taken = milliseconds(step)
    gigabytes = torch.cuda.max_memory_allocated() / 1e9
    return Bar(f"{title}, ms", taken, most, f"peak {gigabytes:.2f} GB")


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


def leaf(array, dtype=torch.float64):
    """An array as a tensor of the device whose derivatives are wanted."""
    return torch.tensor(array, dtype=dtype, device=DEVICE).requires_grad_()


def training_step(score, plan, *scores):
    """A call that computes the sum of expected values and its derivatives."""

    def step():
        for tensor in scores:
            tensor.grad = None
        score(scores[0], plan, *scores[1:]).sum().backward()

    return step


def errors(folder, score):
    """Rows of the differences from the engine: values, derivatives."""
    known = np.load(folder / "engine.npz")
    plan = Plan.load(folder / "plan_engine.npz").to(DEVICE)
    emissions = leaf(known["emissions"])
    transitions = leaf(known["transitions"])
    values = score(emissions, plan, transitions)
    values.sum().backward()
    found = {"values": values, "d emissions": emissions.grad, "d transitions": transitions.grad}
    for name, tensor in found.items():
        wanted = known[name.replace(" ", "_")]
        off = float(np.abs(tensor.detach().cpu().numpy() - wanted).max())
        yield Bar(f"chunk F1 beside the engine, {name}", off, 1e-10)


def chunk_rows(folder, score):
    """Rows of chunk F1 under a conditional random field of 23 tags."""
    for batch, eager, graph in ((512, 10.0, 3.0), (4096, 20.0, 20.0)):
        plan = Plan.load(folder / f"plan_{batch}.npz").to(DEVICE)
        torch.manual_seed(1)
        size = (*plan.shape, score.tables.labels)
        emissions = torch.randn(size, dtype=torch.float64, device=DEVICE).requires_grad_()
        moves = torch.randn(size[2], size[2], dtype=torch.float64, device=DEVICE).requires_grad_()
        step = training_step(score, plan, emissions, moves)
        title = f"chunk F1, {' x '.join(map(str, size))}, {plan.lanes} lanes, float64"
        yield timed(f"{title}, eager", step, eager)
        plain = emissions.grad.clone()
        replay = captured(step)
        yield timed(f"{title}, CUDA graph", replay, graph)
        off = float((emissions.grad - plain).abs().max())
        yield Bar(f"{title}, graph beside eager", off, 1e-12)


def row_rows(folder):
    """Rows of F1 of independent labels: values with derivatives, and decisions."""
    score = TableScore(ScoreTables.load(folder / "tables_f1.npz")).to(DEVICE)
    plan = Plan.load(folder / "plan_f1.npz").to(DEVICE)
    torch.manual_seed(0)
    size = plan.shape
    logits = torch.randn(size, dtype=torch.float64, device=DEVICE) * 2 - 3
    scores = torch.stack([torch.zeros_like(logits), logits], 2).requires_grad_()
    title = f"F1, {size[0]} x {size[1]}, {plan.lanes} lanes, float64"
    step = training_step(score, plan, scores)
    yield timed(f"{title}, eager", step, 4.0)
    yield timed(f"{title}, CUDA graph", captured(step), 4.0)
    rule = RowRule.load(folder / "rule_f1.npz")
    lengths = torch.full((size[0],), size[1], device=DEVICE)
    decided = decide_rows(rule, logits, lengths)
    title = f"best F1, {size[0]} x {size[1]}, {len(rule.nodes)} lanes, float64"
    yield timed(title, lambda: decide_rows(rule, logits, lengths), 4.0)
    yield Bar(f"{title}, not certain", float((~decided.exact).sum()), 0.0)


def measurements(folder):
    """All rows, one after the other."""
    folder = Path(folder)
    score = TableScore(ScoreTables.load(folder / "tables_chunk.npz")).to(DEVICE)
    yield from errors(folder, score)
    yield from chunk_rows(folder, score)
    yield from row_rows(folder)


def main(folder):
    if not torch.cuda.is_available():
        print(NO_DEVICE)
        return 0
    print(f"torch {torch.__version__}, {torch.cuda.get_device_name()}")
    held = True
    for row in measurements(folder):
        print(row, flush=True)
        held = held and row.holds
    return 0 if held else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
