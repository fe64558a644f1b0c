"""Writes what ``torch_cuda.py`` needs: ``python -m tests.benchmarks.torch_files FOLDER``."""

import sys
from pathlib import Path

import numpy as np
import torch

import fsmeu
from fsmeu.torch import ExpectedScore
from fsmeu.torch.decisions import row_rule

TYPES = ["NP", "VP", "PP", "ADVP", "SBAR", "ADJP", "PRT", "CONJP", "INTJ", "LST", "UCP"]
LENGTH = 25


def chunk_fscore():
    """Chunk F1 over the 23 tags of CoNLL-2000."""
    return fsmeu.load("chunk_fscore", types=TYPES)


def write(folder):
    """Writes tables, plans, the rule of decisions, and values of the engine."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(0)
    chunk = ExpectedScore(chunk_fscore(), reduction="none")
    chunk.tables.save(folder / "tables_chunk.npz")
    for batch in (512, 4096):
        tags = torch.tensor(rng.integers(0, 23, (batch, LENGTH)))
        chunk.plan(tags).save(folder / f"plan_{batch}.npz")
    f1 = ExpectedScore("fscore")
    f1.tables.save(folder / "tables_f1.npz")
    f1.plan(torch.tensor(rng.random((1024, 1000)) < 0.05).long()).save(folder / "plan_f1.npz")
    row_rule(fsmeu.load("fscore"), (1000,)).save(folder / "rule_f1.npz")
    write_engine(folder, chunk, rng)


def write_engine(folder, score, rng):
    """Writes scores of 32 sentences of several lengths, and what the engine makes of them."""
    lengths = rng.integers(1, LENGTH + 1, 32)
    emissions = rng.normal(size=(32, LENGTH, 23))
    transitions = rng.normal(size=(23, 23))
    tags = rng.integers(0, 23, (32, LENGTH))
    mask = np.arange(LENGTH) < lengths[:, None]
    score.plan(torch.tensor(tags), torch.tensor(mask)).save(folder / "plan_engine.npz")
    labels = score.loss.labels
    models = []
    references = []
    for row, n in enumerate(lengths):
        models.append(fsmeu.models.from_potentials(emissions[row, :n], transitions, labels))
        references.append([labels[k] for k in tags[row, :n]])
    values, slopes = fsmeu.value_and_gradient_many(score.loss.swapped, references, models)
    single = np.zeros_like(emissions)
    for row, n in enumerate(lengths):
        single[row, :n] = slopes[row]["unary"]
    np.savez_compressed(
        folder / "engine.npz",
        emissions=emissions,
        transitions=transitions,
        values=values,
        d_emissions=single,
        d_transitions=np.sum([slope["pairwise"] for slope in slopes], axis=0),
    )


if __name__ == "__main__":
    write(sys.argv[1])
