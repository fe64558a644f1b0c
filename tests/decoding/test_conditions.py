"""Conditions of methods: read off a problem before anything is decided, and derived once."""

from dataclasses import replace

import numpy as np
import pytest

import fsmeu
from fsmeu.decoding import fast_ratio, ranking, simple
from fsmeu.decoding.decode import EXACT, METHODS, UNPROVEN, WITH_KEEP, first_among
from fsmeu.decoding.problem import Problem, RefusalError
from fsmeu.errors import LossFileError, SizeLimitError
from fsmeu.fst.constraint import as_constraint
from fsmeu.losses.semantics.declared_range import RangeError
from fsmeu.models import Bernoulli, Independent, Markov, as_model
from tests import shelf
from tests.decoding.test_choice import CHAIN, REFUSALS, P
from tests.support.nightly import mostly_nightly

SEEN_BY_COMPUTING = {"marginal", "nbest"}
LONG = Markov([0.4, 0.6], [[0.7, 0.3], [0.2, 0.8]], n=13)
OPTIONS = [{}, {"keep": 3, "budget": 1024}, {"constraint": "0* 1* 0*"}]
SHELF = ["fscore", "hamming", "zero_one", "g_mean", "jaccard", "pk", "mcc", "boundary_fscore"]


def problem_of(loss, model, **options):
    """The problem that ``decode`` makes of these."""
    made = as_model(model)
    given = as_constraint(options.pop("constraint", None), made.alphabet, made.n)
    return Problem(loss, made, given, **options)


@pytest.mark.parametrize(("method", "loss", "model", "options", "says"), REFUSALS)
def test_a_refusal_is_the_condition(method, loss, model, options, says):
    """What a method says when it is asked by name is what its condition says before."""
    made = fsmeu.loads(loss) if " " in loss else shelf.load(loss)
    problem = problem_of(made, model, **options)
    told = METHODS[method].fits(problem)
    with pytest.raises(RefusalError) as caught:
        METHODS[method](problem)
    if method in SEEN_BY_COMPUTING:
        assert told is None
    else:
        assert says in told
        assert str(caught.value).startswith(f"decode by {method}: {told}")


@pytest.mark.parametrize("name", mostly_nightly(SHELF, quick=4))
@pytest.mark.parametrize("model", [Bernoulli(P), CHAIN, LONG], ids=["independent", "chain", "long"])
@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.thirds
def test_auto_asks_only_what_fits(name, model, options, monkeypatch):
    """A method whose condition does not hold is never started."""
    loss = shelf.load(name)
    problem = problem_of(loss, model, **options)
    started = []

    def watched(method):
        def decide(given):
            started.append(method.name)
            return method.decide(given)

        return replace(method, decide=decide)

    methods = {known: watched(method) for known, method in METHODS.items()}
    monkeypatch.setattr("fsmeu.decoding.decode.METHODS", methods)
    decision = fsmeu.decode(loss, model, **options)
    assert decision.method in started
    assert {known: METHODS[known].fits(problem) for known in started} == dict.fromkeys(started)
    if decision.exact:
        assert first_among(problem, "auto", EXACT) in started


def test_properties_are_derived_once(monkeypatch):
    """The second problem of a loss and a length reads what was derived for the first."""
    asked = []

    def counted(function):
        def call(*given):
            asked.append(function.__name__)
            return function(*given)

        return call

    for module, name in (
        (fast_ratio, "fractional"),
        (ranking, "tp_counterexample"),
        (simple, "zero_one_values"),
    ):
        monkeypatch.setattr(module, name, counted(getattr(module, name)))
    loss = fsmeu.load("g_mean")
    for p in (P, P[::-1], [0.5] * 4):
        assert fsmeu.decode(loss, p).method == "ranking"
    assert sorted(asked) == ["fractional", "tp_counterexample", "zero_one_values"]
    fsmeu.decode(loss, [0.5] * 3)
    assert len(asked) == 6


def test_a_property_without_an_answer():
    """Where the file has no value for what a condition looks at, the method does not fit."""
    loss = fsmeu.loads("loss f labels 0 1 count bad by 1 / (1 - y) value bad")
    problem = Problem(loss, Bernoulli([0.0, 0.0]))
    assert "zero" in METHODS["ranking_fast"].fits(problem)
    with pytest.raises(LossFileError, match="zero"):
        METHODS["ranking_fast"](problem)


def test_a_length_past_the_limit(monkeypatch):
    """A size that is known beforehand is part of the condition, and an error of its own by name."""
    monkeypatch.setenv("FSMEU_MAX_STATES", "3")
    problem = Problem(fsmeu.load("fscore"), Bernoulli([0.5] * 20))
    assert "at most 3 states" in METHODS["ranking"].fits(problem)
    with pytest.raises(SizeLimitError):
        METHODS["ranking"](problem)


def test_a_value_outside_its_range_is_no_matter_of_choice():
    text = "utility f labels 0 1 count tp by z * y count hyp by z value 2 * tp / hyp "
    loss = fsmeu.loads(text + "or 0 when hyp == 0 range 0 .. 1")
    with pytest.raises(RangeError):
        METHODS["ranking"].fits(Problem(loss, Bernoulli(P)))


@pytest.mark.parametrize("name", ["fscore", "hamming", "pk", "g_mean", "zero_one"])
def test_the_first_of_some(name):
    """Only the method that decides is named, and only where it is one of those asked about."""
    loss = shelf.load(name)
    for model in (Bernoulli(P), Independent(np.array([[0.1, 0.9], [0.5, 0.5]])), CHAIN):
        problem = Problem(loss, model)
        decided = fsmeu.decode(loss, model).method
        for these in (["ranking_fast"], ["additive", "counting"], list(EXACT)):
            assert first_among(problem, "auto", these) == (decided if decided in these else None)
        for method in METHODS:
            fits = METHODS[method].fits(problem) is None
            assert first_among(problem, method, [method]) == (method if fits else None)
            assert first_among(problem, method, []) is None


def test_the_search_is_no_exact_method():
    assert set(UNPROVEN) <= set(METHODS) - {"marginal", *EXACT}
    assert set(WITH_KEEP) <= set(METHODS)


def test_independent_labels_that_do_not_rank_are_decided_together(monkeypatch):
    """Pk does not rank positions, so that one trellis decides all sequences of a length."""
    rng = np.random.default_rng(8)
    rows = rng.random((5, 6))
    loss = fsmeu.load("pk", k=2)
    each = [fsmeu.decode(loss, row) for row in rows]
    monkeypatch.setattr("fsmeu.decoding.decode_many.decode", None)
    together = fsmeu.decode_many(loss, rows)
    assert [d.method for d in together] == ["additive"] * 5
    assert [d.labels for d in together] == [d.labels for d in each]
    assert [d.value for d in together] == pytest.approx([d.value for d in each], rel=1e-12)
