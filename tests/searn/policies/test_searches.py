"""Beam search against enumeration, mixtures against their probabilities."""

import numpy as np
import pytest

from fsmeu.searn.features.sentences import hashed_sentences, uniform
from fsmeu.searn.search import (
    Mixture,
    beam,
    greedy,
    interpolated,
    mixed_scores,
    sampled_actions,
    targets_of,
)
from fsmeu.searn.spaces.chunks import ChunkAtATime
from fsmeu.searn.spaces.tagging import LeftToRight, RightToLeft, WordAtATime
from tests.searn.stubs import Drawn, words

YS = [["B-X", "I-X", "O", "B-Y"], ["O", "B-Y", "I-Y"]]


def set_up(space, seed, probabilistic=True):
    rng = np.random.default_rng(seed)
    seen = hashed_sentences(words(rng, [4, 3]), 12)
    search = space.fitted(YS).over(seen)
    width = search.allowed(search.start(np.arange(1))).shape[1]
    models = [[Drawn(seed + k, width, probabilistic)] for k in (1, 2)]
    return search, Mixture(0.0, (0.3, 0.7), tuple(models))


def best_by_enumeration(search, policy, example):
    """The output of the greatest sum of scores over all ways to decide."""
    paths = [(0.0, search.start(np.array([example])))]
    best = (-np.inf, None)
    while paths:
        total, state = paths.pop()
        if search.is_done(state)[0]:
            best = max(best, (total, search.outputs(state)[0]), key=lambda pair: pair[0])
            continue
        scores = mixed_scores(policy, search.allowed(state), search.rows(state))[0]
        actions = np.flatnonzero(np.isfinite(scores))
        paths += [(total + scores[a], search.step(state, np.array([a]))) for a in actions]
    return best[1]


@pytest.mark.parametrize("space", [LeftToRight(), RightToLeft(), WordAtATime(), ChunkAtATime()])
@pytest.mark.parametrize("probabilistic", [True, False])
def test_wide_beam_finds_the_best(space, probabilistic):
    differs = 0
    for seed in range(8):
        search, policy = set_up(space, 10 * seed, probabilistic)
        found = search.outputs(beam(search, policy, np.arange(2), 1000))
        assert found == [best_by_enumeration(search, policy, k) for k in (0, 1)]
        differs += found != search.outputs(greedy(search, policy, np.arange(2)))
    assert differs


def test_narrow_beam_is_greedy():
    for seed in range(5):
        search, policy = set_up(LeftToRight(), seed)
        ends = (beam(search, policy, np.arange(2), 1), greedy(search, policy, np.arange(2)))
        assert search.outputs(ends[0]) == search.outputs(ends[1])


def test_mean_probabilities_add_up():
    search, policy = set_up(WordAtATime(), 3)
    states = search.start(np.arange(2))
    scores = mixed_scores(policy, search.allowed(states), search.rows(states))
    np.testing.assert_allclose(np.exp(scores).sum(axis=1), 1, rtol=1e-12)


def test_mixture_draws_by_its_probabilities():
    """Each policy decides as often as its probability says; Hoeffding's bound at 1e-9."""
    search, _ = set_up(LeftToRight(), 0)
    states = search.start(np.zeros(20_000, np.int64))
    width = search.allowed(states).shape[1]

    class Always:
        probabilistic = True

        def __init__(self, action):
            self.action = action

        def scores(self, rows):
            return np.tile(np.arange(width) == self.action, (rows.shape[0], 1)).astype(float)

    policy = interpolated(interpolated(Mixture(), 0.4, [Always(1)]), 0.5, [Always(2)])
    assert (policy.optimal, *policy.weights) == pytest.approx((0.3, 0.2, 0.5))
    numbers = uniform(7, np.arange(20_000), states.progress)
    args = (search.allowed(states), search.rows(states), states.examples)
    found = sampled_actions(policy, *args, np.zeros(20_000, np.int64), numbers)
    shares = np.bincount(found, minlength=3) / 20_000
    assert np.abs(shares[:3] - (0.3, 0.2, 0.5)).max() < np.sqrt(np.log(2e9) / 40_000)
    alone = policy.without_optimal()
    assert (alone.optimal, *alone.weights) == pytest.approx((0, 2 / 7, 5 / 7))


def test_each_fold_is_decided_by_its_own_model():
    search, _ = set_up(LeftToRight(), 0)
    states = search.start(np.array([0, 1]))
    width = search.allowed(states).shape[1]
    models = [Drawn(1, width), Drawn(2, width), Drawn(3, width)]  # the last is that of all
    args = (search.allowed(states), search.rows(states), states.examples, None, np.zeros(2))
    found = sampled_actions(Mixture(0.0, (1.0,), (models,), np.array([1, 0])), *args)
    rows = search.rows(states)[0]
    want = [models[1].scores(rows)[0].argmax(), models[0].scores(rows)[1].argmax()]
    assert found.tolist() == want


def test_ties_go_to_gold_or_to_all():
    costs = np.array([[0, 1, 0, np.inf], [0, 0, 0, 2], [1, 0, 0, 0]], float)
    own = np.array([2, -1, 0])
    assert targets_of(costs, own, "gold").argmax(axis=1).tolist() == [2, 0, 1]
    assert targets_of(costs, own, "gold").sum(axis=1).tolist() == [1, 1, 1]
    assert targets_of(costs, own, "all").tolist() == (costs == 0).tolist()
