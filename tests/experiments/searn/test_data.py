"""The data of the experiments: collections of parsed documents, and label sequences."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fsmeu.errors import InputError
from searn import sequences
from searn.collection import checked, read_collections
from searn.growth import vine_growth
from searn.sequences import cut_sentences, read_corpus
from searn.task import Sizes
from searn.vine import own_collections
from tests.experiments.conftest import needs

FOLDER = Path(__file__).parent / "collections"
ROW = "{}\t{}\t_\tX\t_\t_\t{}\tdep\t_\t_\n"


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


def test_children_of_punctuation_are_given_to_its_head(tmp_path):
    rows = [("1", "a", "2"), ("2", "(", "3"), ("3", "b", "0"), ("4", ".", "3")]
    (tmp_path / "x.conllu").write_text("".join(ROW.format(*row) for row in rows))
    (tmp_path / "x.summary.txt").write_text("b")
    (found,) = read_collections(tmp_path).values()
    assert (found.words, found.heads.tolist()) == (("a", "b"), [1, -1])


def test_each_collection_is_predicted_after_training_on_the_others():
    splits = list(own_collections(FOLDER, Sizes()))
    sizes = [(len(one.train.sentences), one.numbers.tolist()) for one in splits]
    assert sizes == [(1, [0]), (1, [1])]


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("1 a _ X _ _ 0 root _ _\n", ["line 1", "10 columns, separated by tabs"]),
        (ROW.format(1, "a", "_"), ["line 1", "its head", "must be parsed"]),
        (ROW.format(1, "a", 7), ["line 1", "from 0 to 1"]),
        ("# x\n" + ROW.format(2, "a", 0), ["line 2", "first column must be 1"]),
        (ROW.format(1, "a", 0) + ROW.format(2, "b", 0), ["line 1", "one root"]),
        (
            ROW.format(1, "a", 0) + ROW.format(2, "b", 3) + ROW.format(3, "c", 2),
            ["line 1", "a tree"],
        ),
        ("# newdoc\n", ["must hold sentences"]),
    ],
)
def test_malformed_files(tmp_path, text, parts):
    (tmp_path / "x.conllu").write_text(text)
    (tmp_path / "x.summary.txt").write_text("a b")
    with pytest.raises(InputError) as caught:
        read_collections(tmp_path)
    assert all(part in str(caught.value) for part in ["x.conllu", *parts]), caught.value


def test_missing_parts(tmp_path):
    with pytest.raises(InputError, match="must be there"):
        read_collections(tmp_path / "none")
    for name, text, says in (
        ("notes.txt", "", r"NAME\.conllu"),
        ("x.conllu", ROW.format(1, "a", 0), r"must have a summary.*x\.summary1\.txt"),
        ("x.summary.txt", "...", "must hold words"),
        ("x.summary.txt", "a", "at least two"),
    ):
        (tmp_path / name).write_text(text)
        with pytest.raises(InputError, match=says):
            list(own_collections(tmp_path, Sizes()))
    (tmp_path / "y").mkdir()
    with pytest.raises(InputError, match="must hold documents"):
        read_collections(tmp_path)


# -- label sequences: counts as published, missing files told, long sentences cut ------------------


def test_missing_data(monkeypatch, tmp_path):
    monkeypatch.setenv("FSMEU_DATA", str(tmp_path))
    for read in (lambda: read_corpus("conll2000"), sequences.letters):
        with pytest.raises(InputError, match="set FSMEU_DATA"):
            read()


@pytest.mark.parametrize(
    ("name", "sentences", "words", "chunks"),
    [
        ("conll2000", [8936, 2012], [211727, 47377], [106978, 23852]),
        ("conll2002", [8323, 1915, 1517], [264715, 52923, 51533], [18797, 4351, 3558]),
    ],
)
@pytest.mark.thirds
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
