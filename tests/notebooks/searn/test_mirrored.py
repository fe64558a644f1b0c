"""From right to left: mirrored chunk tags have the same chunks, losses of chunks their value."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array

import fsmeu
from fsmeu.searn.features import HashedSentences
from searn.measures import chunks
from searn.task import Part, mirrored, mirrored_tags

TAGS = ["O", "B-NP", "I-NP", "B-VP", "I-VP"]
LINES = st.lists(st.tuples(st.sampled_from(TAGS), st.sampled_from(TAGS)), min_size=1, max_size=7)


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
