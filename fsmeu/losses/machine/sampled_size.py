"""Whether a machine has more states than a limit, told from a sample of them.

Of N states, two that are drawn independently are the same with probability 1 / N at least, however
they are drawn. Random pairs of sequences that hardly ever meet in a state therefore show that there
are many, long before these are listed. It shows what is remembered; counts, of which a few values
are far more frequent than the others, it shows in part.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from fsmeu.errors import LossFileError
from fsmeu.limits import LARGEST_SAMPLE, SAMPLE_DEPTH, SAMPLE_INTERVAL, SAMPLE_SYMBOLS
from fsmeu.losses.machine.view import View

__all__ = ["has_more_states"]

Ints = NDArray[np.int64]

_EXPECTED = 40
_FEW = 8
"""With as many states as the limit, 40 meetings are expected; 8 or fewer happen once in 10^9."""


def has_more_states(view: View, limit: int) -> bool:
    """True when pairs of one length up to n are, almost surely, in more states than the limit.

    Args:
        view: a view with the hypothesis free, the same at every position.
        limit: a number of states.

    Returns:
        False where that does not show within some positions. The draws are the same every time.
    """
    size = math.ceil(math.sqrt(2.0 * _EXPECTED * limit)) + 1
    if size > LARGEST_SAMPLE:
        return False
    rng = np.random.default_rng(0)
    codes = np.full(size, view.start, np.int64)
    last = min(view.n, SAMPLE_DEPTH)
    for i in range(1, last + 1):
        try:
            codes = _stepped(view, i, codes, rng)
        except LossFileError:
            return False
        if codes.min() < 0:
            return False
        if (i % SAMPLE_INTERVAL == 0 or i == last) and _meetings(codes) <= _FEW:
            return True
    return False


def _meetings(codes: Ints) -> int:
    """How many pairs of draws are the same."""
    times = np.unique(codes, return_counts=True)[1]
    return int((times * (times - 1)).sum()) // 2


def _stepped(view: View, i: int, codes: Ints, rng: np.random.Generator) -> Ints:
    """Each state after a step on a symbol that is drawn from a few, which lead one state apart."""
    targets = view.advance(i, rng.choice(codes, 1))[0][0]
    symbols = rng.permutation(np.unique(targets, return_index=True)[1])[:SAMPLE_SYMBOLS]
    kinds = rng.integers(0, len(symbols), len(codes))
    after = np.empty_like(codes)
    for kind, symbol in enumerate(symbols):
        rows = np.flatnonzero(kinds == kind)
        after[rows] = view.advance(i, codes[rows], np.array([symbol]))[0][:, 0]
    return after
