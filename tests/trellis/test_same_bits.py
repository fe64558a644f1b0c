"""A query has the same bits as Python and compiled, alone, in a batch, late, and in threads."""

import numpy as np
import pytest

import fsmeu
from tests.support.kernels import run_kernels

TAGS = ["O", "B-A", "I-A", "B-B", "I-B"]
LOSSES = {
    "chunk_fscore": lambda: fsmeu.load("chunk_fscore", labels=TAGS),
    "hamming": lambda: fsmeu.load("hamming", labels=TAGS),
    "chunk_recall": lambda: fsmeu.load("chunk_recall", labels=TAGS),
}


def fields(seed, lengths, shared=False):
    """Random fields, all with one table of neighbours or each with its own."""
    random = np.random.default_rng(seed)
    table = random.normal(size=(5, 5))
    return [
        fsmeu.models.from_potentials(
            random.normal(size=(n, 5)), table if shared else random.normal(size=(5, 5)), TAGS
        )
        for n in lengths
    ]


def again(models):
    """The same models with nothing computed yet."""
    return [fsmeu.models.from_potentials(m.unary, m.pairwise, TAGS) for m in models]


def outcome(decision):
    return decision.labels, decision.value.hex(), decision.exact


@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize("name", LOSSES)
def test_a_decision_depends_on_its_query_alone(name, shared):
    models = fields(7, [4, 1, 6, 2, 4, 5, 3], shared)
    first = [outcome(fsmeu.decode(LOSSES[name](), model)) for model in again(models)]
    loss = LOSSES[name]()
    fsmeu.decode_many(loss, fields(8, [9, 3, 2]))
    ways = [
        [fsmeu.decode(loss, model) for model in again(models)],
        fsmeu.decode_many(loss, again(models)),
        fsmeu.decode_many(loss, again(models)[::-1])[::-1],
        fsmeu.decode_many(LOSSES[name](), again(models), jobs=2),
    ]
    for decisions in ways:
        assert list(map(outcome, decisions)) == first


@pytest.mark.parametrize("name", LOSSES)
def test_an_expectation_depends_on_its_query_alone(name):
    models, random = fields(9, [4, 1, 6, 2, 4, 5, 3]), np.random.default_rng(1)
    zs = [[TAGS[k] for k in random.integers(5, size=model.n)] for model in models]
    pairs = zip(zs, again(models), strict=True)
    first = [fsmeu.expect(LOSSES[name](), z, m).value for z, m in pairs]
    loss = LOSSES[name]()
    fsmeu.decode_many(loss, fields(8, [9, 3, 2]))
    assert fsmeu.expect_many(loss, zs, again(models)).tolist() == first
    assert fsmeu.expect_many(loss, zs[::-1], again(models)[::-1]).tolist() == first[::-1]
    assert fsmeu.expect_many(loss, zs, again(models), jobs=2).tolist() == first


@pytest.mark.parametrize("name", LOSSES)
def test_python_and_compiled_loops_have_the_same_bits(name, monkeypatch):
    models, random = fields(11, [6, 3]), np.random.default_rng(2)
    zs = [[TAGS[k] for k in random.integers(5, size=model.n)] for model in models]
    found = []
    for how in ("plain", "compiled"):
        run_kernels(how, monkeypatch.setattr)
        loss = LOSSES[name]()
        decisions = [outcome(one) for one in fsmeu.decode_many(loss, again(models))]
        expected = fsmeu.expect_many(loss, zs, again(models)).tolist()
        pairs = zip(zs, again(models), strict=True)
        slopes = [fsmeu.gradient(loss, z, m)["unary"].tolist() for z, m in pairs]
        found.append((decisions, expected, slopes))
    assert found[0] == found[1]
