"""Many sequences at once, and the search that proves nothing."""

import numpy as np
import pytest

import fsmeu
from fsmeu.decoding.precision import Changes
from fsmeu.decoding.problem import Problem
from fsmeu.errors import FsmeuError
from fsmeu.models import Bernoulli, Independent, Markov
from tests.decoding.listing import probabilities, random_model, shelf_listing


def mixed(rng, count):
    """Vectors, arrays and models of all kinds and lengths."""
    models = []
    for _ in range(count):
        n = int(rng.integers(0, 7))
        kind = rng.integers(0, 5)
        p = probabilities(rng, n)
        if kind == 0:
            models.append(p.tolist())
        elif kind == 1:
            models.append(Bernoulli(p))
        elif kind == 2:
            models.append(Independent(np.stack([1 - p, p], axis=1)))
        elif kind == 3:
            models.append(Markov(np.array([0.3, 0.7]), rng.dirichlet([1, 1], 2), n=n))
        else:
            models.append(p)
    return models


@pytest.mark.parametrize("name", ["fscore", "jaccard", "hamming", "g_mean", "zero_one"])
def test_many_are_each(name):
    """The same decisions as one at a time, in the same order."""
    loss = fsmeu.load(name)
    models = mixed(np.random.default_rng(21), 60)
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
    for options in ({"constraint": "0* 1? 0*"}, {"method": "marginal"}, {"keep": 2}):
        together = fsmeu.decode_many(loss, models, **options)
        each = [fsmeu.decode(loss, model, **options) for model in models]
        assert [d.labels for d in together] == [d.labels for d in each]
        values = [d.value for d in each]
        assert [d.value for d in together] == pytest.approx(values, rel=1e-12)


def test_none_at_all():
    assert fsmeu.decode_many(fsmeu.load("fscore"), []) == []


@pytest.mark.parametrize("bad", [[[0.5], [1.5]], [[0.5], [float("nan")]], [[0.5], "abc"]])
def test_one_bad_model(bad):
    with pytest.raises(FsmeuError):
        fsmeu.decode_many(fsmeu.load("fscore"), bad)


@pytest.mark.parametrize(
    "name", ["fscore", "hamming", "jaccard", "windowdiff", "zero_one", "boundary_fscore", "mcc"]
)
def test_values_of_single_changes(name):
    """One forward and one backward pass value every change of one label, under any model."""
    rng = np.random.default_rng(31)
    for _ in range(12):
        n = int(rng.integers(1, 7))
        listing = shelf_listing(name, n)
        case = random_model(rng, (0, 1), n)
        values = listing.expected(case.distribution)
        z = rng.integers(0, 2, n)
        table = Changes(Problem(listing.loss, case.model)).values(z)
        assert table.shape == (n, 2)
        for i in range(n):
            for label in (0, 1):
                changed = tuple(int(label) if j == i else int(a) for j, a in enumerate(z))
                expected = values[listing.sequences.index(changed)]
                assert table[i, label] == pytest.approx(expected, rel=1e-12, abs=1e-13)


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
