"""Labels of models: checked once, refused as ever."""

import numpy as np
import pytest

from fsmeu.errors import InputError
from fsmeu.models import Independent, Markov, from_potentials

HALF = np.full((2, 2), 0.5)
KINDS = {
    "potentials": lambda labels: from_potentials(np.zeros((2, 2)), np.zeros((2, 2)), labels),
    "independent": lambda labels: Independent(HALF, labels),
    "markov": lambda labels: Markov(HALF[0], HALF, 2, labels),
}


@pytest.mark.parametrize("make", KINDS.values(), ids=KINDS)
@pytest.mark.parametrize("labels", [(True, 0), (1.0, 0), ([1], 0), (1, "1"), (None, 0), (1, 0, 2)])
def test_refused_whatever_was_seen_before(make, labels):
    """True and 1.0 are equal to 1, which is a label."""
    assert make((1, 0)).labels == (1, 0)
    assert make(["1", "0"]).labels == ("1", "0")
    assert make(None).labels == (0, 1)
    with pytest.raises(InputError):
        make(labels)
