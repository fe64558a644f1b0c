"""Counts in windows for values that are linear in tp, against other engines and enumeration."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fsmeu
from fsmeu.decoding import split
from fsmeu.models import Independent
from tests.trellis.test_moments import chances

TEXTS = {
    "mistakes": """loss f labels 0 1 count wrong by if z == 1 then 2 else 1 when z != y
count ref by 3 when y == 1 count hyp when z == 1 value wrong / (ref + sqrt(hyp) + 1)
range 0 .. 2 * n""",
    "of label 0": """utility f labels 0 1 count tn when z == 0 and y == 0 count no when z == 0
count neg when y == 0 value tn / sqrt(no * neg) or 1 when no + neg == 0 or 0 when no * neg == 0
range 0 .. 1""",
}
LOSSES = [
    ("balanced_accuracy", {}),
    ("balanced_accuracy", {"drop": 0, "empty": 0}),
    ("g_tp_pr", {}),
    ("kappa", {}),
    ("mcc", {"empty": 1}),
    ("specificity", {"empty": 0}),
    *((name, {}) for name in TEXTS),
]


def loaded(name, params):
    return fsmeu.loads(TEXTS[name]) if name in TEXTS else fsmeu.load(name, **params)


@pytest.fixture(autouse=True)
def short_ones_too(monkeypatch):
    """Windows for sequences of every length."""
    monkeypatch.setattr(split, "COUNTED_AT_ONCE", 0)


@pytest.mark.parametrize(("name", "params"), LOSSES)
@settings(max_examples=12, deadline=None)
@given(seed=st.integers(0, 2**32), n=st.integers(7, 90))
def test_no_sequence_is_better(name, params, seed, n):
    """Of those that rank labels by probability, by other engines; short ones: see the explorer."""
    loss, p = loaded(name, params), chances(seed, n)
    found = fsmeu.decode(loss, p, method="counting")
    assert "windows" in found.why
    assert found.exact
    ones = [sum(found.labels), *np.random.default_rng(seed).integers(0, n + 1, size=4).tolist()]
    own, *others = (fsmeu.expect(loss, [1] * k + [0] * (n - k), p).value for k in ones)
    assert found.value == pytest.approx(own, rel=1e-12, abs=1e-12)
    sign = 1 if loss.kind == "utility" else -1
    assert sign * found.value >= max(sign * value for value in others) - 1e-12


def test_labels_in_either_order():
    """The same decision, as fast: the ratio is looked for in both orders of the labels."""
    p = np.random.default_rng(1).beta(0.3, 3, size=1200)
    rows = np.stack([1.0 - p, p], axis=1)
    for name in ("fscore", "jaccard", "balanced_accuracy"):
        loss = fsmeu.load(name)
        plain = fsmeu.decode(loss, Independent(rows, [0, 1]))
        turned = fsmeu.decode(loss, Independent(rows[:, ::-1].copy(), [1, 0]))
        assert turned.labels == plain.labels
        assert turned.value == pytest.approx(plain.value, rel=1e-12)
        assert turned.exact
        assert turned.method == plain.method


def test_ratios_of_the_first_label_one_by_one_and_together():
    """What counts label 0 is ranked by its probability."""
    loss = fsmeu.loads("""utility f labels 0 1 count tn when z == 0 and y == 0
count no when z == 0 count neg when y == 0 value 2 * tn / (no + neg) or 1 when no + neg == 0""")
    rows = np.random.default_rng(2).beta(1, 1, size=(4, 6))
    together = fsmeu.decode_many(loss, list(rows))
    for p, many in zip(rows, together, strict=True):
        alone = fsmeu.decode(loss, p)
        assert (alone.labels, alone.method) == (many.labels, "ranking_fast")
        assert many.method == "ranking_fast"
        mirror = fsmeu.decode(fsmeu.load("fscore"), 1.0 - p)
        assert alone.labels == [1 - label for label in mirror.labels]
        assert alone.value == pytest.approx(mirror.value, rel=1e-12)
        assert many.value == pytest.approx(mirror.value, rel=1e-12)
