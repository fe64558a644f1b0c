"""What is proven of ratios for a block of numbers of ones holds for each number in it."""

import numpy as np
import pytest

from fsmeu.losses.algebra.functions import Interval, rows_at
from fsmeu.losses.algebra.ratio_family import family_of
from fsmeu.losses.algebra.ratios import sum_of_ratios
from tests.support.ratios import LOSSES, loaded


@pytest.mark.thirds
@pytest.mark.parametrize(("name", "params"), LOSSES)
@pytest.mark.parametrize("n", [2, 9, 60])
def test_what_holds_of_blocks_is_what_holds_of_every_number_of_ones(name, params, n):
    """Coefficients, bounds and monotonicity; bounds that are too narrow would prove too much."""
    form = loaded(name, params).confusion
    family, ks = family_of(form, n), np.arange(1.0, n)
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
