"""Estimators come back from files as they were; other files are refused."""

import io
import json
import os
import pickle
import zipfile

import joblib
import numpy as np
import pytest
import skops.io
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler
from sklearn.tree import DecisionTreeClassifier

import fsmeu
from fsmeu import learning
from fsmeu.errors import FsmeuError, InputError
from fsmeu.learning import DTAClassifier, EUMClassifier, load, save
from tests.learning.test_tagger import drawn

X, Y = make_classification(80, 4, weights=[0.6], flip_y=0.2, random_state=0)
NAMES = np.array(["ok", "fraud"])[Y]
TABLE = np.stack([Y, X[:, 0] > 0, np.ones(80)], axis=1).astype(int)
ONLINE = [
    learning.FOFOClassifier(gamma_scale="auto", average=True),
    learning.OFOClassifier(average="suffix"),
]
DEEP = DTAClassifier(fsmeu.load("fscore", beta=2), ONLINE[1], calibration="sigmoid")
WITHIN = [
    learning.MaxExpectedFClassifier(restarts=2, random_state=0),
    learning.MaxExpectedUtilityClassifier("jaccard", restarts=0),
    learning.OnlineLogisticClassifier(average=True),
    DTAClassifier(estimator=DecisionTreeClassifier(), prior=0.3, calibration="isotonic"),
    EUMClassifier("jaccard", GaussianNB(), random_state=0),
]
MADE = [
    *((clone(one).set_params(pos_label="fraud"), X, NAMES) for one in (*ONLINE, DEEP, *WITHIN)),
    (learning.ExampleWiseClassifier(loss_params={"beta": 2}), X, TABLE),
    (DTAClassifier(estimator=FrozenEstimator(LogisticRegression().fit(X, Y))), X, Y),
    (EUMClassifier(estimator=make_pipeline(MinMaxScaler(), DEEP), random_state=0), X, Y),
    (learning.MaxExpectedUtilityTagger(utility_iterations=1), *drawn(6)),
]


@pytest.mark.parametrize(("made", "rows", "labels"), MADE, ids=lambda one: type(one).__name__)
def test_estimators_come_back(made, rows, labels, tmp_path):
    """They predict the same, have the same parameters, and learn on as if nothing had happened."""
    made = clone(made).fit(rows, labels)
    save(made, tmp_path / "m.skops")
    again = load(tmp_path / "m.skops")
    assert repr(again) == repr(made)
    for name in {"predict", "predict_proba", "predict_marginals"} & set(dir(made)):
        np.testing.assert_equal(getattr(again, name)(rows), getattr(made, name)(rows))
    if hasattr(made, "partial_fit"):
        first, second = (vars(one.partial_fit(rows, labels)) for one in (made, again))
        np.testing.assert_equal(second, first)


def parts_of(path):
    """The members of an archive, by name."""
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def write_parts(path, members):
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
        archive.comment = b"fsmeu estimator 2"


def test_damaged_files_are_refused(tmp_path):
    """Cut anywhere, or with an array that is too short, which loops would read beyond."""
    good, bad = tmp_path / "good.skops", tmp_path / "bad.skops"
    save(clone(ONLINE[0]).fit(X, Y), good)
    content, members = good.read_bytes(), parts_of(good)
    for size in (0, 10, len(content) // 2, len(content) - 1):
        bad.write_bytes(content[:size])
        with pytest.raises(FsmeuError, match=r"bad\.skops"):
            load(bad)
    arrays = [name for name in members if name.endswith(".npy")]
    assert len(arrays) > 3
    for name in arrays:
        file = io.BytesIO()
        np.save(file, np.load(io.BytesIO(members[name]))[..., :-1])
        write_parts(bad, {**members, name: file.getvalue()})
        with pytest.raises(FsmeuError, match=r"bad\.skops"):
            load(bad)


class Harm:
    """What writes a file when it is read."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return os.mkdir, (str(self.path),)


def test_files_of_strangers_run_no_code(tmp_path):
    """Whether pickled, in an array, or as what skops calls or makes."""
    good, bad, done = tmp_path / "good.skops", tmp_path / "bad.skops", tmp_path / "done"
    save(clone(ONLINE[1]).fit(X, Y), good)
    members = parts_of(good)
    array = io.BytesIO()
    np.save(array, np.array([Harm(done)], object), allow_pickle=True)
    schema = json.loads(members["schema.json"])
    call = {"__class__": "mkdir", "__module__": "posix", "__loader__": "FunctionNode"}
    schema["content"]["content"]["step"] = call
    member = next(name for name in members if name.endswith(".npy"))
    for changed in ({member: array.getvalue()}, {"schema.json": json.dumps(schema)}):
        write_parts(bad, {**members, **changed})
        with pytest.raises(FsmeuError, match=r"bad\.skops"):
            load(bad)
    for write in (
        lambda: bad.write_bytes(pickle.dumps(Harm(done))),
        lambda: joblib.dump(Harm(done), bad),
        lambda: np.savez(bad, header=np.array([Harm(done)], object)),
        lambda: skops.io.dump(LogisticRegression(), bad),
    ):
        write()
        with pytest.raises(InputError, match=r"bad\.skops"):
            load(bad)
    assert not done.exists()
    pickle.loads(pickle.dumps(Harm(done)))  # which pickles do
    assert done.exists()
