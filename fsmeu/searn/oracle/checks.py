"""What oracles share: costs from scores, and refusals of strange states and of large tables."""

from __future__ import annotations

import numpy as np

from fsmeu.arrays import Floats, Ints
from fsmeu.errors import InputError, SizeLimitError, message
from fsmeu.fst.compose import max_states
from fsmeu.limits import ORACLE_BYTES_PER_STATE

__all__ = ["costs_of", "greatest_tie", "guard_bytes", "refuse", "refuse_strange"]

_ROUNDING = 2 * np.finfo(np.float64).eps  # as in ``fst.distinct``


def costs_of(scores: Floats) -> Floats:
    """How much less than the best of its row each score is, of the shape of ``scores``.

    Two values that differ by rounding are equal, as in ``same_up_to_rounding``: relative to the
    values themselves, while whole numbers, halves, quarters and eighths stay apart.

    Args:
        scores: greater is better, (..., labels).
    """
    best = scores.max(axis=-1, keepdims=True)
    costs: Floats = best - scores
    with np.errstate(over="ignore", invalid="ignore"):
        near = _ROUNDING * np.maximum(np.abs(best), np.abs(scores))
        exact = (8.0 * best == np.floor(8.0 * best)) & (8.0 * scores == np.floor(8.0 * scores))
        costs[(costs <= near) & ~exact] = 0.0
    return costs


def greatest_tie(scores: Floats, begins: Ints) -> Floats:
    """The greatest difference that ``costs_of`` may take for rounding, (groups,).

    Args:
        scores: the scores of all groups, one group after another; infinite ones do not occur.
        begins: where each group begins; none is empty.
    """
    if not len(begins):
        return np.zeros(0)
    sizes = np.where(np.isfinite(scores), np.abs(scores), 0.0)
    found: Floats = _ROUNDING * np.maximum.reduceat(sizes, begins)
    return found


def refuse(wrong: int, states: object) -> None:
    """Refuses states: 1 stands for ended ones where a next label is asked for, 2 for strange ones.

    Raises:
        InputError: unless nothing (0) is wrong.
    """
    if wrong == 1:
        must = "there must be a next position"
        raise InputError(message("cost oracle", must, "a state after the last one"))
    refuse_strange(wrong != 0, states)


def refuse_strange(strange: bool | np.bool_, states: object) -> None:
    """Refuses what is no state of the sentence.

    Raises:
        InputError: if so.
    """
    if strange:
        must = "a state must be one that start or step returned for this sentence"
        raise InputError(message("cost oracle", must, states))


def guard_bytes(size: int) -> None:
    """Refuses tables of so many bytes, where they are more than the limit.

    Raises:
        SizeLimitError: naming the size, the limit, and how to raise it.
    """
    most = ORACLE_BYTES_PER_STATE * max_states()
    if size > most:
        must = f"the tables of all references may take at most {most:,} bytes, these {size:,}"
        remedy = "Give fewer references at a time, or raise the limit with FSMEU_MAX_STATES"
        raise SizeLimitError(message("cost oracle", must, None, remedy))
