"""Spaces over labels: their costs are those of enumeration, their outputs well-formed."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fsmeu
from fsmeu.errors import InputError, SizeLimitError
from fsmeu.searn.features.sentences import HashedSentences, hashed_sentences, indices, mixed
from fsmeu.searn.search import Mixture, beam, greedy, sampled, targets_of
from fsmeu.searn.spaces.chunks import ChunkAtATime
from fsmeu.searn.spaces.custom import CustomSpace
from fsmeu.searn.spaces.tagging import (
    Alternating,
    LeftToRight,
    RightToLeft,
    WordAtATime,
    chunks_of,
    is_order_free,
)
from tests.searn.stubs import Drawn, PlainTagging, words

TAGS = ["O", "B-X", "I-X", "B-Y", "I-Y"]


def bound(loss):
    return lambda labels, stream=None: fsmeu.load(loss, labels=list(labels))


def segments(begins, lengths):
    """One feature of a segment: its first position and length."""
    return indices(mixed(begins.astype(np.uint64), lengths.astype(np.uint64)), 12)[:, None]


def searched(space, loss, ys, rng, by_segments=False):
    """The search of a space over sentences that have these gold outputs."""
    seen = hashed_sentences(words(rng, [len(y) for y in ys]), 12)
    if by_segments:
        seen = HashedSentences(seen.matrix, seen.starts, seen.crossed, segments)
    space = space.fitted(ys)
    return space.over(seen, ys, bound(loss)), space.labels_


def well_formed(tags):
    pairs = zip(["O", *tags], tags, strict=False)
    return all(b[0] != "I" or (a != "O" and a[2:] == b[2:]) for a, b in pairs)


def listed(loss, labels, y):
    """The loss of every well-formed sequence of tags, by enumeration."""
    sign = -1 if loss.kind == "utility" else 1
    every = (z for z in product(labels, repeat=len(y)) if well_formed(z))
    return {z: sign * loss(z, y) for z in every}


def least(values, prefix, closed=False):
    """The least loss of sequences with this prefix, after which no I comes if it is closed."""
    n = len(prefix)
    found = [z for z in values if z[:n] == prefix]
    if closed:
        found = [z for z in found if len(z) == n or z[n][0] != "I"]
    return min((values[z] for z in found), default=np.inf)


def walk(search, rng, examples):
    """The states of a walk by random actions, from the first to the last but one."""
    states = search.start(examples)
    while len(states):
        states = states.take(~search.is_done(states))
        if len(states):
            yield states
            allowed = search.allowed(states)
            states = search.step(states, (rng.random(allowed.shape) * allowed).argmax(axis=1))


@pytest.mark.parametrize("loss", ["hamming", "chunk_fscore"])
@pytest.mark.parametrize("by_segments", [False, True])
def test_chunk_costs_are_those_of_enumeration(loss, by_segments):
    """The least loss after the labels of each chunk, over all completions by further chunks."""
    rng = np.random.default_rng(1)
    ys = [["B-X", "I-X", "O", "B-Y"], ["B-X", "B-Y", "I-Y", "I-Y"], ["O", "I-X", "I-X"]]
    search, labels = searched(ChunkAtATime(longest=3), loss, ys, rng, by_segments)
    values = [listed(fsmeu.load(loss, labels=labels), labels, y) for y in ys]
    for states in walk(search, rng, np.arange(3)):
        costs, own = search.costs(states)
        for k, example in enumerate(states.examples):
            y, done = ys[example], states.progress[k]
            prefix = [labels[j] for j in states.labels[k, :done]]
            want = {}
            for a in np.flatnonzero(np.isfinite(costs[k])):
                first, m = labels[search.actions.first[a]], search.actions.lengths[a]
                rest = [first.replace("B-", "I-")] * (m - 1)
                want[a] = least(values[example], (*prefix, first, *rest), closed=True)
            base = min(want.values())
            for a, value in want.items():
                assert costs[k, a] == pytest.approx(value - base, abs=1e-12)
            assert set(want) == set(np.flatnonzero(search.allowed(states)[k]))
            lengths = [m for m in (1, 2, 3) if m <= len(y) - done]
            assert len(want) == 1 + 2 * len(lengths) - (len(lengths) == 3)  # X has 2 at most
            if well_formed(y) and own[k] >= 0 and done == 0:
                assert costs[k, own[k]] == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize("loss", ["hamming", "chunk_fscore", "zero_one"])
@pytest.mark.parametrize("space", [WordAtATime(), Alternating()])
def test_tag_costs_are_those_of_well_formed_completions(space, loss):
    """The least loss after each tag, over well-formed completions."""
    rng = np.random.default_rng(3)
    tags = [["B-X", "I-X", "O"], ["O", "B-Y", "I-X"], ["B-Y", "B-X", "I-X", "I-Y"]]
    shift = int(isinstance(space, Alternating))  # a stream with one label comes first
    ys = [[("O", tag) for tag in one] for one in tags] if shift else tags
    search, labels = searched(space, loss, ys, rng)
    names = labels[1] if shift else labels
    values = [listed(fsmeu.load(loss, labels=names), names, y) for y in tags]
    for states in walk(search, rng, np.arange(3)):
        costs, _ = search.costs(states)
        for k, example in enumerate(states.examples):
            done = states.labels[k, : states.progress[k]]
            if shift and len(done) % 2 == 0:
                continue
            past = tuple(names[j - shift] for j in done[shift :: 1 + shift])
            want = [least(values[example], (*past, tag)) for tag in names]
            want = np.array(want) - min(want)
            np.testing.assert_allclose(costs[k, shift:], want, atol=1e-12)


def test_own_chunk_is_the_rest_of_golds():
    rng = np.random.default_rng(0)
    ys = [["B-X", "I-X", "I-X", "O"]]
    search, labels = searched(ChunkAtATime(), "hamming", ys, rng)
    states = search.start(np.array([0]))
    lengths, firsts = search.actions.lengths, search.actions.first
    _, own = search.costs(states)
    assert (labels[firsts[own[0]]], lengths[own[0]]) == ("B-X", 3)
    states = search.step(states, np.array([0]))  # O where gold has B-X
    _, own = search.costs(states)
    assert (labels[firsts[own[0]]], lengths[own[0]]) == ("B-X", 2)


@pytest.mark.parametrize("space", [LeftToRight(), RightToLeft()])
@pytest.mark.parametrize("loss", ["hamming", "fscore"])
def test_label_costs_are_those_of_enumeration(space, loss):
    """Also from right to left, where completions are to the left."""
    rng = np.random.default_rng(2)
    ys = [[0, 1, 1, 0], [1, 1, 0], [0, 0, 0, 1]]
    search, labels = searched(space, loss, ys, rng)
    measure = fsmeu.load(loss, labels=labels)
    sign = -1 if measure.kind == "utility" else 1
    for states in walk(search, rng, np.arange(3)):
        costs, own = search.costs(states)
        for k, example in enumerate(states.examples):
            y, t = ys[example], int(states.progress[k])
            done = states.labels[k, :t].tolist()
            want = []
            for label in labels:
                free = product(labels, repeat=len(y) - t - 1)
                if space.backwards:
                    outputs = ([*one, label, *done[::-1]] for one in free)
                else:
                    outputs = ([*done, label, *one] for one in free)
                want.append(min(sign * measure(z, y) for z in outputs))
            np.testing.assert_allclose(costs[k], np.array(want) - min(want), atol=1e-12)
            assert labels[own[k]] == (y[-1 - t] if space.backwards else y[t])


def test_losses_that_depend_on_order_are_refused_from_right_to_left():
    ys = [["B-X", "I-X"]]
    with pytest.raises(InputError, match="must not depend on the order"):
        searched(RightToLeft(), "chunk_fscore", ys, np.random.default_rng(0))


@pytest.mark.parametrize(
    ("loss", "is_free"),
    [("hamming", True), ("fscore", True), ("mcc", True), ("zero_one", False), ("pk", False)],
)
def test_order_is_derived(loss, is_free):
    """Where order is said not to matter, reversed pairs have the same value."""
    measure = fsmeu.load(loss, **({"k": 2} if loss == "pk" else {}))
    assert is_order_free(measure) == is_free
    rng = np.random.default_rng(0)
    for n in range(6) if is_free else ():
        z, y = rng.integers(2, size=(2, n)).tolist()
        assert measure(z, y) == pytest.approx(measure(z[::-1], y[::-1]), abs=1e-12)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6))
def test_tags_are_well_formed(seed):
    """Whatever a model scores, and however it is searched."""
    rng = np.random.default_rng(seed)
    ys = [[TAGS[k] for k in rng.integers(5, size=n)] for n in rng.integers(1, 7, 4)]
    for space in (WordAtATime(), ChunkAtATime()):
        search, _ = searched(space, "hamming", [*ys, ["B-X", "I-X", "B-Y", "I-Y"]], rng)
        width = search.allowed(search.start(np.arange(1))).shape[1]
        policy = Mixture(0.0, (0.5, 0.5), ([Drawn(seed, width)], [Drawn(seed + 1, width)]))
        every = np.arange(len(ys))
        drawn = sampled(search, policy, search.start(every), seed)
        for ends in (greedy(search, policy, every), beam(search, policy, every, 3), drawn):
            outputs = search.outputs(ends)
            assert [len(one) for one in outputs] == [len(y) for y in ys]
            assert all(well_formed(one) for one in outputs)


def test_gold_that_opens_with_i_is_matched_by_b():
    """The tag that is learned where gold's own is not allowed."""
    search, labels = searched(
        WordAtATime(), "chunk_fscore", [["O", "I-X", "I-X", "B-X"]], np.random.default_rng(0)
    )
    states = search.step(search.start(np.array([0])), np.array([labels.index("O")]))
    costs, own = search.costs(states)
    (target,) = np.flatnonzero(targets_of(costs, own, "gold")[0])
    assert labels[target] == "B-X"
    assert np.isinf(costs[0, labels.index("I-X")])


def test_alternation_takes_turns_and_adds_losses():
    rng = np.random.default_rng(5)
    ys = [[("n", "B-X"), ("v", "I-X")], [("v", "O")]]
    search, labels = searched(Alternating(), "hamming", ys, rng)
    assert labels == [["n", "v"], ["B-X", "I-X", "O"]]
    states = search.start(np.arange(2))
    assert search.allowed(states)[0].tolist() == [True, True, False, False, False]
    costs, own = search.costs(states)
    assert own.tolist() == [0, 1]
    assert costs[:, :2].tolist() == [[0, 0.5], [1, 0]]  # a share of 2 positions, and of 1
    states = search.step(states, np.array([1, 1]))
    assert search.allowed(states)[0].tolist() == [False, False, True, False, True]  # no I-X first
    states = search.step(states, np.array([2, 4]))
    assert search.is_done(states).tolist() == [False, True]
    assert search.losses(states.take([1])).tolist() == [0.0]
    last = search.step(search.step(states.take([0]), np.array([0])), np.array([3]))
    assert search.outputs(last) == [[("v", "B-X"), ("n", "I-X")]]
    assert search.losses(last).tolist() == [1.0]  # both of the first stream, none of the second


def test_plain_space_has_the_costs_of_the_batched_one():
    """The worked example of a space of one's own, and ``LeftToRight``."""
    rng = np.random.default_rng(3)
    ys = [["a", "b", "b"], ["b", "a"]]
    batched, labels = searched(LeftToRight(), "hamming", ys, rng)
    own = CustomSpace(PlainTagging("hamming", labels))
    inputs = own.read_inputs(words(rng, [3, 2]), 12, (), "test")
    plain = own.over(inputs, ys)
    one, other = batched.start(np.arange(2)), plain.start(np.arange(2))
    while len(one):
        for first, second in zip(batched.costs(one), plain.costs(other), strict=True):
            np.testing.assert_allclose(first, second, atol=1e-12)
        actions = rng.integers(2, size=len(one))
        one, other = batched.step(one, actions), plain.step(other, actions)
        done = batched.is_done(one)
        assert done.tolist() == plain.is_done(other).tolist()
        one, other = one.take(~done), other.take(~done)


def test_a_sentence_that_is_far_too_long_is_refused(monkeypatch):
    monkeypatch.setattr("fsmeu.searn.spaces.tagging.MOST_LABEL_CELLS", 11)
    search, _ = searched(LeftToRight(), "hamming", [[0, 1], [1] * 6], np.random.default_rng(0))
    assert len(search.start(np.array([1]))) == 1
    with pytest.raises(SizeLimitError, match="2 x 6"):
        search.start(np.arange(2))


def test_chunks_of_ill_formed_tags():
    assert chunks_of(["I-X", "I-X", "I-Y", "O", "B-X", "B-X"]) == [
        (0, 2, "X"), (2, 3, "Y"), (4, 5, "X"), (5, 6, "X"),
    ]  # fmt: skip
