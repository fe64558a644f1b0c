"""The script of Jansche's (2005) experiment: what gamma is, and its operating points."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import fbeta_score, recall_score

from fsmeu.learning.expected_utility import SmoothF


@given(st.floats(0.1, 8), st.floats(0, 0.1), st.integers(0, 99))
def test_gamma_only_rescales(gamma, penalty, seed):
    """F~ of gamma and theta is F~ of 1 and gamma theta: a penalty l2 stands for l2 / gamma^2."""
    random = np.random.default_rng(seed)
    rows, theta = random.normal(size=(20, 3)), random.normal(size=4)
    positive = (random.random(20) < 0.4).astype(float)
    positive[0] = 1.0
    steep, plain = (SmoothF(rows, positive, None, 0.5, g) for g in (gamma, 1.0))
    squares = theta[1:] @ theta[1:]
    value = steep(theta)[0] - penalty / 2 * squares
    wanted = plain(gamma * theta)[0] - penalty / gamma**2 / 2 * (gamma**2 * squares)
    assert value == pytest.approx(wanted, abs=1e-12)


def test_section_8_moves_along_the_trade_off(script):
    """Recall grows with alpha, sensitivity with its weight; measures are scikit-learn's."""
    random = np.random.default_rng(8)
    truth = random.random(500) < 0.2
    rows = random.normal(size=(500, 2)) + np.where(truth, 1.5, 0.0)[:, None]
    data = rows[:300], truth[:300], rows[300:], truth[300:]
    found = list(script.points(data, script.Settings(2, 0)))
    for kind, trained in (("alpha", "F~"), ("sensitivity", "E[utility]")):
        firsts = [one.first for name, _, way, one in found if (name, way) == (kind, trained)]
        assert firsts == sorted(firsts)
        assert firsts[0] < firsts[-1]
    guess = rows[:, 0] > 1
    sensitivity, specificity = (recall_score(truth, guess, pos_label=k) for k in (True, False))
    wanted = (sensitivity, specificity, 0.25 * sensitivity + 0.75 * specificity)
    assert script.traded(guess, truth, 0.25) == pytest.approx(wanted)
    assert script.alpha_point(guess, truth, 0.8).measure == pytest.approx(
        fbeta_score(truth, guess, beta=2)
    )
