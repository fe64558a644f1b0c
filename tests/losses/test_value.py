"""Values as sums of quotients of counts: they are the file's, and so is what true positives do."""

import itertools

import numpy as np
import pytest

import fsmeu
from fsmeu.losses.algebra.confusion import tp_counterexample, value_of_counts
from fsmeu.losses.algebra.monotone import never_worse
from fsmeu.losses.algebra.polynomial import NoFormError, inner_tables, of_counts
from fsmeu.losses.algebra.value import value_at_length
from tests.support.ratios import COUNTS, LOSSES, TEXTS, loaded

KNOWN = {"undecided": False, "mistakes": False, "decided": True, "of label 0": True}
CASES = [*LOSSES, *((name, {}) for name in KNOWN)]


def every_table(n):
    """All tp, hyp and ref of length n."""
    tables = [t for t in itertools.product(range(n + 1), repeat=4) if sum(t) == n]
    _, missed, wrong, hits = np.array(tables, float).T
    return hits, wrong + hits, missed + hits


@pytest.mark.parametrize(("name", "params"), CASES)
def test_sums_of_quotients_are_the_values_of_files(name, params):
    """At every table of several lengths; what stands apart, is added."""
    form = loaded(name, params).confusion
    for n in (1, 2, 5, 9):
        value = value_at_length(form, n)
        if not KNOWN.get(name, True) and n > 1 and (name != "undecided" or n == 9):
            assert value is None
            continue
        assert value is not None
        tp, hyp, ref = every_table(n)
        wanted = value_of_counts(form, n, tp, hyp, ref)
        for k in range(n + 1):
            inner = (hyp == k) & (ref > 0) & (ref < n)
            found, _ = value.at_table(tp[inner], hyp[inner], ref[inner])
            assert found == pytest.approx(wanted[inner], rel=1e-12, abs=1e-13)
            ends = [wanted[(hyp == k) & (ref == end)].item() for end in (0, n)]
            ks = np.array([float(k)])
            sums, _ = value.at_table(np.array([0.0, k]), np.full(2, float(k)), np.array([0.0, n]))
            assert value.degenerate(ks)[:, 0] + sums == pytest.approx(ends, abs=1e-13)


MEANS = [("g_mean", {}), ("h_mean", {}), ("q_mean", {}), ("q_mean", {"root": 1}), ("mcc", {})]


@pytest.mark.parametrize(("name", "params"), [*LOSSES, *MEANS, ("g_mean", {"drop": 0})])
def test_true_positives_never_make_known_values_worse(name, params):
    form = loaded(name, params).confusion
    for n in (1, 2, 3, 8):
        assert never_worse(form, n)
        assert tp_counterexample(form, n) is None
    assert never_worse(form, 10**6)


@pytest.mark.parametrize(
    "value",
    [
        "tp / (1 + tp + hyp) - tp / n",
        "(4 * n + 2 * tp + hyp) / (n + tp)",
        "if tp == 0 then 1 else tp / (hyp + ref)",
        "sqrt(hyp + ref - tp)",
        "tp % 2",
        "min(tp, 3)",
        "(hyp - tp) * tp",
    ],
)
def test_values_that_true_positives_make_worse_are_not_taken_for_others(value):
    """What algebra says is true; it need not see everything."""
    form = fsmeu.loads(f"utility f {COUNTS} value {value}").confusion
    for n in range(1, 8):
        assert not never_worse(form, n) or tp_counterexample(form, n) is None
    assert not never_worse(form, 7)


def test_signs_of_polynomials():
    """hyp + ref is above 0 where both labels are; hyp - ref is not of one sign."""
    region = inner_tables(6)
    hyp, ref = of_counts(0.0, hyp=1.0), of_counts(0.0, ref=1.0)
    assert region.sign(hyp.plus(ref)) == 1
    assert region.sign(hyp.plus(ref, -1.0)) is None
    assert region.sign(hyp.plus(of_counts(6.0), -1.0)) == -1
    assert region.sign(hyp.times(ref).plus(ref.times(hyp), -1.0)) == 0
    assert region.sign(of_counts(0.0, tp=1.0)) is None  # it may be 0
    with pytest.raises(NoFormError):
        hyp.times(hyp).times(hyp).times(hyp).times(ref).times(ref).times(ref).times(ref).times(ref)


def test_texts_are_what_their_names_say():
    assert set(KNOWN) <= set(TEXTS)
