"""What estimators refuse: a sentence of the family, whatever the examples are."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.utils.validation import has_fit_parameter

import fsmeu
from fsmeu import learning
from fsmeu.errors import InputError
from fsmeu.learning.saving import load, save
from fsmeu.searn import Searn
from fsmeu.searn.column_tagger import ColumnTagger
from fsmeu.searn.spaces import CustomSpace
from tests.searn.stubs import ROWS, TAGS, few

X = np.arange(20.0)[:, None] % 7
Y = [0, 1] * 10
KINDS = [
    learning.DTAClassifier,
    learning.EUMClassifier,
    learning.ExampleWiseClassifier,
    learning.FOFOClassifier,
    learning.MaxExpectedFClassifier,
    learning.MaxExpectedUtilityClassifier,
    learning.OFOClassifier,
    learning.OnlineLogisticClassifier,
]
EXAMPLES = {
    "nothing": ([], []),
    "no rows": (np.zeros((0, 2)), []),
    "None": (None, None),
    "no labels": (X, None),
    "one axis": ([1.0, 2.0], [0, 1]),
    "too few labels": (X, [0, 1]),
    "no number": (np.full((20, 1), np.nan), Y),
    "texts": ([["a"], ["b"]] * 10, Y),
    "labels that are bytes": (X, [b"0", b"1"] * 10),
    "bytes of labels": (X, b"01" * 10),
    "a text of labels": (X, "01" * 10),
    "rows of several lengths": ([[1], [2, 3]] * 10, Y),
    "lists of labels": (X, [[0], [1, 2]] * 10),
    "continuous": (X, np.linspace(0, 1, 20)),
    "labels that are None": (X, [None, 1] * 10),
    "no features": (np.zeros((20, 0)), Y),
    "a set": ({1, 2}, [0, 1]),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", EXAMPLES)
def test_examples_to_fit(kind, name):
    with pytest.raises(InputError, match=f"^{kind.__name__}"):
        kind().fit(*EXAMPLES[name])


@pytest.mark.parametrize(
    "kind", [kind for kind in KINDS if has_fit_parameter(kind(), "sample_weight")]
)
@pytest.mark.parametrize(
    "weights", [b"01" * 10, -np.ones(20), np.ones(3), np.zeros(20), "x", [np.nan] * 20], ids=str
)
def test_weights(kind, weights):
    with pytest.raises(InputError, match=f"^{kind.__name__}"):
        kind().fit(X, Y, weights)


@pytest.mark.thirds
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "rows", [[], np.zeros((0, 1)), np.zeros((2, 3)), None, b"01", [["a"]]], ids=str
)
def test_rows_to_predict(kind, rows):
    made = kind().fit(X, Y)
    for method in (made.predict, made.predict_proba):
        with pytest.raises(InputError, match=f"^{kind.__name__}"):
            method(rows)


def test_classes_of_parts():
    for classes in (b"01", "01", [[0], [1, 2]], [b"0", b"1"], 3, [None, 1]):
        with pytest.raises(InputError, match="OFOClassifier"):
            learning.OFOClassifier().partial_fit(X, Y, classes=classes)


@pytest.mark.parametrize(
    "made",
    [
        learning.EUMClassifier(random_state="x"),
        learning.MaxExpectedFClassifier(random_state=-1),
        learning.MaxExpectedUtilityClassifier(random_state=b"1"),
        learning.MaxExpectedFClassifier(fit_intercept="yes"),
    ],
    ids=str,
)
def test_settings(made):
    with pytest.raises(InputError, match=r"random_state|fit_intercept"):
        made.fit(X, Y)


WORD = [[["a"]], [["b"]], [["a"]]]
FIELDS = (learning.MaxExpectedUtilityTagger, Searn)
SEQUENCES = [
    *((kind(), rows, tags) for kind in FIELDS for rows, tags in (
        ([], []), ([[]], [[]]), (None, None), (WORD, [b"0"] * 3), (WORD, [[b"0"], [b"1"], [b"0"]]),
        ([b"ab"], [["A", "B"]]), (WORD, [[["A"]], [["B"]], [["A"]]]), (WORD, "ABA"),
    )),
    *((ColumnTagger(), rows, [["A"], ["B"], ["A"]]) for rows in (
        [], None, 3, [[{"a": 1}]] * 3, [b"a"] * 3, [[b"a"]] * 3, [[3]] * 3, [[(b"a",)]] * 3,
        [[("a", 3)]] * 3, [["a"]] * 3,
    )),
    *((ColumnTagger(**given), [[("a",)]] * 3, [["A"], ["B"], ["A"]]) for given in (
        {"templates": 3}, {"templates": b"words"}, {"templates": [b"word"]}, {"templates": None},
        {"templates": ["word"], "crossed": 3}, {"templates": ["word"], "crossed": b"word"},
        {"searn": 3}, {"searn": LogisticRegression()}, {"bits": 99},
    )),
    *((Searn(**given), WORD, [["A"], ["B"], ["A"]]) for given in (
        {"crossed": b"ab"}, {"checkpoint": 3}, {"checkpoint": b"x"}, {"loss": b"hamming"},
        {"random_state": b"3"}, {"learner": b"logistic"}, {"space": b"left-to-right"},
    )),
]  # fmt: skip


@pytest.mark.parametrize(("made", "rows", "tags"), SEQUENCES)
def test_sequences_and_their_settings(made, rows, tags):
    with pytest.raises(InputError):
        made.fit(rows, tags)


def test_rows_that_a_column_tagger_predicts():
    made = ColumnTagger(searn=few("left-to-right"), bits=8).fit(ROWS, TAGS)
    for rows in (None, 3, [b"a"], [[3]], [[("a", 3, "b")]], [[{"a": 1}]]):
        with pytest.raises(InputError, match="ColumnTagger"):
            made.predict(rows)


@pytest.mark.parametrize("path", [3, b"x", None])
def test_paths_of_models(path):
    for ask in (lambda: load(path), lambda: save(learning.DTAClassifier(), path)):
        with pytest.raises(InputError):
            ask()


@pytest.mark.parametrize(
    "space",
    [None, 3, "left-to-right", [1], np.zeros(2), LogisticRegression(), learning.DTAClassifier(),
     Searn(), fsmeu.load("fscore"), CustomSpace(), CustomSpace(3)],
    ids=str,
)  # fmt: skip
@pytest.mark.thirds
def test_a_saved_space_of_another_type(space, tmp_path):
    """It was loaded, and predictions ended in an AttributeError."""
    words = [[{"word": row[0]} for row in one] for one in ROWS]
    for made in (
        few("left-to-right").fit(words, TAGS),
        ColumnTagger(searn=few("left-to-right"), bits=8).fit(ROWS, TAGS),
    ):
        getattr(made, "searn_", made).space_ = space
        save(made, tmp_path / "m.skops")
        with pytest.raises(InputError, match="the file is damaged"):
            load(tmp_path / "m.skops")
