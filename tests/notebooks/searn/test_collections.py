"""Collections of parsed documents: two small ones, and what is said of files that are malformed."""

from pathlib import Path

import pytest

from fsmeu.errors import InputError
from searn.collection import checked, read_collections
from searn.growth import vine_growth
from searn.task import Sizes
from searn.vine import own_collections

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
    with pytest.raises(InputError, match=r"NAME\.conllu"):
        read_collections(tmp_path)
    (tmp_path / "x.conllu").write_text(ROW.format(1, "a", 0))
    with pytest.raises(InputError, match=r"must have a summary.*x\.summary1\.txt"):
        read_collections(tmp_path)
    (tmp_path / "x.summary.txt").write_text("...")
    with pytest.raises(InputError, match="must hold words"):
        read_collections(tmp_path)
    (tmp_path / "x.summary.txt").write_text("a")
    with pytest.raises(InputError, match="at least two"):
        list(own_collections(tmp_path, Sizes()))
    (tmp_path / "y").mkdir()
    with pytest.raises(InputError, match="must hold documents"):
        read_collections(tmp_path)
