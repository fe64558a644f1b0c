"""Decisions on the device are those of the engine, and certificates hold."""

import numpy as np
import pytest

import fsmeu
from fsmeu.losses.loss import load
from tests.torch.support import Batch, torch
from tests.torch.support import load as from_shelf

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
    load("fscore"),
    load("fscore", beta=2),
    load("fscore", beta=0.5, empty=0),
    load("precision"),
    load("g_tp_pr"),
    fsmeu.loads(TEXT),
]


def probabilities(logits, n):
    return 1 / (1 + np.exp(-logits[:n].numpy()))


@pytest.mark.parametrize("loss", ON_DEVICE, ids=repr)
def test_rows_are_decided_as_by_the_engine(loss):
    rng = np.random.default_rng(0)
    lengths = rng.integers(1, 80, 60)
    n = int(lengths.max())
    logits = torch.tensor(rng.normal(size=(60, n)) * 2 + rng.normal(size=(60, 1)) * 2 - 1.5)
    mask = torch.arange(n) < torch.tensor(lengths)[:, None]
    assert row_rule(loss, tuple(sorted(set(lengths.tolist())))) is not None
    found = decode(loss, logits, mask)
    for row, size in enumerate(lengths.tolist()):
        wanted = fsmeu.decode(loss, fsmeu.models.Bernoulli(probabilities(logits[row], size)))
        assert abs(float(found.values[row]) - wanted.value) < 1e-11
        assert bool((found.labels[row, size:] == -1).all())
        if found.exact[row] and wanted.exact:
            assert found.labels[row, :size].tolist() == wanted.labels
    assert float(found.exact.double().mean()) > 0.9


def test_ties_are_not_certain():
    """Of one label with probability 1/2, both answers have the same expected F1."""
    found = decode("fscore", torch.tensor([[0.0], [1.0]]), probabilities=False)
    assert found.exact.tolist() == [False, True]
    assert found.values[0] == 0.5


def test_values_are_right_to_the_bound_in_long_rows(tmp_path):
    """Against fractions of the exact sum, for a row of 300 labels."""
    from fsmeu.torch import rows

    rng = np.random.default_rng(1)
    logits = torch.tensor(rng.normal(size=(1, 300)) - 2).sort(1, descending=True).values
    rule = row_rule(load("fscore"), (300,))
    rule.save(tmp_path / "rule.npz")
    found = rows._values(RowRule.load(tmp_path / "rule.npz"), logits, torch.tensor([300]))
    p = 1 / (1 + np.exp(-logits[0].numpy().astype(np.longdouble)))
    k = 60
    table = np.zeros((302, 302), np.longdouble)  # by ones among the first k, and among the others
    table[0, 0] = 1
    for i, share in enumerate(p):
        moved = table * (1 - share)
        if i < k:
            moved[1:] += table[:-1] * share
        else:
            moved[:, 1:] += table[:, :-1] * share
        table = moved
    tp, others = np.ogrid[:302, :302]
    wanted = (table * (2 * tp / np.longdouble(1) / (k + tp + others))).sum()
    assert abs(float(found.values[0, k] - wanted)) <= float(found.errors[0, k]) < 1e-11


@pytest.mark.parametrize("name", ["kappa", "hamming", "jaccard", "chunk_fscore", "pk"])
def test_others_are_decided_by_the_engine(name):
    batch = Batch(from_shelf(name), [6, 4])
    found = decode(batch.loss, batch.emissions, batch.mask, batch.transitions)
    for row, size in enumerate(batch.lengths):
        tables = batch.tables(row, batch.transitions)
        model = fsmeu.models.from_potentials(*tables, batch.loss.labels)
        wanted = fsmeu.decode(batch.loss, model)
        labels = [batch.loss.labels[k] for k in found.labels[row, :size].tolist()]
        assert (labels, bool(found.exact[row])) == (wanted.labels, wanted.exact)
    alone = decode(batch.loss, batch.emissions.float(), batch.mask)
    assert alone.labels.shape == batch.tags.shape


def test_constraints_and_impossible_labels():
    loss = from_shelf("chunk_fscore")
    batch = Batch(loss, [5, 5])
    found = decode(loss, batch.emissions, None, batch.transitions, fsmeu.constraints.bio())
    for row in found.labels.tolist():
        tags = [loss.labels[k] for k in row]
        for before, tag in zip(["O", *tags], tags, strict=False):
            assert tag[0] != "I" or before[1:] == tag[1:]
    logits = torch.tensor([[3.0, -torch.inf, 2.0]])
    assert decode("fscore", logits).labels.tolist() == [[1, 0, 1]]


def test_decisions_need_no_more_than_the_rule():
    rule = row_rule(load("fscore"), (4,))
    logits = torch.tensor([[2.0, -1.0, 0.5, -3.0]])
    found = decide_rows(rule, logits, torch.tensor([4]))
    assert torch.equal(found.labels, decode("fscore", logits).labels)


P = torch.tensor([[0.9, 0.4, 0.2], [0.1, 0.6, 7.0]])  # 7 stands behind the tokens
MASK = torch.tensor([[True] * 3, [True, True, False]])


@pytest.mark.parametrize("of_each", [False, True], ids=["ones", "labels"])
@pytest.mark.parametrize("loss", ["fscore", "zero_one"])
def test_probabilities_are_asked_for_and_decided(loss, of_each):
    loss = fsmeu.load(loss, labels=(0, 1))
    given = torch.stack([1 - P, P], 2) if of_each else P
    with pytest.raises(fsmeu.InputError, match=r"scores before a softmax.*probabilities=True"):
        decode(loss, given, MASK)
    found = decode(loss, given, MASK, probabilities=True)
    for row, size in enumerate((3, 2)):
        wanted = fsmeu.decode(loss, P[row, :size].double().tolist())
        assert float(found.values[row]) == pytest.approx(wanted.value, abs=1e-7)
        assert found.labels[row, :size].tolist() == wanted.labels
    if not of_each:
        assert decode(loss, given, MASK, probabilities=False).labels[0].tolist() == [1, 1, 1]
    with pytest.raises(fsmeu.InputError, match=r"from 0 to 1.*sum to 1"):
        decode(loss, given - 1, MASK, probabilities=True)
