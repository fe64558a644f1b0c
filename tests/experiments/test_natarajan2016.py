"""The script of Natarajan 2016: regrets, printed figures, and the quick run."""

import numpy as np
import pytest

import fsmeu


def test_regrets(script):
    """No decision beats that with the true probabilities; Corollary 14 at two sizes."""
    found = {}
    for name, _, size, regret in script.regrets(0, (30, 1000)):
        assert regret > -1e-12
        found.setdefault((name, size), []).append(regret)
    means = {key: np.mean(values) for key, values in found.items()}
    assert means["logistic", 1000] < means["logistic", 30] / 5
    assert means["logistic", 1000] < means["one feature", 1000] / 5


def test_best_population_thresholds(script):
    """By a large sample, whose confusion tables are counted at many thresholds."""
    population, random = script.Population.made(), np.random.default_rng(6)
    eta = script.true_probabilities(random.normal(size=(30_000, 2)))
    y = (random.random(len(eta)) < eta).astype(int)
    for measure, name in script.LOSSES.items():
        bars = np.linspace(0.1, 0.5, 5)
        loss = fsmeu.load(name)
        counted = [fsmeu.evaluate(loss, (eta >= bar).astype(int), y) for bar in bars]
        assert population.value(measure, bars) == pytest.approx(counted, abs=0.012)
        best = population.best_threshold(measure)
        assert population.value(measure, best) >= population.value(measure, bars).max()
    best = population.best_threshold("F1")  # half of the best value
    assert best == pytest.approx(float(population.value("F1", best)) / 2, abs=1e-3)


@pytest.mark.nightly
def test_dta_and_eum_draw_near(script):
    """Neither loses to the other by its own measure more than 0; less on larger test sets."""
    rows = script.equivalence(10, (30, 3000))
    means = {(measure, size): values for measure, size, values, _ in rows}
    for measure in script.LOSSES:
        assert means[measure, 30].min() > -1e-12
        assert (means[measure, 3000][:2] < means[measure, 30][:2] / 10).all()


def test_printed_figures_are_complete(script):
    """Nine rows of twelve figures, of which some contradict each other."""
    rows = {key: [int(x) / 1e4 for x in text.split()] for key, text in script.PRINTED.items()}
    assert all(len(row) == 12 for row in rows.values())
    assert len(script.WEB_PAGE.split()) == 12
    f_score, jaccard = rows["scene", 1][1], rows["scene", 1][4]
    assert (f_score, jaccard) == (0.6891, 0.0206)
    assert jaccard < f_score / 2  # impossible for means of F1 and Jaccard of the same decisions
