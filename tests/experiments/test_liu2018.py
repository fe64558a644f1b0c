"""The script of Liu 2018: a population by sampling, Theorems 2 and 4, baselines, the quick run."""

import math

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.metrics import f1_score

from tests.learning.online.transcript import Learner
from tests.support.examples import data


@pytest.mark.nightly
def test_population(script):
    """The root of q and F1 by quadrature are those of a large sample."""
    known, random = script.Population(-2.0), np.random.default_rng(0)
    rows = random.normal(size=(400_000, 5))
    eta = 1 / (1 + np.exp(2 - 2 * rows[:, 0]))
    ranked = np.sort(eta)[::-1]
    halves = np.cumsum(ranked) / (eta.sum() + np.arange(1, len(eta) + 1))
    assert known.best_threshold == pytest.approx(halves.max(), abs=2e-3)
    weights = np.array([1.5, 0.5, -0.3, 0.0, 0.2, -1.0])
    chosen = rows @ weights[:5] + weights[5] >= math.log(0.3 / 0.7)
    wanted = 2 * eta[chosen].sum() / (eta.sum() + chosen.sum())
    assert known.f_score(weights, 0.3) == pytest.approx(wanted, abs=2e-3)
    truth = np.array([2.0, 0, 0, 0, 0, -2.0])
    best = known.f_score(truth, known.best_threshold)
    assert best == pytest.approx(2 * known.best_threshold, abs=1e-6)  # theta* = F* / 2


@pytest.mark.nightly
def test_theorem_2(script):
    """A first stage of FOFO is a call of SFO; the bound holds where it says something."""
    known, steps, delta = script.Population(-2.0), 2**22, 0.05
    best, random = known.objective(known.best_threshold), np.random.default_rng(2)
    margins = -2 + 2 * random.normal(size=steps)
    labels = (random.random(steps) < 1 / (1 + np.exp(-margins))).astype(int)
    theta = script.learned_threshold(margins, labels, 1.0, horizon=9 * steps)  # of nine stages
    bound = (math.sqrt(10) + 10 * math.sqrt(math.log(12 * steps / delta))) / math.sqrt(steps)
    assert known.objective(theta) - best < bound < known.objective(0.0) - best


@pytest.mark.nightly
def test_theorem_4(script):
    """F of what was learned nears F*, and never exceeds it; weights near the true ones."""
    for _, name, _, lost, error in script.consistency([2**10, 2**15], 2):
        assert lost.min() > -1e-6
        assert lost[1] < lost[0] * (0.7 if "printed" in name else 0.5)  # its steps are short
        assert error[1] < error[0] / 2


# -- STAMP and OMCSL, line by line as they are printed ---------------------------------------------


def stamp(rows, labels, c, epoch):
    """Predictions and levels for F1: P and N are mean rewards of positives and negatives."""
    learner, predicted, v, levels, held = Learner(rows.shape[1], c), [], 1.0, [], ([], [])
    for t, (x, y) in enumerate(zip(rows, labels, strict=True)):
        if t and t % (2 * epoch) == 0 and held[0] and held[1]:
            hit, spared = max(np.mean(held[1]), 0), np.mean(held[0])
            odds = (t - sum(labels[:t])) / sum(labels[:t])
            v = 2 * hit / (1 + odds + hit - odds * spared)
            held = ([], [])
            levels.append(v)
        eta = learner.chance(x)
        predicted.append(int(eta >= 0.5))
        if t // epoch % 2 == 0:
            learner.update(x, y, 2 - v if y else v)
        else:
            margin = math.log(eta / (1 - eta)) * (1 if y else -1)
            held[y].append(1 - math.log(1 + math.exp(-margin)) / math.log(2))
            learner.t += 1
    return predicted, levels


def cost_sensitive(rows, labels, c, settings):
    """The predictions of each classifier with costs (1 - v/2, v/2), v = j / (settings + 1)."""
    found = []
    for j in range(1, settings + 1):
        v = j / (settings + 1)
        learner, predicted = Learner(rows.shape[1], c), []
        for x, y in zip(rows, labels, strict=True):
            predicted.append(int(learner.chance(x) >= 0.5))
            learner.update(x, y, 1 - v / 2 if y else v / 2)
        found.append(predicted)
    return found


@pytest.fixture(scope="module")
def baselines(load):
    return load("liu2018_baselines")


@pytest.mark.nightly
def test_stamp_alternates(baselines):
    rows, labels = data()
    wanted, levels = stamp(rows, labels.tolist(), 0.5, 30)
    assert baselines.STAMP(0.5, epoch=30).predict_then_fit(rows, labels).tolist() == wanted
    assert len(levels) == 4
    learner = baselines.STAMP(0.5, epoch=30)
    learner.predict_then_fit(csr_array(rows[:240]), labels[:240])
    assert learner.level == pytest.approx(levels[-1], rel=1e-9)


def test_omcsl_holds_classifiers_with_different_costs(baselines):
    rows, labels = data()
    wanted = cost_sensitive(rows, labels, 0.5, 4)
    learner = baselines.OMCSL(0.5, classifiers=4, gamma=1e6)
    parts = [learner.predict_then_fit(rows[a:b], labels[a:b]) for a, b in ((0, 99), (99, 300))]
    predicted = np.concatenate(parts)
    hits, marked = np.cumsum(labels * wanted, axis=1), np.cumsum(labels + np.array(wanted), axis=1)
    scores = (2 * hits / np.maximum(marked, 1)).T
    assert scores[-1] == pytest.approx([f1_score(labels, w) for w in wanted])
    assert learner.scores == pytest.approx(scores[-1])
    for t in range(1, 300):  # so sharp that only the best ones predict
        best = [w[t] for w, s in zip(wanted, scores[t - 1], strict=True) if s == max(scores[t - 1])]
        assert predicted[t] in best
