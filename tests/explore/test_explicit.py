"""The explicit engine, held against enumeration and the default engine, whatever is asked.

Every built-in loss under every kind of model, and random losses, of which
``./run explore-tests --check explicit`` has a thousand.
"""

import random

import numpy as np
import pynini
import pytest

import fsmeu
from fsmeu.searn import CostOracle
from tests import shelf
from tests.explore import explicit, run
from tests.explore.cases import Case
from tests.label_models import ModelSpec, random_model, rows

LENGTHS = {2: 3, 5: 2, 9: 1}


def chain(rng, labels, n, order):
    size = len(labels)
    tables = {"initial": rows(rng, size**order).reshape((size,) * order)}
    tables["transition"] = rows(rng, *(size,) * (order + 1))
    return ModelSpec("markov", labels, n, tables)


MODELS = {
    "order 0": lambda rng, labels, n: random_model(rng, labels, n, ("independent",)),
    "order 1": lambda rng, labels, n: chain(rng, labels, n, 1),
    "order 2": lambda rng, labels, n: chain(rng, labels, n, 2),
    "crf": lambda rng, labels, n: random_model(rng, labels, n, ("potentials",)),
}
"""Each is asked as a lattice as well, and with a constraint: see ``explicit``."""


@pytest.mark.parametrize("name", fsmeu.library())
@pytest.mark.thirds
def test_built_in_losses(name):
    program = shelf.case(name)
    labels = tuple(program.labels)
    for kind, make in MODELS.items():
        rng, source = np.random.default_rng([len(name), len(kind)]), random.Random(f"{name} {kind}")
        n = LENGTHS[len(labels)]
        case = Case(program, tuple(make(rng, labels, n) for _ in range(3)))
        for query in (explicit.expectation, explicit.tape, explicit.derivatives, explicit.oracle):
            query(case, source)
        explicit.decision(case, source)
        first = np.array([z[0] == labels[0] for z in case.truth.sequences])
        explicit.decide(case, f'"{labels[0]}" .*', first)


def test_random_losses(rounds):
    cases = len(rounds(90, 20))
    report = run.explore(7, cases, None, jobs=1, only=("explicit",))
    assert report.failures == []
    assert report.counts["explicit", "passed"] > 0.8 * cases


F1, P = fsmeu.load("fscore"), [0.3, 0.6, 0.4]
COMPOSED = {
    "expect": (2, lambda engine: fsmeu.expect(F1, [1, 0, 1], P, engine=engine)),
    "tape": (2, lambda engine: fsmeu.expect(F1, fsmeu.models.Bernoulli(P), P, engine=engine)),
    "gradient": (2, lambda engine: fsmeu.gradient(F1, [1, 0, 1], P, engine=engine)),
    "decode": (2, lambda engine: fsmeu.decode(F1, P, engine=engine)),
    "constraint": (2, lambda engine: fsmeu.decode(F1, P, constraint="0* 1?", engine=engine)),
    "corpus": (5, lambda engine: fsmeu.decode_corpus(F1, [P, [0.5]], engine=engine)),
    "oracle": (2, lambda engine: CostOracle(F1, [1, 0, 1], engine=engine)),
}


@pytest.mark.parametrize("query", COMPOSED)
def test_the_explicit_engine_composes_with_pynini(query, monkeypatch):
    """Hypothesis with loss, that with the model; sentences of a corpus also with their sums."""
    calls, compose = [], pynini.compose

    def counted(*machines, **options):
        calls.append(machines)
        return compose(*machines, **options)

    monkeypatch.setattr(pynini, "compose", counted)
    count, ask = COMPOSED[query]
    ask("openfst")
    assert len(calls) == count
    ask("lattice")
    assert len(calls) == count


def test_too_large_for_one_composition(monkeypatch):
    """Then each sequence is composed by itself, as many as there is time for."""
    jaccard, p = fsmeu.load("jaccard"), [0.3, 0.6, 0.4, 0.2, 0.7]
    whole = fsmeu.decode(jaccard, p, engine="openfst")
    monkeypatch.setenv("FSMEU_MAX_STATES", "80")
    apart = fsmeu.decode(jaccard, p, engine="openfst", seconds=None)
    assert "one composition" in whole.why
    assert "one composition" not in apart.why
    assert (apart.labels, apart.exact, apart.candidates) == (whole.labels, True, 32)
    assert apart.value == pytest.approx(whole.value, rel=1e-13)
    late = fsmeu.decode(jaccard, p, engine="openfst", seconds=1e-9)
    assert not late.exact
    assert late.candidates < 32
    assert "seconds were over" in late.why


def test_more_sequences_than_the_budget_are_refused():
    with pytest.raises(fsmeu.errors.SizeLimitError, match="default engine has no such limit"):
        fsmeu.decode(F1, P, engine="openfst", budget=7)
    assert fsmeu.decode(F1, P, engine="openfst", budget=4, constraint="0* 1*").candidates == 4
