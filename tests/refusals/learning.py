"""Estimators, taggers and cross validation: settings, classes, rows, shares of positives."""

import numpy as np
from scipy.sparse import csr_array
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import ShuffleSplit
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import LinearSVC

import fsmeu
from fsmeu import learning
from fsmeu.errors import InputError, SizeLimitError

X = np.arange(20.0)[:, None] % 7
Y = [0, 1] * 10
YES = ["no", "yes"] * 10
WORD = [[["a"]], [["b"]], [["a"]]]
TAGS = [["A"], ["B"], ["C"]]
FOLDS = [([0, 1], [1, 2]), ([1, 2], [0])]
WIDE = csr_array(([1.0], ([0], [5])), shape=(2, 10**10))
OWN = fsmeu.loads("loss own\nlabels P Q R\ncount bad when z != y\nvalue bad")
OF_YES = FrozenEstimator(LogisticRegression().fit(X, YES))
BALANCED = LogisticRegression(class_weight="balanced")
MACHINE, NEIGHBOURS = LinearSVC(), KNeighborsClassifier()
AT_RANDOM = ShuffleSplit(3, random_state=0)
DTA, EUM = learning.DTAClassifier, learning.EUMClassifier
FOFO, OFO = learning.FOFOClassifier, learning.OFOClassifier
MaxF, Tagger = learning.MaxExpectedFClassifier, learning.MaxExpectedUtilityTagger
ESTIMATE = DTA(prior="estimate", calibration=None)
several, cross_val = learning.ExampleWiseClassifier, learning.cross_val_models

NAMES = globals()
ROWS = [
    # settings that would make another number of a decision
    ('DTA(fsmeu.load("pk", k=2)).fit(X, Y)', InputError, "confusion table"),
    ("DTA(estimator=MACHINE).fit(X, Y)", InputError, "With calibration"),
    ('DTA(prior="estimate", folds=11).fit(X, Y)', InputError, "calibration=None"),
    ("EUM().fit(X[:5], [0, 0, 0, 0, 1])", InputError, "two examples of each class"),
    ('EUM().fit(X, Y).set_params(loss="zero").predict(X)', InputError, "'zero' ... Call fit again"),
    ("MaxF(alpha=1.1).fit(X, Y)", InputError, "alpha must be"),
    ("FOFO(gamma_scale=True).fit(X, Y)", InputError, "gamma_scale must be"),
    # rows, labels and weights
    ("DTA().fit(X, Y[:3])", InputError, "inconsistent numbers"),
    ("FOFO().fit(np.full((20, 1), np.nan), Y)", InputError, "NaN"),
    ("FOFO().fit(X, Y, -np.ones(20))", InputError, "Negative values"),
    ("MaxF().fit(X, Y, Y)", InputError, "each class"),
    ("DTA(estimator=NEIGHBOURS).fit(X, Y, Y)", InputError, "sample_weight"),
    ("OFO().fit(X, Y).predict(np.zeros((2, 3)))", InputError, "3 features"),
    ("several().fit(X, np.ones((20, 2)) / 2)", InputError, "0 or 1"),
    ("FOFO().fit(X * 1e300, Y)", InputError, "must stay finite"),
    ("OFO().fit(WIDE, [0, 1])", SizeLimitError, "ONLINE_WEIGHTS ... 10,000,000,001"),
    # classes
    ("DTA().fit(X, [0] * 20)", InputError, "two classes"),
    ('DTA().fit(X, ["a", "b", "c", "c"] * 5)', InputError, "y == 'a'"),
    ("OFO().partial_fit(X, [1] * 20)", InputError, "give both classes at the first call"),
    ("OFO().fit(X, Y).partial_fit(X, [0, 2] * 10)", InputError, "of the classes"),
    ('DTA(pos_label="ye").fit(X, YES)', InputError, "one of the classes 'no', 'yes'"),
    ("DTA(estimator=OF_YES).fit(X, Y)", InputError, "classes 0 and 1 ... Got 'no', 'yes' instead"),
    # shares of positives
    ("DTA(prior=1.0).fit(X, Y)", InputError, "between 0 and 1"),
    ("DTA(prior=0.1, estimator=BALANCED).fit(X, Y)", InputError, "class_weight"),
    ("ESTIMATE.fit(X, Y).predict(X[:2])", InputError, "fewer than 10 ... Give prior=VALUE"),
    ("ESTIMATE.fit(X, Y).predict(X)", InputError, "for which any share from"),
    # taggers, and cross validation
    ("Tagger(OWN).fit(WORD, TAGS)", InputError, "the same labels"),
    ("Tagger().fit(WORD, TAGS[:2])", InputError, "MaxExpectedUtilityTagger"),
    ('Tagger().fit([[{"a": np.nan}]], [["A"]])', InputError, "features"),
    ('Tagger("hamming", pos_label="A").fit(WORD, TAGS)', InputError, "pos_label ... two classes"),
    ("cross_val(Tagger(), WORD, TAGS, cv=AT_RANDOM)", InputError, "hold out each sequence once"),
    ("cross_val(Tagger(), WORD, TAGS, cv=FOLDS)", InputError, "not train on what is held out"),
    ("cross_val(MACHINE, WORD, TAGS)", InputError, "model=fsmeu.models.from_crfsuite"),
]
