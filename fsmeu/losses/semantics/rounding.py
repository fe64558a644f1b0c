"""Values that differ by rounding only, for people to be shown as one.

What is computed from values takes each as it is: a tolerance that merges them loses what they
differ in, and a loss may be about nothing else.
"""

from __future__ import annotations

import numpy as np

from fsmeu.arrays import Bools, Floats, Ints

_ROUNDING = 2 * np.finfo(np.float64).eps  # four operations, each of which rounds by half of it


@np.errstate(over="ignore")
def same_up_to_rounding(ascending: Floats) -> Ints:
    """Numbers 0, 1, ... for values in ascending order, the same for those that differ by rounding.

    Rounding is relative to the values themselves: 1e-17 is not 0, beside however great values it
    stands. Each value is compared with the first of its group, so that a row of near ones does not
    become one. Whole numbers, halves, quarters and eighths are exact in doubles and stay apart.

    >>> same_up_to_rounding(np.array([0.0, 1e-17, 0.3, 0.1 + 0.2, 2**53 - 2, 2**53 - 1]))
    array([0, 1, 2, 2, 3, 4])
    """
    near = _ROUNDING * np.abs(ascending)
    exact = 8.0 * ascending == np.floor(8.0 * ascending)
    apart = np.diff(ascending) > np.minimum(near[:-1], near[1:])
    apart |= exact[:-1] & exact[1:]
    numbers = np.concatenate([[0], np.cumsum(apart)])[: len(ascending)].astype(np.int64)
    first = np.searchsorted(numbers, numbers)
    far = (ascending - ascending[first] > near[first]).any()
    if far or (np.bincount(numbers, exact, minlength=1) > 1).any():
        numbers = _split_rows(ascending, near, exact, numbers)
    return numbers


def _split_rows(ascending: Floats, near: Floats, exact: Bools, numbers: Ints) -> Ints:
    """The same numbers, where groups are split at what is far from the first, or exact again."""
    split = np.zeros(len(numbers), np.int64)
    begin, held = 0, bool(exact[:1].any())
    for k in range(1, len(numbers)):
        far = ascending[k] - ascending[begin] > near[begin]
        here = bool(numbers[k] != numbers[k - 1] or far or (held and exact[k]))
        begin, held = (k, bool(exact[k])) if here else (begin, held or bool(exact[k]))
        split[k] = split[k - 1] + here
    return split
