"""Features: hashes are those of every run, and equal where what they say is equal."""

from hashlib import blake2b

import numpy as np
import pytest

from fsmeu.searn import features
from fsmeu.searn.features import parse_template, parse_templates


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


SAID = [
    ("word", [0, 1, 2, 0]),
    ("lower", [0, 0, 1, 0]),
    ("lower[-2]", [0, 0, 1, 0]),
    ("pos[+1]", [0, 0, 1, 1]),
    ("pos[-1] lower[0]", [0, 1, 2, 0]),
    ("suffix1[1]", [0, 1, 2, 2]),
]


@pytest.mark.parametrize(("template", "same"), SAID)
def test_hashes_are_equal_where_texts_are(template, same):
    """Before and behind a sentence stand texts of their own, whatever sentence is next to it."""
    corpus = [[("the", "DT"), ("The", "NN"), ("cat", "NN")], [("the", "NN")]]
    held = [parse_template(template)]
    hashes = features.template_hashes(features.columns_of(corpus, held), held)[:, 0].tolist()
    assert [list(dict.fromkeys(hashes)).index(one) for one in hashes] == same


def test_order_and_template_matter():
    corpus = [[("a", "b"), ("b", "a")]]
    three = parse_templates(["word[0] pos[0]", "pos[0] word[0]", "word[0] word[1]"])
    columns = features.columns_of(corpus, three)
    assert len(set(features.template_hashes(columns, three).ravel())) == 6


def test_columns_of_chunks_say_what_stands_around_and_in_them():
    """Chunks have equal columns where these say the same; what needs a next position has none."""
    corpus = [[("a", "D"), ("b", "N"), ("c", "D"), ("b", "N")], [("b", "N"), ("c", "D")]]
    ends = ((parse_template("pos[-1]"), parse_template("word[1]")),)
    small = features.SegmentSet(ends, (), ("pos",), parse_templates(["word"]))
    spans = np.array([[0, 2], [2, 2], [1, 1], [3, 1], [4, 1]])
    ends, wholes, first, second = features.segment_features(corpus, small, 30)(*spans.T).T
    assert len(set(ends.tolist())) == 4
    assert ends[0] == ends[4]  # nothing before, c behind
    assert [wholes[0] == one for one in wholes] == [True, True, False, False, False]
    assert [first[2] == one for one in first] == [False, False, True, True, True]
    assert (second[:3].tolist(), second[1] == first[2]) == ([second[0], first[2], -1], True)


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
