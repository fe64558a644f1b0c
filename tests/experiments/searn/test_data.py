"""The data of the experiments: collections of parsed documents, and label sequences."""

from pathlib import Path

import numpy as np
import pytest

from searn import sequences
from searn.collection import checked, read_collections
from searn.growth import vine_growth
from searn.sequences import read_corpus
from tests.experiments.conftest import needs

FOLDER = Path(__file__).parent / "collections"


def test_what_is_read():
    found = read_collections(FOLDER)
    assert list(found) == ["ferry.conllu", "mill"]
    ferry, mill = found.values()
    first = "the old ferry left the harbour before dawn it carried forty sheep and one shepherd"
    assert ferry.words[:15] == tuple(first.split())
    assert ferry.heads[:8].tolist() == [2, 2, 3, -1, 5, 3, 7, 3]
    assert (ferry.documents.max() - ferry.documents[0], ferry.sentences[-1]) == (1, 3)
    assert [w for w, q in zip(ferry.words, ferry.quoted, strict=True) if q] == (
        ["the", "ferry", "never", "sank"]
    )
    assert ferry.query == ("what", "happened", "to", "the", "ferry")
    assert ferry.references[1] == ("the", "ferry", "left", "before", "dawn", "and", "never", "sank")
    assert mill.references[1] == ("the", "mill", "was", "rebuilt")
    assert mill.words[8:14] == ("do", "n't", "trust", "the", "old", "wheel")
    assert (mill.documents[-1] - mill.documents[0], mill.query) == (1, ())
    for one in (ferry, mill):
        checked(one)
        vine_growth(one, 5)


# -- label sequences: counts as published ---------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "sentences", "words", "chunks"),
    [
        ("conll2000", [8936, 2012], [211727, 47377], [106978, 23852]),
        pytest.param(
            *("conll2002", [8323, 1915, 1517], [264715, 52923, 51533], [18797, 4351, 3558]),
            marks=pytest.mark.nightly,
        ),
    ],
)
def test_counts_as_published(name, sentences, words, chunks):
    needs(*sequences.FILES[name])
    parts = read_corpus(name)
    assert [len(part) for part in parts] == sentences
    assert [sum(map(len, part)) for part in parts] == words
    assert [sum(row[2][0] == "B" for one in part for row in one) for part in parts] == chunks


@pytest.mark.nightly
def test_counts_of_letters():
    needs(*sequences.FILES["letters"])
    found = sequences.letters()
    assert found.pixels.shape == (52152, 128)
    assert np.unique(found.pixels).tolist() == [0.0, 1.0]
    assert len(set(found.names)) == 26
    words = {
        "".join(found.names[a:b]) for a, b in zip(found.starts, found.starts[1:], strict=False)
    }
    assert (len(found.folds), len(words)) == (6877, 55)
    assert [int((found.folds == k).sum()) for k in range(10)] == [
        626, 704, 684, 698, 693, 651, 739, 717, 690, 675,
    ]  # fmt: skip
