"""What is asked of numbers, shapes, labels and sizes before a model is built."""

from __future__ import annotations

import math
import numbers
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fsmeu.arrays import Bools, Floats
from fsmeu.errors import InputError, SizeLimitError, as_whole, limit_from, message
from fsmeu.fst.alphabet import Alphabet, Label, as_alphabet, listed
from fsmeu.limits import MAX_ARCS

SUM_TOLERANCE = 1e-9
"""How far probabilities in double precision may sum from 1 before they are refused."""

ROUNDING = 1e-12
"""How far a probability may lie outside [0, 1] and still be taken for 0 or 1."""

_UNITS = {"float32": 2.0**-23, "float16": 2.0**-10, "bfloat16": 2.0**-7}
"""Difference between 1 and the next number, of types that are less precise than doubles."""


# -- sizes and counts ------------------------------------------------------------------------------


def check_arcs(where: str, arcs: int, what: str = "arcs") -> None:
    """Refuses a machine (or a table) that would have more arcs (entries) than the limit."""
    limit = limit_from("FSMEU_MAX_ARCS", MAX_ARCS)
    if arcs > limit:
        shown = f"{arcs:,}" if arcs < 10**15 else f"about 10^{math.log10(arcs):.0f}"
        must = f"needs {shown} {what}, more than the limit of {limit:,}"
        remedy = (
            "Use fewer labels, a lower order or shorter sequences, or raise the limit with the "
            "environment variable FSMEU_MAX_ARCS"
        )
        raise SizeLimitError(message(where, must, remedy=remedy))


def count(value: object, where: str) -> int:
    """A whole number that is at least 0."""
    number = as_whole(value, least=0)
    if number is None:
        raise InputError(message(where, "must be a whole number, at least 0", value))
    return number


# -- numbers ---------------------------------------------------------------------------------------


def real_array(value: ArrayLike, where: str) -> Floats:
    """The value as an array of doubles; text, ragged lists and complex numbers are refused."""
    try:
        raw = _raw_array(value)
    except Exception as error:  # whatever the value raises
        must = "must be a rectangular array of numbers"
        raise InputError(message(where, must, value)) from error
    if np.ma.is_masked(value):
        raise InputError(message(where, "must have no masked entries", value))
    check_arcs(where, raw.size, "entries")
    if raw.dtype.kind == "O" and not all(isinstance(x, numbers.Real) for x in raw.flat):
        raise InputError(message(where, "must be a rectangular array of numbers", value))
    if raw.dtype.kind not in "biufO":
        raise InputError(message(where, "must be an array of real numbers", value))
    try:
        return raw.astype(np.float64)
    except (ValueError, TypeError, OverflowError):
        raise InputError(message(where, "must be an array of real numbers", value)) from None


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
    return str(getattr(value, "dtype", "")).rpartition(".")[2]


def unit_of(value: Any, array: Floats) -> float:
    """Difference between 1 and the next number in the precision of a value, 0 for doubles.

    Doubles (``array``) that are all single-precision numbers, as in a list that was made of a
    float32 array, are taken to have that precision.
    """
    known = _UNITS.get(_type_name(value), 0.0)
    if known or not array.size:
        return known
    with np.errstate(over="ignore", under="ignore"):
        single = array.astype(np.float32).astype(np.float64)
    return _UNITS["float32"] if (single == array).all() else 0.0


def probability_array(value: ArrayLike, where: str) -> Floats:
    """The value as an array of probabilities; what is outside [0, 1] by rounding is clipped."""
    array = real_array(value, where)
    slack = max(ROUNDING, _UNITS.get(_type_name(value), 0.0))
    good = (array >= -slack) & (array <= 1 + slack)
    if not good.all():
        at = tuple(np.argwhere(~good)[0].tolist())
        entry = f"entry {_index_text(at)}" if at else "the number"
        must = f"each entry must be a probability, from 0 to 1; {entry} is not"
        raise InputError(message(where, must, float(array[at])))
    return np.clip(array, 0.0, 1.0)


def check_rows(array: Floats, where: str, axes: int = 1, given: Any = None) -> Floats:
    """The same probabilities, or with sums of 1 where they came in a lower precision.

    Sums over the last ``axes`` must be 1 within ``SUM_TOLERANCE``, or within the rounding of as
    many numbers of the precision of what was ``given``.
    """
    over = tuple(range(array.ndim - axes, array.ndim))
    sums = array.sum(axis=over, keepdims=True)
    far = np.abs(sums - 1.0)
    if (far <= SUM_TOLERANCE).all():
        return array
    entries = math.prod(array.shape[k] for k in over)
    tolerance = max(SUM_TOLERANCE, unit_of(given, array) * (4 + entries))
    bad = ~(far <= tolerance).reshape(array.shape[: array.ndim - axes])
    if bad.any():
        at = tuple(np.argwhere(bad)[0].tolist())
        must = "the entries must sum to 1" if not at else f"row {_index_text(at)} must sum to 1"
        total = float(sums.reshape(bad.shape)[at])
        remedy = "Divide by the sum"
        if axes == 1 and array.ndim > 1 and (abs(array.sum(axis=-2) - 1.0) <= tolerance).all():
            remedy = "The columns sum to 1: exchange rows and columns, as x.T or swapaxes(-1, -2)"
        raise InputError(message(where, must, f"a sum of {total!r}", remedy))
    divided: Floats = array / sums
    return divided


def normalized_rows(array: Floats) -> Floats:
    """Rows divided by their sums where these are not exactly 1, so that 0 and 1 stay exact."""
    sums = array.sum(axis=-1, keepdims=True)
    return array / np.where(sums > 0, sums, 1.0)


def softmax(scores: Floats) -> Floats:
    """exp(scores), each row divided by its sum."""
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    rows: Floats = weights / weights.sum(axis=-1, keepdims=True)
    return rows


def check_entries(array: Floats, good: Bools, where: str, must: str) -> None:
    """Refuses an array with an entry that is not good; the first is told with its place."""
    if not good.all():
        at = tuple(np.argwhere(~good)[0].tolist())
        got = f"{float(array[at])!r} at {_index_text(at)}"
        raise InputError(message(where, must, got))


def _index_text(index: tuple[int, ...]) -> str:
    """An index as a reader would write it: 3, or (0, 2)."""
    return str(index[0]) if len(index) == 1 else str(index)


def frozen(array: Floats) -> Floats:
    """The same array, no longer writable, so that what was derived from it stays true."""
    array.setflags(write=False)
    return array


# -- shapes and labels -----------------------------------------------------------------------------


def check_shape(array: NDArray[Any], shape: tuple[int, ...], where: str, remedy: str = "") -> None:
    """Refuses an array of another shape."""
    if array.shape != shape:
        raise InputError(message(where, f"must have shape {shape}", f"{array.shape}", remedy))


def label_rows(array: Floats, labels: Sequence[Label] | None, where: str, what: str) -> Floats:
    """An array of one row per position and one column per label, (n, L), also where n is 0."""
    if array.shape == (0,) and labels is not None:
        array = array.reshape(0, len(labels_of(labels, f"{where} labels")))
    if array.ndim != 2 or array.shape[1] == 0:
        must = "must have shape (n, L), one row per position and one column per label"
        raise InputError(message(f"{where} {what}".strip(), must, f"shape {array.shape}"))
    return array


def alphabet_of(labels: Sequence[Label] | None, size: int, where: str) -> Alphabet:
    """The alphabet of ``size`` labels: those given, or 0, ..., size - 1."""
    if labels is None:
        return _kept(tuple(range(size)))
    alphabet = labels_of(labels, where)
    if len(alphabet) != size:
        must = f"there must be {size} labels, as many as the model has"
        raise InputError(message(where, must, list(alphabet.labels)))
    return alphabet


def labels_of(labels: Sequence[Label] | Alphabet, where: str) -> Alphabet:
    """The alphabet of these labels, of whatever a caller or a file may give."""
    if isinstance(labels, Alphabet):
        return labels
    given = listed(labels, where, "must be a list of labels")
    if set(map(type, given)) <= {int, str}:  # not bool: True is equal to 1, but is no label
        return _kept(tuple(given))
    return as_alphabet(given)


@lru_cache(maxsize=16)
def _kept(labels: tuple[Label, ...]) -> Alphabet:
    """The alphabet of these labels, checked once for all models of a corpus."""
    return Alphabet(labels)
