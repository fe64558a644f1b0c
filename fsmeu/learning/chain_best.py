"""The most probable labels under linear-chain conditional random fields, for all sentences at once.

The recursion of Viterbi (1967). As in ``chain_likelihood``, at a position only those sentences move
that are long enough, so that each position of the longest sentence is one maximum over a table.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fsmeu.learning.chain_likelihood import Lengths

__all__ = ["most_probable"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def most_probable(unary: Floats, pairwise: Floats, lengths: Lengths) -> Ints:
    """Indices of the most probable labels at the positions of all sentences, (positions,).

    Of label sequences that are equally probable one is taken.

    Args:
        unary: scores of labels at the positions of all sentences, (positions, L).
        pairwise: scores of a label (last axis) after another, (L, L).
        lengths: where the sentences stand.
    """
    best = unary.copy()  # the greatest score of labels up to a position that end in each label
    came = np.zeros(unary.shape, np.int64)  # the label before it
    for i in range(1, len(lengths.at)):
        rows = lengths.at[i]
        ways = best[lengths.at[i - 1][: len(rows)], :, None] + pairwise  # (sentences, L, L)
        came[rows] = ways.argmax(axis=1)
        best[rows] += ways.max(axis=1)
    # Right where a sentence ends; the other labels follow from the next one.
    found: Ints = best.argmax(axis=1)
    for i in range(len(lengths.at) - 1, 0, -1):
        rows = lengths.at[i]
        found[lengths.at[i - 1][: len(rows)]] = came[rows, found[rows]]
    return found
