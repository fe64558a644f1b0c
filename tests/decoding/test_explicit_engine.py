"""The explicit engine composes machines, and says what is too large for it.

Its answers are held against enumeration and the default engine by the explorer's checks
``explicit`` and ``explicit long``.
"""

import pytest

import fsmeu
from fsmeu.decoding.problem import RefusalError
from fsmeu.searn import CostOracle
from tests.support.missing import openfst

pynini = openfst()

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
