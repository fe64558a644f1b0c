"""Work and time: what ``budget`` and ``seconds`` bound, and what is not tried as it cannot win."""

import itertools
import re
from unittest import mock

import numpy as np
import pytest

import fsmeu
from fsmeu.decoding import candidates, choice, clock, problem
from fsmeu.expectation import expect
from fsmeu.models import Markov
from fsmeu.trellis import trellis_cache

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
    monkeypatch.setattr(clock.time, "monotonic", lambda: float(next(seconds)))


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
        monkeypatch.setattr(clock.time, "monotonic", lambda times=times, x=pace: x * next(times))
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


def test_the_time_of_a_search_is_what_exact_methods_left(ticks):
    """Structures are built first, and take all of it."""
    loss = fsmeu.load("chunk_fscore_iob1")
    slow = mock.Mock(side_effect=trellis_cache.SizeLimitError("trellis", "too large"))
    with mock.patch.object(trellis_cache, "_structure", slow):
        model = fsmeu.models.from_potentials(np.zeros((9, 3)), np.eye(3), ["O", "I-A", "B-A"])
        found = fsmeu.decode(loss, model, seconds=1)
    assert "the 1 seconds were over" in found.why


def test_a_search_is_not_made_where_it_could_gain_nothing():
    """Rounding hides which of two answers is better, by about 1e-9 of the value."""
    fail = mock.Mock(side_effect=AssertionError("nothing was to be searched for"))
    with (
        mock.patch.object(problem, "PRECISION", 1e-13),
        mock.patch.dict(
            choice.METHODS, {"search": problem.Method("search", lambda one: None, fail)}
        ),
    ):
        found = fsmeu.decode(fsmeu.load("mcc"), chain(40))
    assert (found.method, found.exact) == ("counting", False)
    assert problem.HIDDEN in found.why


def test_one_label_is_changed_only_where_that_could_prove_something():
    """The declared range bounds what a change can cost."""
    fail = mock.Mock(side_effect=AssertionError("a reach of 0.1 is no matter of rounding"))
    one = problem.Problem(fsmeu.load("kappa"), chain(5))
    answer = problem.Answer(np.zeros(5, np.int64), False, "x", 1, 0.3, 0.0)
    with mock.patch.object(problem, "_step", fail):
        judged = problem.certify(one, answer, 0.1)
    assert (judged.exact, judged.near) == (False, False)


def test_what_is_too_large_is_built_once(monkeypatch):
    """Two methods ask for the structure of WindowDiff: the second is refused at once."""
    monkeypatch.setenv("FSMEU_MAX_STATES", "1000")
    build = mock.Mock(side_effect=trellis_cache._structure)
    loss = fsmeu.load("windowdiff", k=14)
    with mock.patch.object(trellis_cache, "_structure", build):
        found = fsmeu.decode(loss, np.full(40, 0.3), seconds=5)
        assert not found.exact
        assert build.call_count == 1  # for up to 96 labels: fewer of them are too many already
        monkeypatch.setenv("FSMEU_MAX_STATES", "1001")
        fsmeu.decode(loss, np.full(40, 0.3), seconds=5)
        assert build.call_count == 2


def test_a_sweep_is_not_made_where_its_bounds_could_not_be_narrower():
    """The bound by rules is narrower here than that of any sweep over 20,000 labels."""
    n = 20_000
    z = (np.random.default_rng(0).random(n) < 0.33).astype(int)
    fail = mock.Mock(side_effect=AssertionError("no sweep over 20,000 labels is needed"))
    with mock.patch.object(expect, "_sums", fail), mock.patch.object(expect, "PROMISED", 1e-14):
        found = fsmeu.expect(fsmeu.load("fscore"), z, chain(n))
    assert 1e-14 < (found.upper - found.lower) / 2 / found.value < 5e-12


def test_of_two_expectations_the_one_with_narrower_bounds_is_taken(monkeypatch, lowered):
    lowered(PROMISED=0.0)
    monkeypatch.setattr(expect, "least_error_of_sweep", lambda n, behind: 0.0)
    z = (np.random.default_rng(0).random(1_000) < 0.33).astype(int)
    loss, model = fsmeu.load("fscore"), chain(1_000)
    query = expect.query_of(loss, z, model)
    both = [expect.long_expectation(query, lambda one: None), expect._swept([query], None)[0]]
    found = fsmeu.expect(loss, z, model)
    widths = [one.upper - one.lower for one in both]
    assert widths[0] != widths[1]
    assert found.upper - found.lower == min(widths)
    assert max(one.lower for one in both) <= found.value <= min(one.upper for one in both)


def test_an_expectation_by_moments_answers_where_a_sweep_is_too_large(monkeypatch, lowered):
    lowered(PROMISED=0.0)
    monkeypatch.setattr(expect, "least_error_of_sweep", lambda n, behind: 0.0)
    monkeypatch.setenv("FSMEU_MAX_STATES", "100")
    found = fsmeu.expect(fsmeu.load("fscore"), [0, 1] * 600, chain(1_200))
    assert found.lower <= found.value <= found.upper


@pytest.mark.parametrize(
    ("name", "n", "labels"), [("kappa", 200, None), ("fscore", 3, None), ("chunk_fscore", 14, TAGS)]
)
def test_what_a_change_costs(name, n, labels):
    """A few changes have about the median of all, by one sweep over the machine."""
    rng = np.random.default_rng(n)
    size = len(labels or (0, 1))
    loss = fsmeu.load(name, labels=labels) if labels else fsmeu.load(name)
    steps = rng.dirichlet(np.ones(size), size)
    one = problem.Problem(loss, Markov(steps[0], steps, n, labels or (0, 1)))
    z = rng.integers(0, size, n)
    changed = candidates.Changes(one).values(z)
    differs = np.arange(size) != z[:, None]
    every = np.abs(changed[differs] - changed[~differs].mean())
    assert every.min() <= problem._step(one, z) == pytest.approx(np.median(every), rel=0.6)


def test_a_proof_of_rare_chunks_takes_no_sweep_over_the_machine():
    """What a change costs is asked where bounds are wide: a sweep of 60 tags took ten seconds."""
    rows = np.array([[0.9994, 2e-4, 1e-4, 2e-4, 1e-4]] * 5)
    loss = fsmeu.load("chunk_fscore", labels=TAGS, empty=0)
    model = Markov(rows[0], rows, 60, TAGS)
    with mock.patch.object(candidates, "Changes", side_effect=AssertionError):
        found = fsmeu.decode(loss, model, method="counting")
    assert found.value > 0
    again = fsmeu.decode(loss, model)
    assert (found.exact, again.method, again.exact) == (False, "lanes", True)
    assert again.value == pytest.approx(found.value, rel=1e-11)


def test_nothing_is_searched_for_that_nobody_would_see():
    """A value of 1e-9 whose bound is 1e-14 above it: a search of seconds could gain no more."""
    rows = np.array([[1 - 4e-11, 1e-11, 1e-11, 1e-11, 1e-11]] * 5)
    loss = fsmeu.load("chunk_fscore", labels=TAGS, empty=0)
    with mock.patch.object(candidates, "_climbed", side_effect=AssertionError):
        found = fsmeu.decode(loss, Markov(rows[0], rows, 25, TAGS))
    assert 0 < found.value <= found.upper < found.value + 1e-12
