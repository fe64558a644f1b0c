"""The structured baselines of crfsuite, on the rows of features that SEARN sees."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from fsmeu import errors
from searn import methods


@pytest.mark.parametrize("settings", [{"algorithm": "lbfgs", "c2": 1.0}, {"algorithm": "ap"}])
def test_they_learn_what_only_transitions_tell(settings):
    """The first label is shown; the second, of which nothing is seen, is the one after it."""
    pytest.importorskip("sklearn_crfsuite")
    first = np.arange(60) % 3
    rows = np.zeros((60, 2, 4))
    rows[np.arange(60), 0, first] = rows[:, 1, 3] = 1
    labels = [["abc"[one], "abc"[(one + 1) % 3]] for one in first]
    seen = csr_array(rows.reshape(120, 4)), np.arange(0, 121, 2)
    assert methods.crf_predictions((*seen, labels), seen, **settings) == labels


def test_without_crfsuite(monkeypatch):
    monkeypatch.setattr(errors, "is_installed", lambda name: False)
    with pytest.raises(errors.MissingExtra, match="pip install"):
        methods.crf_predictions((None, None, []), (None, None))
