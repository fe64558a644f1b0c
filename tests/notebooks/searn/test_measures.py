"""Chunk F1 is that of seqeval and of the loss on the shelf; intervals behave as they must."""

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fsmeu
from fsmeu.errors import InputError
from searn.measures import counts_of, interval, pair_counts

TAGS = ["O", "B-NP", "I-NP", "B-VP", "I-VP"]
PAIRS = st.lists(
    st.lists(st.tuples(st.sampled_from(TAGS), st.sampled_from(TAGS)), min_size=1, max_size=8),
    min_size=1,
    max_size=6,
).map(lambda both: ([[z for z, _ in one] for one in both], [[y for _, y in one] for one in both]))


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


@given(PAIRS)
def test_chunk_f1_of_one_sentence_is_the_loss_on_the_shelf(pair):
    z, y = pair[0][0], pair[1][0]
    loss = fsmeu.load("chunk_fscore", labels=TAGS, empty=0)
    assert counts_of([z], [y]).scores()["F1"] == pytest.approx(loss(z, y), rel=1e-12)


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
