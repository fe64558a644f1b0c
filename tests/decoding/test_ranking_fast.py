"""The recurrence behind ``ranking_fast`` with weights of unusual size."""

import pytest

import fsmeu


@pytest.mark.parametrize("scale", [1e30, 1e200, 3e18])
def test_denominators_of_any_size(scale):
    """Whole weights of a denominator may pass what an integer of numpy holds."""
    text = f"utility f\nlabels 0 1\ncount tp when z == 1 and y == 1\nvalue (1 + tp) / {scale!r}"
    model = fsmeu.models.Bernoulli([0.5, 0.25])
    found = fsmeu.decode(fsmeu.loads(text), model, method="ranking_fast")
    assert found.labels == [1, 1]
    assert found.value == pytest.approx(1.75 / scale, rel=1e-12)
