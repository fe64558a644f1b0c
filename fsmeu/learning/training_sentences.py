"""Training sentences of a tagger as arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from fsmeu.learning.chain_likelihood import Lengths
from fsmeu.learning.features import feature_matrix

__all__ = ["TrainingSentences"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Sentences = Sequence[Sequence[Any]]


class TrainingSentences:
    """The training sentences as arrays; weights are one vector of both tables.

    Attributes:
        rows: values of the features, (positions, features), and its transpose.
        lengths: where the sentences stand.
        tags: the tags of each sentence.
        y: indices of the tags at the positions of all sentences.
        size: the number of weights.
    """

    def __init__(
        self, sentences: Sentences, tags: list[list[Any]], names: list[str], classes: NDArray[Any]
    ) -> None:
        self.rows = feature_matrix(sentences, names)
        self.columns = csr_array(self.rows.T)
        self.lengths = Lengths([len(one) for one in sentences])
        self.tags, self.labels = tags, len(classes)
        index = {tag: k for k, tag in enumerate(classes.tolist())}
        self.y: Ints = np.array([index[tag] for one in tags for tag in one], np.int64)
        self.size = (len(names) + self.labels) * self.labels

    def tables(self, weights: Floats) -> tuple[Floats, Floats]:
        """The weights of features, (features, L), and of transitions, (L, L)."""
        both = weights.reshape(-1, self.labels)
        return both[: -self.labels], both[-self.labels :]

    def scores(self, weights: Floats) -> tuple[Floats, Floats]:
        """Scores of tags, (positions, L), and of transitions, (L, L)."""
        states, moves = self.tables(weights)
        return self.rows @ states, moves

    def pulled(self, single: Floats, double: Floats) -> Floats:
        """Derivatives for the weights, from those for both tables of scores."""
        return np.concatenate((self.columns @ single, double)).ravel()
