"""Decisions on the device are those of the engine, and certificates hold."""

import numpy as np
import pytest

import fsmeu
from tests.shelf import load as from_shelf
from tests.torch.support import Batch, torch

from fsmeu.torch import decode  # isort: skip
from fsmeu.torch.decisions import row_rule  # isort: skip
from fsmeu.torch.rows import RowRule, decide_rows  # isort: skip

TEXT = """loss misses "1 - F2, with another answer for nothing"
labels 0 1
count tp when z == 1 and y == 1
count hyp when z == 1
count ref when y == 1
value 1 - 5 * tp / (4 * ref + hyp) or 0.25 when hyp + ref == 0
range 0 .. 1
"""
ON_DEVICE = [
    fsmeu.load("fscore"),
    fsmeu.load("g_tp_pr"),
    fsmeu.loads(TEXT),
]


@pytest.mark.parametrize("loss", ON_DEVICE, ids=repr)
def test_rows_are_decided_as_by_the_engine(loss, tmp_path):
    """Also by a rule that was kept in a file, which is all that a device needs."""
    rng = np.random.default_rng(0)
    lengths = rng.integers(1, 80, 40)
    n = int(lengths.max())
    logits = torch.tensor(rng.normal(size=(40, n)) * 2 + rng.normal(size=(40, 1)) * 2 - 1.5)
    mask = torch.arange(n) < torch.tensor(lengths)[:, None]
    found = decode(loss, logits, mask)
    for row, size in enumerate(lengths.tolist()):
        wanted = fsmeu.decode(loss, torch.sigmoid(logits[row, :size]).numpy())
        assert abs(float(found.values[row]) - wanted.value) < 1e-11
        assert bool((found.labels[row, size:] == -1).all())
        if found.exact[row] and wanted.exact:
            assert found.labels[row, :size].tolist() == wanted.labels
    assert float(found.exact.double().mean()) > 0.9
    row_rule(loss, tuple(sorted(set(lengths.tolist())))).save(tmp_path / "rule.npz")
    again = decide_rows(RowRule.load(tmp_path / "rule.npz"), logits, torch.tensor(lengths))
    assert torch.equal(again.labels, found.labels)


def test_ties_are_not_certain():
    """Of one label with probability 1/2, both answers have the same expected F1."""
    found = decode("fscore", torch.tensor([[0.0], [1.0]]), probabilities=False)
    assert found.exact.tolist() == [False, True]
    assert found.values[0] == 0.5


def test_values_are_right_in_long_rows():
    logits = torch.tensor(np.random.default_rng(1).normal(size=700) - 2)
    found = decode("fscore", logits[None])
    wanted = fsmeu.expect("fscore", found.labels[0].tolist(), torch.sigmoid(logits).numpy())
    assert abs(float(found.values[0]) - wanted.value) < 1e-11


@pytest.mark.parametrize("name", ["kappa", "hamming", "chunk_fscore", "pk"])
def test_others_are_decided_by_the_engine(name):
    batch = Batch(from_shelf(name), [6, 4])
    found = decode(batch.loss, batch.emissions, batch.mask, batch.transitions)
    _, models = batch.asked(batch.transitions)
    for row, size in enumerate(batch.lengths):
        wanted = fsmeu.decode(batch.loss, models[row])
        labels = [batch.loss.labels[k] for k in found.labels[row, :size].tolist()]
        assert (labels, bool(found.exact[row])) == (wanted.labels, wanted.exact)


def test_constraints_and_impossible_labels():
    batch = Batch(from_shelf("zero_one"), [3])
    found = decode(batch.loss, batch.emissions, None, batch.transitions, "1 0 1")
    assert found.labels.tolist() == [[batch.loss.labels.index(k) for k in (1, 0, 1)]]
    logits = torch.tensor([[3.0, -torch.inf, 2.0]])
    assert decode("fscore", logits).labels.tolist() == [[1, 0, 1]]


@pytest.mark.parametrize("loss", ["fscore", "zero_one"])
def test_probabilities_are_decided(loss):
    """Of ones, or of each label; what stands behind the tokens does not matter."""
    p = torch.tensor([[0.9, 0.4, 0.2], [0.1, 0.6, 7.0]])
    mask = torch.tensor([[True] * 3, [True, True, False]])
    loss = fsmeu.load(loss, labels=(0, 1))
    for given in (p, torch.stack([1 - p, p], 2)):
        found = decode(loss, given, mask, probabilities=True)
        for row, size in enumerate((3, 2)):
            wanted = fsmeu.decode(loss, p[row, :size].double().tolist())
            assert float(found.values[row]) == pytest.approx(wanted.value, abs=1e-7)
            assert found.labels[row, :size].tolist() == wanted.labels
