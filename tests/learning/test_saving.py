"""Estimators come back from files as they were, and other files end in a sentence."""

import json
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.datasets import make_classification
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler
from sklearn.tree import DecisionTreeClassifier

import fsmeu
from fsmeu import learning
from fsmeu.errors import InputError
from fsmeu.learning import DTAClassifier, EUMClassifier, ExampleWiseClassifier, saving
from fsmeu.learning.base import BinaryClassifier
from fsmeu.learning.saving import load, register, save
from fsmeu.searn.column_tagger import ColumnTagger
from fsmeu.searn.spaces.chunks import ChunkAtATime
from fsmeu.searn.spaces.tagging import Alternating, LeftToRight
from tests.searn.stubs import ROWS, TAGS, few
from tests.support.nightly import every_third


@register
class Remembers(BinaryClassifier):
    """Keeps what it is given."""

    def __init__(self, rate=0.5, names=None):
        self.rate, self.names = rate, names


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**60), 2**60) | st.floats(allow_nan=False)
    | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3)
    | st.tuples(inner, inner)
    | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=6,
)  # fmt: skip


@given(VALUES, VALUES)
def test_values_come_back(tmp_path_factory, parameter, learned):
    made = Remembers(names=parameter)
    made.found_, made.classes_ = learned, np.array(["a", "b"])
    made.table_, made.names_ = np.arange(6.0).reshape(2, 3), np.array(["no", 1], object)
    path = tmp_path_factory.mktemp("saved") / "one.npz"
    save(made, path)
    again = load(path)
    assert type(again) is Remembers
    assert again.get_params() == made.get_params()
    assert again.found_ == learned
    assert again.classes_.tolist() == ["a", "b"]
    assert np.array_equal(again.table_, made.table_)
    assert again.names_.tolist() == ["no", 1]


@register
class WordClassifier(ClassifierMixin, BaseEstimator):
    """Asks whether texts have a word; it knows no number of features."""

    def fit(self, texts, labels):
        self.classes_ = np.unique(labels)
        self.word_ = next(one for one, label in zip(texts, labels, strict=True) if label).split()[0]
        return self

    def predict_proba(self, texts):
        chance = np.array([0.9 if self.word_ in text.split() else 0.1 for text in texts])
        return np.stack([1 - chance, chance], axis=1)


X, Y = make_classification(80, 4, weights=[0.6], flip_y=0.2, random_state=0)
NAMES = np.array(["no", "yes"])[Y]
TABLE = np.stack([Y, X[:, 0] > 0, np.ones(80)], axis=1).astype(int)
TEXTS = ["a fine offer" if one else "the dog barks" for one in Y]
TAGGED = [[{"word": name, "size": 0.5}, ["other"]] for name in NAMES[:6]]
WORDS = [[{"word": row[0]} for row in one] for one in ROWS]
SPACES = ["word-at-a-time", "chunk-at-a-time", ChunkAtATime(longest=3), LeftToRight(history=1)]
LEARNED = [
    ("chunk-at-a-time", "perceptron"),
    (LeftToRight(history=1), "all-pairs"),
    *(("left-to-right", learner) for learner in ("regression", LogisticRegression())),
]
ONLINE = [
    learning.FOFOClassifier(),
    learning.FOFOClassifier(gamma_scale="auto", average=True),
    learning.OFOClassifier(),
    learning.OnlineLogisticClassifier(average="suffix"),
]
DEEP = DTAClassifier(fsmeu.load("fscore", beta=2), ONLINE[2], calibration="sigmoid")
WITHIN = [
    learning.MaxExpectedFClassifier(restarts=2, random_state=0),
    learning.MaxExpectedUtilityClassifier("jaccard", restarts=0),
    ONLINE[1],
    learning.OnlineLogisticClassifier(average=True),
    EUMClassifier("jaccard", GaussianNB(), random_state=0),
    make_pipeline(StandardScaler(), ONLINE[0]),
    EUMClassifier("fscore", make_pipeline(MinMaxScaler(), DEEP), random_state=0),
]


def plain(name):
    """An estimator of scikit-learn; one that transforms rows stands before another."""
    one = saving._PLAIN[name]()
    if hasattr(one, "transform"):
        return make_pipeline(one, LogisticRegression())
    return one.set_params(random_state=0) if hasattr(one, "random_state") else one


def around(inner):
    """The classifiers around an estimator, with rows' labels for each."""
    yield DTAClassifier(estimator=inner), NAMES
    yield EUMClassifier(estimator=inner, random_state=0), NAMES
    yield ExampleWiseClassifier(estimator=inner), TABLE


FITTED = [
    *((one, X, NAMES) for one in ONLINE),
    *((made, TEXTS, labels) for made, labels in around(WordClassifier())),
    (learning.MaxExpectedUtilityTagger(utility_iterations=1), TAGGED, [["B-X", "I-X"]] * 6),
    *((ColumnTagger(searn=few(space), bits=16), ROWS, TAGS) for space in SPACES),
    *((few(space).set_params(learner=one, bits=12), WORDS, TAGS) for space, one in LEARNED),
    *every_third((made, X, labels) for one in WITHIN for made, labels in around(one)),
    *every_third(
        (DTAClassifier(estimator=plain(name), calibration="sigmoid"), np.abs(X), Y)
        for name in saving._PLAIN
    ),
]


@pytest.mark.thirds
@pytest.mark.parametrize(("made", "rows", "labels"), FITTED)
def test_estimators_come_back(made, rows, labels, tmp_path):
    """They predict the same, can be fitted again, and learn on as if nothing had happened."""
    made = clone(made).fit(rows, labels)
    save(made, tmp_path / "one.npz")
    again = load(tmp_path / "one.npz")
    assert repr(again) == repr(made)
    for name in {"predict", "predict_proba", "predict_marginals"} & set(dir(made)):
        np.testing.assert_equal(getattr(again, name)(rows), getattr(made, name)(rows))
    np.testing.assert_equal(clone(again).fit(rows, labels).predict(rows), made.predict(rows))
    if hasattr(made, "partial_fit"):
        first, second = (vars(one.partial_fit(rows, labels)) for one in (made, again))
        np.testing.assert_equal(second, first)


TREE = make_pipeline(StandardScaler(), DecisionTreeClassifier())


@pytest.mark.parametrize(
    ("made", "words"),
    [
        (Remembers(names=lambda: None), ["save, parameters.names"]),
        (object(), ["must be one of"]),
        (DTAClassifier(estimator=TREE), ["parameters.estimator", "LogisticRegression",
                                         "DecisionTreeClassifier instead", "fsmeu.learning"]),
        (DTAClassifier(fsmeu.load("fscore").swapped), ["its file"]),
    ],
)  # fmt: skip
def test_what_cannot_be_saved_is_told(made, words, tmp_path):
    made = made.fit(X, Y) if isinstance(made, DTAClassifier) else made
    with pytest.raises(InputError) as told:
        save(made, tmp_path / "one.npz")
    assert [word for word in words if word not in str(told.value)] == []
    assert not (tmp_path / "one.npz").exists()


HEADER = {"format": "fsmeu estimator 1", "class": "Remembers", "parameters": {}, "learned": {}}
EMPTY = {"dict": {}}


def part(kind, learned=EMPTY, **changes):
    """A parameter that is an estimator."""
    own = {"class": kind, "parameters": EMPTY, "learned": learned, **changes}
    return {"own": {"dict": {name: one for name, one in own.items() if one is not None}}}


PARTS = [
    part("Popen"),
    part("LogisticRegression"),
    {"estimator": part("Remembers")["own"]},
    part("Remembers", learned=None),
    part("Remembers", parameters=3),
    part("Remembers", learned={"dict": {"predict": 1}}),
    {"own": 3},
    {"array": "absent"},
    {"call": "x"},
]
STRANGE = [
    *({**HEADER, "parameters": {"rate": one}} for one in PARTS),
    {**HEADER, "class": "Popen"},
    {**HEADER, "format": "2"},
    {**HEADER, "learned": {"predict": 1}},
    {**HEADER, "learned": {"__class__": 1}},
    {**HEADER, "parameters": {"unknown": 1}},
    {**HEADER, "learned": {"found_": [{"array": "table"}] * 2}},  # one array is not two
    [],
    {},
]
NESTED = json.dumps(HEADER).replace('"parameters": {}', '"parameters": {"rate": %s}')


class Harm:
    """What a pickle could run."""

    def __reduce__(self):
        return (pytest.fail, ("a pickle was run",))


def test_files_of_strangers(tmp_path):
    """No pickle is read, no other class is made, no method is overwritten; parts are no better."""
    path = tmp_path / "one.npz"
    headers = [*map(json.dumps, STRANGE), NESTED % ("[" * 50_000 + "]" * 50_000)]
    for header in [*map(np.array, headers), np.array([Harm()], object)]:
        np.savez(path, header=header, table=np.zeros(3))
        with pytest.raises(InputError):
            load(path)
    for content in (pickle.dumps([1, 2]), b""):
        path.write_bytes(content)
        with pytest.raises(InputError):
            load(path)


def test_what_has_learned_nothing_is_loaded_and_not_fitted(tmp_path):
    """As scikit-learn has it: parameters come back, and predict asks for fit."""
    save(learning.FOFOClassifier(step=3), tmp_path / "new.npz")
    made = load(tmp_path / "new.npz")
    assert made.step == 3
    for one in (made, learning.DTAClassifier()):
        with pytest.raises(NotFittedError):
            one.predict(np.zeros((2, 3)))


def trained(kind):
    """An online learner, a tagger of a kind, or a ColumnTagger in this space."""
    if kind == "online":
        return learning.OnlineLogisticClassifier(average=True).fit(X, Y)
    if kind == "field":
        made = learning.MaxExpectedUtilityTagger(likelihood_iterations=2, utility_iterations=0)
        return made.fit(WORDS, TAGS)
    if kind == "joint":
        searn = few(Alternating()).set_params(loss="hamming", bits=8)
        return searn.fit(WORDS, [[(tag, tag[0]) for tag in one] for one in TAGS])
    return ColumnTagger(searn=few(kind), bits=8).fit(ROWS, TAGS)


@pytest.mark.parametrize("kind", ["field", "joint", *SPACES[:2]])
def test_arrays_that_do_not_fit_together_are_refused(tmp_path, kind):
    """Else predictions read beyond the end of the weights, or stretch one weight to all labels."""
    save(trained(kind), tmp_path / "good.npz")
    with np.load(tmp_path / "good.npz") as file:
        arrays = dict(file)
    tried = 0
    for name in arrays.keys() - {"header"}:
        size = arrays[name].shape
        for axis, m in [(k, m) for k, most in enumerate(size) for m in {0, 1, most - 1} - {most}]:
            changed = np.take(arrays[name], range(m), axis)
            np.savez(tmp_path / "bad.npz", **{**arrays, name: changed})
            with pytest.raises(InputError, match=r"^load .*bad\.npz: the file is damaged"):
                load(tmp_path / "bad.npz")
            tried += 1
    assert tried > 10


@pytest.mark.parametrize(
    ("kind", "name", "change"),
    [
        *(("online", name, None) for name in ("delays_", "n_features_in_")),
        *(("online", "n_features_in_", lambda _, n=n: n) for n in (10**12, "4")),
        ("online", "classes_", lambda known: known[:1]),
        *(("online", "weights_", lambda _, x=x: x) for x in (np.array("x"), np.zeros((5, 1)))),
        # the compiled loop would write beyond their ends
        ("online", "delays_", lambda known: known[:, :1]),
        ("online", "state_", lambda known: known[:5]),
        ("field", "feature_names_", lambda known: [["a"], *known[1:]]),
        ("field", "feature_names_", lambda known: [known[0]] * len(known)),
        ("field", "feature_names_", lambda known: [*known, "c"]),
    ],
)
def test_learned_attributes_that_do_not_fit_are_refused(tmp_path, kind, name, change):
    made = trained(kind)
    held = vars(made).pop(name)
    if change:
        setattr(made, name, change(held))
    save(made, tmp_path / "m.npz")
    with pytest.raises(InputError, match=r"^load .*m\.npz: the file is damaged"):
        load(tmp_path / "m.npz")
