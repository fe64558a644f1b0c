"""The label sequences of the experiments: counts as published."""

import numpy as np
import pytest

from searn import sequences
from searn.sequences import read_corpus
from tests.experiments.conftest import needs


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
    assert np.bincount(found.folds).tolist()[:4] == [626, 704, 684, 698]
