"""Work and time: what ``budget`` and ``seconds`` bound, and what is not tried as it cannot win."""

import itertools
import re

import numpy as np
import pytest

import fsmeu
from fsmeu import limits
from fsmeu.models import Markov

TAGS = ["O", "B-A", "I-A", "B-B", "I-B"]

COSINE = """utility cosine "cosine of two sets"
labels 0 1
count tp when z == 1 and y == 1
count hyp when z == 1
count ref when y == 1
value tp / sqrt(hyp * ref + 1)
range 0 .. 1
"""


@pytest.fixture
def ticks(monkeypatch):
    """A clock that advances by one second whenever it is read."""
    seconds = itertools.count()
    monkeypatch.setattr("time.monotonic", lambda: float(next(seconds)))


def chain(n):
    return fsmeu.models.Markov([0.6, 0.4], [[0.85, 0.15], [0.3, 0.7]], n=n)


@pytest.fixture
def cosine(tmp_path):
    path = tmp_path / "cosine.loss"
    path.write_text(COSINE)
    return fsmeu.load(path)


UNPROVEN = {
    "search": ("jaccard", chain(30), {}),
    "search, spent": ("jaccard", chain(30), {"budget": 500}),
    "search, spent by steps": ("boundary_fscore", chain(40), {"budget": 1_000}),
    "counting, spent": ("kappa", chain(60), {"method": "counting", "budget": 2}),
    "ranking, spent": ("mcc", [0.3, 0.6, 0.2, 0.5], {"method": "ranking", "budget": 2}),
    "keep, spent": ("mcc", [0.3, 0.6, 0.2, 0.5], {"method": "ranking", "keep": 9, "budget": 3}),
    "openfst, counting, spent": ("fscore", chain(40), {"engine": "openfst", "budget": 100}),
    "openfst, ranking, spent": (
        "jaccard", [0.3, 0.6] * 10, {"engine": "openfst", "method": "ranking", "budget": 700}
    ),
    "nbest": ("jaccard", chain(30), {"method": "nbest"}),
    "exhaustive": ("jaccard", chain(9), {}),
}  # fmt: skip


@pytest.mark.parametrize("case", UNPROVEN)
@pytest.mark.thirds
def test_the_answer_does_not_depend_on_the_machine(case, monkeypatch, lowered):
    """A clock that stands still, and one that is hours on whenever it is read, change nothing."""
    name, model, options = UNPROVEN[case]
    lowered(SUMS_PER_CANDIDATE=1 << 15)
    found = []
    for pace in (0.0, 1e5):
        times = itertools.count()
        monkeypatch.setattr("time.monotonic", lambda times=times, x=pace: x * next(times))
        found.append(fsmeu.decode(fsmeu.load(name), model, **options))
    assert found[0].labels == found[1].labels
    assert found[0].value == found[1].value
    assert found[0].why == found[1].why
    assert found[0].candidates == found[1].candidates
    assert "seconds" not in found[0].why
    spent = f"the budget of {options.get('budget', 0):,} candidates was spent"
    assert ("spent" in case) == (spent in found[0].why)
    wanted = fsmeu.expect(fsmeu.load(name), found[0].labels, model)
    assert found[0].value == pytest.approx(wanted.value, rel=1e-9)


@pytest.mark.parametrize("case", ["search", "counting", "ranking", "openfst, counting"])
def test_a_greater_budget_finds_no_worse(case, lowered):
    name, model, options = UNPROVEN[f"{case}, spent"]
    lowered(SUMS_PER_CANDIDATE=1 << 15)
    few = fsmeu.decode(fsmeu.load(name), model, **options)
    more = fsmeu.decode(fsmeu.load(name), model, **{**options, "budget": 65_536})
    assert more.value >= few.value - 1e-12
    assert not few.exact
    assert more.exact == (case != "search")


def test_ranking_tries_what_there_is_time_for(ticks, cosine):
    p = np.random.default_rng(0).random(40)
    found = fsmeu.decode(cosine, p, method="ranking", seconds=10)
    assert not found.exact
    assert "of 41 numbers of ones were tried before the 10 seconds were over" in found.why
    assert 1 < found.candidates < 12
    best = fsmeu.decode(cosine, p, method="ranking", seconds=None)
    assert best.exact
    assert best.candidates == 41
    assert found.value < best.value
    assert found.value == pytest.approx(fsmeu.expect(cosine, found.labels, p).value, rel=1e-13)


def test_ranking_answers_without_any_time(ticks, cosine):
    found = fsmeu.decode(cosine, [0.3, 0.6, 0.2], method="ranking", seconds=1e-9)
    assert found.candidates == 1
    assert found.labels == [0, 1, 0]


def test_counting_tries_the_ends_that_there_is_time_for(ticks, lowered):
    """How many there are is measured on the first one, which takes a second here."""
    lowered(SUMS_PER_SECOND=1.0)
    found = fsmeu.decode(fsmeu.load("kappa"), chain(200), method="counting", seconds=40)
    assert not found.exact
    tried = re.search(r"only (\d+) of 201 counts of z were tried before the 40", found.why)
    assert 20 < int(tried[1]) < 40


def test_a_sweep_is_not_made_where_its_bounds_could_not_be_narrower():
    """The bound by rules is narrower here than that of any sweep over 20,000 labels."""
    n = 20_000
    z = (np.random.default_rng(0).random(n) < 0.33).astype(int)
    with limits.lowered(PROMISED=1e-14):
        found = fsmeu.expect(fsmeu.load("fscore"), z, chain(n))
    assert 1e-14 < (found.upper - found.lower) / 2 / found.value < 5e-12


def test_a_proof_of_rare_chunks_takes_no_sweep_over_the_machine():
    """What a change costs is asked where bounds are wide: a sweep of 60 tags took ten seconds."""
    rows = np.array([[0.9994, 2e-4, 1e-4, 2e-4, 1e-4]] * 5)
    loss = fsmeu.load("chunk_fscore", labels=TAGS, empty=0)
    model = Markov(rows[0], rows, 60, TAGS)
    found = fsmeu.decode(loss, model, method="counting")
    assert found.value > 0
    again = fsmeu.decode(loss, model)
    assert (found.exact, again.method, again.exact) == (False, "lanes", True)
    assert again.value == pytest.approx(found.value, rel=1e-11)


def test_nothing_is_searched_for_that_nobody_would_see():
    """A value of 1e-9 whose bound is 1e-14 above it: a search of seconds could gain no more."""
    rows = np.array([[1 - 4e-11, 1e-11, 1e-11, 1e-11, 1e-11]] * 5)
    loss = fsmeu.load("chunk_fscore", labels=TAGS, empty=0)
    found = fsmeu.decode(loss, Markov(rows[0], rows, 25, TAGS))
    assert 0 < found.value <= found.upper < found.value + 1e-12
