"""Expectations of many sequences at once, against one at a time and against listing sequences."""

import itertools
import re

import numpy as np
import pytest

import fsmeu
from fsmeu.errors import FsmeuError
from fsmeu.models import Bernoulli, Independent, Markov
from tests.label_models import plain_model
from tests.support.python_losses import Keeper

TAGS = ("O", "B-X", "I-X", "B-Y", "I-Y")
KINDS = ("vector", "table", "bernoulli", "independent", "markov", "potentials", "nbest", "mixture",
         "acceptor")  # fmt: skip


def some_model(random, labels, n, kind):
    """A model of the kind, or what may stand for it."""
    if kind == "vector" and labels == (0, 1):
        return random.random(n) if random.random() < 0.5 else random.random(n).round(0).tolist()
    if kind in ("vector", "table", "bernoulli") and (kind != "bernoulli" or labels != (0, 1)):
        rows = random.dirichlet(np.ones(len(labels)), size=n)
        as_rows = kind == "table" and labels == tuple(range(len(labels))) and n
        return rows if as_rows else Independent(rows, labels)
    return plain_model(random, kind, labels, n).build()


def some_pairs(seed, labels, count=25, longest=6):
    """Hypotheses of mixed lengths, 0 included, with models of mixed kinds."""
    random = np.random.default_rng(seed)
    zs, models = [], []
    for k in range(count):
        n = int(random.integers(0, longest + 1))
        zs.append([labels[x] for x in random.integers(0, len(labels), n)])
        models.append(some_model(random, labels, n, KINDS[k % len(KINDS)]))
    return zs, models


def assert_same(loss, zs, models):
    found = fsmeu.expect_many(loss, zs, models)
    wanted = [fsmeu.expect(loss, z, model).value for z, model in zip(zs, models, strict=True)]
    assert len(found) == len(zs)
    for numbers in (found.values, found.lower, found.upper):
        assert numbers.shape == (len(zs),)
        np.testing.assert_allclose(numbers, wanted, rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(found, wanted, rtol=1e-12, atol=1e-12)


def test_labels_are_taken_from_each_model():
    """A loss that leaves its labels open is asked over tags, numbers and names in one call."""
    loss = fsmeu.load("hamming")
    zs, models = some_pairs(5, TAGS, 12)
    more_zs, more_models = some_pairs(6, (0, 1), 12)
    assert loss.labels_open
    assert_same(loss, [*zs, *more_zs], [*models, *more_models])


def test_arrays_of_hypotheses_and_probabilities():
    loss, random = fsmeu.load("fscore"), np.random.default_rng(4)
    p = random.random((50, 7))
    p[3], p[4] = 0.0, 1.0
    assert_same(loss, random.integers(0, 2, (50, 7)), p)
    assert fsmeu.expect_many(loss, [], []).values.shape == (0,)


@pytest.mark.parametrize("cells", [1, 500, 3000])
@pytest.mark.thirds
def test_a_bucket_may_be_walked_in_parts(lowered, cells):
    lowered(BATCHED_CELLS=cells)
    zs, models = some_pairs(3, (0, 1), 40, longest=3)
    assert_same(fsmeu.load("fscore"), zs, models)
    assert_same(fsmeu.load("pk", k=2), zs, models)


def test_distributions_as_hypotheses():
    zs, models = some_pairs(8, (0, 1), 12, longest=3)
    zs[::2] = [Bernoulli(np.full(len(z), 0.3)) for z in zs[::2]]
    assert_same(fsmeu.load("fscore"), zs, models)


def test_python_losses():
    """States are tuples."""
    assert_same(fsmeu.function_loss(Keeper(mistakes=True)), *some_pairs(12, (0, 1)))


@pytest.mark.parametrize("value", ["1 / (n - 3)", "log(c)", "c * c"])
def test_a_loss_without_a_value(value):
    """The refusal is the one that a single expectation gives."""
    loss = fsmeu.loads(f"loss f\ncount c when z != y\nvalue {value}\nrange 1 .. 1")
    zs, models = ["011", "101"], [[0.5, 0.25, 0.5]] * 2
    with pytest.raises(FsmeuError) as alone:
        fsmeu.expect(loss, zs[0], models[0])
    with pytest.raises(FsmeuError, match=re.escape(str(alone.value))):
        fsmeu.expect_many(loss, zs, models)


def test_one_model_for_many_hypotheses_is_held_once(monkeypatch):
    """Its weights are listed once, however many hypotheses it is the model of."""
    made, plain = [], Markov.arc_weights
    monkeypatch.setattr(Markov, "arc_weights", lambda self: made.append(self) or plain(self))
    model = Markov([0.2, 0.3, 0.5], [[0.1, 0.2, 0.7], [0.6, 0.2, 0.2], [0.3, 0.3, 0.4]], n=3)
    zs = list(itertools.product(range(3), repeat=3))
    found = fsmeu.expect_many(fsmeu.load("threshold", m=1), zs, [model] * len(zs)).values
    assert len(made) == 1
    for z, value in zip(zs, found, strict=True):
        many = [y for y in zs if sum(a != b for a, b in zip(z, y, strict=True)) > 1]
        assert value == pytest.approx(sum(model.probability(y) for y in many), rel=1e-12)


@pytest.mark.parametrize("jobs", [1, 2])
@pytest.mark.parametrize("name", ["fscore", "hamming"])
def test_bounds_and_options(name, jobs):
    """Engines and states kept, as for one: bounds hold the truth, which is that of listing all."""
    loss = fsmeu.load(name)
    random = np.random.default_rng(9)
    p = random.random((6, 5))
    zs = random.integers(0, 2, (6, 5))
    ys = np.array(list(itertools.product((0, 1), repeat=5)))
    masses = np.where(ys[None], p[:, None], 1 - p[:, None]).prod(axis=2)
    truth = [evaluate_rows(loss, z, ys) @ mass for z, mass in zip(zs, masses, strict=True)]
    for options in ({}, {"engine": "openfst"}, {"keep": 3}, {"engine": "openfst", "keep": 3}):
        found = fsmeu.expect_many(loss, zs, p, jobs=jobs, **options)
        assert (found.lower <= truth).all()
        assert (found.upper >= truth).all()
        for row, (z, one) in enumerate(zip(zs, p, strict=True)):
            alone = fsmeu.expect(loss, z, one, **options)
            numbers = [x[row] for x in (found.values, found.lower, found.upper, found.kept)]
            wanted = [alone.value, alone.lower, alone.upper, alone.kept]
            assert numbers == pytest.approx(wanted, rel=1e-10)
            assert (found.kept[row] < 0.9999) == ("keep" in options)


def evaluate_rows(loss, z, ys):
    """The value of z and each of the references."""
    return fsmeu.evaluate_many(loss, [z] * len(ys), ys)


def test_options_are_checked():
    for options in ({"engine": "none"}, {"keep": 0}, {"max_states": "few"}):
        with pytest.raises(FsmeuError, match="expect_many"):
            fsmeu.expect_many("fscore", ["1"], [[0.5]], **options)
    with pytest.raises(FsmeuError, match="states"):
        fsmeu.expect_many(fsmeu.function_loss(Keeper()), ["1" * 9], [[0.5] * 9], max_states=2)


def test_what_it_shows():
    found = fsmeu.expect_many("hamming", ["10", "111"], [[0.9, 0.5], [0.5, 0.5, 0.5]])
    assert repr(found) == "<2 expectations: mean 0.4, from 0.3 to 0.5>"
    assert repr(fsmeu.expect_many("hamming", [], [])) == "<0 expectations>"
