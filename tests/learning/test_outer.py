"""Classifiers around an estimator hand it the rows as they are; DTA warns of a single row."""

import warnings

import numpy as np
import pytest
from scipy.sparse import coo_array
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from fsmeu.learning import DTAClassifier, EUMClassifier, ExampleWiseClassifier, load, save

OUTER = {
    "dta": lambda inner: DTAClassifier("fscore", inner),
    "dta, calibrated": lambda inner: DTAClassifier("fscore", inner, calibration="sigmoid", folds=2),
    "eum": lambda inner: EUMClassifier("fscore", inner, random_state=0),
    "example-wise": lambda inner: ExampleWiseClassifier("fscore", inner),
}
KIND = pytest.mark.parametrize("kind", OUTER)
NAMES = np.array(["no", "yes"])
ASKED = np.tile([True, False, False], 14)
TEXTS = ["a fine offer" if one else "the dog barks" for one in ASKED]
GAPS = np.where(ASKED, 1.0, np.nan)[:, None]
OF_TEXTS = make_pipeline(TfidfVectorizer(), LogisticRegression())


def right(made, rows, truth=ASKED):
    """Whether it is right for all rows that it has learned, which tell their class."""
    names = NAMES[truth.astype(int)]
    return made.fit(rows, names).predict(rows).tolist() == names.tolist()


@KIND
@pytest.mark.parametrize(
    ("rows", "inner"),
    [
        (TEXTS, OF_TEXTS),
        (np.array(TEXTS), OF_TEXTS),
        (np.array(TEXTS, object), OF_TEXTS),
        (GAPS, HistGradientBoostingClassifier(max_iter=4, min_samples_leaf=2)),
        (coo_array(np.stack([ASKED, ~ASKED], axis=1).astype(float)), LogisticRegression()),
    ],
    ids=["list", "texts", "objects", "gaps", "no index"],
)
def test_rows_of_any_kind(kind, rows, inner):
    """Texts, what is not a number, sparse rows that cannot be cut: for the estimator to judge."""
    made = OUTER[kind](inner)
    assert right(made, rows)
    assert made.predict_proba(rows).shape == (len(ASKED), 2)


@KIND
def test_faults_are_told_by_scikit_learn(kind):
    with pytest.raises(ValueError, match="NaN"):
        OUTER[kind](LogisticRegression()).fit(GAPS, ASKED)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        OUTER[kind](OF_TEXTS).fit(TEXTS, ASKED[:-1])


@KIND
def test_frames(kind, tmp_path):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"text": TEXTS, "size": ASKED + 0.5, "place": ["here"] * len(ASKED)})
    columns = make_column_transformer(
        (TfidfVectorizer(), "text"), (StandardScaler(), ["size"]), (OneHotEncoder(), ["place"])
    )
    made = OUTER[kind](make_pipeline(columns, LogisticRegression()))
    assert right(made, frame)
    assert made.feature_names_in_.tolist() == ["text", "size", "place"]
    assert made.fit(frame, pandas.Series(ASKED)).predict(frame).tolist() == ASKED.tolist()
    with pytest.raises(ValueError, match="columns are missing"):
        made.predict(frame[["text"]])
    plain = OUTER[kind](make_pipeline(StandardScaler(), LogisticRegression()))
    assert right(plain, frame[["size"]])
    save(plain, tmp_path / "frames.npz")
    again = load(tmp_path / "frames.npz").predict(frame[["size"]])
    assert again.tolist() == plain.predict(frame[["size"]]).tolist()


def test_columns_of_labels_of_texts():
    """Several labels of each text, one of which is constant."""
    table = np.stack([ASKED, ~ASKED, np.ones(len(ASKED))], axis=1).astype(int)
    made = ExampleWiseClassifier("fscore", OF_TEXTS)
    assert np.array_equal(made.fit(TEXTS, table).predict(TEXTS), table)


@KIND
def test_within_searches_and_folds(kind):
    """They are cut and copied by scikit-learn's own tools."""
    made = OUTER[kind](OF_TEXTS)
    assert cross_val_predict(made, TEXTS, ASKED, cv=2).tolist() == ASKED.tolist()
    grid = GridSearchCV(made, {"estimator__logisticregression__C": [0.1, 10.0]}, cv=2)
    assert grid.fit(TEXTS, ASKED).predict(TEXTS).tolist() == ASKED.tolist()


def test_a_single_row_is_warned_of_once():
    """One by one rows are decided otherwise than together; a threshold does not care."""
    random = np.random.default_rng(0)
    rows = random.normal(size=(80, 2))
    truth = rows[:, 0] + random.normal(size=80) > 1
    made = DTAClassifier("fscore").fit(rows, truth)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        together = made.predict(rows)
        assert not told
        alone = np.concatenate([made.predict(row[None]) for row in rows])
        assert not np.array_equal(alone, together)
        made.fit(rows, truth).predict(rows[:1])
    assert [str(one.message) for one in told] == [
        "DTAClassifier decides the rows of a call together, and was given a single one: "
        "use EUMClassifier for rows one by one"
    ]
    fixed = EUMClassifier("fscore", random_state=0).fit(rows, truth)
    assert [fixed.predict(row[None])[0] for row in rows] == fixed.predict(rows).tolist()
