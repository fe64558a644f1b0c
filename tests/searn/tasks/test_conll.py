"""Files of tagged sentences: read as they were written, refused in sentences."""

import gzip
import io
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fsmeu.data_folder import data_file
from fsmeu.errors import InputError, SizeLimitError
from fsmeu.searn.tasks import data
from fsmeu.searn.tasks.conll import inputs_and_tags, read_sentences, written
from fsmeu.searn.tasks.tagged import cut_sentences

TEXT = "Great JJ B-NP\nAmerican NNP I-NP\n\n\nsaid VBD B-VP"
TOKENS = st.text(st.characters(exclude_categories=("Z", "C")), min_size=1, max_size=4)


def test_rows_and_tags(tmp_path):
    (tmp_path / "a.txt").write_text(TEXT)
    found = read_sentences(tmp_path / "a.txt", least=3)
    assert found == [
        [("Great", "JJ", "B-NP"), ("American", "NNP", "I-NP")],
        [("said", "VBD", "B-VP")],
    ]
    inputs, tags = inputs_and_tags(found)
    assert inputs == [[("Great", "JJ"), ("American", "NNP")], [("said", "VBD")]]
    assert tags == [["B-NP", "I-NP"], ["B-VP"]]


@given(
    st.lists(st.lists(st.tuples(TOKENS, TOKENS), min_size=1, max_size=3), min_size=1, max_size=3)
)
def test_there_and_back(tmp_path_factory, corpus):
    inputs, tags = inputs_and_tags(corpus)
    file = tmp_path_factory.mktemp("conll") / "a.txt.gz"
    file.write_bytes(gzip.compress(written(inputs, tags).encode()))
    assert read_sentences(file) == corpus


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"a B\nb\n", "line 2: each row must have 2 columns. Got b"),
        (b"a\n", "line 1: each row must have 2 columns"),
        (b"\n \n", "there must be a sentence in it"),
        (b"", "there must be a sentence in it"),
        (b"a \xff\n", "must be UTF-8 text"),
    ],
)
def test_bad_content(tmp_path, content, message):
    (tmp_path / "a.txt").write_bytes(content)
    with pytest.raises(InputError, match=message):
        read_sentences(tmp_path / "a.txt", least=2)


def test_bad_files(tmp_path, monkeypatch):
    (tmp_path / "a.gz").write_bytes(b"not packed")
    (tmp_path / "b.gz").write_bytes(gzip.compress(TEXT.encode())[:-9])
    for name in ("a.gz", "b.gz", "nothing", "."):
        with pytest.raises(InputError, match="the file cannot be read"):
            read_sentences(tmp_path / name)
    with pytest.raises(InputError, match="the file cannot be read"):
        read_sentences("a\0b")
    monkeypatch.setenv("FSMEU_MAX_BYTES", "80")  # eight bytes of memory for each of the text
    (tmp_path / "c.gz").write_bytes(gzip.compress(TEXT.encode()))
    with pytest.raises(SizeLimitError, match="at most 10 bytes"):
        read_sentences(tmp_path / "c.gz")


def test_standard_input(monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(TEXT.encode())))
    assert len(read_sentences("-")) == 2


def test_missing_data(monkeypatch, tmp_path):
    monkeypatch.setenv("FSMEU_DATA", str(tmp_path))
    for read in (data.conll2000, data.conll2002, data.letters):
        with pytest.raises(InputError, match="Set FSMEU_DATA"):
            read()


def needs(name):
    """Skips where the data are not."""
    try:
        for file in data.FILES[name]:
            data_file(file)
    except InputError as error:
        pytest.skip(str(error))


def test_counts_of_conll2000():
    """Sentences, words and chunks as published."""
    needs("conll2000")
    train, test = data.conll2000()
    assert (len(train), len(test)) == (8936, 2012)
    assert (sum(map(len, train)), sum(map(len, test))) == (211727, 47377)
    opened = [sum(row[2][0] == "B" for one in part for row in one) for part in (train, test)]
    assert opened == [106978, 23852]


def test_counts_of_conll2002():
    needs("conll2002")
    parts = data.conll2002()
    assert [len(part) for part in parts] == [8323, 1915, 1517]
    opened = [sum(row[2][0] == "B" for one in part for row in one) for part in parts]
    assert opened == [18797, 4351, 3558]


def test_counts_of_letters():
    needs("letters")
    found = data.letters()
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
