"""The data of the experiments: counts as published, missing files told, long sentences cut."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fsmeu.errors import InputError
from searn import sequences
from searn.sequences import cut_sentences, read_corpus
from tests.notebooks.conftest import needs


def test_missing_data(monkeypatch, tmp_path):
    monkeypatch.setenv("FSMEU_DATA", str(tmp_path))
    for read in (lambda: read_corpus("conll2000"), sequences.letters):
        with pytest.raises(InputError, match="Set FSMEU_DATA"):
            read()


@pytest.mark.parametrize(
    ("name", "sentences", "words", "chunks"),
    [
        ("conll2000", [8936, 2012], [211727, 47377], [106978, 23852]),
        ("conll2002", [8323, 1915, 1517], [264715, 52923, 51533], [18797, 4351, 3558]),
    ],
)
def test_counts_as_published(name, sentences, words, chunks):
    needs(*sequences.FILES[name])
    parts = read_corpus(name)
    assert [len(part) for part in parts] == sentences
    assert [sum(map(len, part)) for part in parts] == words
    assert [sum(row[2][0] == "B" for one in part for row in one) for part in parts] == chunks


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


@given(st.lists(st.lists(st.sampled_from("OBI"), max_size=30), max_size=4), st.integers(2, 12))
def test_long_sentences_are_cut(tags, longest):
    """Nothing is lost, nothing is too long, and short sentences stay whole."""
    sentences = [[(str(k), tag) for k, tag in enumerate(one)] for one in tags]
    pieces = cut_sentences(sentences, longest)
    assert [row for one in pieces for row in one] == [row for one in sentences for row in one]
    assert all(len(one) <= longest for one in pieces)
    assert all(one in pieces for one in sentences if len(one) <= longest)
