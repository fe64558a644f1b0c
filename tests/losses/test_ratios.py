"""Sums of ratios of counts that are derived from a file, against its values of all tables."""

from itertools import islice
from random import Random

import numpy as np
import pytest

import fsmeu
from fsmeu.losses.algebra.confusion import tp_counterexample, value_of_counts
from fsmeu.losses.algebra.functions import Interval, known, rows_at
from fsmeu.losses.algebra.ratio_family import family_of
from fsmeu.losses.algebra.ratios import sum_of_ratios
from tests.explore.programs import Family
from tests.support.ratios import COUNTS, LOSSES, loaded


def form_of(name, params):
    """The function of counts that a loss is; None for some of those that are written at random."""
    if not name.startswith("random"):
        return loaded(name, params).confusion
    lines = Family(Random(name), (0, 1)).confusion()
    return fsmeu.loads("\n".join(["utility f", "labels 0 1", *lines])).confusion


def has_ratios(name):
    """Whether a loss that is written at random is a sum of ratios for all numbers of ones."""
    form = form_of(name, {})
    return form is not None and family_of(form, 9) is not None


NAMES = (f"random {seed}" for seed in range(200))
RANDOM = list(islice(((name, {}) for name in NAMES if has_ratios(name)), 24))


def test_many_losses_that_are_written_at_random_are_sums_of_ratios():
    assert len(RANDOM) == 24


@pytest.mark.thirds
@pytest.mark.parametrize(("name", "params"), [*LOSSES, *RANDOM, ("decided", {})])
@pytest.mark.parametrize("n", [1, 2, 3, 7])
def test_every_table_has_the_value_of_its_ratios(name, params, n):
    """With the bounds of the ratios, and the derived monotonicity, by looking at all tables."""
    form, digits = form_of(name, params), 1e-9 if (name, params) in RANDOM else 0.0
    for ks in (np.zeros(1), np.arange(1.0, n), np.full(1, float(n)))[:: 2 if n == 1 else 1]:
        found = sum_of_ratios(form, n, ks)
        assert found is not None
        for column, k in enumerate(ks):
            a, b = (x.ravel() for x in np.mgrid[: k + 1, : n - k + 1])
            total = np.where(a + b == 0, found.no_ones[column], 0.0)
            total += np.where(a + b == n, found.all_ones[column], 0.0)
            for one in found.ratios:
                top, below = (x[:, column] @ [a * 0 + 1, a, b] for x in (one.top, one.below))
                ratio = np.where(below > 0, top / np.where(below > 0, below, 1) ** one.power, 0.0)
                assert (np.abs(ratio) <= one.most[column] * (1 + 1e-12)).all()
                assert one.least_below <= below[below > 0].min() * (1 + 1e-12)
                assert one.most_below >= below.max() * (1 - 1e-12)
                total += ratio
            wanted = value_of_counts(form, n, a, k, a + b)
            assert total == pytest.approx(wanted, rel=digits, abs=1e-14)
        improves = found.rises if form.bound.spec.kind == "utility" else found.falls
        assert not improves or tp_counterexample(form, n) is None


@pytest.mark.thirds
@pytest.mark.parametrize(("name", "params"), [*LOSSES, *RANDOM])
@pytest.mark.parametrize("n", [2, 9, 60])
def test_what_holds_of_blocks_is_what_holds_of_every_number_of_ones(name, params, n):
    """Coefficients, bounds and monotonicity of a family, against those of one k after the other."""
    form = form_of(name, params)
    family = family_of(form, n)
    ks = np.arange(1.0, n)
    found = sum_of_ratios(form, n, ks)
    held_ratios = family.ratios_at(ks)
    for row, (part, ratio) in enumerate(zip(family.parts, found.ratios, strict=True)):
        assert np.array_equal(rows_at(part.top, ks), ratio.top)
        assert np.array_equal(rows_at(part.below, ks), ratio.below)
        assert (held_ratios[row].most >= ratio.most * (1 - 1e-12)).all()
        assert held_ratios[row].least_below <= ratio.least_below * (1 + 1e-12)
        assert held_ratios[row].most_below >= ratio.most_below * (1 - 1e-12)
        blocks = Interval(ks[:-2], ks[2:])
        assert (family.least_of_blocks(row, blocks) <= ratio.most_below).all()
        held = part.below.at(blocks)
        for shift in (slice(0, -2), slice(1, -1), slice(2, None)):
            exact = rows_at(part.below, ks)[:, shift]
            assert (held.low <= exact + 1e-12 * np.abs(exact)).all()
            assert (held.high >= exact - 1e-12 * np.abs(exact)).all()
    sides = [family.none, found, family.all]
    assert family.rises == all(side.rises for side in sides)
    assert family.falls == all(side.falls for side in sides)
    assert family.degenerate[0] == pytest.approx(found.no_ones, rel=1e-12)
    assert family.degenerate[1] == pytest.approx(found.all_ones, rel=1e-12)


@pytest.mark.parametrize(("name", "params"), LOSSES)
def test_where_ratios_hold_for_ones_alone_they_have_the_values_of_the_file(name, params):
    """The ratio of fewer ones, at k = n, against values of all tables that have ones of both."""
    form = form_of(name, params)
    n = 7
    family = family_of(form, n)
    assert family.holds_for_all
    hits = np.arange(1.0, n)
    total = np.zeros(n - 1)
    for ratio in family.ratios_at(np.array([float(n)])):
        below = ratio.below[0] + ratio.below[1] * hits
        total += (ratio.top[0] + ratio.top[1] * hits) * below**-ratio.power
        assert (
            np.abs(ratio.top[0] + ratio.top[1] * hits)
            <= ratio.most[0] * below**ratio.power * (1 + 1e-12)
        ).all()
        assert (below >= ratio.least_below * (1 - 1e-12)).all()
        assert (below <= ratio.most_below * (1 + 1e-12)).all()
    assert total == pytest.approx(value_of_counts(form, n, hits, float(n), hits), rel=1e-13)


@pytest.mark.parametrize("name", ["mcc", "h_mean", "q_mean", "undecided"])
def test_other_values_are_no_sums_of_ratios(name):
    assert sum_of_ratios(loaded(name, {}).confusion, 9, np.arange(1.0, 9)) is None
    assert family_of(loaded(name, {}).confusion, 9) is None


def test_values_whose_digits_are_lost_on_the_way_are_no_sums_of_ratios():
    """A tenth, added to 1e15 and taken back, is an eighth: the order of operations matters."""
    form = fsmeu.loads(f"utility f {COUNTS} value (tp * 0.1 + 1e15 - 1e15) / (hyp + ref + n)")
    assert family_of(form.confusion, 9) is None


def test_spans_hold_sums_products_and_powers():
    random = np.random.default_rng(0)
    ends = np.sort(random.normal(size=(2, 2, 50)), axis=1)
    one, other = (Interval(*side) for side in ends)
    for share in random.random((20, 2)):
        x, y = (low + part * (high - low) for (low, high), part in zip(ends, share, strict=True))
        for held, number in ((one + other, x + y), (one - other, x - y), (one * other, x * y)):
            assert (held.low <= number + 1e-15).all()
            assert (held.high >= number - 1e-15).all()
        assert (known(x) * known(y)).is_known
