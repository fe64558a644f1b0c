"""Files of tagged sentences: read as they were written, refused in sentences."""

import gzip
import io
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fsmeu.corpora.columns import inputs_and_tags, read_sentences, written
from fsmeu.errors import InputError, SizeLimitError

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
