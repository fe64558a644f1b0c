"""Many sequences at once, each as by itself; and the search."""

import numpy as np
import pytest

import fsmeu
from fsmeu.models import Independent
from tests.decoding.listing import random_model, shelf_listing
from tests.expectation.test_many import some_pairs


@pytest.mark.thirds
@pytest.mark.parametrize("name", ["fscore", "jaccard", "hamming", "g_mean", "zero_one"])
def test_many_are_each(name):
    """The same decisions as one at a time, in the same order."""
    loss = fsmeu.load(name)
    _, models = some_pairs(21, (0, 1), 60)
    told = []
    together = fsmeu.decode_many(loss, models, progress=lambda done, note: told.append(done))
    assert told == sorted(told)
    assert told[-1] == 1
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


@pytest.mark.parametrize("name", ["jaccard", "boundary_fscore", "threshold", "fscore"])
def test_search_is_no_worse_than_its_starts(name):
    """A local optimum that beats the most probable sequence and the most probable labels."""
    rng = np.random.default_rng(41)
    for _ in range(12):
        n = int(rng.integers(1, 7))
        listing = shelf_listing(name, n)
        case = random_model(rng, (0, 1), n)
        found = fsmeu.decode(listing.loss, case.model, method="search")
        own = listing.worth(found.labels, case.distribution)
        for start in (case.model.most_probable(1)[0][0], case.model.marginals().argmax(axis=1)):
            assert own >= listing.worth(start, case.distribution) - 1e-12
        for i in range(n):
            near = [1 - a if j == i else a for j, a in enumerate(found.labels)]
            assert own >= listing.worth(near, case.distribution) - 1e-11


def test_models_of_one_kind_whose_rows_round_otherwise():
    """Without a declared range, P(0) must be 1 - P(1): some rows of a batch are, others are not."""
    loss = fsmeu.loads("utility f labels any value 1", labels=[-1, 4])
    odd = fsmeu.models.Independent([[0.2876331170811058, 0.7123668829188943]], (-1, 4))
    even = fsmeu.models.Independent([[0.5, 0.5]], (-1, 4))
    found = fsmeu.decode_many(loss, [even, odd, odd])
    assert [one.value for one in found] == pytest.approx([1.0, 1.0, 1.0], rel=1e-12)


def test_models_of_one_structure_with_and_without_two_probabilities():
    """P(0) + P(1) is 1 up to the last digit in one model and not in the other; no range allows it.

    The first is decided by probabilities of ones, which the second does not have.
    """
    text = """utility f
    labels any
    count hyp when z == 4
    value 1 or 0 when hyp
    """
    loss = fsmeu.loads(text, labels=[-1, 4])
    whole = Independent([[0.5, 0.5], [0.5, 0.5]], (-1, 4))
    lacking = Independent([[0.5, 0.5], [0.561981334847804, 0.4380186651521959]], (-1, 4))
    for models in ([whole, lacking], [lacking, whole]):
        together = fsmeu.decode_many(loss, models)
        each = [fsmeu.decode(loss, model) for model in models]
        assert [d.labels for d in together] == [d.labels for d in each] == [[-1, -1]] * 2
        assert [d.method for d in together] == [d.method for d in each]
