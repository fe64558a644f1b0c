"""Features of chunks: equal exactly where what they say of chunks is equal."""

from itertools import product

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from fsmeu.searn.features.templates import (
    CHUNKS,
    SegmentSet,
    parse_template,
    parse_templates,
    segment_features,
)

ROWS = st.tuples(st.sampled_from(["the", "cat", "ran"]), st.sampled_from(["DT", "NN"]))
CORPORA = st.lists(st.lists(ROWS, min_size=1, max_size=4), min_size=1, max_size=3)
SMALL = SegmentSet(
    ((parse_template("pos[-1]"), parse_template("word[1]")), ((), parse_template("pos"))),
    parse_templates(["word"]),
    ("pos",),
    parse_templates(["word", "pos[0] pos[1]"]),
)


def all_chunks(corpus):
    """Sentence, first position and length of every chunk that there could be."""
    for number, rows in enumerate(corpus):
        for begin in range(len(rows)):
            for length in range(1, len(rows) - begin + 1):
                yield number, begin, length


def said(rows, begin, length):
    """What the small set says of a chunk: five features, and two at each position."""
    end = begin + length
    before = rows[begin - 1][1] if begin else "^"
    after = rows[end][0] if end < len(rows) else "$"
    parts = tuple(row[1] for row in rows[begin:end])
    five = [
        ("ends", before, after),
        ("last", parts[-1]),
        ("sized", rows[begin][0], length),
        ("whole", parts),
    ]
    for k in range(begin, end):
        five.append(("word", rows[k][0]))
        five.append(("pair", rows[k][1], rows[k + 1][1]) if k + 1 < end else None)
    return five


@given(CORPORA)
def test_columns_are_equal_where_texts_are(corpus):
    starts = np.concatenate([[0], np.cumsum([len(one) for one in corpus])])
    found = list(all_chunks(corpus))
    begins = np.array([starts[number] + begin for number, begin, _ in found])
    lengths = np.array([length for _, _, length in found])
    columns = segment_features(corpus, SMALL, 30)(begins, lengths)
    texts = [said(corpus[number], begin, length) for number, begin, length in found]
    cells = []
    for row, text in zip(columns.tolist(), texts, strict=True):
        assert len(row) >= len(text)
        assert set(row[len(text) :]) <= {-1}
        assert [k for k, one in enumerate(row[: len(text)]) if one < 0] == [
            k for k, one in enumerate(text) if one is None
        ]
        cells += [(a, b) for a, b in zip(row, text, strict=False) if b is not None]
    for (a, s), (b, t) in product(set(cells), repeat=2):
        assert (a == b) == (s == t)


def test_the_set_for_chunks():
    corpus = [[("Great", "JJ"), ("American", "NNP"), ("said", "VBD")]]
    features = segment_features(corpus, CHUNKS, 21)
    found = features(np.array([0, 2]), np.array([2, 1]))
    fixed = len(CHUNKS.ends) + len(CHUNKS.sized) + len(CHUNKS.wholes)
    assert found.shape == (2, fixed + 2 * len(CHUNKS.inside))
    assert found[:, :fixed].min() >= 0
    assert found.max() < 1 << 21
