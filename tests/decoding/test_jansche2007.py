"""Theorems 1 and 2, equations 3 and 8 of Jansche (2007), with all references of five labels."""

from itertools import combinations, product

import numpy as np
import pytest

import fsmeu
from tests.brute_force import bernoulli, fscore

N = 5


@pytest.fixture(scope="module", params=[0.5, 1.0, 2.0])
def case(request):
    """Beta, probabilities, and the expected F-score of every hypothesis."""
    p = np.random.default_rng(int(10 * request.param)).random(N)
    chances = bernoulli(p)
    values = {
        z: sum(fscore(z, y, request.param) * mass for y, mass in chances.items())
        for z in product((0, 1), repeat=N)
    }
    return request.param, p, values


def test_theorem_2(case):
    """Of two hypotheses that differ in two bits, that with the more probable bit on is no worse."""
    _, p, values = case
    for s in values:
        for i, k in combinations(range(N), 2):
            if s[i] != s[k]:
                t = list(s)
                t[i], t[k] = s[k], s[i]
                better, worse = (s, tuple(t)) if (p[i] >= p[k]) == (s[i] == 1) else (tuple(t), s)
                assert values[better] >= values[worse] - 1e-15


def test_theorem_1_and_algorithm_1(case):
    """Of all with m ones, the m most probable are best; the best of those n + 1 is the decision."""
    beta, p, values = case
    order = np.argsort(-p)
    ranked = []
    for m in range(N + 1):
        z = np.zeros(N, int)
        z[order[:m]] = 1
        ranked.append(values[tuple(z)])
        assert ranked[-1] == max(value for s, value in values.items() if sum(s) == m)
    decision = fsmeu.decode(fsmeu.load("fscore", beta=beta), p)
    assert decision.exact
    assert decision.value == pytest.approx(max(ranked), abs=1e-12)
    assert values[tuple(decision.labels)] == pytest.approx(max(values.values()), abs=1e-12)


def test_equations_3_and_8(case):
    """The sum over references is the sum over the levels of the F-score."""
    beta, p, values = case
    loss = fsmeu.load("fscore", beta=beta)
    for z in list(values)[::5]:
        found = fsmeu.expect(loss, z, p)
        assert found.value == pytest.approx(values[z], abs=1e-12)
        assert found.levels.values @ found.levels.probabilities == pytest.approx(values[z])
