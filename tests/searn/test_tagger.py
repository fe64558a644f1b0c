"""``ColumnTagger``: features by templates, training, files."""

import numpy as np
import pytest

from fsmeu.corpora.score import are_chunk_tags
from fsmeu.errors import InputError
from fsmeu.learning import MaxExpectedUtilityTagger
from fsmeu.learning.saving import load, save
from fsmeu.searn.searn import ColumnTagger, Searn
from fsmeu.searn.spaces.chunks import ChunkAtATime
from fsmeu.searn.spaces.tagging import Alternating, LeftToRight

X = [
    [("the", "DT"), ("man", "NN"), ("ate", "VBD")],
    [("a", "DT"), ("fish", "NN"), ("swam", "VBD"), ("home", "NN")],
] * 4
Y = [["B-NP", "I-NP", "B-VP"], ["B-NP", "I-NP", "B-VP", "B-NP"]] * 4
SPACES = ["word-at-a-time", "chunk-at-a-time", ChunkAtATime(longest=3), LeftToRight(history=1)]


def few(space):
    return Searn("chunk_fscore", space=space, iterations=2, folds=2, random_state=0)


@pytest.mark.parametrize("space", SPACES)
def test_it_learns_what_it_is_shown_and_comes_back_from_a_file(tmp_path, space):
    made = ColumnTagger(searn=few(space), bits=16).fit(X, Y)
    assert made.predict(X) == Y
    save(made, tmp_path / "m.npz")
    again = load(tmp_path / "m.npz")
    unseen = [[("a", "DT"), ("man", "NN"), ("swam", "VBD")]]
    assert again.predict(unseen) == made.predict(unseen)
    assert again.width_ == 2


def trained(kind):
    """A tagger of a kind, or a ColumnTagger in this space."""
    words = [[{"word": row[0]} for row in one] for one in X]
    if kind == "field":
        made = MaxExpectedUtilityTagger(likelihood_iterations=2, utility_iterations=0)
        return made.fit(words, Y)
    if kind == "joint":
        searn = few(Alternating()).set_params(loss="hamming", bits=8)
        return searn.fit(words, [[(tag, tag[0]) for tag in one] for one in Y])
    return ColumnTagger(searn=few(kind), bits=8).fit(X, Y)


@pytest.mark.parametrize("kind", ["field", "joint", *SPACES[:2]])
def test_files_whose_arrays_do_not_fit_together_are_refused(tmp_path, kind):
    """Else predictions read beyond the end of the weights, or stretch one weight to all labels."""
    made = trained(kind)
    save(made, tmp_path / "good.npz")
    with np.load(tmp_path / "good.npz") as file:
        arrays = dict(file)
    tried = 0
    for name in arrays.keys() - {"header"}:
        size = arrays[name].shape
        for axis, m in [(k, m) for k, most in enumerate(size) for m in {0, 1, most - 1} - {most}]:
            changed = np.take(arrays[name], range(m), axis)
            np.savez(tmp_path / "bad.npz", **{**arrays, name: changed})
            with pytest.raises(InputError, match=r"^load .*bad\.npz: "):
                load(tmp_path / "bad.npz")
            tried += 1
    assert tried > 10


def test_templates_of_ones_own():
    """One that sees the part of speech alone tells all apart, one that sees a constant none."""
    searn = few("left-to-right").set_params(loss="hamming")
    seeing = ColumnTagger(["pos"], crossed=["pos[-1]"], searn=searn, bits=14).fit(X, Y)
    assert [one[:3] for one in seeing.predict(X)] == [one[:3] for one in Y]
    blind = ColumnTagger(["bias"], searn=few(LeftToRight(history=0)), bits=14).fit(X, Y)
    assert len({tag for one in blind.predict(X) for tag in one}) == 1


def test_refusals():
    tagger = ColumnTagger(searn=few("word-at-a-time"), bits=14).fit(X, Y)
    with pytest.raises(InputError, match="2 columns, as in training"):
        tagger.predict([[("a",)]])
    with pytest.raises(InputError, match="same number of columns"):
        ColumnTagger().fit([[("a", "b"), ("a",)]], [["O", "O"]])
    with pytest.raises(InputError, match="templates must be one of"):
        ColumnTagger("nothing").fit(X, Y)


def test_chunk_tags():
    assert are_chunk_tags([["O", "B-X"], ["I-Y"]])
    assert not are_chunk_tags([["O"]])
    assert not are_chunk_tags([["O", "B"]])
    assert not are_chunk_tags([["NN", "B-X"]])
