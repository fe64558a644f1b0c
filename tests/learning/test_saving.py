"""Estimators come back from files as they were, and other files end in a sentence."""

import io
import json
import pickle
import subprocess
import sys
import zipfile

import numpy as np
import pytest
import skops.io
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.datasets import make_classification
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    StackingClassifier,
)
from sklearn.exceptions import NotFittedError
from sklearn.gaussian_process import GaussianProcessClassifier
from sklearn.linear_model import LogisticRegression, RidgeClassifier, SGDClassifier
from sklearn.naive_bayes import BernoulliNB, ComplementNB, GaussianNB, MultinomialNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    MaxAbsScaler,
    MinMaxScaler,
    Normalizer,
    StandardScaler,
)
from sklearn.svm import SVC, LinearSVC
from sklearn.tree import DecisionTreeClassifier

import fsmeu
from fsmeu import learning
from fsmeu.errors import FsmeuError, InputError, SizeLimitError
from fsmeu.learning import DTAClassifier, EUMClassifier, ExampleWiseClassifier
from fsmeu.learning.base import BinaryClassifier
from fsmeu.learning.saving import load, register, save
from fsmeu.searn.column_tagger import ColumnTagger
from fsmeu.searn.spaces.chunks import ChunkAtATime
from fsmeu.searn.spaces.tagging import Alternating, LeftToRight
from tests.searn.stubs import ROWS, TAGS, few
from tests.support.nightly import every_third
from tests.test_files import STRANGE as MEMBERS


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
    made.found_, made.classes_, made.positive_ = learned, np.array(["a", "b"]), 0
    made.table_, made.names_ = np.arange(6.0).reshape(2, 3), np.array(["no", 1], object)
    path = tmp_path_factory.mktemp("saved") / "one.skops"
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


CATEGORIES = HistGradientBoostingClassifier(max_iter=1, categorical_features=[0])
INNER = [
    *(RandomForestClassifier(4, random_state=0), ExtraTreesClassifier(3, random_state=0)),
    *(GradientBoostingClassifier(n_estimators=3), HistGradientBoostingClassifier(max_iter=3)),
    *(DecisionTreeClassifier(random_state=0), MLPClassifier((3,), random_state=0)),
    *(BaggingClassifier(n_estimators=3, max_features=2, random_state=0), SVC(random_state=0)),
    AdaBoostClassifier(n_estimators=3, random_state=0),
    # calibration asks an unfitted estimator for predict_proba: the last one must be named
    StackingClassifier(
        [("tree", DecisionTreeClassifier(random_state=0)), ("bayes", GaussianNB())],
        LogisticRegression(),
    ),
    *(GaussianProcessClassifier(), KNeighborsClassifier(algorithm="brute")),
    *(LogisticRegression(), RidgeClassifier(), SGDClassifier(random_state=0), LinearSVC()),
    *(BernoulliNB(), ComplementNB(), GaussianNB(), MultinomialNB()),
    *(make_pipeline(step, LogisticRegression()) for step in (MaxAbsScaler(), Normalizer())),
]


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
        (DTAClassifier(estimator=one, calibration="sigmoid", folds=2), np.abs(X), Y)
        for one in INNER
    ),
]


@pytest.mark.thirds
@pytest.mark.parametrize(("made", "rows", "labels"), FITTED)
def test_estimators_come_back(made, rows, labels, tmp_path):
    """They predict the same, can be fitted again, and learn on as if nothing had happened."""
    made = clone(made).fit(rows, labels)
    save(made, tmp_path / "one.skops")
    again = load(tmp_path / "one.skops")
    assert repr(again) == repr(made)
    for name in {"predict", "predict_proba", "predict_marginals"} & set(dir(made)):
        np.testing.assert_equal(getattr(again, name)(rows), getattr(made, name)(rows))
    np.testing.assert_equal(clone(again).fit(rows, labels).predict(rows), made.predict(rows))
    if hasattr(made, "partial_fit"):
        first, second = (vars(one.partial_fit(rows, labels)) for one in (made, again))
        np.testing.assert_equal(second, first)


NEIGHBOURS = make_pipeline(StandardScaler(), KNeighborsClassifier(algorithm="kd_tree"))


@pytest.mark.parametrize(
    ("made", "words"),
    [
        (Remembers(names=lambda: None), ["save: ", "lambda"]),
        (Remembers(names=np.mean), ["numpy.mean instead"]),
        (object(), ["must be one of"]),
        (DTAClassifier(estimator=NEIGHBOURS), ["KDTree", "another estimator, or settings"]),
        (DTAClassifier(estimator=CATEGORIES), ["functools.partial", "settings"]),
        (DTAClassifier(fsmeu.load("fscore").swapped), ["its file"]),
    ],
)  # fmt: skip
def test_what_cannot_be_saved_is_told(made, words, tmp_path):
    made = made.fit(np.round(np.abs(X)), Y) if isinstance(made, DTAClassifier) else made
    with pytest.raises(InputError) as told:
        save(made, tmp_path / "one.skops")
    assert [word for word in words if word not in str(told.value)] == []
    assert not (tmp_path / "one.skops").exists()


def parts_of(path):
    """The schema and the other members of a file, by name."""
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    return json.loads(members.pop("schema.json")), members


def write_parts(path, schema, members):
    """Writes a file as ``save`` does, of a schema (a value or its text) and other members."""
    text = schema if isinstance(schema, str) else json.dumps(schema)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in {**members, "schema.json": text}.items():
            archive.writestr(name, content)
        archive.comment = b"fsmeu estimator 2"


def node(value):
    """What skops writes for a value."""
    with zipfile.ZipFile(io.BytesIO(skops.io.dumps(value))) as archive:
        made = json.loads(archive.read("schema.json"))
    return json.loads(json.dumps(made), object_hook=_without_address)


def _without_address(record):
    return {name: one for name, one in record.items() if name != "__id__"}


CALL = {"__class__": "system", "__module__": "posix", "__loader__": "FunctionNode"}
METHOD = {"func": "fit", "obj": node(LogisticRegression())}
MADE = {"__class__": "Popen", "__module__": "subprocess", "__loader__": "ConstructorFromReduceNode"}
STRANGE = [
    CALL,
    {**CALL, "__loader__": "TypeNode"},
    {**CALL, "__loader__": "OperatorFuncNode", "attrs": node(())},
    {**MADE, "content": node((["true"],))},
    {**node(LogisticRegression()), "__loader__": "MethodNode", "content": METHOD},
    {**node(slice(1)), "__loader__": "PartialNode", "content": {"func": CALL}},
    {**node(LogisticRegression()), "__class__": "no_such_class"},
    {**node(LogisticRegression()), "content": node({"predict": 1})},
    {**node(Remembers()), "content": node({"rate": 1, "names": 2, "predict": 3})},
    {**node(Remembers()), "content": node({"rate": 1, "names": 2, "_cache": 3})},
    {**node(Remembers()), "content": node({"rate": 1})},
    {**node(Remembers()), "content": node([1])},
    {**node(0.5), "__id__": 5},
    {**node(0.5), "__loader__": "CachedNode", "__id__": 5},
    {**node(0.5), "__loader__": "unknown"},
    {**node(0.5), "content": "{"},
    {"file": "absent.npy", **node(np.zeros(2))},
    *({}, 3, None, "x", [0.5]),
]  # fmt: skip


class Harm:
    """What a pickle could run."""

    def __reduce__(self):
        return (pytest.fail, ("a pickle was run",))


def harmful(path):
    """A file whose one array is of objects."""
    schema, _ = parts_of(path)
    array = {"__class__": "ndarray", "__module__": "numpy", "__loader__": "NdArrayNode"}
    schema["content"]["content"]["rate"] = {**array, "type": "numpy", "file": "0.npy"}
    file = io.BytesIO()
    np.save(file, np.array([Harm()], object), allow_pickle=True)
    return schema, {"0.npy": file.getvalue()}


def test_files_of_strangers(tmp_path):
    """Nothing is run or made but estimators, no method is overwritten; and it says what to do."""
    good, path = tmp_path / "good.skops", tmp_path / "one.skops"
    save(Remembers(), good)
    assert load(good).rate == 0.5
    cases = [harmful(good)]
    for strange in STRANGE:
        schema, members = parts_of(good)
        schema["content"]["content"]["rate"] = strange
        cases.append((schema, members))
    deep = "[" * 50_000 + "]" * 50_000
    whole = [[], {}, node(Remembers()) | CALL, node(LogisticRegression()), deep, "{"]
    cases += [(one, {}) for one in whole]
    for schema, members in cases:
        write_parts(path, schema, members)
        with pytest.raises(InputError, match=r"one\.skops: .*(Train the model again|array)"):
            load(path)
    for content in (pickle.dumps([1, 2]), b"", skops.io.dumps(Remembers())):
        path.write_bytes(content)
        with pytest.raises(InputError, match=r"must have been written by save.*get the file again"):
            load(path)


def test_files_of_earlier_versions_are_refused(tmp_path):
    """They had a header among their arrays."""
    np.savez(tmp_path / "one.npz", header=np.array('{"format": "fsmeu estimator 1"}'))
    with pytest.raises(InputError, match=r"earlier version of fsmeu.*Train the model again"):
        load(tmp_path / "one.npz")


def test_a_part_that_is_named_often_counts_as_often(tmp_path, monkeypatch):
    """Else a file of two megabytes would take as much memory as it has names of an array."""
    monkeypatch.setenv("FSMEU_MAX_BYTES", str(10_000_000))
    made = Remembers()
    made.table_ = np.zeros(100_000)
    save(made, tmp_path / "one.skops")
    schema, members = parts_of(tmp_path / "one.skops")
    attributes = schema["content"]["content"]
    attributes["names"] = {**node([]), "content": [attributes["table_"]] * 12}
    write_parts(tmp_path / "two.skops", schema, members)
    monkeypatch.setattr(skops.io, "load", lambda *_, **__: pytest.fail("it was unpacked"))
    with pytest.raises(SizeLimitError, match=r"at most 10,000,000 .*FSMEU_MAX_BYTES"):
        load(tmp_path / "two.skops")
    attributes["names"]["content"] *= 1000
    write_parts(tmp_path / "two.skops", schema, members)
    with pytest.raises(SizeLimitError, match=r"schema\.json may have at most"):
        load(tmp_path / "two.skops")


@pytest.mark.parametrize("name", sorted(MEMBERS.keys() - {"records"}))  # nodes of trees are such
def test_members_that_are_no_arrays(tmp_path, name):
    made = Remembers()
    made.table_ = np.zeros(2)
    save(made, tmp_path / "one.skops")
    schema, members = parts_of(tmp_path / "one.skops")
    assert [*members] == ["0.npy"]
    write_parts(tmp_path / "one.skops", schema, {"0.npy": MEMBERS[name]})
    with pytest.raises(FsmeuError, match=r"one\.skops: .*(must be an array|must be texts|at most)"):
        load(tmp_path / "one.skops")


@pytest.mark.nightly
def test_equal_estimators_have_equal_files(tmp_path):
    """In another process too, where objects have other addresses; and skops can read them."""
    code = (
        "import sys; from tests.learning.test_saving import forest; from fsmeu.learning import save"
    )
    code += "; save(forest(), sys.argv[1])"
    for name in ("a", "b"):
        subprocess.run([sys.executable, "-c", code, str(tmp_path / name)], check=True)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    names = skops.io.get_untrusted_types(file=tmp_path / "a")
    read = skops.io.load(tmp_path / "a", trusted=names)
    np.testing.assert_equal(read.predict_proba(X), load(tmp_path / "a").predict_proba(X))


def forest():
    """A classifier around a small forest."""
    return DTAClassifier("jaccard", RandomForestClassifier(3, random_state=0)).fit(X, Y)


TREES = {
    "outside": lambda nodes: nodes["left_child"].__setitem__(0, 10**6),
    "negative": lambda nodes: nodes["right_child"].__setitem__(0, -5),
    "circle": lambda nodes: nodes["left_child"].__setitem__(0, 0),
    "twice": lambda nodes: nodes["left_child"].__setitem__(0, nodes["right_child"][0]),
    "feature": lambda nodes: nodes["feature"].__setitem__(0, 10**6),
    "no feature": lambda nodes: nodes["feature"].__setitem__(0, -1),
}


@pytest.mark.parametrize("name", TREES)
def test_nodes_of_trees_that_lead_elsewhere_are_refused(tmp_path, name):
    """scikit-learn would read wherever they lead, and the process may end."""
    save(forest(), tmp_path / "good.skops")
    schema, members = parts_of(tmp_path / "good.skops")
    changed = 0
    for member, content in members.items():
        array = np.load(io.BytesIO(content))
        if array.dtype.names and len(array) > 1:
            TREES[name](array)
            file = io.BytesIO()
            np.save(file, array)
            write_parts(tmp_path / "bad.skops", schema, {**members, member: file.getvalue()})
            with pytest.raises(InputError, match=r"damaged.*tree"):
                load(tmp_path / "bad.skops")
            changed += 1
    assert changed == 3


@pytest.mark.parametrize(("name", "value"), [("max_depth", 0), ("node_count", 0)])
def test_sizes_of_trees_that_are_not_theirs_are_refused(tmp_path, name, value):
    save(forest(), tmp_path / "good.skops")
    schema, members = parts_of(tmp_path / "good.skops")
    attributes = schema["content"]["content"]["estimator_"]["content"]["content"]
    tree = attributes["estimators_"]["content"][1]["content"]["content"]["tree_"]
    assert tree["content"]["content"][name] != node(value)
    tree["content"]["content"][name] = node(value)
    write_parts(tmp_path / "bad.skops", schema, members)
    with pytest.raises(InputError, match=r"damaged.*tree"):
        load(tmp_path / "bad.skops")


@pytest.mark.parametrize("change", ["feature_idx", "left", "right", "is_categorical"])
def test_nodes_of_boosted_trees_that_lead_elsewhere_are_refused(tmp_path, change):
    made = DTAClassifier(estimator=HistGradientBoostingClassifier(max_iter=1)).fit(X, Y)
    made.estimator_._predictors[0][0].nodes[change][0] = 100
    save(made, tmp_path / "bad.skops")
    with pytest.raises(InputError, match=r"damaged.*tree"):
        load(tmp_path / "bad.skops")


def test_stages_of_boosting_with_other_columns_are_refused(tmp_path):
    """scikit-learn would write beside the row of sums that the trees are added to."""
    made = DTAClassifier(estimator=GradientBoostingClassifier(n_estimators=2)).fit(X, Y)
    save(made, tmp_path / "good.skops")
    assert (load(tmp_path / "good.skops").predict(X) == made.predict(X)).all()
    stages = made.estimator_.estimators_
    made.estimator_.estimators_ = np.concatenate([stages] * 5, axis=1)
    save(made, tmp_path / "bad.skops")
    with pytest.raises(InputError, match=r"damaged.*trees of other outputs"):
        load(tmp_path / "bad.skops")
    made.estimator_.estimators_ = stages
    made.estimator_.init_.class_prior_ = np.full((1, 1, 1), 1e300)
    save(made, tmp_path / "bad.skops")
    with pytest.raises(InputError, match=r"damaged"):
        load(tmp_path / "bad.skops")


def test_what_has_learned_nothing_is_loaded_and_not_fitted(tmp_path):
    """As scikit-learn has it: parameters come back, and predict asks for fit."""
    save(learning.FOFOClassifier(step=3), tmp_path / "new.skops")
    made = load(tmp_path / "new.skops")
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


@pytest.mark.thirds
@pytest.mark.parametrize("kind", ["field", "joint", *SPACES[:2]])
def test_arrays_that_do_not_fit_together_are_refused(tmp_path, kind):
    """Else predictions read beyond the end of the weights, or stretch one weight to all labels."""
    save(trained(kind), tmp_path / "good.skops")
    schema, members = parts_of(tmp_path / "good.skops")
    tried = 0
    for name, content in members.items():
        array = np.load(io.BytesIO(content))
        size = array.shape
        for axis, m in [(k, m) for k, most in enumerate(size) for m in {0, 1, most - 1} - {most}]:
            file = io.BytesIO()
            np.save(file, np.take(array, range(m), axis))
            write_parts(tmp_path / "bad.skops", schema, {**members, name: file.getvalue()})
            with pytest.raises(InputError, match=r"^load .*bad\.skops: the file is damaged"):
                load(tmp_path / "bad.skops")
            tried += 1
    assert tried > 10


@pytest.mark.thirds
@pytest.mark.parametrize(
    ("kind", "name", "change"),
    [
        *(("online", name, None) for name in ("delays_", "n_features_in_")),
        *(("online", "n_features_in_", lambda _, n=n: n) for n in (10**12, "4")),
        ("online", "classes_", lambda known: known[:1]),
        *(("online", "weights_", lambda _, x=x: x) for x in (np.array("x"), np.zeros((5, 1)))),
        # the compiled loop would write beyond their ends
        ("online", "delays_", lambda known: known[:, :1]),
        ("online", "state_", lambda known: known.view(float)),
        ("online", "state_", lambda known: known[:0]),
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
    save(made, tmp_path / "m.skops")
    with pytest.raises(InputError, match=r"^load .*m\.skops: the file is damaged"):
        load(tmp_path / "m.skops")
