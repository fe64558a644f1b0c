"""The exact expected utility of tagged sentences under a conditional random field of hypotheses."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fsmeu.expectation.gradient import value_and_gradient_many
from fsmeu.learning.chain_likelihood import Lengths
from fsmeu.losses.protocol import Loss
from fsmeu.models import Potentials, from_potentials

__all__ = ["expected_values", "models_of"]

Floats = NDArray[np.float64]


def models_of(
    unary: Floats, pairwise: Floats, lengths: Lengths, labels: Sequence[Any]
) -> list[Potentials]:
    """The conditional random field of each sentence.

    Args:
        unary: scores of labels at the positions of all sentences, (positions, L).
        pairwise: scores of a label (last axis) after another, (L, L).
        lengths: where the sentences stand.
        labels: the labels.
    """
    return [from_potentials(scores, pairwise, labels) for scores in lengths.split(unary)]


def expected_values(
    loss: Loss, unary: Floats, pairwise: Floats, lengths: Lengths, y: Sequence[Sequence[Any]]
) -> tuple[Floats, Floats, Floats]:
    """E[value(Z, y)] of each sentence, and the derivatives of their sum for both tables of scores.

    Z follows the conditional random field, y is given: the expectation of the loss with its tapes
    exchanged (Jansche 2007, section 1.3, for sequences).

    Args:
        loss: a loss over the labels.
        unary: scores of labels at the positions of all sentences, (positions, L).
        pairwise: scores of a label (last axis) after another, (L, L).
        lengths: where the sentences stand.
        y: the labels of each sentence.
    """
    models = models_of(unary, pairwise, lengths, loss.alphabet.labels)
    values, slopes = value_and_gradient_many(loss.swapped, y, models)
    single, double = np.zeros(unary.shape), np.zeros(pairwise.shape)
    for begin, one in zip(lengths.begins[:-1], slopes, strict=True):
        assert isinstance(one, dict)
        single[begin : begin + len(one["unary"])] = one["unary"]
        double += one["pairwise"]
    return values, single, double
