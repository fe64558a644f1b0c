"""Lemma 1 (policy degradation) and expected costs, against sums over all coin flips."""

from itertools import product

import numpy as np
import pytest

import fsmeu
from fsmeu.searn.features.sentences import hashed_sentences
from fsmeu.searn.search import COSTS, Mixture, interpolated, optimal_actions, roll_in
from fsmeu.searn.spaces.tagging import LeftToRight, WordAtATime
from tests.searn.stubs import Drawn, words
from tests.support.nightly import mostly_nightly

LOSSES = [("hamming", LeftToRight()), ("chunk_fscore", WordAtATime())]
LABELS = ["B-X", "I-X", "O"]


def set_up(loss, space, seed, n=4, count=3):
    rng = np.random.default_rng(seed)
    ys = [["O", "B-X", "I-X", "O"][:n]]
    ys += [[LABELS[k] for k in rng.integers(3, size=n)] for _ in range(count - 1)]
    seen = hashed_sentences(words(rng, [n] * count), 12)
    space = space.fitted(ys)
    search = space.over(seen, ys, lambda labels: fsmeu.load(loss, labels=labels))
    return search, Drawn(seed, 3), ys


def loss_by_flips(search, policies, shares, state):
    """The expected loss from a state on: a sum over who decides each step, one path each."""
    steps = int(search.sentences.lengths[state.examples[0]] - state.progress[0])
    total = 0.0
    for flips in product(range(len(policies)), repeat=steps):
        now, chance = state, 1.0
        for k in flips:
            chance *= shares[k]
            now = search.step(now, policies[k](now))
        total += chance * search.losses(now)[0]
    return total


def optimal(search):
    return lambda state: optimal_actions(*search.costs(state))


def learned(search, model):
    def decide(state):
        scores = model.scores(search.rows(state)[0])
        return np.where(search.allowed(state), scores, -np.inf).argmax(axis=1)

    return decide


@pytest.mark.parametrize(("loss", "space"), LOSSES)
@pytest.mark.parametrize("seed", mostly_nightly([0, 1], quick=1))
def test_expected_costs_are_sums_over_flips(loss, space, seed):
    search, model, _ = set_up(loss, space, seed)
    policy = interpolated(interpolated(Mixture(), 0.3, [model]), 0.25, [Drawn(seed + 9, 3)])
    shares = [policy.optimal, *policy.weights]
    policies = [optimal(search), learned(search, model), learned(search, Drawn(seed + 9, 3))]
    states = search.start(np.arange(3))
    for _ in range(2):
        found = COSTS["expected"](search, policy, 0, states)
        for k in range(3):
            allowed = np.flatnonzero(search.allowed(states)[k])
            want = []
            for a in allowed:
                after = search.step(states.take([k]), np.array([a]))
                want.append(loss_by_flips(search, policies, shares, after))
            np.testing.assert_allclose(found[k, allowed], np.array(want) - min(want), atol=1e-12)
        states = search.step(states, learned(search, model)(states))


@pytest.mark.parametrize(("loss", "space"), LOSSES)
def test_samples_have_the_expected_cost_as_their_mean(loss, space):
    """Losses are within 1 of each other: Hoeffding's bound at 1e-9 for each difference."""
    search, model, _ = set_up(loss, space, 4)
    policy = interpolated(Mixture(), 0.5, [model])
    states = search.start(np.zeros(1, np.int64))
    allowed = search.allowed(states)[0]
    exact = COSTS["expected"](search, policy, 0, states)[0]
    base = np.flatnonzero(exact == 0)[0]
    drawn = np.array([COSTS["sampled"](search, policy, seed, states)[0] for seed in range(300)])
    means = (drawn - drawn[:, [base]])[:, allowed].mean(axis=0)
    assert np.abs(means - exact[allowed]).max() < 2 * np.sqrt(2 * np.log(2e9) / 300)


@pytest.mark.parametrize(("loss", "space"), LOSSES)
@pytest.mark.parametrize("seed", mostly_nightly(range(2), quick=1))
def test_lemma_1(loss, space, seed):
    """L(new) <= L(h) + T beta l + T^2 beta^2 c_max / 2, for the optimal h and for a mixture.

    l is the mean over time steps of the cost of what the learned policy would do in the states of
    h, with h going on; losses are made to begin at 0, as the lemma's costs do.
    """
    n = 3
    search, model, ys = set_up(loss, space, seed, n, count=2)
    measure = fsmeu.load(loss, labels=LABELS)
    sign = -1 if measure.kind == "utility" else 1
    shift = 1 if measure.kind == "utility" else 0
    worst = [max(shift + sign * measure(z, y) for z in product(LABELS, repeat=n)) for y in ys]
    other = Drawn(seed + 50, 3)
    for old in (0.0, 0.4):
        policies = [optimal(search), learned(search, model), learned(search, other)]
        shares = [1 - old, old, 0.0]
        states = [search.start(np.array([k])) for k in range(2)]
        before = np.mean([shift + loss_by_flips(search, policies, shares, s) for s in states])
        regret = np.mean([_regret(search, policies, shares, s, n) for s in states])
        for beta in (0.05, 0.3):
            mixed = [(1 - beta) * share for share in shares[:2]] + [beta]
            after = np.mean([shift + loss_by_flips(search, policies, mixed, s) for s in states])
            bound = before + n * beta * regret + 0.5 * beta**2 * n**2 * np.mean(worst)
            assert after <= bound + 1e-12
            assert after >= before - 1e-12 or old > 0


def _regret(search, policies, shares, start, n):
    """The cost of what the last policy would do, over the states of the others' mixture."""
    total = 0.0
    for t in range(n):
        for flips in product((0, 1), repeat=t):
            now, chance = start, 1.0
            for k in flips:
                chance *= shares[k]
                now = search.step(now, policies[k](now))
            if chance == 0:
                continue
            values = {}
            for a in np.flatnonzero(search.allowed(now)[0]):
                after = search.step(now, np.array([a]))
                values[a] = loss_by_flips(search, policies[:2], shares[:2], after)
            total += chance * (values[policies[2](now)[0]] - min(values.values())) / n
    return total


def test_trainer_reports_the_cost_that_the_lemma_speaks_of():
    """With the optimal policy, the costs that a roll-in collects are those of the lemma."""
    search, model, _ = set_up("hamming", LeftToRight(), 3)
    seen = roll_in(search, Mixture(), np.arange(3), 0)
    scores = model.scores(seen.decisions.rows)
    mine = seen.decisions.costs[np.arange(len(scores)), scores.argmax(axis=1)]
    policies = [optimal(search), optimal(search), learned(search, model)]
    want = [_regret(search, policies, [1.0, 0.0], search.start(np.array([k])), 4) for k in range(3)]
    assert np.bincount(seen.owners, mine) / 4 == pytest.approx(want, abs=1e-12)
