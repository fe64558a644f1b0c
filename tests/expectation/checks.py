"""What an answer of the package must have in common with a list of (value, probability)."""

import math
from fractions import Fraction

import pytest

from fsmeu.losses.language.read import read
from tests.losses.meaning import World

ENGINES = ("auto", "openfst")
engines = pytest.mark.parametrize("engine", ENGINES)


def exact_pairs(text, z, probs):
    """(value, probability) of every reference of independent labels 0 and 1, as fractions."""
    pairs = []
    for y, value in World(read(text), (0, 1), len(z)).every_y(z).items():
        chances = [Fraction(p) if b else 1 - Fraction(p) for p, b in zip(probs, y, strict=True)]
        pairs.append((Fraction(value), math.prod(chances, start=Fraction(1))))
    return pairs


def close(wanted, scale=1.0):
    """Equality to 1e-12, relative to the greatest number that entered the sum."""
    return pytest.approx(wanted, rel=1e-12, abs=1e-12 * max(1.0, scale))


def scale_of(pairs):
    return max([abs(float(v)) for v, _ in pairs], default=0.0)
