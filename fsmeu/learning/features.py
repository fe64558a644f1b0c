"""Features of positions, as dictionaries or lists of names, and sparse matrices made of them.

As in sklearn-crfsuite: a number or truth value is the value of the feature of that name, a text
names a feature ``name:text`` of value 1, a list or a set several such, a dictionary has its names
behind the outer one. A list of names stands for features of value 1.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from numbers import Real
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from fsmeu.errors import InputError, message


def feature_items(position: Any) -> Iterator[tuple[str, float]]:
    """The name and value of each feature of a position: a dictionary, or a list or set of names."""
    if isinstance(position, Mapping):
        for name, value in position.items():
            yield from _named(str(name), value)
    elif isinstance(position, Iterable) and not isinstance(position, str | bytes):
        for name in position:
            yield str(name), 1.0
    else:
        must = "a position must be a dictionary of features or a list of their names"
        raise InputError(message("features", must, position))


def _named(name: str, value: Any) -> Iterator[tuple[str, float]]:
    if isinstance(value, Real | np.bool_):
        number = float(value)
        if not np.isfinite(number):
            raise InputError(message("features", f"the value of {name} must be finite", value))
        yield name, number
    elif isinstance(value, str):
        yield f"{name}:{value}", 1.0
    elif isinstance(value, Mapping):
        for inner, one in value.items():
            yield from _named(f"{name}:{inner}", one)
    elif isinstance(value, list | tuple | set | frozenset):
        for one in value:
            yield f"{name}:{one}", 1.0
    else:
        must = f"the value of {name} must be a number, a text, a list of texts or a dictionary"
        raise InputError(message("features", must, value))


def checked_sentences(sentences: Any, where: str) -> list[Sequence[Any]]:
    """The sentences as a list of sequences of positions; an InputError where they are not."""
    if isinstance(sentences, Iterable) and not isinstance(sentences, str | bytes | Mapping):
        lines = list(sentences)
        kinds = (Sequence, np.ndarray)
        if all(isinstance(one, kinds) and not isinstance(one, str | bytes) for one in lines):
            return lines
    must = "sentences must be a list of lists, one entry for each position"
    raise InputError(message(where, must, sentences))


def checked_labels(y: Any, lengths: Sequence[int], where: str) -> list[list[Any]]:
    """The labels of each sentence, as many as it has positions, of which there must be some."""
    lines = checked_sentences(y, where)
    labels = [list(one.tolist() if isinstance(one, np.ndarray) else one) for one in lines]
    if [len(one) for one in labels] != list(lengths):
        got = f"{len(lengths)} sentences and {len(labels)} label sequences"
        for k, (n, one) in enumerate(zip(lengths, labels, strict=False)):
            if n != len(one):
                got = f"{n} positions and {len(one)} labels in sentence {k}"
                break
        must = "there must be one label for each position of each sentence"
        raise InputError(message(where, must, got))
    if not any(labels):
        raise InputError(message(where, "there must be a sentence that is not empty"))
    return labels


def share_of_labels(predicted: Any, given: Any) -> float:
    """The share of positions of all sentences whose label was predicted."""
    both = zip(chain(*predicted), chain(*given), strict=True)
    return float(np.mean([one == other for one, other in both]))


def feature_names(sentences: Iterable[Sequence[Any]], least: int = 1) -> list[str]:
    """The names of the features that stand at this many positions or more, sorted."""
    seen: Counter[str] = Counter()
    for position in chain.from_iterable(sentences):
        seen.update({name for name, _ in feature_items(position)})
    return sorted(name for name, times in seen.items() if times >= least)


def feature_matrix(sentences: Iterable[Sequence[Any]], names: Sequence[str]) -> csr_array:
    """The values of these features at the positions of all sentences, (positions, names)."""
    column = {name: k for k, name in enumerate(names)}
    values, columns, ends = list[float](), list[int](), [0]
    for position in chain.from_iterable(sentences):
        for name, value in feature_items(position):
            if name in column:
                columns.append(column[name])
                values.append(value)
        ends.append(len(columns))
    held = (np.array(values, float), np.array(columns, np.int64), np.array(ends, np.int64))
    matrix = csr_array(held, shape=(len(ends) - 1, len(column)))
    matrix.sum_duplicates()
    return matrix
