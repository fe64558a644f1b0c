"""What spaces over label sequences share: sentences in, one label for each position out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import chain
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from fsmeu.errors import InputError, sentence, whole
from fsmeu.learning.features import checked_sentences
from fsmeu.losses.protocol import Loss
from fsmeu.searn.features.sentences import HashedSentences, hashed_sentences
from fsmeu.searn.oracle.cost_oracle import CostOracles
from fsmeu.searn.spaces.gold import gold_of

__all__ = ["LabelSpace", "labels_per_position", "sorted_labels"]

Bind = Callable[..., Loss]
"""Gives the loss over labels."""


class LabelSpace(BaseEstimator):  # type: ignore[misc]
    """A space whose outputs are label sequences; see ``protocol.Space``."""

    def depths(self, *names: str) -> list[int]:
        """The values of parameters that say how far features look back, checked."""
        return [whole(type(self).__name__, name, getattr(self, name), least=0) for name in names]

    def inputs(self, X: Any, bits: int, crossed: Sequence[str], where: str) -> HashedSentences:
        """The sentences as hashed features."""
        if isinstance(X, HashedSentences):
            return X
        if isinstance(crossed, str) or not isinstance(crossed, Sequence):
            raise InputError(sentence(where, "crossed must be a list of names", crossed))
        return hashed_sentences(checked_sentences(X, where), bits, tuple(map(str, crossed)))

    def outputs(self, y: Any, inputs: HashedSentences, where: str) -> list[list[Any]]:
        """The labels of each sentence, checked."""
        return labels_per_position(y, inputs, where)

    def labels(self, ys: Sequence[Sequence[Any]]) -> list[Any]:
        """The labels of outputs, sorted."""
        return sorted_labels(chain(*ys))

    def gold(self, bind: Bind, labels: Sequence[Any], ys: Any, costs: bool = True) -> Any:
        """Gold outputs with the costs of labels against them, or with losses only."""
        return gold_of(bind(labels), labels, ys, CostOracles if costs else None)

    def score(self, found: Any, ys: Any) -> float:
        """The share of positions whose label was found."""
        both = zip(chain(*found), chain(*ys), strict=True)
        return float(np.mean([one == other for one, other in both]))


def labels_per_position(y: Any, inputs: HashedSentences, where: str) -> list[list[Any]]:
    """The labels of each sentence, as many as it has positions.

    Raises:
        InputError: they are not, or there is no position at all.
    """
    lines = checked_sentences(y, where)
    found = [list(one.tolist() if isinstance(one, np.ndarray) else one) for one in lines]
    lengths = inputs.lengths.tolist()
    if [len(one) for one in found] != lengths:
        must = "there must be one label for each position of each sentence"
        pairs = zip(lengths, found, strict=False)
        at = next((k for k, (n, one) in enumerate(pairs) if n != len(one)), None)
        got = f"{len(lengths)} sentences and {len(found)} label sequences"
        if at is not None:
            got = f"{lengths[at]} positions and {len(found[at])} labels in sentence {at}"
        raise InputError(sentence(where, must, got))
    if not any(found):
        raise InputError(sentence(where, "there must be a sentence that is not empty"))
    return found


def sorted_labels(labels: Iterable[Any]) -> list[Any]:
    """The distinct labels, sorted; by type and text where they cannot be compared.

    Raises:
        InputError: a label cannot be told from others, as a list.
    """
    try:
        found = set(labels)
    except TypeError as error:
        must = "labels must be hashable, such as numbers, texts or tuples"
        raise InputError(sentence("labels", must)) from error
    try:
        return sorted(found)
    except TypeError:
        return sorted(found, key=lambda one: (type(one).__name__, str(one)))
