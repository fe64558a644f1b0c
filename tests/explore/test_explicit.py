"""The explicit engine, held against enumeration and the default engine, whatever is asked.

Every built-in loss, and some that remember or look at the position, under every kind of model; and
random losses, of which ``./run explore-tests --check explicit`` has a thousand.
"""

import random

import numpy as np
import pytest

import fsmeu
from fsmeu.decoding.problem import RefusalError
from fsmeu.searn import CostOracle
from tests import shelf
from tests.explore import checks, explicit, run
from tests.explore.cases import written_case
from tests.losses.test_strangers import STRANGERS, stranger
from tests.strategies import LossCase
from tests.support.missing import openfst

pynini = openfst()

LENGTHS = {2: 3, 3: 3, 4: 2, 5: 2, 9: 1}
HITS = "count tp when z == 1 and y == 1"
TEXTS = {
    "precision of 1": f"{HITS} count hyp when z == 1 value tp / hyp or 1 when hyp == 0",
    "recall of 1": f"{HITS} count ref when y == 1 value tp / ref or 1 when ref == 0",
    "clock": "count wrong by i when z != y value wrong / n or 0 when n == 0",
    "z remembers": "memory m of z last 1 count c by 1 + (old m[0] != z) when z != y value c",
    "y remembers": "memory m of y last 1 count c when z != y and old m[0] != y value c",
    "first of a run": "memory m of z last 1 count hyp by 3 when z == 1 and old m[0] != 1 "
    "count tp when z == y value tp * 2^hyp",
    "by position": "count hyp by if z == 1 then 1 else if z == 2 then i else 0 "
    "count tp when z == y value tp * 2^hyp",
}
KINDS = {"clock": "loss", "z remembers": "loss", "y remembers": "loss"}
PROGRAMS = {
    name: LossCase(f"{KINDS.get(name, 'utility')} f labels 0 1 2 {text}", (0, 1, 2), False, {})
    for name, text in TEXTS.items()
}
PROGRAMS |= {name: shelf.case(name) for name in fsmeu.library()}
PROGRAMS |= {f"{one[0]} {k}": stranger(*one) for k, one in enumerate(STRANGERS)}


MODELS = {
    "order 0": ("independent", {}),
    "order 1": ("markov", {"order": 1}),
    "order 2": ("markov", {"order": 2}),
    "crf": ("potentials", {}),
}
"""Each is asked as a lattice as well, and with a constraint: see ``explicit``."""
QUERIES = (explicit.expectation, explicit.tape, explicit.derivatives, explicit.oracle)
QUERIES += (explicit.decision, checks.evaluate, checks.expect_many, checks.compiled)
QUERIES += (checks.summed,)


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.nightly
def test_every_engine_and_model(name):
    program = PROGRAMS[name]
    labels, n = program.labels, LENGTHS[len(program.labels)]
    for title, (kind, more) in MODELS.items():
        source = random.Random(f"{name} {title}")
        case = written_case(program, kind, n, [len(name), len(title)], **more)
        for query in QUERIES:
            query(case, source)
        first = np.array([z[0] == labels[0] for z in case.truth.sequences])
        explicit.decide(case, f'"{labels[0]}" .*', first)


@pytest.mark.nightly
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
    "exhaustive": (2, lambda engine: fsmeu.decode(F1, P, method="exhaustive", engine=engine)),
    "counting": (4, lambda engine: fsmeu.decode(F1, P, method="counting", engine=engine)),
    "additive": (2, lambda engine: fsmeu.decode("hamming", P, engine=engine)),
    "ranking": (8, lambda engine: fsmeu.decode(F1, P, method="ranking", engine=engine)),
    "constraint": (4, lambda engine: fsmeu.decode(F1, P, constraint="0* 1?", engine=engine)),
    "corpus": (4, lambda engine: fsmeu.decode_corpus(F1, [P, [0.5]], engine=engine)),
    "oracle": (2, lambda engine: CostOracle(F1, [1, 0, 1], engine=engine)),
}


@pytest.mark.parametrize("query", COMPOSED)
def test_the_explicit_engine_composes_with_pynini(query, monkeypatch):
    """Hypothesis with loss, that with the model; so is each sentence of a corpus.

    A tape is composed with its sequences, and that with a counter; each of n + 1 hypotheses twice.
    """
    calls, compose = [], pynini.compose

    def counted(*machines, **options):
        calls.append(machines)
        return compose(*machines, **options)

    monkeypatch.setattr(pynini, "compose", counted)
    count, ask = COMPOSED[query]
    ask("openfst")
    assert len(calls) == count
    ask("auto")
    assert len(calls) == count


def test_too_large_for_one_composition(monkeypatch):
    """Then each sequence is composed by itself, as many as there is time for."""
    jaccard, p = fsmeu.load("jaccard"), [0.3, 0.6, 0.4, 0.2, 0.7]
    listed = {"engine": "openfst", "method": "exhaustive"}
    whole = fsmeu.decode(jaccard, p, **listed)
    monkeypatch.setenv("FSMEU_MAX_STATES", "80")
    apart = fsmeu.decode(jaccard, p, **listed, seconds=None)
    assert "one composition" in whole.why
    assert "one composition" not in apart.why
    assert (apart.labels, apart.exact, apart.candidates) == (whole.labels, True, 32)
    assert apart.value == pytest.approx(whole.value, rel=1e-13)
    late = fsmeu.decode(jaccard, p, **listed, seconds=1e-9)
    assert not late.exact
    assert late.candidates < 32
    assert "seconds were over" in late.why


CHAIN = fsmeu.models.Markov([0.4, 0.6], [[0.7, 0.3], [0.2, 0.8]], 3)


def test_more_sequences_than_the_budget_are_refused():
    """Jaccard under a chain has no method but listing; allowed sequences are what counts."""
    jaccard = fsmeu.load("jaccard")
    with pytest.raises(fsmeu.errors.SizeLimitError, match="default engine has no such limit"):
        fsmeu.decode(jaccard, CHAIN, engine="openfst", budget=7)
    few = {"budget": 4, "constraint": "0* 1*"}
    assert fsmeu.decode(jaccard, CHAIN, engine="openfst", **few).candidates == 4
    assert fsmeu.decode(jaccard, CHAIN, method="exhaustive", **few).candidates == 4
    with pytest.raises(RefusalError, match="at most 3 sequences, not 4 "):
        fsmeu.decode(jaccard, CHAIN, method="exhaustive", budget=3, constraint="0* 1*")


@pytest.mark.nightly
def test_long_random_losses(rounds):
    """Decisions at lengths from 8 to 40."""
    cases = len(rounds(40, 10))
    report = run.explore(11, cases, None, jobs=1, only=("explicit long",))
    assert report.failures == []
    assert report.counts["explicit long", "passed"] > 0.3 * cases
