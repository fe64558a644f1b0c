"""Many sequences at once, each as by itself; random fields of many lengths; and the search."""

import itertools

import numpy as np
import pytest

import fsmeu
from fsmeu.decoding.problem import Problem
from fsmeu.decoding.split import split_answers
from fsmeu.errors import FsmeuError
from fsmeu.models import Bernoulli, Independent, Markov, from_potentials
from tests import brute_force
from tests.decoding.listing import make_listing, probabilities, random_model, shelf_listing

TAGS = ("O", "B-X", "I-X", "B-Y", "I-Y")
LOSSES = {
    "hamming": lambda: fsmeu.load("hamming", labels=TAGS),
    "chunks": lambda: fsmeu.load("chunk_fscore", types=("X", "Y")),
}


def mixed(rng, count):
    """Vectors, arrays and models of all kinds and lengths."""
    for _ in range(count):
        n, kind = int(rng.integers(0, 7)), int(rng.integers(0, 5))
        p = probabilities(rng, n)
        yield (
            p,
            p.tolist(),
            Bernoulli(p),
            Independent(np.stack([1 - p, p], axis=1)),
            Markov(np.array([0.3, 0.7]), rng.dirichlet([1, 1], 2), n=n),
        )[kind]


@pytest.mark.parametrize("name", ["fscore", "jaccard", "hamming", "g_mean", "zero_one"])
def test_many_are_each(name):
    """The same decisions as one at a time, in the same order."""
    loss = fsmeu.load(name)
    models = list(mixed(np.random.default_rng(21), 60))
    told = []
    together = fsmeu.decode_many(loss, models, progress=told.append)
    assert sum(told) == len(models)
    for model, many in zip(models, together, strict=True):
        one = fsmeu.decode(loss, model)
        assert (many.labels, many.method, many.exact) == (one.labels, one.method, one.exact)
        assert many.value == pytest.approx(one.value, rel=1e-12, abs=1e-12)
        assert (many.candidates, many.why) == (one.candidates, one.why)


def test_many_with_options():
    """A constraint, a method and kept states reach every sequence."""
    loss = fsmeu.load("fscore")
    models = [[0.9, 0.8, 0.7], [0.6, 0.9], []]
    assert fsmeu.decode_many(loss, []) == []
    for options in ({"constraint": "0* 1? 0*"}, {"method": "marginal"}, {"keep": 2}):
        together = fsmeu.decode_many(loss, models, **options)
        each = [fsmeu.decode(loss, model, **options) for model in models]
        assert [d.labels for d in together] == [d.labels for d in each]
        values = [d.value for d in each]
        assert [d.value for d in together] == pytest.approx(values, rel=1e-12)


@pytest.mark.parametrize("bad", [[[0.5], [1.5]], [[0.5], [float("nan")]], [[0.5], "abc"]])
def test_one_bad_model(bad):
    with pytest.raises(FsmeuError):
        fsmeu.decode_many(fsmeu.load("fscore"), bad)


@pytest.mark.parametrize("name", ["jaccard", "boundary_fscore", "threshold", "fscore"])
def test_search_is_no_worse_than_its_starts(name):
    """A local optimum that beats the most probable sequence and the most probable labels."""
    rng = np.random.default_rng(41)
    for _ in range(12):
        n = int(rng.integers(1, 7))
        listing = shelf_listing(name, n)
        case = random_model(rng, (0, 1), n)
        found = fsmeu.decode(listing.loss, case.model, method="search")
        values = listing.sign * listing.expected(case.distribution)
        own = values[listing.sequences.index(tuple(found.labels))]
        starts = [case.model.most_probable(1)[0][0], case.model.marginals().argmax(axis=1)]
        for start in starts:
            other = values[listing.sequences.index(tuple(int(a) for a in start))]
            assert own >= other - 1e-12
        for i in range(n):
            near = tuple(1 - a if j == i else a for j, a in enumerate(found.labels))
            assert own >= values[listing.sequences.index(near)] - 1e-11


# -- conditional random fields of many lengths, against listing every pair -------------------------


def some_fields(random, n, count):
    """Potentials of moderate and of extreme size, with one table of neighbours and with several."""
    for k in range(count):
        scale = (1.0, 3.0, 700.0)[k % 3]
        shape = (5, 5) if k % 2 else (max(0, n - 1), 5, 5)
        unary, links = scale * random.normal(size=(n, 5)), random.normal(size=shape)
        unary[random.random(unary.shape) < 0.2] = -np.inf
        links[..., 0, 2] = links[..., 0, 4] = -np.inf
        unary[:, 0] = 0.0
        yield unary.astype(np.float32 if k % 4 == 3 else np.float64), links


@pytest.fixture(params=LOSSES)
def asked(request):
    """A loss, with fields of mixed lengths in mixed order: listing, model and distribution."""
    random, loss = np.random.default_rng(17), LOSSES[request.param]()
    cases = []
    for n in range(4):
        listing = make_listing(loss, TAGS, n)
        for unary, links in some_fields(random, n, 8):
            plain = unary.astype(np.float64)
            listed = brute_force.potentials(plain, links, TAGS, n)
            cases.append((listing, from_potentials(unary, links, TAGS), listed))
    random.shuffle(cases)
    return loss, cases


def test_expectations(asked):
    loss, cases = asked
    random = np.random.default_rng(5)
    numbers = [int(random.integers(len(listing.sequences))) for listing, _, _ in cases]
    zs = [listing.sequences[k] for k, (listing, _, _) in zip(numbers, cases, strict=True)]
    found = fsmeu.expect_many(loss, zs, [model for _, model, _ in cases])
    wanted = [
        listing.expected(listed)[k] for k, (listing, _, listed) in zip(numbers, cases, strict=True)
    ]
    np.testing.assert_allclose(found, wanted, rtol=1e-11, atol=1e-13)


def test_decisions(asked):
    loss, cases = asked
    found = fsmeu.decode_many(loss, [model for _, model, _ in cases])
    for (listing, _, listed), decided in zip(cases, found, strict=True):
        values = listing.expected(listed)
        best = listing.best(listed)
        own = values[listing.sequences.index(tuple(decided.labels))]
        assert decided.exact
        assert decided.value == pytest.approx(best, rel=1e-11, abs=1e-13)
        assert own == pytest.approx(best, rel=1e-11, abs=1e-13)


def test_asked_again_the_values_are_the_same(asked):
    """Whether models have been normalised together, alone or by an earlier call."""
    loss, cases = asked
    models = [model for _, model, _ in cases]
    zs = [listing.sequences[-1] for listing, _, _ in cases]
    for model in itertools.islice(models, 0, None, 5):
        model.layered()
    first, second = (fsmeu.expect_many(loss, zs, models) for _ in range(2))
    np.testing.assert_allclose(first, second, rtol=1e-12, atol=1e-14)
    alone = [fsmeu.expect(loss, z, model).value for z, model in zip(zs, models, strict=True)]
    np.testing.assert_allclose(first, alone, rtol=1e-12, atol=1e-14)


def test_worths_that_no_double_holds_are_told_of_their_own_model():
    """10 * 1e308 * p is more than the greatest double for one of three models."""
    body = "count c by 10 when z == 4 and y == 4\nvalue c * 1e308"
    loss = fsmeu.loads(f"utility f\nlabels 0 1 2 3 4\n{body}")
    chances = (0.01, 0.9, 0.05)
    rows = [[[(1 - p) / 4] * 4 + [p]] * 2 for p in chances]
    first, second, third = split_answers([Problem(loss, Independent(row)) for row in rows])
    assert second == "the worth of a step must be a number that doubles can hold"
    for found, p in ((first, 0.01), (third, 0.05)):
        assert found.exact
        assert found.indices.tolist() == [4, 4]
        assert found.value == pytest.approx(20 * p * 1e308, rel=1e-12)
