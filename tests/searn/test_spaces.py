"""Spaces, searches and expected costs against enumeration, mixtures against their probabilities."""

from itertools import product

import numpy as np
import pytest

import fsmeu
from fsmeu.fst.tags import chunks_of
from fsmeu.searn import search as searches
from fsmeu.searn.features import hashed_sentences, uniform
from fsmeu.searn.search import COSTS, Mixture, interpolated
from fsmeu.searn.spaces import CustomSpace
from fsmeu.searn.spaces.chunks import ChunkAtATime
from fsmeu.searn.spaces.tagging import Alternating, LeftToRight, RightToLeft, WordAtATime
from tests.searn.stubs import Drawn, PlainTagging, words


def searched(space, loss, ys):
    """The search of a space over sentences that have these gold outputs, and its labels."""
    sentences = words(np.random.default_rng(0), [len(y) for y in ys])
    seen = space.read_inputs(sentences, 12, (), "test")
    space = space.fitted(ys)
    bind = lambda labels, _=None: fsmeu.load(loss, labels=labels)  # noqa: E731
    return space.over(seen, ys, bind), space.labels_


def well_formed(tags):
    pairs = zip(["O", *tags], tags, strict=False)
    return all(b[0] != "I" or a[1:] == b[1:] for a, b in pairs)


def short(tags):
    """Well-formed, with chunks of X of at most 2 and of Y of at most 3 positions."""
    return well_formed(tags) and all(b - a <= 2 + (x == "Y") for a, b, x in chunks_of(tags))


def streams(z):
    return list(zip(*z, strict=True)) if isinstance(z[0], tuple) else [z]


def visit(search, states, loss_of, outputs):
    """The least loss after each state, by every way on; costs and losses are held against it."""
    done = search.is_done(states)
    ended, going, found = states.take(done), states.take(~done), np.empty(len(states))
    outputs += map(tuple, search.outputs(ended))
    found[done] = [loss_of(z) for z in search.outputs(ended)]
    np.testing.assert_allclose(search.losses(ended), found[done], atol=1e-12)
    if len(going):
        table = np.full(search.allowed(going).shape, np.inf)
        rows, actions = np.nonzero(search.allowed(going))
        after = search.step(going.take(rows), actions)
        table[rows, actions] = visit(search, after, loss_of, outputs)
        found[~done] = table.min(axis=1)
        costs, _ = search.costs(going)
        np.testing.assert_allclose(costs, table - found[~done][:, None], atol=1e-12)
    return found


BITS = [[0, 1, 1, 0], [1, 1, 0], [0, 0, 0, 1]]
CHUNKS = [["B-X", "I-X", "O", "B-Y"], ["B-X", "B-Y", "I-Y", "I-Y"], ["O", "I-X", "I-X"]]
PAIRS = [[("O", "B-X"), ("B-X", "I-X"), ("I-X", "O")], [("O", "I-X")]]
NAMED = [[("n", "B-X"), ("v", "I-X")], [("v", "O")]]  # a stream without tags
OF_TAGS = ("hamming", "chunk_fscore", "zero_one")
CASES = [
    *((LeftToRight(), loss, BITS, None) for loss in ("hamming", "fscore", "zero_one")),
    *((RightToLeft(), loss, BITS, None) for loss in ("hamming", "fscore", "mcc")),
    (CustomSpace(PlainTagging([0, 1])), "hamming", BITS, None),
    *((WordAtATime(), loss, CHUNKS, well_formed) for loss in OF_TAGS),
    *((ChunkAtATime(3), loss, CHUNKS, short) for loss in OF_TAGS),
    *((Alternating(), loss, PAIRS, well_formed) for loss in OF_TAGS),
    (Alternating(), "hamming", NAMED, well_formed),
]


@pytest.mark.parametrize(("space", "loss", "ys", "is_output"), CASES)
@pytest.mark.thirds
def test_costs_are_those_of_enumeration(space, loss, ys, is_output):
    """In every state, over the outputs that a space should have; the optimal policy finds gold."""
    search, labels = searched(space, loss, ys)
    is_output, names = is_output or (lambda z: True), labels or [0, 1]
    names = names if isinstance(space, Alternating) else [names]
    measures = [fsmeu.load(loss, labels=one) for one in names]
    sign = -1 if measures[0].kind == "utility" else 1
    optimal = searches.sampled(search, searches.Mixture(), search.start(np.arange(len(ys))), 0)
    for k, (y, z) in enumerate(zip(ys, search.outputs(optimal), strict=True)):

        def loss_of(z, y=y):
            parts = zip(measures, streams(z), streams(y), strict=True)
            return sum(sign * measure(*pair) for measure, *pair in parts)

        outputs = []
        visit(search, search.start(np.array([k])), loss_of, outputs)
        one = names[0] if len(names) == 1 else list(product(*names))
        every = product(one, repeat=len(y))
        assert sorted(outputs) == sorted(z for z in every if all(map(is_output, streams(z))))
        assert z == y or not all(map(is_output, streams(y)))


def test_own_chunk_is_the_rest_of_golds():
    search, labels = searched(ChunkAtATime(), "hamming", [["B-X", "I-X", "I-X", "O"]])
    states = search.start(np.array([0]))
    for length in (3, 2):
        own = search.costs(states)[1][0]
        assert (labels[search.actions.first[own]], search.actions.lengths[own]) == ("B-X", length)
        states = search.step(states, np.array([0]))  # O where gold has B-X


def test_gold_that_opens_with_i_is_matched_by_b():
    """The tag that is learned where gold's own is not allowed."""
    search, labels = searched(WordAtATime(), "chunk_fscore", [["O", "I-X", "I-X", "B-X"]])
    states = search.step(search.start(np.array([0])), np.array([labels.index("O")]))
    costs, own = search.costs(states)
    (target,) = np.flatnonzero(searches.targets_of(costs, own, "gold")[0])
    assert labels[target] == "B-X"
    assert np.isinf(costs[0, labels.index("I-X")])


# -- searches -------------------------------------------------------------------------------------


def set_up(space, seed, probabilistic=True):
    seen = hashed_sentences(words(np.random.default_rng(seed), [4, 3]), 12)
    search = space.fitted([["B-X", "I-X", "O", "B-Y"], ["O", "B-Y", "I-Y"]]).over(seen)
    width = search.allowed(search.start(np.arange(1))).shape[1]
    models = [[Drawn(seed + k, width, probabilistic)] for k in (1, 2)]
    return search, Mixture(0.0, (0.3, 0.7), tuple(models)), width


def scores_of(search, policy, states):
    return searches.mixed_scores(policy, searches.features_of(search, states))


def best_by_enumeration(search, policy, example):
    """The output of the greatest sum of scores over all ways to decide."""
    totals, states, best = np.zeros(1), search.start(np.array([example])), (-np.inf, None)
    while True:
        done = search.is_done(states)
        ends = zip(totals[done], search.outputs(states.take(done)), strict=True)
        best = max([best, *ends], key=lambda pair: pair[0])
        if done.all():
            return best[1]
        totals, states = totals[~done], states.take(~done)
        scores = scores_of(search, policy, states)
        rows, actions = np.nonzero(np.isfinite(scores))
        totals = totals[rows] + scores[rows, actions]
        states = search.step(states.take(rows), actions)


@pytest.mark.parametrize("space", [LeftToRight(), RightToLeft(), WordAtATime(), ChunkAtATime()])
@pytest.mark.parametrize("probabilistic", [True, False])
@pytest.mark.thirds
def test_beams(space, probabilistic):
    """A wide one finds the best, one of a single output is greedy search."""
    differs = 0
    for seed in range(8):
        search, policy, _ = set_up(space, 10 * seed, probabilistic)
        every = np.arange(2)
        found = search.outputs(searches.beam(search, policy, every, 1000))
        assert found == [best_by_enumeration(search, policy, k) for k in (0, 1)]
        greedy = search.outputs(searches.greedy(search, policy, every))
        assert greedy == search.outputs(searches.beam(search, policy, every, 1))
        differs += found != greedy
    assert differs


class Always:
    probabilistic = True

    def __init__(self, action, width):
        self.action, self.width = action, width

    def scores(self, rows):
        return np.tile(np.arange(self.width) == self.action, (rows.shape[0], 1)).astype(float)


def test_mixture_draws_by_its_probabilities():
    """Each policy decides as often as its probability says; Hoeffding's bound at 1e-9."""
    search, _, width = set_up(LeftToRight(), 0)
    states = search.start(np.zeros(20_000, np.int64))
    policy = interpolated(Mixture(), 0.4, [Always(1, width)])
    policy = interpolated(policy, 0.5, [Always(2, width)])
    assert (policy.optimal, *policy.weights) == pytest.approx((0.3, 0.2, 0.5))
    numbers = uniform(7, np.arange(20_000), states.progress)
    found = searches.sampled_actions(
        policy, searches.features_of(search, states), np.zeros(20_000, np.int64), numbers
    )
    shares = np.bincount(found, minlength=3) / 20_000
    assert np.abs(shares[:3] - (0.3, 0.2, 0.5)).max() < np.sqrt(np.log(2e9) / 40_000)
    alone = policy.without_optimal()
    assert (alone.optimal, *alone.weights) == pytest.approx((0, 2 / 7, 5 / 7))


def test_each_fold_is_decided_by_its_own_model():
    """While training; the last model is that of all examples."""
    search, _, width = set_up(LeftToRight(), 0)
    states = search.start(np.array([0, 1]))
    folded = Mixture(0.0, (1.0,), ([Always(k, width) for k in (1, 2, 3)],), np.array([1, 0]))
    acts = searches.sampled_actions(folded, searches.features_of(search, states), None, np.zeros(2))
    assert acts.tolist() == [2, 1]


# -- costs when a policy goes on ------------------------------------------------------------------


def expected(search, policies, states):
    """The expected loss of states from there on: a sum over who decides each step."""
    if search.is_done(states).all():
        return search.losses(states)
    return sum(w * expected(search, policies, search.step(states, f(states))) for w, f in policies)


def learned(search, model):
    def decide(states):
        scores = model.scores(search.rows(states)[0])
        return np.where(search.allowed(states), scores, -np.inf).argmax(axis=1)

    return decide


@pytest.mark.parametrize(
    ("loss", "space"), [("hamming", LeftToRight()), ("chunk_fscore", WordAtATime())]
)
def test_expected_costs_are_sums_over_who_decides(loss, space):
    ys = [["O", "B-X", "I-X", "O"], ["I-X", "O", "B-X", "B-X"], ["B-X", "O", "O", "I-X"]]
    search, _ = searched(space, loss, ys)
    model = Drawn(0, 3)
    policy = interpolated(interpolated(Mixture(), 0.3, [model]), 0.25, [Drawn(9, 3)])
    own = [learned(search, one) for one in (model, Drawn(9, 3))]
    decide = [lambda states: searches.optimal_actions(*search.costs(states)), *own]
    policies = list(zip([policy.optimal, *policy.weights], decide, strict=True))
    states = search.start(np.arange(3))
    for _ in range(2):
        rows, actions = np.nonzero(search.allowed(states))
        want = np.full((3, 3), np.inf)
        want[rows, actions] = expected(search, policies, search.step(states.take(rows), actions))
        found = COSTS["expected"](search, policy, 0, states)
        np.testing.assert_allclose(found, want - want.min(axis=1, keepdims=True), atol=1e-12)
        states = search.step(states, own[0](states))
