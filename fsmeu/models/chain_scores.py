"""The log-potentials of models that are chains of labels, each looking at most at its neighbour."""

from __future__ import annotations

import numpy as np

from fsmeu.fst.layers import Floats
from fsmeu.models.base import Model
from fsmeu.models.checks import normalized_rows
from fsmeu.models.distances import logarithm
from fsmeu.models.independent import Bernoulli, Independent
from fsmeu.models.markov import Markov
from fsmeu.models.potentials import Potentials

__all__ = ["chain_scores"]


def chain_scores(model: Model) -> tuple[Floats, Floats] | None:
    """The log-potentials (n, L) and (L, L) or (n - 1, L, L) of a chain; None of other models."""
    if isinstance(model, Potentials):
        return model.unary, model.pairwise
    size = len(model.labels)
    if isinstance(model, Bernoulli):
        return logarithm(np.stack((1.0 - model.p, model.p), axis=1)), np.zeros((size, size))
    if isinstance(model, Independent):
        return logarithm(normalized_rows(model.probabilities)), np.zeros((size, size))
    if isinstance(model, Markov) and model.order == 1:
        unary = np.zeros((model.n, size))
        unary[0] = logarithm(model.initial)
        return unary, logarithm(normalized_rows(model.transition))
    return None
