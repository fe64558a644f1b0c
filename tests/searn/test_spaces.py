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
from fsmeu.searn.features import HashedSentences, indices, mixed
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
    sentences = words(np.random.default_rng(0) if rng is None else rng, [len(y) for y in ys])
    seen = space.read_inputs(sentences, 12, (), "test")
    if by_segments:
        seen = HashedSentences(seen.matrix, seen.starts, seen.crossed, segments)
    space = space.fitted(ys)
    bind = lambda labels, _=None: fsmeu.load(loss, labels=labels)  # noqa: E731
    return space.over(seen, ys, bind), space.labels_


def well_formed(tags):
    pairs = zip(["O", *tags], tags, strict=False)
    return all(b[0] != "I" or (a != "O" and a[2:] == b[2:]) for a, b in pairs)


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
    *((ChunkAtATime(3, h), loss, CHUNKS, short) for loss in OF_TAGS for h in (1, 2)),
    *((Alternating(), loss, PAIRS, well_formed) for loss in OF_TAGS),
    (Alternating(), "hamming", NAMED, well_formed),
]


@pytest.mark.parametrize(("space", "loss", "ys", "is_output"), CASES)
def test_costs_are_those_of_enumeration(space, loss, ys, is_output):
    """In every state, over the outputs that a space should have; the optimal policy finds gold."""
    by_segments = is_output is short and space.history == 1
    search, labels = searched(space, loss, ys, None, by_segments)
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


@pytest.mark.parametrize("loss", ["chunk_fscore", "zero_one", "transitions"])
def test_losses_that_depend_on_order_are_refused_from_right_to_left(loss):
    with pytest.raises(InputError, match="must not depend on the order"):
        searched(RightToLeft(), loss, [["B-X", "I-X"]] if loss == "chunk_fscore" else BITS)


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


def test_a_sentence_that_is_far_too_long_is_refused(monkeypatch):
    monkeypatch.setattr(tagging, "MOST_LABEL_CELLS", 11)
    search, _ = searched(LeftToRight(), "hamming", [[0, 1], [1] * 6])
    assert len(search.start(np.array([1]))) == 1
    with pytest.raises(SizeLimitError, match="2 x 6"):
        search.start(np.arange(2))


def test_chunks_of_ill_formed_tags():
    found = chunks_of(["I-X", "I-X", "I-Y", "O", "B-X", "B-X"])
    assert found == [(0, 2, "X"), (2, 3, "Y"), (4, 5, "X"), (5, 6, "X")]
