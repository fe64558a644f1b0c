"""Online learners are estimators of scikit-learn: checks, files, parameters, labels of any type."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.utils.estimator_checks import parametrize_with_checks

from fsmeu.errors import InputError, SizeLimitError
from fsmeu.learning.online import (
    FOFOClassifier,
    OFOClassifier,
    OMCSLClassifier,
    OnlineLogisticClassifier,
    STAMPClassifier,
)
from fsmeu.learning.saving import load, save
from tests.learning.online.test_rules import BY_NAME, data, made

LEARNERS = [
    FOFOClassifier(),
    OFOClassifier(),
    OMCSLClassifier(random_state=0),
    OnlineLogisticClassifier(),
    STAMPClassifier(epoch=5),
]
TWICE = "an example given twice is two steps, of which the second begins where the first ended"


def failing(learner):
    """Checks that cannot hold, with the reason."""
    found = {
        "check_sample_weight_equivalence_on_dense_data": TWICE,
        "check_sample_weight_equivalence_on_sparse_data": TWICE,
    }
    if isinstance(learner, FOFOClassifier | OFOClassifier):
        found["check_classifiers_train"] = "the threshold on the probability is not 1/2"
    return found


@parametrize_with_checks(LEARNERS, expected_failed_checks=failing)
@pytest.mark.thirds
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@BY_NAME
def test_file_of_a_learner(learner, tmp_path):
    """What comes back predicts the same, and learns on as if nothing had happened."""
    rows, labels = data()
    named = np.array(["no", "yes"])[labels]
    one = made(learner).partial_fit(rows[:200], named[:200])
    save(one, tmp_path / "one.npz")
    again = load(tmp_path / "one.npz")
    assert again.predict(rows).tolist() == one.predict(rows).tolist()
    assert set(one.predict(rows)) <= {"no", "yes"}
    one.partial_fit(rows[200:], named[200:])
    again.partial_fit(rows[200:], named[200:])
    assert np.array_equal(again.weights_, one.weights_)
    assert np.array_equal(again.state_, one.state_)


@pytest.mark.parametrize(
    ("learner", "words"),
    [
        (FOFOClassifier(gamma_scale=0), "gamma_scale must be a finite number above 0"),
        (FOFOClassifier(gamma_scale="wide"), 'above 0 or "auto"'),
        (FOFOClassifier(horizon=0), "horizon must be a whole number"),
        (FOFOClassifier(predict_with="first"), "predict_with must be one of mean, last"),
        (OFOClassifier(step=-1), "step must be a finite number above 0"),
        (OFOClassifier(step=True), "step must be"),
        (OFOClassifier(beta=np.inf), "beta must be"),
        (OFOClassifier(beta=1e200), "beta must be a number above 0 and at most 1e100"),
        (OFOClassifier(schedule="linear"), "schedule must be one of sqrt, constant"),
        (OFOClassifier(measure="f1"), "measure must be one of f, jaccard"),
        (OFOClassifier(average="no"), "average must be one of False, True, suffix"),
        (STAMPClassifier(epoch=1.5), "epoch must be a whole number"),
        (STAMPClassifier(growth=0), "growth must be"),
        (OMCSLClassifier(classifiers=0), "classifiers must be a whole number"),
        (OMCSLClassifier(gamma=0), "gamma must be"),
    ],
)
def test_parameters_are_checked(learner, words):
    with pytest.raises(InputError, match=words):
        learner.fit([[0.0], [1.0]], [0, 1])


@BY_NAME
def test_overflow_is_told(learner):
    """Weights that are no numbers would predict something all the same."""
    rows, labels = data(60)
    with pytest.raises(InputError, match="must stay finite"):
        made(learner).fit(rows * 1e300, labels)
    large = made(learner, step=1e-160).fit(rows * 1e160, labels)  # only squares are too large
    assert np.isfinite(large.decision_function(rows)).all()


def test_weights_that_do_not_fit():
    """Memory is not asked for before the sizes are known to be sensible."""
    with pytest.raises(SizeLimitError, match="ONLINE_WEIGHTS"):
        OMCSLClassifier(classifiers=10**11).fit([[0.0], [1.0]], [0, 1])
    rows = csr_array(([1.0], ([0], [5])), shape=(2, 10**10))
    with pytest.raises(SizeLimitError, match="10,000,000,001"):
        OFOClassifier().fit(rows, [0, 1])


def test_classes_are_checked():
    rows = [[0.0], [1.0]]
    with pytest.raises(InputError, match="there must be two classes"):
        OFOClassifier().partial_fit(rows, [1, 1])
    with pytest.raises(InputError, match="there must be two classes"):
        OFOClassifier().partial_fit(rows, [1, 1], classes=[1, 2, 3])
    one = OFOClassifier().partial_fit(rows, [1, 1], classes=[1, 2])
    with pytest.raises(InputError, match="labels must be of the classes"):
        one.partial_fit(rows, [1, 3])
    with pytest.raises(InputError, match="classes must stay the same"):
        one.partial_fit(rows, [1, 1], classes=[1, 3])
