"""Sentences in columns, with probabilities as taggers print them or with tags."""

import gzip
import io
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fsmeu
from fsmeu.corpora.parse import Places, inputs_and_tags, read_record, read_sentences, written
from fsmeu.corpora.records import Record
from fsmeu.corpora.run import ModelQuestion
from fsmeu.corpora.score import ScoreQuestion
from fsmeu.errors import FsmeuError, InputError

CRFSUITE = "the\tDT\tB:0.75\tO:0.25\nend\tNN\tO:0.5\tB:0.5"
CRF_TEST = (
    "# 0.478113\n"
    "Rockwell NNP B B/0.992465 B/0.992465 I/0.00144946 O/0.00608594\n"
    "# # I B/0.4 B/0.4 I/0.3 O/0.3"
)


def read_sentence(text, column):
    """The model of a sentence, and the labels in a column."""
    places = Places("", (str(column),) if column else ())
    item = read_record(Record(1, 1, text.encode()), "conll", places)
    return item.model, list(*item.systems.values())


def test_probabilities_after_a_colon():
    """Labels may stand in any order."""
    model, tags = read_sentence(CRFSUITE, 2)
    assert model.labels == ("B", "O")
    np.testing.assert_allclose(model.marginals(), [[0.75, 0.25], [0.5, 0.5]], rtol=1e-15)
    assert tags == ["DT", "NN"]


def test_probabilities_after_a_slash():
    """The chosen label before them is a column; digits that were cut off are made up for."""
    model, tags = read_sentence(CRF_TEST, 4)
    row = np.array([0.992465, 0.00144946, 0.00608594])
    np.testing.assert_allclose(model.marginals()[0], row / row.sum(), rtol=1e-12)
    np.testing.assert_allclose(model.marginals()[1], [0.4, 0.3, 0.3], rtol=1e-12)
    assert tags == ["B/0.992465", "B/0.4"]
    assert read_sentence(CRF_TEST, 3)[1] == ["B", "I"]
    model, tags = read_sentence("a 0:0.25 1:0.75", 0)
    assert model.labels == (0, 1)
    assert tags == []


@pytest.mark.parametrize(
    ("text", "columns", "wrong"),
    [("a {} 0:0.25 1:0.5 X:0.25", ("2",), [1, 0, 1]), ("a {} 1", (None, "-1"), [1, 0, 1])],
)
def test_labels_are_matched_by_their_text(text, columns, wrong):
    """A sentence may have numbers alone, and its model or another sentence other labels too."""
    hamming = fsmeu.load("hamming")
    question = ScoreQuestion((("hamming", hamming),), "conll", Places(columns[0], columns[1:]))
    records = [Record(k, k, text.format(tag).encode()) for k, tag in enumerate("01X")]
    items = [read_record(record, "conll", question.places) for record in records]
    assert [one["scores"][0][0] for one in question.answers(items)] == wrong
    if len(columns) == 1:
        asked = ModelQuestion("expect", hamming, "conll", Places("", columns))
        items = [read_record(record, "conll", asked.places) for record in records]
        found = [one["value"] for one in asked.answers(items)]
        assert found == pytest.approx([0.75, 0.5, 0.75])
        assert asked.answers(items[:1])[0]["value"] == pytest.approx(0.75)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("a b c", "probability of each label"),
        ("# alone", "comments alone"),
        ("a A:0.5 B:0.5\nb A:0.5 C:0.5", "those of the first token"),
        ("a A:0.5 B:0.6", "add up to 1"),
        ("a A:-0.5 B:1.5", "from 0 to 1"),
        ("a A:inf B:0.5", "add up to 1"),
        ("a A:inf B:-inf", "add up to 1"),
        ("a A:0.5 B:0.5", "column 2 must be there"),
    ],
)
def test_bad_sentences(text, says):
    with pytest.raises(FsmeuError, match=says):
        read_sentence(text, 2 if says.startswith("column") else 0)


TEXT = "Great JJ B-NP\nAmerican NNP I-NP\n\n\nsaid VBD B-VP"
TOKENS = st.text(st.characters(exclude_categories=("Z", "C")), min_size=1, max_size=4)


@given(
    st.lists(st.lists(st.tuples(TOKENS, TOKENS), min_size=1, max_size=3), min_size=1, max_size=3)
)
def test_there_and_back(tmp_path_factory, corpus):
    inputs, tags = inputs_and_tags(corpus)
    file = tmp_path_factory.mktemp("conll") / "a.txt.gz"
    file.write_bytes(gzip.compress(written(inputs, tags).encode()))
    assert read_sentences(file) == corpus


def test_bad_files(tmp_path):
    for content, says in (
        (b"a B\nb\n", "line 2: each row must have 2 columns. Got b"),
        (b"a\n", "line 1: each row must have 2 columns"),
        (b"\n \n", "there must be a sentence in it"),
        (b"a \xff\n", "must be UTF-8 text"),
    ):
        (tmp_path / "a.txt").write_bytes(content)
        with pytest.raises(InputError, match=says):
            read_sentences(tmp_path / "a.txt", least=2)
    for name in ("nothing", ".", "a\0b"):
        with pytest.raises(InputError, match="the file cannot be read"):
            read_sentences(tmp_path / name)


def test_rows_and_tags(monkeypatch):
    """Of standard input."""
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(TEXT.encode())))
    inputs, tags = inputs_and_tags(read_sentences("-", least=3))
    assert inputs == [[("Great", "JJ"), ("American", "NNP")], [("said", "VBD")]]
    assert tags == [["B-NP", "I-NP"], ["B-VP"]]
