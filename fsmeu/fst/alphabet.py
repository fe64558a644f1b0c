"""Label alphabets: the order of the labels, and their numbers on an OpenFst tape.

A label is an int or a str. Inside fsmeu a label is its *index* (0, 1, ...); on an OpenFst tape it
is its index plus one, because OpenFst reserves 0 for epsilon.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import islice
from typing import Any

import numpy as np

from fsmeu import limits
from fsmeu.arrays import Ints
from fsmeu.errors import FsmeuError, InputError, as_number, nearest, shorten


def listed(
    sequence: Any, where: str, must: str = "must be a sequence of labels", rows: bool = False
) -> list[Any]:
    """The items of a sequence: of arrays (whatever has ``__array__``, as tensors do) Python's own.

    An array may have more than one axis if its ``rows`` are the items. An InputError, with what it
    is called and must be, if it has no order, no end, or cannot be read.
    """
    if type(sequence) in (list, tuple, str):
        return list(sequence)
    is_array = hasattr(sequence, "__array__")
    if not is_array and not isinstance(sequence, Iterable):
        raise InputError(where, must, given=shorten(sequence))
    if isinstance(sequence, set | frozenset | Mapping):
        raise InputError(where, f"{must}, in order", given=type(sequence).__name__)
    try:
        if not is_array:
            items = list(islice(iter(sequence), limits.MOST_ITEMS + 1))
        elif np.ma.is_masked(sequence):
            raise InputError(where, "must have no masked entries", given=sequence)
        else:
            array = np.asarray(sequence)
            if array.ndim != 1 and not (rows and array.ndim):
                shape = f"shape {array.shape}"
                raise InputError(where, f"{must}, with one axis", given=shape)
            items = list(array) if array.ndim > 1 else array.tolist()
    except FsmeuError:
        raise
    except Exception as error:  # whatever the sequence raises
        reason = shorten(f"{type(error).__name__}: {error}")
        raise InputError(where, f"{must}, but reading it failed", given=reason) from error
    if len(items) > limits.MOST_ITEMS:
        raise InputError(where, f"there may be at most {limits.MOST_ITEMS:,} items", given="more")
    return items


def plain(item: Any) -> Any:
    """A number or text as Python's own, if it is a numpy scalar or a tensor without axes."""
    try:
        return np.asarray(item).item() if hasattr(item, "__array__") else item
    except Exception:  # of more than one entry, or whatever it raises
        return item


def plain_label(item: Any) -> Any:
    """A label as an int or a str, if it can be one: truth values and whole floats are numbers."""
    value = plain(item)
    whole = isinstance(value, bool) or (isinstance(value, float) and value.is_integer())
    return int(value) if whole else value


Label = int | str

_MOST_DIGITS = 1000  # of a label that is a number; Python itself reads and writes a few thousand


def label_text(label: Label) -> str:
    """The text of a label; an InputError if it is a number with too many digits."""
    if isinstance(label, int) and abs(label) >= 10**_MOST_DIGITS:
        must = f"a label that is a number must have at most {_MOST_DIGITS:,} digits"
        raise InputError("labels", must, remedy="Write it as text")
    return str(label)


@dataclass(frozen=True)
class Alphabet:
    """A finite, ordered set of distinct labels, each an int or a non-empty str."""

    labels: tuple[Label, ...]

    def __post_init__(self) -> None:
        if not self.labels:
            raise InputError("labels", "an alphabet needs at least one label")
        texts: set[str] = set()
        for label in self.labels:
            if isinstance(label, bool) or not isinstance(label, int | str) or label == "":
                must = "each label must be an int or a non-empty string"
                raise InputError("labels", must, given=shorten(label) or "an empty one")
            if not is_text(text := label_text(label)):
                must = "each label must be text that UTF-8 can write"
                raise InputError("labels", must, given=ascii(label))
            if text in texts:
                raise InputError("labels", "must differ", given=f"{label!r} twice")
            texts.add(text)

    def __len__(self) -> int:
        return len(self.labels)

    @cached_property
    def index(self) -> dict[Label, int]:
        """The index of each label; a label's text finds it too."""
        texts: dict[Label, int] = {str(label): k for k, label in enumerate(self.labels)}
        return texts | {label: k for k, label in enumerate(self.labels)}

    def encode(self, sequence: Iterable[object], where: str = "sequence") -> Ints:
        """The indices of a label sequence; a str is read character by character."""
        labels = listed(sequence, where)
        indices = list[int]()
        label = None
        try:
            return np.array(list(map(self.index.__getitem__, labels)), np.int64)
        except Exception:  # not there, or whatever a strange label raises
            pass
        try:
            for label in map(plain_label, labels):
                indices.append(self.index[label])
        except Exception:
            names = list(map(str, self.labels))
            must = f"entry {len(indices)} must be one of {shorten(', '.join(names))}"
            raise InputError(
                where, must, given=label, remedy=nearest(shorten(label), names)
            ) from None
        return np.array(indices, np.int64)

    def decode(self, indices: Iterable[int]) -> list[Label]:
        """The labels with these indices."""
        if not isinstance(indices, np.ndarray):
            return [self.labels[k] for k in indices]
        numbers: list[Label] = indices.tolist()  # ints of Python are faster to look up
        return numbers if self._are_indices else [self.labels[k] for k in indices.tolist()]

    @cached_property
    def _are_indices(self) -> bool:
        """Whether labels are 0, 1, ...: then sequences of labels are those of their indices."""
        return all(type(label) is int and label == k for k, label in enumerate(self.labels))

    def text(self, indices: Iterable[int]) -> str:
        """A sequence as text: joined when every label is one character, else with spaces."""
        names = [str(self.labels[k]) for k in indices]
        return ("" if all(len(str(x)) == 1 for x in self.labels) else " ").join(names)

    def parse(self, text: str, where: str = "sequence") -> Ints:
        """Indices of a sequence written as text: spaces or commas between labels, or none."""
        parts = text.replace(",", " ").split()
        joined = len(parts) == 1 and parts[0] not in self.index
        return self.encode(parts[0] if joined else parts, where)


def is_text(name: object) -> bool:
    """Whether this is a str that UTF-8 can write: one without half of a surrogate pair."""
    return isinstance(name, str) and not any("\ud800" <= c <= "\udfff" for c in name)


BINARY = Alphabet((0, 1))


def as_alphabet(labels: Alphabet | Sequence[Label] | str, where: str = "labels") -> Alphabet:
    """The alphabet of these labels, whatever they are given as; a str gives one per character."""
    if isinstance(labels, Alphabet):
        return labels
    if isinstance(labels, bytes | bytearray | memoryview):  # whose items are numbers
        must = "labels must be a text or a list of labels"
        raise InputError(where, must, given=labels, remedy="Decode bytes first: labels.decode()")
    items = tuple(listed(labels, where))
    as_is = set(map(type, items)) <= {int, str}  # not bool: True is equal to 1, but is no label
    return _cached_alphabet(items) if as_is else Alphabet(tuple(map(plain, items)))


_cached_alphabet = lru_cache(maxsize=16)(Alphabet)  # checked once for all models of a corpus


def as_labels(words: Sequence[str]) -> tuple[Label, ...]:
    """Labels of these texts: numbers when all of them are whole numbers, as in a loss file."""
    numbers = [as_number(word) for word in words]
    whole = tuple(k for k in numbers if k is not None)
    return whole if list(map(str, whole)) == list(words) else tuple(words)
