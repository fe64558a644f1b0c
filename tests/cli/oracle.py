"""Values of losses and probabilities of references, worked out without fsmeu."""

from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import pairwise, product

WINDOWS = """
loss windows(k: int in 1..) "share of windows of length k in which only one has a boundary"
labels 0 1
age az since z == 1 up to k
age ay since y == 1 up to k
count bad when i >= k and (az < k) != (ay < k)
value bad / (n - k + 1) or 0 when n < k
"""


def f_score(z: Sequence[int], y: Sequence[int], empty: int = 1) -> Fraction:
    """F1 from its definition, in exact arithmetic."""
    both = sum(a and b for a, b in zip(z, y, strict=True))
    positives = sum(z) + sum(y)
    return Fraction(2 * both, positives) if positives else Fraction(empty)


def distribution(
    value: Callable[[tuple[int, ...]], Fraction],
    probability: Callable[[tuple[int, ...]], float],
    n: int,
) -> dict[Fraction, float]:
    """The values over all binary references of length n, each with its probability."""
    found: dict[Fraction, float] = {}
    for y in product((0, 1), repeat=n):
        if probability(y):
            found[value(y)] = found.get(value(y), 0.0) + probability(y)
    return dict(sorted(found.items()))


def independent(p: Sequence[float]) -> Callable[[tuple[int, ...]], float]:
    """The probability of a reference whose labels are independent."""

    def probability(y: tuple[int, ...]) -> float:
        result = 1.0
        for label, chance in zip(y, p, strict=True):
            result *= chance if label else 1.0 - chance
        return result

    return probability


def chain(
    initial: Sequence[float], transition: Sequence[Sequence[float]]
) -> Callable[[tuple[int, ...]], float]:
    """The probability of a reference from a Markov chain of order 1."""

    def probability(y: tuple[int, ...]) -> float:
        result = initial[y[0]]
        for before, after in pairwise(y):
            result *= transition[before][after]
        return result

    return probability
