"""Theorem 3: equation 14 beside enumeration, and the chain on which an MEMM fails."""

from fractions import Fraction
from itertools import product
from math import prod

import pytest

from searn.chain import DELTA, EPSILON, chain_losses, markov_loss


@pytest.mark.parametrize("length", range(1, 7))
@pytest.mark.parametrize("epsilon", [Fraction(1, 20), Fraction(1, 3)])
def test_equation_14_is_enumeration(length, epsilon):
    """Over all patterns of wrong looks; a position is wrong after an odd number of them."""
    total = Fraction(0)
    for wrong in product((0, 1), repeat=length):
        chance = prod(epsilon if one else 1 - epsilon for one in wrong)
        total += chance * sum(sum(wrong[: t + 1]) % 2 for t in range(length))
    assert markov_loss(length, epsilon) == pytest.approx(float(total), rel=1e-12)


def deviation(length, epsilon):
    """The standard deviation of the wrong labels of a sentence that follows the turns.

    With r = 1 - 2 epsilon, the covariance of positions s <= t is (r^(t - s) - r^(s + t)) / 4.
    """
    r, places = 1 - 2 * epsilon, range(1, length + 1)
    return (sum(r ** abs(t - s) - r ** (s + t) for s in places for t in places) / 4) ** 0.5


def test_searn_recovers_where_an_memm_does_not():
    """In 400 sentences the MEMM errs as equation 14 says, SEARN no more than the hint.

    Both within four standard errors.
    """
    found = chain_losses(40, 16_000)
    own, hint = deviation(40, EPSILON) / 20, (40 * DELTA * (1 - DELTA)) ** 0.5 / 20
    assert found["MEMM"] == pytest.approx(markov_loss(40, EPSILON), abs=4 * own)
    assert found["SEARN, iteration 2"] < 40 * DELTA + 4 * hint
    assert found["SEARN, iteration 2"] < found["MEMM"] / 2
