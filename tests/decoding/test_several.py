"""The k best decisions, against listing all sequences with their expected values."""

import numpy as np
import pytest

import fsmeu
from fsmeu.models import Bernoulli, Independent, Markov, NBest
from tests import brute_force

P = np.array([0.45, 0.8, 0.3, 0.55])
CHAIN = Markov([0.3, 0.7], [[0.8, 0.2], [0.35, 0.65]], n=4)
LABELS = Independent([[0.2, 0.5, 0.3], [0.1, 0.1, 0.8], [0.4, 0.35, 0.25]], "abc")
SEQUENCES = NBest(["0110", "1100", "0011", "0111"], [0.4, 0.3, 0.2, 0.1])


def hamming(z, y):
    return sum(a != b for a, b in zip(z, y, strict=True)) / max(1, len(z))


def zero_one(z, y):
    return float(z != y)


CASES = {
    "additive": ("hamming", hamming, CHAIN),
    "additive, three labels": ("hamming", hamming, LABELS),
    "counting": ("fscore", brute_force.fscore, CHAIN),
    "counting, independent": ("fscore", brute_force.fscore, Bernoulli(P)),
    "lanes": ("fscore", brute_force.fscore, SEQUENCES),
    "viterbi": ("zero_one", zero_one, CHAIN),
    "exhaustive": ("jaccard", brute_force.jaccard, CHAIN),
    "search": ("jaccard", brute_force.jaccard, CHAIN),
    "nbest": ("fscore", brute_force.fscore, CHAIN),
}
EXPLICIT = ("additive", "counting", "viterbi", "exhaustive")


def listed(measure, model, allowed=lambda z: True):
    """The expected value of each sequence that is allowed, by its labels."""
    sequences = brute_force.sequences(model.labels, model.n)
    chances = {y: model.probability(y) for y in sequences}
    return {z: sum(p * measure(z, y) for y, p in chances.items()) for z in sequences if allowed(z)}


def check(decisions, values, utility, k):
    """Values are those of the labels; bounds hold the j-th best; proven ones are the j-th best."""
    best = sorted(values.values(), reverse=utility)
    assert len(decisions) == min(k, len(best))
    assert len({tuple(one.labels) for one in decisions}) == len(decisions)
    for one, wanted in zip(decisions, best, strict=False):
        assert one.value == pytest.approx(values[tuple(one.labels)], rel=1e-9, abs=1e-12)
        assert one.lower <= wanted + 1e-12
        assert one.upper >= wanted - 1e-12
        if one.exact:
            assert one.value == pytest.approx(wanted, rel=1e-8, abs=1e-12)


BY_ENGINE = [
    *((case, "auto") for case in CASES),
    *((case, "openfst") for case in CASES if case in EXPLICIT),
]


@pytest.mark.parametrize(("case", "engine"), BY_ENGINE)
def test_methods_that_have_the_second_best(case, engine, lowered):
    lowered(LANE_DECISION_WORK=1)
    name, measure, model = CASES[case]
    method = case.split(",")[0]
    loss = fsmeu.load(name)
    values = listed(measure, model)
    for k in (4, 15):  # lanes need a sequence that counts something
        found = fsmeu.decode(loss, model, method=method, k=k, engine=engine)
        check(found, values, loss.kind == "utility", k)
        assert {one.method for one in found} == {method}
        assert all(one.exact for one in found) or method in ("search", "nbest")


@pytest.mark.parametrize("name", ["jaccard", "zero_one", "mcc", "pk"])
def test_whatever_method_applies(name):
    """The first by a method of its own, the others by what takes constraints; all are proven."""
    loss = fsmeu.load(name, **({"k": 2} if name == "pk" else {}))
    found = fsmeu.decode(loss, P, k=4)
    assert all(one.exact for one in found)
    check(found, listed(loss, Bernoulli(P)), loss.kind == "utility", 4)
    assert fsmeu.explain(found[1]).count("the best of all but 1")
    [one] = fsmeu.decode(loss, P, k=1)
    assert one.value == fsmeu.decode(loss, P).value


def test_a_constraint_and_few_sequences():
    """There are no more decisions than sequences that are allowed."""
    values = listed(brute_force.fscore, CHAIN, lambda z: z in ((1, 1, 0, 0), (0, 0, 1, 1)))
    found = fsmeu.decode("fscore", CHAIN, constraint="1 1 0 0 | 0 0 1 1", k=5)
    check(found, values, True, 5)
    assert len(found) == 2
    assert [one.labels for one in fsmeu.decode("fscore", Bernoulli([]), k=3)] == [[]]


def test_what_is_not_proven():
    """Bounds of a search, and of states left out, hold; nothing is claimed."""
    values = listed(brute_force.jaccard, CHAIN)
    for options in ({"method": "search"}, {"method": "exhaustive", "keep": 2}):
        found = fsmeu.decode("jaccard", CHAIN, k=5, **options)
        assert not any(one.exact for one in found)
        best = sorted(values.values(), reverse=True)
        assert all(one.lower <= x <= one.upper for one, x in zip(found, best, strict=False))
        assert [one.value for one in found] == sorted((x.value for x in found), reverse=True)
