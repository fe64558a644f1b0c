"""What is asked of numbers, shapes and sizes before a model is built.

Numbers: ``real_array``, ``probability_array``, ``check_rows``, ``normalized_rows``.
Counts: ``count``, ``check_shape``. Sizes: ``MAX_ARCS``, ``arc_limit``, ``check_arcs``.
"""

from __future__ import annotations

import math
import numbers
import os

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fsmeu.errors import InputError, SizeLimitError, as_whole, sentence
from fsmeu.fst.layers import Floats
from fsmeu.limits import MAX_ARCS

__all__ = [
    "MAX_ARCS",
    "ROUNDING",
    "SUM_TOLERANCE",
    "arc_limit",
    "check_arcs",
    "check_rows",
    "check_shape",
    "count",
    "frozen",
    "normalized_rows",
    "probability_array",
    "real_array",
]

SUM_TOLERANCE = 1e-9
"""How far probabilities may sum from 1 before they are refused."""

ROUNDING = 1e-12
"""How far a probability may lie outside [0, 1] and still be taken for 0 or 1."""


def arc_limit() -> int:
    """The greatest number of arcs in force: FSMEU_MAX_ARCS if it is set, else ``MAX_ARCS``."""
    text = os.environ.get("FSMEU_MAX_ARCS", "").strip()
    if not text:
        return MAX_ARCS
    try:
        return max(0, int(float(text)))
    except (ValueError, OverflowError):
        must = "must be a number of arcs, such as 20000000"
        raise InputError(sentence("environment variable FSMEU_MAX_ARCS", must, text)) from None


def check_arcs(where: str, arcs: int, what: str = "arcs") -> None:
    """Refuses a machine (or a table) that would have more arcs (entries) than the limit."""
    limit = arc_limit()
    if arcs > limit:
        shown = f"{arcs:,}" if arcs < 10**15 else f"about 10^{math.log10(arcs):.0f}"
        must = f"needs {shown} {what}, more than the limit of {limit:,}"
        remedy = (
            "Use fewer labels, a lower order or shorter sequences, or raise the limit with the "
            "environment variable FSMEU_MAX_ARCS"
        )
        raise SizeLimitError(sentence(where, must, remedy=remedy))


def count(value: object, where: str) -> int:
    """A whole number that is at least 0."""
    number = as_whole(value, least=0)
    if number is None:
        raise InputError(sentence(where, "must be a whole number, at least 0", value))
    return number


def real_array(value: ArrayLike, where: str) -> Floats:
    """The value as an array of doubles; text, ragged lists and complex numbers are refused."""
    try:
        raw = np.asarray(value)
    except Exception as error:  # whatever the value raises, as tensors of another device do
        must = "must be a rectangular array of numbers"
        raise InputError(sentence(where, must, value)) from error
    if np.ma.is_masked(value):
        raise InputError(sentence(where, "must have no masked entries", value))
    check_arcs(where, raw.size, "entries")
    if raw.dtype.kind == "O" and not all(isinstance(x, numbers.Real) for x in raw.flat):
        raise InputError(sentence(where, "must be a rectangular array of numbers", value))
    if raw.dtype.kind not in "biufO":
        raise InputError(sentence(where, "must be an array of real numbers", value))
    try:
        return raw.astype(np.float64)
    except (ValueError, TypeError, OverflowError):
        raise InputError(sentence(where, "must be an array of real numbers", value)) from None


def probability_array(value: ArrayLike, where: str) -> Floats:
    """The value as an array of probabilities; what is outside [0, 1] by rounding is clipped."""
    array = real_array(value, where)
    good = (array >= -ROUNDING) & (array <= 1 + ROUNDING)
    if not good.all():
        at = first_index(~good)
        must = f"each entry must be a probability, from 0 to 1; {place(at)} is not"
        raise InputError(sentence(where, must, float(array[at])))
    return np.clip(array, 0.0, 1.0)


def check_rows(array: Floats, where: str, axes: int = 1) -> None:
    """Refuses an array whose sums over its last axes are not 1 within ``SUM_TOLERANCE``."""
    sums = array.sum(axis=tuple(range(array.ndim - axes, array.ndim)))
    bad = ~(np.abs(sums - 1.0) <= SUM_TOLERANCE)
    if bad.any():
        at = first_index(bad)
        must = "the entries must sum to 1" if not at else f"row {index_text(at)} must sum to 1"
        remedy = "Divide by the sum, in double precision"
        raise InputError(sentence(where, must, f"a sum of {float(sums[at])!r}", remedy))


def normalized_rows(array: Floats) -> Floats:
    """Rows divided by their sums where these are not exactly 1, so that 0 and 1 stay exact."""
    sums = array.sum(axis=-1, keepdims=True)
    return array / np.where(sums > 0, sums, 1.0)


def check_shape(array: Floats, shape: tuple[int, ...], where: str, remedy: str = "") -> None:
    """Refuses an array of another shape."""
    if array.shape != shape:
        raise InputError(sentence(where, f"must have shape {shape}", f"{array.shape}", remedy))


def frozen(array: Floats) -> Floats:
    """The same array, no longer writable, so that what was derived from it stays true."""
    array.setflags(write=False)
    return array


def first_index(mask: NDArray[np.bool_] | np.bool_) -> tuple[int, ...]:
    """The index of the first true entry; () for an array without axes."""
    where = np.argwhere(mask)
    return tuple(int(k) for k in where[0])


def index_text(index: tuple[int, ...]) -> str:
    """An index as a reader would write it: 3, or (0, 2)."""
    return str(index[0]) if len(index) == 1 else str(index)


def place(index: tuple[int, ...]) -> str:
    """An entry in words: 'entry 3', 'entry (0, 2)' or 'the number'."""
    return f"entry {index_text(index)}" if index else "the number"
