"""One trellis for sentences of all lengths: the same as a fresh loss for each, and as OpenFst."""

import numpy as np
import pytest

import fsmeu
from fsmeu.trellis.kept import structure_of

TAGS = ["O", "B-A", "I-A", "B-B", "I-B"]
READS_N = """
utility half
labels any
count late when i > n / 2 and z == y
count ref when y == "B-A"
value late / (1 + ref)
"""
LOSSES = {
    "chunk_fscore": lambda: fsmeu.load("chunk_fscore", labels=TAGS),
    "span_fscore": lambda: fsmeu.load("span_fscore", labels=TAGS),
    "hamming": lambda: fsmeu.load("hamming", labels=TAGS),
    "cost_matrix": lambda: fsmeu.load(
        "cost_matrix", labels=TAGS, cost=np.arange(25.0).reshape(5, 5) % 7
    ),
    "reads_n": lambda: fsmeu.loads(READS_N, labels=TAGS),
}
LENGTHS = [3, 1, 0, 2, 3, 1, 2, 0, 3]


def fields(seed):
    """Random fields of several lengths, some tags impossible after others."""
    random = np.random.default_rng(seed)
    found = []
    for n in LENGTHS:
        pairwise = random.normal(size=(5, 5))
        pairwise[0, 2] = -np.inf
        found.append(fsmeu.models.from_potentials(random.normal(size=(n, 5)), pairwise, TAGS))
    return found


@pytest.mark.parametrize("name", LOSSES)
def test_expectations_of_a_ragged_corpus(name):
    loss, models = LOSSES[name](), fields(1)
    random = np.random.default_rng(2)
    zs = [[TAGS[k] for k in random.integers(0, 5, n)] for n in LENGTHS]
    found = fsmeu.expect_many(loss, zs, models)
    for k, (z, model) in enumerate(zip(zs, models, strict=True)):
        explicit = fsmeu.expect(LOSSES[name](), z, model, engine="openfst").value
        assert found[k] == pytest.approx(explicit, rel=1e-12, abs=1e-14)
        assert fsmeu.expect(loss, z, model).value == pytest.approx(found[k], rel=1e-14)


@pytest.mark.parametrize("name", LOSSES)
def test_decisions_of_a_ragged_corpus(name):
    loss, models = LOSSES[name](), fields(3)
    for found, model in zip(fsmeu.decode_many(loss, models), models, strict=True):
        alone = fsmeu.decode(LOSSES[name](), model, method="exhaustive")
        assert found.exact
        assert found.value == pytest.approx(alone.value, rel=1e-12, abs=1e-14)
        again = fsmeu.expect(LOSSES[name](), found.labels, model, engine="openfst").value
        assert again == pytest.approx(found.value, rel=1e-12, abs=1e-14)


def test_steps_that_do_not_look_at_the_length_are_found_once():
    loss, reads_n = LOSSES["chunk_fscore"](), LOSSES["reads_n"]()
    models = dict(zip(LENGTHS, fields(1), strict=True))
    assert structure_of(loss, models[2]) is structure_of(loss, models[3])
    assert structure_of(loss, models[3]).n > 3
    assert structure_of(reads_n, models[2]).n == 2
    assert structure_of(reads_n, models[3]).n == 3


def test_a_step_that_is_undefined_at_a_later_position_is_not_asked_for():
    """The memory of i is past its bounds from position 4 on, which no sequence of 3 reaches."""
    loss = fsmeu.loads(
        "loss f\nlabels 0 1\nmemory r of i in 0..3 last 1\ncount c when z != y\nvalue c"
    )
    for n in (0, 1, 3):
        model = fsmeu.models.Bernoulli([0.25] * n)
        found = fsmeu.decode(loss, model, method="additive")
        assert (found.value, found.exact) == (n / 4, True)
