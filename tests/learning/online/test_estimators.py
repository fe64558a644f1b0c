"""Online learners are estimators of scikit-learn: checks, files, parameters, labels of any type."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from fsmeu.errors import InputError, SizeLimitError
from fsmeu.learning.online import (
    FOFOClassifier,
    OFOClassifier,
    OMCSLClassifier,
)
from fsmeu.learning.saving import load, save
from tests.learning.online.test_rules import BY_NAME, data, made


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


@pytest.mark.parametrize(("average", "vectors"), [(False, 1), (True, 2), ("suffix", 3)])
def test_memory_is_that_of_table_1(average, vectors):
    """Liu et al. 2018: O(d) numbers, O(md) for OMCSL's m classifiers, however many examples."""
    for n in (60, 600):
        rows, labels = data(n)
        for learner, count in ((FOFOClassifier(), 1), (OMCSLClassifier(classifiers=7), 7)):
            one = made(learner, average=average).fit(rows, labels)
            held = sum(part.size for part in (one.weights_, one.delays_, one.state_))
            assert held <= vectors * count * (rows.shape[1] + 1) + 3 * count + 20
