"""Features: hashes are those of every run, and equal exactly where what they say is equal."""

from hashlib import blake2b
from itertools import product

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from fsmeu.searn import features
from fsmeu.searn.features import parse_template, parse_templates

ROWS = st.tuples(st.sampled_from(["the", "The", "cat", "ran"]), st.sampled_from(["DT", "NN", "V"]))
CORPORA = st.lists(st.lists(ROWS, min_size=1, max_size=4), min_size=1, max_size=3)


def test_hashes_are_those_of_every_run():
    """Figures from BLAKE2 as Python's library computes it, not from a run of this code."""
    found = features.hashed_sentences([[{"w": "the", "n": 2}], [["w=the"], []]], 16, ("w",))
    for name, row in (("w:the", 0), ("w=the", 1)):
        number = int.from_bytes(blake2b(name.encode(), digest_size=8).digest(), "big")
        assert number >> 48 in found.matrix[[row]].indices
        assert found.crossed[row, 0] == number
    assert found.matrix.sum() == 1 + 2 + 1
    assert (found.starts.tolist(), found.lengths.tolist()) == ([0, 1, 3], [1, 2])
    assert found.crossed[2, 0] == 0


# -- templates ------------------------------------------------------------------------------------


def assert_equal_where_texts_are(cells):
    """Of pairs of a hash and what it says."""
    for (a, s), (b, t) in product(set(cells), repeat=2):
        assert (a == b) == (s == t)


def said(rows, i, template):
    """What a template says of a position, spelled out."""
    found = []
    for name, k in ((name, i + offset) for name, offset in parse_template(template)):
        if not 0 <= k < len(rows):
            found.append("before" if k < 0 else "after")
        else:
            text = rows[k][1] if name == "pos" else features.FUNCTIONS[name](rows[k][0])
            found.append("=" + text)
    return tuple(found)


@given(CORPORA, st.sampled_from(["word", "pos[-1] lower[0]", "lower[-2] pos[+1]", "suffix1[1]"]))
def test_hashes_are_equal_where_texts_are(corpus, template):
    held = [parse_template(template)]
    hashes = features.template_hashes(features.columns_of(corpus, held), held)[:, 0]
    texts = [said(rows, i, template) for rows in corpus for i in range(len(rows))]
    assert_equal_where_texts_are(zip(hashes.tolist(), texts, strict=True))


def test_order_and_template_matter():
    corpus = [[("a", "b"), ("b", "a")]]
    three = parse_templates(["word[0] pos[0]", "pos[0] word[0]", "word[0] word[1]"])
    columns = features.columns_of(corpus, three)
    assert len(set(features.template_hashes(columns, three).ravel())) == 6


SMALL = features.SegmentSet(
    ((parse_template("pos[-1]"), parse_template("word[1]")), ((), parse_template("pos"))),
    parse_templates(["word"]),
    ("pos",),
    parse_templates(["word", "pos[0] pos[1]"]),
)


def said_of_chunk(rows, begin, length):
    """What the small set says of a chunk: four features, and two at each position."""
    end = begin + length
    parts = tuple(row[1] for row in rows[begin:end])
    before = rows[begin - 1][1] if begin else "^"
    after = rows[end][0] if end < len(rows) else "$"
    found = [("ends", before, after), ("last", parts[-1])]
    found += [("sized", rows[begin][0], length), ("whole", parts)]
    for k in range(begin, end):
        found.append(("word", rows[k][0]))
        found.append(("pair", rows[k][1], rows[k + 1][1]) if k + 1 < end else None)
    return found


@given(CORPORA)
def test_columns_of_chunks_are_equal_where_texts_are(corpus):
    starts = np.concatenate([[0], np.cumsum([len(one) for one in corpus])])
    spans = [(rows, i, m) for rows in corpus for i in range(len(rows)) for m in range(1, 5)]
    numbers = [k for k, rows in enumerate(corpus) for _ in range(4 * len(rows))]
    pairs = [(k, one) for k, one in zip(numbers, spans, strict=True) if sum(one[1:]) <= len(one[0])]
    begins = np.array([starts[k] + begin for k, (_, begin, _) in pairs])
    lengths = np.array([length for _, (_, _, length) in pairs])
    columns = features.segment_features(corpus, SMALL, 30)(begins, lengths)
    cells = []
    for row, (_, span) in zip(columns.tolist(), pairs, strict=True):
        texts = said_of_chunk(*span)
        assert set(row[len(texts) :]) <= {-1}
        assert [one < 0 for one in row[: len(texts)]] == [one is None for one in texts]
        cells += [(a, b) for a, b in zip(row, texts, strict=False) if b is not None]
    assert_equal_where_texts_are(cells)


def test_a_file_of_templates(tmp_path):
    file = tmp_path / "mine.txt"
    file.write_text("word  # as it stands\n\npos[-1] pos[0]\ncross lower[0]\n")
    found = features.template_set(str(file))
    assert found.static == ((("word", 0),), (("pos", -1), ("pos", 0)))
    assert found.crossed == ((("lower", 0),),)


WORDS = """rises rise lower xx | companies company lower xx | reviewing review lower xx
| running run lower xx | boss boss lower xx | its its lower xx | U.S. u.s. upper X.X.
| 1,200.5 1,200.5 number 0,00.0 | B b initial X | McDonald mcdonald mixed XxXxx
| García garcía first Xxx | 747s 747 digits 00x | -- -- other --"""


def test_words():
    functions = (features.stem, features.case_pattern, features.shape)
    for line in WORDS.split("|"):
        word, *want = line.split()
        assert [function(word) for function in functions] == want
    lists = {"The": "stop", "U.S.": "abbreviation joined", ",": "sign", "house": ""}
    assert {word: features.lists(word) for word in lists} == lists
