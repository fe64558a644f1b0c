"""Values as functions of counts: what the evaluator makes of sums of counts in place of numbers."""

import numpy as np
import pytest

import fsmeu
from fsmeu.losses.algebra.confusion import fractional
from fsmeu.losses.algebra.ratios import ratio_of_totals, sum_of_ratios

COUNTS = "count tp when z == 1 and y == 1 count hyp when z == 1 count ref when y == 1"
F1 = {
    "2 * tp / (hyp + ref) or 1 when hyp + ref == 0": True,
    "if not ref + hyp == 0 then (tp + tp) / (ref + hyp) else 1": True,
    "4 / 2 * tp / (0.5 * (2 * hyp + ref + ref)) or 1 when (n == 0 or hyp + ref == 0)": True,
    "if ref == 0 and hyp == 0 then 1 else 2 * tp / (ref + hyp)": False,
    "if hyp != 0 or ref != 0 then 2 * tp / (ref + hyp) else 1": False,
}
"""F1 in several words, and whether each condition by itself holds only where the ratio is 0/0."""


def loss(value):
    return fsmeu.loads(f"utility f labels 0 1 {COUNTS} value {value}")


@pytest.mark.parametrize("value", F1)
def test_f1_is_one_ratio_however_it_is_written(value):
    form, n = loss(value).confusion, 5
    for ratio in (fractional(form), fractional(form, n)):
        assert (ratio is not None) == F1[value]
        if ratio is not None:
            scale = float(ratio.denominator[2])
            assert [float(c) / scale for c in ratio.denominator] == [0, 0, 1, 1]
            assert [float(c) / scale for c in ratio.numerator] == [0, 2, 0, 0]
    for k in range(1, n + 1):
        (ratio,) = sum_of_ratios(form, n, np.array([float(k)])).ratios
        for tp in range(k + 1):
            for missed in range(n - k + 1):
                top, below = (c[0] + c[1] * tp + c[2] * missed for c in (ratio.top, ratio.below))
                assert top / below == pytest.approx(2 * tp / (k + tp + missed), rel=1e-15)
    assert ratio_of_totals(loss(value).split, n, np.arange(1.0, n), float(n)) is not None


@pytest.mark.parametrize(
    "value",
    [
        "tp^2 / (hyp + ref)",
        "max(tp, 1) / (hyp + ref + 1)",
        "tp % 2 / (hyp + ref + 1)",
        "tp * ref / (hyp + ref + 1)",
        "floor(tp / 2) / (hyp + 1)",
        "if tp < 2 then tp / (hyp + 1) else 1 / (hyp + 1)",
        "sqrt(tp) / (hyp + 1)",
        "if sqrt(2) < tp then tp / (hyp + 1) else 1 / (hyp + 1)",
        "tp / sqrt(hyp - ref)",
        "tp / sqrt(-hyp - 1)",
        "abs(tp - hyp) / (hyp + 1)",
        "exp(tp) / (hyp + 1)",
    ],
)
def test_other_values_are_no_ratios(value):
    form = loss(value).confusion
    assert fractional(form) is None
    assert fractional(form, 5) is None
    assert sum_of_ratios(form, 5, np.arange(1.0, 5)) is None


def test_sums_whose_digits_are_lost_are_not_trusted():
    assert fractional(loss("(tp + 0.1 + 1e15 - 1e15) / (hyp + ref + n)").confusion, 5) is None
    assert fractional(loss("(tp + 0.5 + 16 - 16) / (hyp + ref + n)").confusion, 5) is not None
