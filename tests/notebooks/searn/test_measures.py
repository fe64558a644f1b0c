"""Chunk F1 is that of seqeval, also from right to left; intervals behave as they must."""

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array

import fsmeu
from fsmeu.errors import InputError
from fsmeu.searn.features import HashedSentences
from searn.measures import chunks, counts_of, interval, pair_counts
from searn.task import Part, mirrored, mirrored_tags

TAGS = ["O", "B-NP", "I-NP", "B-VP", "I-VP"]
LINES = st.lists(st.tuples(st.sampled_from(TAGS), st.sampled_from(TAGS)), min_size=1, max_size=8)
PAIRS = st.lists(LINES, min_size=1, max_size=6).map(
    lambda both: ([[z for z, _ in one] for one in both], [[y for _, y in one] for one in both])
)


@given(PAIRS)
def test_scores_are_those_of_seqeval(pair):
    metrics = pytest.importorskip("seqeval.metrics")
    z, y = pair
    found = counts_of(z, y).scores()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, score in (
            ("F1", metrics.f1_score),
            ("precision", metrics.precision_score),
            ("recall", metrics.recall_score),
            ("accuracy", metrics.accuracy_score),
        ):
            assert found[name] == pytest.approx(score(y, z), abs=1e-12), name
    assert found["sequences"] == np.mean([a == b for a, b in zip(z, y, strict=True)])


def test_lengths_must_agree():
    with pytest.raises(InputError, match="same number and length"):
        counts_of([["O"]], [["O", "O"]])


def test_the_interval_is_that_of_the_normal_distribution():
    """Accuracy of sentences of one tag is a mean: the interval is near 1.96 s / sqrt(n)."""
    random = np.random.default_rng(3)
    right = random.random(900) < 0.8
    counts = counts_of([["a"] if one else ["b"] for one in right], [["a"]] * 900)
    found = interval([counts], "accuracy", draws=2000, seed=1)
    width = 1.96 * np.sqrt(right.mean() * (1 - right.mean()) / 900)
    assert found.value == pytest.approx(right.mean(), abs=1e-12)
    assert found.high - found.value == pytest.approx(width, rel=0.15)
    assert found.value - found.low == pytest.approx(width, rel=0.15)
    assert interval([counts, counts], "accuracy", draws=2000, seed=1) == found


@given(PAIRS)
def test_pairs_are_counted_by_stream(pair):
    """Accuracy is that of both streams laid end to end, chunks are those of the second."""
    z, y = pair
    joint = [
        [[(first[0], second) for first, second in zip(a, b, strict=True)] for a, b in both]
        for both in (zip(z, z, strict=True), zip(z, y, strict=True))
    ]
    found = pair_counts(*joint).scores()
    flat = [[[label for two in one for label in two] for one in part] for part in joint]
    same = [a == b for m, t in zip(*flat, strict=True) for a, b in zip(m, t, strict=True)]
    assert found["accuracy"] == pytest.approx(np.mean(same), rel=1e-12)
    assert found["F1"] == counts_of(z, y).scores()["F1"]
    assert found["sequences"] == np.mean([a == b for a, b in zip(*joint, strict=True)])


# -- from right to left: mirrored chunk tags have the same chunks, losses of chunks their value ----


@given(LINES)
def test_chunk_losses_have_the_same_value(pairs):
    z, y = ([pair[k] for pair in pairs] for k in (0, 1))
    for name in ("chunk_fscore", "chunk_precision", "chunk_recall"):
        loss = fsmeu.load(name, labels=TAGS)
        assert loss(mirrored_tags(z), mirrored_tags(y)) == pytest.approx(loss(z, y), abs=1e-15)


@given(LINES)
def test_mirrored_twice_is_well_formed_and_has_the_same_chunks(pairs):
    tags = [pair[0] for pair in pairs]
    turned = mirrored_tags(tags)
    n = len(tags)
    assert chunks(turned) == {(n - end, n - begin, name) for begin, end, name in chunks(tags)}
    again = mirrored_tags(turned)
    assert chunks(again) == chunks(tags)
    assert all(tag[0] != "I" or again[k - 1][1:] == tag[1:] for k, tag in enumerate(again))


def test_positions_keep_their_features():
    rows = csr_array(np.diag(np.arange(1.0, 6.0)))
    seen = HashedSentences(rows, np.array([0, 2, 5]), np.arange(5, dtype=np.uint64)[:, None])
    found = mirrored(Part(seen, [["B-X", "I-X"], ["B-X", "O", "O"]]))
    assert found.sentences.matrix.toarray().argmax(axis=1).tolist() == [1, 0, 4, 3, 2]
    assert found.sentences.crossed.ravel().tolist() == [1, 0, 4, 3, 2]
    assert found.labels == [["B-X", "I-X"], ["O", "O", "B-X"]]
