"""Functions of one count, derived from the text: offset + gain (k + shift)^-power."""

import numpy as np
import pytest

import fsmeu
from fsmeu.losses.algebra.count_ratio import Count, ratio_of_count
from fsmeu.losses.semantics.evaluator import Scope

SQUARE = "(hyp / (hyp + 1)) * (hyp / (hyp + 1))"
VALUES = [
    ("1 / (hyp + 2)", 0, (0.0, 1.0, 2.0, 1.0)),
    ("3 - 2 * hyp / (4 * hyp + n)", 0, (2.5, 0.625, 1.25, 1.0)),
    ("1 / sqrt(9 * hyp)", 1, (0.0, 1 / 3, 0.0, 0.5)),
    ("if hyp + n == 0 then 5 else 1 / (hyp + n)", 0, (0.0, 1.0, 5.0, 1.0)),
    ("1 / (hyp + 1) + 2 / (2 * hyp + 2)", 0, (0.0, 2.0, 1.0, 1.0)),
]
OTHERS = [
    ("1 / hyp or 0 when hyp == 0", 0),
    ("1 / (hyp + 1) + 1 / (hyp + 2)", 0),
    ("1 / (5 - hyp)", 0),
    (SQUARE, 0),
    ("if hyp > 2 then 1 else 0", 0),
    ("0.3 * hyp / (3e-20 * hyp + 0.3 * n)", 0),
]


def derived(value, least):
    loss = fsmeu.loads(f'utility f "f"\nlabels 0 1\ncount hyp when z == 1\nvalue {value}\n')
    scope = Scope(loss.bound, {"n": 5.0}, {"n": 5.0}, {})
    return loss, ratio_of_count(loss.spec.value, scope, Count("hyp", 0.0, float(least), 5.0))


@pytest.mark.parametrize(("value", "least", "wanted"), VALUES)
def test_ratios_are_found(value, least, wanted):
    loss, ratio = derived(value, least)
    assert ratio == pytest.approx(wanted)
    for k in range(least, 6):
        found = ratio.offset + ratio.gain * (k + ratio.shift) ** -ratio.power
        z = [1] * k + [0] * (5 - k)
        np.testing.assert_allclose(found, loss(z, [0] * 5), rtol=1e-14)


@pytest.mark.parametrize(("value", "least"), OTHERS)
def test_other_functions_are_none(value, least):
    """Two denominators, a power, a condition that some counts meet, digits that would be lost."""
    assert derived(value, least)[1] is None
