"""The script of Jansche's (2007) section 4: its sums against ``expect``, and what L = 1 answers."""

import numpy as np
import pytest

import fsmeu


@pytest.mark.parametrize("limit", [1, 7, 100])
def test_values_are_those_of_expect(script, limit):
    p = np.random.default_rng(limit).random(7)
    order, loss = np.argsort(-p), fsmeu.load("fscore", beta=2**0.5)
    values = script.candidate_sums(p, limit, script.Setting(beta=2.0)).values
    for m, value in enumerate(values):
        z = np.zeros(7, int)
        z[order[:m]] = 1
        assert fsmeu.expect(loss, z, p, keep=limit).value == pytest.approx(value, abs=1e-12)


def test_one_state_answers_the_most_probable_sequence(script):
    """With L = 1 the labels above 1/2 win, whose expectation is not the best."""
    random, below = np.random.default_rng(0), 0
    for n in range(2, 16):
        p = random.random(n)
        won = int(script.candidate_sums(p, 1).values.argmax())
        assert won == (p > 0.5).sum()
        below += not script.decode_both(p, [1])[0].found
    assert below > 0


@pytest.mark.parametrize("limit", [1, 8])
def test_pruned_mass_bounds_the_error(script, limit):
    """Footnote 5: here and in ``expect``, whose ends are as far apart as what was pruned."""
    for seed in range(4):
        p = np.random.default_rng(seed).random(8)
        found = script.bounded(p, limit)
        assert -1e-12 <= found.off <= found.bound + 1e-12
        assert found.optimal or not found.certified
        z = (p > 0.4).astype(int).tolist()
        part, whole = fsmeu.expect("fscore", z, p, keep=limit), fsmeu.expect("fscore", z, p)
        assert part.lower <= whole.value <= part.upper
        sums = script.candidate_sums(p, limit)
        assert part.upper - part.value == pytest.approx(1 - sums.kept[sum(z)], abs=1e-9)
