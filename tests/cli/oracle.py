"""Values of F1 in exact arithmetic, worked out without fsmeu."""

from collections.abc import Sequence
from fractions import Fraction

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


def distribution(z: Sequence[int], of_y: dict[tuple[int, ...], float]) -> dict[Fraction, float]:
    """The values of F1 of z, ascending, each with its probability."""
    found: dict[Fraction, float] = {}
    for y, p in of_y.items():
        if p:
            found[f_score(z, y)] = found.get(f_score(z, y), 0.0) + p
    return dict(sorted(found.items()))
