"""Sequences from outside as lists: of labels, of models, of whatever a caller may give."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import islice
from typing import Any

import numpy as np

from fsmeu.errors import FsmeuError, InputError, sentence, shorten

MAX_ITEMS = 20_000_000
"""Most items of a sequence, so that one without an end is refused."""


def listed(
    sequence: Any, where: str, must: str = "must be a sequence of labels", rows: bool = False
) -> list[Any]:
    """The items of a sequence: of arrays (whatever has ``__array__``, as tensors do) Python's own.

    Args:
        sequence: an array with one axis, or anything that can be iterated and has an order.
        where: what it is called in an error.
        must: what it must be.
        rows: whether an array may have more axes; the items are then its rows.

    Raises:
        InputError: it is no sequence, has no order or no end, or cannot be read.
    """
    if type(sequence) in (list, tuple, str):
        return list(sequence)
    if not isinstance(sequence, Iterable) and not hasattr(sequence, "__array__"):
        raise InputError(sentence(where, must, sequence))
    if isinstance(sequence, set | frozenset | Mapping):
        raise InputError(sentence(where, f"{must}, in order", type(sequence).__name__))
    try:
        if hasattr(sequence, "__array__"):
            items = _of_array(sequence, where, must, rows)
        else:
            items = list(islice(iter(sequence), MAX_ITEMS + 1))
    except FsmeuError:
        raise
    except Exception as error:  # whatever the sequence raises
        reason = shorten(f"{type(error).__name__}: {error}")
        raise InputError(sentence(where, f"{must}, but reading it failed", reason)) from error
    if len(items) > MAX_ITEMS:
        raise InputError(sentence(where, f"there may be at most {MAX_ITEMS:,} items", "more"))
    return items


def _of_array(sequence: Any, where: str, must: str, rows: bool) -> list[Any]:
    if np.ma.is_masked(sequence):
        raise InputError(sentence(where, "must have no masked entries", sequence))
    array = np.asarray(sequence)
    if rows and array.ndim > 1:
        return list(array)
    if array.ndim != 1:
        raise InputError(sentence(where, f"{must}, with one axis", f"shape {array.shape}"))
    items: list[Any] = array.tolist()
    return items


def plain(item: Any) -> Any:
    """A number or text as Python's own, if it is a numpy scalar or a tensor without axes."""
    if isinstance(item, str | int | float) and not isinstance(item, np.generic):
        return item
    try:
        return np.asarray(item).item() if hasattr(item, "__array__") else item
    except Exception:  # of more than one entry, or whatever it raises
        return item
