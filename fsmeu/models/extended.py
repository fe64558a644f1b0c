"""Models over more labels than they were made for: further ones have probability zero."""

from __future__ import annotations

import numpy as np

from fsmeu.fst.alphabet import Alphabet
from fsmeu.fst.layers import Floats, reordered
from fsmeu.models.acceptor import Acceptor
from fsmeu.models.base import Model
from fsmeu.models.chain_scores import chain_scores
from fsmeu.models.independent import Bernoulli, Independent
from fsmeu.models.potentials import Potentials

__all__ = ["extended"]


def extended(model: Model, alphabet: Alphabet) -> Model:
    """The same distribution over an alphabet that begins with the model's labels.

    Independent labels stay independent, chains that look one label back stay chains.
    """
    more = len(alphabet) - len(model.labels)
    if not more:
        return model
    if isinstance(model, Bernoulli):
        model = Independent(np.stack((1.0 - model.p, model.p), axis=1))
    if isinstance(model, Independent):
        return Independent(_padded(model.probabilities, (1,), more, 0.0), alphabet.labels)
    scores = chain_scores(model) if model.n else None
    if scores is None:
        return Acceptor(reordered(model.layered(), alphabet), normalize=False)
    unary, pairwise = scores
    last = (pairwise.ndim - 2, pairwise.ndim - 1)
    return Potentials(
        _padded(unary, (1,), more, -np.inf), _padded(pairwise, last, more, 0.0), alphabet.labels
    )


def _padded(array: Floats, axes: tuple[int, ...], more: int, value: float) -> Floats:
    """The array with more entries, all of one value, at the end of some axes."""
    widths = [(0, more if axis in axes else 0) for axis in range(array.ndim)]
    return np.pad(array, widths, constant_values=value)
