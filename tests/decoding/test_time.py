"""Methods that try candidates answer with the best so far when their time is over."""

import itertools

import numpy as np
import pytest

import fsmeu
from fsmeu.decoding import problem as clock
from tests.decoding.listing import random_model, shelf_listing

METHODS = ("search", "exhaustive", "nbest")


@pytest.fixture
def ticks(monkeypatch):
    """Time goes by one second whenever the clock is looked at."""
    now = itertools.count()
    monkeypatch.setattr(clock.time, "monotonic", lambda: float(next(now)))


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("name", ["jaccard", "boundary_fscore", "threshold"])
def test_more_time_is_never_worse(ticks, name, method):
    """The decision is an allowed sequence with its true value; it says when the time was over."""
    rng = np.random.default_rng(3)
    listing = shelf_listing(name, 5)
    case = random_model(rng, (0, 1), 5)
    enough = fsmeu.decode(listing.loss, case.model, method=method, seconds=None)
    assert "seconds" not in enough.why
    reached, late = -np.inf, 0
    for seconds in (1, 3, 10, 30, 100, 300, 1000, 10_000):
        found = fsmeu.decode(
            listing.loss, case.model, method=method, seconds=seconds, constraint="!(1 1 .*)"
        )
        value = listing.worth(found.labels, case.distribution)
        assert listing.sign * found.value == pytest.approx(value, rel=1e-12, abs=1e-13)
        assert found.labels[:2] != [1, 1]
        assert value >= reached - 1e-12
        reached = value
        if "seconds" in found.why:
            late += 1
            assert not found.exact
            assert f"{seconds:g} seconds were over" in fsmeu.explain(found)
            assert "seconds=" in found.why
    assert late
    assert "seconds" not in found.why


def test_the_search_goes_on_where_not_all_sequences_can_be_tried(ticks):
    """Trying all of them takes half of the time at most."""
    listing = shelf_listing("boundary_fscore", 5)
    case = random_model(np.random.default_rng(4), (0, 1), 5)
    assert fsmeu.decode(listing.loss, case.model, seconds=None).method == "exhaustive"
    assert fsmeu.decode(listing.loss, case.model, seconds=8).method == "search"


@pytest.mark.parametrize("method", METHODS)
def test_progress_is_told(ticks, method):
    told = []
    model = [0.3, 0.6, 0.45, 0.5, 0.2]
    fsmeu.decode(fsmeu.load("jaccard"), model, method=method, progress=told.append, seconds=1e6)
    assert told
    assert all(0.0 <= share <= 1.0 for share in told)
    assert told == sorted(told)
