"""A batch as one corpus: counts are summed over sentences before the value is taken."""

from itertools import product

import numpy as np
import pytest

import fsmeu
from tests import brute_force
from tests.torch.support import Batch, difference, load, torch

from fsmeu.torch import ExpectedScore  # isort: skip

NAMES = ["fscore", "jaccard", "chunk_fscore", "mcc", "kappa", "hamming", "sec", "balanced_accuracy"]


def listed(batch, transitions):
    """The expected value by listing the label sequences of all sentences together."""
    rows = range(len(batch.lengths))
    models = []
    for row in rows:
        unary, moves = batch.tables(row, transitions)
        models.append(brute_force.potentials(unary, moves, batch.loss.labels, len(unary)))
    references = [batch.reference(row) for row in rows]
    total = 0.0
    for pairs in product(*(model.items() for model in models)):
        value = fsmeu.evaluate_corpus(batch.loss, [z for z, _ in pairs], references)
        total += value * float(np.prod([p for _, p in pairs]))
    return total


@pytest.mark.parametrize("is_chain", [True, False])
@pytest.mark.parametrize("name", NAMES)
def test_value_is_that_of_all_sequences(name, is_chain):
    loss = load(name)
    batch = Batch(loss, [2, 1, 2] if len(loss.alphabet) == 2 else [1, 2])
    batch.tags[-1] = 1
    moves = batch.transitions if is_chain else None
    score = ExpectedScore(loss, corpus=True)
    found = score(batch.emissions, batch.tags, batch.mask, moves)
    assert found.shape == ()
    assert difference(found, listed(batch, moves)) < 1e-13
    parts = [batch.emissions.clone().requires_grad_(), batch.transitions.clone().requires_grad_()]
    plan = score.plan(batch.tags, batch.mask)
    assert torch.autograd.gradcheck(lambda e, t: score(e, plan, None, t), parts)


@pytest.mark.parametrize("name", ["fscore", "chunk_fscore"])
def test_value_is_that_of_the_engine(name):
    """Many sentences, so that the count of all lies far from 0."""
    batch = Batch(load(name), [12, 9, 12, 5] * 16)
    found = ExpectedScore(batch.loss, corpus=True)(
        batch.emissions, batch.tags, batch.mask, batch.transitions
    )
    rows = range(len(batch.lengths))
    tables = [batch.tables(row, batch.transitions) for row in rows]
    models = [fsmeu.models.from_potentials(*table, batch.loss.labels) for table in tables]
    references = [batch.reference(row) for row in rows]
    wanted = fsmeu.expect_corpus(batch.loss.swapped, references, models).value
    assert difference(found, wanted) < 1e-11


def test_one_sentence_is_a_corpus():
    batch = Batch(load("fscore"), [5])
    one = ExpectedScore("fscore", corpus=True)(batch.emissions, batch.tags)
    torch.testing.assert_close(one, ExpectedScore("fscore")(batch.emissions, batch.tags))


@pytest.mark.parametrize(
    ("name", "said"),
    [("zero_one", "a function of counts over positions"), ("g_mean", "neither of tp and hyp")],
)
def test_values_that_no_corpus_has(name, said):
    batch = Batch(load(name), [3, 2])
    with pytest.raises(fsmeu.InputError, match=said):
        ExpectedScore(name, corpus=True)(batch.emissions, batch.tags)
