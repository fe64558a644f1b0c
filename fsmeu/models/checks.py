"""Checks of numbers, shapes, labels and sizes before a model is built."""

from __future__ import annotations

import math
import numbers
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fsmeu import limits
from fsmeu.arrays import Bools, Floats
from fsmeu.errors import InputError, SizeLimitError, limit_from, shorten
from fsmeu.fst.alphabet import Alphabet, Label, as_alphabet

_DOUBLE = np.dtype(np.float64)
SUM_TOLERANCE = 1e-9  # how far probabilities in double precision may sum from 1
ROUNDING = 1e-12  # how far a probability may lie outside [0, 1] and still be taken for 0 or 1
_SUM_ROUNDING = 1e-15  # how far off 1 the sum of a row may be that was divided by its sum
_UNITS = {"float32": 2.0**-23, "float16": 2.0**-10, "bfloat16": 2.0**-7}
"""Difference between 1 and the next number, of types that are less precise than doubles."""


def check_arcs(where: str, arcs: int, what: str = "arcs") -> None:
    """Refuses a machine (or a table) that would have more arcs (entries) than the limit."""
    limit = limit_from("FSMEU_MAX_ARCS", limits.MOST_ARCS)
    if arcs > limit:
        count = f"{arcs:,}" if arcs < 10**15 else f"about 10^{math.log10(arcs):.0f}"
        must = f"may have at most {limit:,} {what}"
        remedy = (
            "Use fewer labels, a lower order or shorter sequences, or raise the limit with the "
            "environment variable FSMEU_MAX_ARCS"
        )
        raise SizeLimitError(where, must, given=count, remedy=remedy)


def real_array(value: ArrayLike, where: str) -> Floats:
    """The value as an array of doubles; text, ragged lists and complex numbers are refused."""
    must = "must be a rectangular array of numbers"
    try:
        raw = _raw_array(value)
    except Exception as error:  # whatever the value raises
        raise InputError(where, must, given=shorten(value)) from error
    if np.ma.is_masked(value):
        raise InputError(where, "must have no masked entries", given=value)
    check_arcs(where, raw.size, "entries")
    if raw.dtype.kind == "O" and not all(isinstance(x, numbers.Real) for x in raw.flat):
        raise InputError(where, must, given=shorten(value))
    try:
        if raw.dtype.kind in "biufO":
            return raw.astype(np.float64)
    except (ValueError, TypeError, OverflowError):
        pass
    raise InputError(where, "must be an array of real numbers", given=value)


def vector_of_numbers(value: Any) -> Floats | None:
    """The value as a vector, None when it is not plainly one of numbers."""
    try:
        vector = np.asarray(value)
    except Exception:  # whatever it raises; as_model says what it must be
        return None
    if vector.ndim != 1 or vector.dtype.kind not in "fiu" or np.ma.is_masked(value):
        return None
    return vector.astype(np.float64, copy=False)


def _raw_array(value: Any) -> NDArray[Any]:
    """The value as an array of its own type; types that only other libraries know as doubles.

    Tensors that record derivatives, or live on another device, are detached and copied first.
    """
    for step in ("detach", "cpu"):
        if hasattr(value, "__array__") and callable(getattr(value, step, None)):
            value = getattr(value, step)()
    if _type_name(value) == "bfloat16":
        value = value.double() if hasattr(value, "double") else value.astype(np.float64)
    return np.asarray(value)


def _type_name(value: Any) -> str:
    """The name of an array's type of numbers, such as float32; nothing where there is none."""
    dtype = getattr(value, "dtype", "")
    return "float64" if dtype is _DOUBLE else str(dtype).rpartition(".")[2]  # which takes long


def probability_array(value: ArrayLike, where: str) -> Floats:
    """The value as an array of probabilities; what is outside [0, 1] by rounding is clipped."""
    array = real_array(value, where)
    if array.min(initial=0.0) >= 0.0 and array.max(initial=1.0) <= 1.0:
        return array
    slack = max(ROUNDING, _UNITS.get(_type_name(value), 0.0))
    good = (array >= -slack) & (array <= 1 + slack)
    must = "each entry must be a probability, from 0 to 1"
    check_entries(array, good, where, must, logarithms_hint(array))
    return np.clip(array, 0.0, 1.0)


def check_rows(
    array: Floats,
    where: str,
    axes: int = 1,
    original: Any = None,
    remedy: str = "Divide by the sum",
) -> Floats:
    """The same probabilities, divided by their sums where these are off 1 by more than rounding.

    Sums over the last ``axes`` must be 1 within ``SUM_TOLERANCE``, or within the rounding of as
    many numbers of the precision of the ``original`` array.
    """
    over = tuple(range(array.ndim - axes, array.ndim))
    sums = array.sum(axis=over, keepdims=True)
    far = np.abs(sums - 1.0)
    if (far <= SUM_TOLERANCE).all():
        return _in_rows(array, axes)
    unit = _UNITS.get(_type_name(original), 0.0)
    with np.errstate(over="ignore", under="ignore"):
        for name in ("float32", "float16"):  # lists and frames of such numbers
            if unit <= _UNITS["float32"] and (array.astype(name) == array).all():
                unit = _UNITS[name]
    entries = math.prod(array.shape[k] for k in over)
    tolerance = max(SUM_TOLERANCE, unit * (4 + entries))
    bad = ~(far <= tolerance).reshape(array.shape[: array.ndim - axes])
    if bad.any():
        at = tuple(np.argwhere(bad)[0].tolist())
        row = f"row {at[0] if len(at) == 1 else at}" if at else "the entries"
        must = f"{row} must sum to 1"
        total = float(sums.reshape(bad.shape)[at])
        if axes == 1 and array.ndim > 1 and (abs(array.sum(axis=-2) - 1.0) <= tolerance).all():
            remedy = "The columns sum to 1: exchange rows and columns, as x.T or swapaxes(-1, -2)"
        raise InputError(where, must, given=f"a sum of {total!r}", remedy=remedy)
    return _in_rows(array, axes)


def _in_rows(array: Floats, axes: int) -> Floats:
    """``normalized_rows``, where a row is the last so many axes."""
    if not array.size:
        return array
    rows = array.reshape(*array.shape[: array.ndim - axes], -1)
    return normalized_rows(rows).reshape(array.shape)


def normalized_rows(array: Floats) -> Floats:
    """Rows divided by their sums where these are off 1 by more than rounding; rows of 0 stay.

    Rows that were divided sum to 1 within ``_SUM_ROUNDING``, and stay as they are from then on.
    """
    sums = array.sum(axis=-1, keepdims=True)
    off = np.abs(sums - 1.0) > _SUM_ROUNDING
    return array / np.where(off & (sums > 0), sums, 1.0)


def softmax(scores: Floats) -> Floats:
    """exp(scores), each row divided by its sum."""
    return normalized_rows(np.exp(scores - scores.max(axis=-1, keepdims=True)))


def logarithms_hint(array: Floats, also: str = "") -> str:
    """What to do with numbers that look like logarithms of probabilities; "" for others."""
    if not array.size or not (array.max() <= 0.0 and array.min() < 0.0):
        return ""
    return f"They look like log-probabilities: exponentiate them with np.exp{also}"


def check_entries(array: Floats, good: Bools, where: str, must: str, remedy: str = "") -> None:
    """Refuses an array with an entry that is not good; the first is told with its place."""
    if not good.all():
        at = tuple(np.argwhere(~good)[0].tolist())
        place = f" at entry {at[0] if len(at) == 1 else at}" if at else ""
        raise InputError(where, must, given=f"{float(array[at])!r}{place}", remedy=remedy)


def check_shape(array: NDArray[Any], shape: tuple[int, ...], where: str, remedy: str = "") -> None:
    """Refuses an array of another shape."""
    if array.shape != shape:
        raise InputError(where, f"must have shape {shape}", given=f"{array.shape}", remedy=remedy)


def label_rows(array: Floats, labels: Sequence[Label] | None, where: str, what: str) -> Floats:
    """An array of one row per position and one column per label, (n, L), also where n is 0."""
    if array.shape == (0,) and labels is not None:
        array = array.reshape(0, len(as_alphabet(labels, f"{where} labels")))
    if array.ndim != 2 or array.shape[1] == 0:
        must = "must have shape (n, L), one row per position and one column per label"
        raise InputError(f"{where} {what}".strip(), must, given=f"shape {array.shape}")
    return array


def alphabet_of(labels: Sequence[Label] | None, size: int, where: str) -> Alphabet:
    """The alphabet of ``size`` labels: those given, or 0, ..., size - 1."""
    alphabet = as_alphabet(list(range(size)) if labels is None else labels, where)
    if len(alphabet) != size:
        must = f"there must be {size} labels, as many as the model has"
        raise InputError(where, must, given=list(alphabet.labels))
    return alphabet
