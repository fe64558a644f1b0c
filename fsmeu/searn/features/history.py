"""Features of what was decided before: the last decisions, alone and crossed with what is seen."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fsmeu.searn.features.mixing import indices, mixed, text_hash

__all__ = ["history_columns"]

_SEED = np.uint64(text_hash("history"))
"""Keeps these features apart from those of positions."""


def history_columns(
    past: Any, crossed: NDArray[np.uint64], bits: int, crossed_depth: int = 1
) -> NDArray[np.int32]:
    """The columns of a constant, of the last 1, 2, ... decisions, and of crossed ones, (B, K).

    Args:
        past: the last decisions, the newest first, (B, h); at least -2.
        crossed: hashes of what is seen, (B, C), each of which is crossed with the last 1, ...,
            ``crossed_depth`` decisions.
        bits: there are 2^bits columns.
        crossed_depth: see above.
    """
    key = np.full(len(past), _SEED)
    found = [key]
    for k in range(past.shape[1]):
        key = mixed(key, (past[:, k].astype(np.int64) + 2).astype(np.uint64))
        found.append(key)
        if k < crossed_depth:
            found += [mixed(key, crossed[:, c]) for c in range(crossed.shape[1])]
    return indices(np.stack(found, axis=1), bits)
