"""Spaces over labels: their costs are those of enumeration, their outputs well-formed."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fsmeu
from fsmeu.errors import InputError, SizeLimitError
from fsmeu.fst.tags import chunks_of
from fsmeu.searn import search as searches
from fsmeu.searn.features import HashedSentences, hashed_sentences, indices, mixed
from fsmeu.searn.spaces import CustomSpace, tagging
from fsmeu.searn.spaces.chunks import ChunkAtATime
from fsmeu.searn.spaces.tagging import Alternating, LeftToRight, RightToLeft, WordAtATime
from tests.searn.stubs import Drawn, PlainTagging, words

TAGS = ["O", "B-X", "I-X", "B-Y", "I-Y"]


def segments(begins, lengths):
    """One feature of a segment: its first position and length."""
    return indices(mixed(begins.astype(np.uint64), lengths.astype(np.uint64)), 12)[:, None]


def searched(space, loss, ys, rng=None, by_segments=False):
    """The search of a space over sentences that have these gold outputs, and its labels."""
    rng = np.random.default_rng(0) if rng is None else rng
    seen = hashed_sentences(words(rng, [len(y) for y in ys]), 12)
    if by_segments:
        seen = HashedSentences(seen.matrix, seen.starts, seen.crossed, segments)
    space = space.fitted(ys)

    def bind(labels, stream=None):
        return fsmeu.load(loss, labels=list(labels))

    return space.over(seen, ys, bind), space.labels_


def well_formed(tags):
    pairs = zip(["O", *tags], tags, strict=False)
    return all(b[0] != "I" or (a != "O" and a[2:] == b[2:]) for a, b in pairs)


def listed(name, labels, y, ok=well_formed):
    """The loss of every sequence of labels, or of those that are well-formed, by enumeration."""
    loss = fsmeu.load(name, labels=labels)
    sign = -1 if loss.kind == "utility" else 1
    return {z: sign * loss(z, y) for z in product(labels, repeat=len(y)) if ok(z)}


def least(values, prefix, closed=False):
    """The least loss of sequences with this prefix, after which no I comes if it is closed."""
    n = len(prefix)
    found = [z for z in values if z[:n] == prefix]
    if closed:
        found = [z for z in found if len(z) == n or z[n][0] != "I"]
    return min((values[z] for z in found), default=np.inf)


def walk(search, rng, examples):
    """The states of a walk by random actions, from the first to the last but one, one by one."""
    states = search.start(examples)
    while len(states := states.take(~search.is_done(states))):
        costs, own = search.costs(states)
        for k, example in enumerate(states.examples):
            yield example, states.labels[k, : states.progress[k]], costs[k], own[k]
        allowed = search.allowed(states)
        assert np.array_equal(allowed, np.isfinite(costs))
        states = search.step(states, (rng.random(allowed.shape) * allowed).argmax(axis=1))


@pytest.mark.parametrize("loss", ["hamming", "chunk_fscore"])
@pytest.mark.parametrize("by_segments", [False, True])
def test_chunk_costs_are_those_of_enumeration(loss, by_segments):
    """The least loss after the labels of each chunk, over all completions by further chunks."""
    rng = np.random.default_rng(1)
    ys = [["B-X", "I-X", "O", "B-Y"], ["B-X", "B-Y", "I-Y", "I-Y"], ["O", "I-X", "I-X"]]
    search, labels = searched(ChunkAtATime(longest=3), loss, ys, rng, by_segments)
    values = [listed(loss, labels, y) for y in ys]
    for example, done, costs, own in walk(search, rng, np.arange(3)):
        want = {}
        for a in np.flatnonzero(np.isfinite(costs)):
            first, m = labels[search.actions.first[a]], search.actions.lengths[a]
            chunk = (first, *[first.replace("B-", "I-")] * (m - 1))
            prefix = (*(labels[j] for j in done), *chunk)
            want[a] = least(values[example], prefix, closed=True)
        base = min(want.values())
        for a, value in want.items():
            assert costs[a] == pytest.approx(value - base, abs=1e-12)
        lengths = [m for m in (1, 2, 3) if m <= len(ys[example]) - len(done)]
        assert len(want) == 1 + 2 * len(lengths) - (len(lengths) == 3)  # X has 2 at most
        if well_formed(ys[example]) and own >= 0 and not len(done):
            assert costs[own] == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize("loss", ["hamming", "chunk_fscore", "zero_one"])
@pytest.mark.parametrize("space", [WordAtATime(), Alternating()])
def test_tag_costs_are_those_of_well_formed_completions(space, loss):
    rng = np.random.default_rng(3)
    tags = [["B-X", "I-X", "O"], ["O", "B-Y", "I-X"], ["B-Y", "B-X", "I-X", "I-Y"]]
    shift = int(isinstance(space, Alternating))  # a stream with one label comes first
    ys = [[("O", tag) for tag in one] for one in tags] if shift else tags
    search, labels = searched(space, loss, ys, rng)
    names = labels[1] if shift else labels
    values = [listed(loss, names, y) for y in tags]
    for example, done, costs, _ in walk(search, rng, np.arange(3)):
        if shift and len(done) % 2 == 0:
            continue
        past = tuple(names[j - shift] for j in done[shift :: 1 + shift])
        want = np.array([least(values[example], (*past, tag)) for tag in names])
        np.testing.assert_allclose(costs[shift:], want - want.min(), atol=1e-12)


@pytest.mark.parametrize("space", [LeftToRight(), RightToLeft()])
@pytest.mark.parametrize("loss", ["hamming", "fscore"])
def test_label_costs_are_those_of_enumeration(space, loss):
    """Also from right to left, where completions are to the left: these are listed reversed."""
    rng, order = np.random.default_rng(2), space.order
    ys = [[0, 1, 1, 0], [1, 1, 0], [0, 0, 0, 1]]
    search, labels = searched(space, loss, ys, rng)
    values = [listed(loss, labels, y, lambda z: True) for y in ys]
    values = [{z[::order]: value for z, value in one.items()} for one in values]
    for example, done, costs, own in walk(search, rng, np.arange(3)):
        want = np.array([least(values[example], (*done.tolist(), label)) for label in labels])
        np.testing.assert_allclose(costs, want - want.min(), atol=1e-12)
        assert labels[own] == ys[example][::order][len(done)]


def test_own_chunk_is_the_rest_of_golds():
    search, labels = searched(ChunkAtATime(), "hamming", [["B-X", "I-X", "I-X", "O"]])
    states = search.start(np.array([0]))
    for length in (3, 2):
        own = search.costs(states)[1][0]
        assert (labels[search.actions.first[own]], search.actions.lengths[own]) == ("B-X", length)
        states = search.step(states, np.array([0]))  # O where gold has B-X


def test_losses_that_depend_on_order_are_refused_from_right_to_left():
    with pytest.raises(InputError, match="must not depend on the order"):
        searched(RightToLeft(), "chunk_fscore", [["B-X", "I-X"]])


@pytest.mark.parametrize(
    ("loss", "is_free"),
    [("hamming", True), ("fscore", True), ("mcc", True), ("zero_one", False), ("pk", False)],
)
def test_order_is_derived(loss, is_free):
    """Where order is said not to matter, reversed pairs have the same value."""
    measure = fsmeu.load(loss, **({"k": 2} if loss == "pk" else {}))
    assert tagging.is_order_free(measure) == is_free
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
        every, width = np.arange(len(ys)), search.allowed(search.start(np.arange(1))).shape[1]
        policy = searches.Mixture(0.0, (0.5, 0.5), ([Drawn(seed, width)], [Drawn(seed + 1, width)]))
        ends = [searches.sampled(search, policy, search.start(every), seed)]
        ends += [searches.greedy(search, policy, every), searches.beam(search, policy, every, 3)]
        for outputs in map(search.outputs, ends):
            assert [len(one) for one in outputs] == [len(y) for y in ys]
            assert all(well_formed(one) for one in outputs)


def test_gold_that_opens_with_i_is_matched_by_b():
    """The tag that is learned where gold's own is not allowed."""
    search, labels = searched(WordAtATime(), "chunk_fscore", [["O", "I-X", "I-X", "B-X"]])
    states = search.step(search.start(np.array([0])), np.array([labels.index("O")]))
    costs, own = search.costs(states)
    (target,) = np.flatnonzero(searches.targets_of(costs, own, "gold")[0])
    assert labels[target] == "B-X"
    assert np.isinf(costs[0, labels.index("I-X")])


def test_alternation_takes_turns_and_adds_losses():
    ys = [[("n", "B-X"), ("v", "I-X")], [("v", "O")]]
    search, labels = searched(Alternating(), "hamming", ys)
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
    rng, ys = np.random.default_rng(3), [["a", "b", "b"], ["b", "a"]]
    batched, labels = searched(LeftToRight(), "hamming", ys, rng)
    own = CustomSpace(PlainTagging("hamming", labels))
    plain = own.over(own.read_inputs(words(rng, [3, 2]), 12, (), "test"), ys)
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
    monkeypatch.setattr(tagging, "MOST_LABEL_CELLS", 11)
    search, _ = searched(LeftToRight(), "hamming", [[0, 1], [1] * 6])
    assert len(search.start(np.array([1]))) == 1
    with pytest.raises(SizeLimitError, match="2 x 6"):
        search.start(np.arange(2))


def test_chunks_of_ill_formed_tags():
    found = chunks_of(["I-X", "I-X", "I-Y", "O", "B-X", "B-X"])
    assert found == [(0, 2, "X"), (2, 3, "Y"), (4, 5, "X"), (5, 6, "X")]
