"""Models restricted to the sequences that a constraint allows: P(y | y is allowed).

In general the layers of the model are composed with the acceptor of the constraint and normalised
again. Where the constraint only looks at neighbouring labels, a chain stays a chain: a label or a
pair of labels that is not allowed gets the log-potential -inf, and the methods for chains apply.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fsmeu.errors import EmptyError, InputError, sentence
from fsmeu.fst.constraint import Neighbours, as_constraint, neighbours, restricted
from fsmeu.fst.layers import Floats
from fsmeu.models.acceptor import Acceptor
from fsmeu.models.base import Model
from fsmeu.models.chain_scores import chain_scores
from fsmeu.models.potentials import Potentials

__all__ = ["given"]


def given(model: Model, constraint: Any) -> Model:
    """The model of P(y | y is allowed): a chain where it can be one, else an acceptor.

    Raises:
        EmptyError: no sequence that is allowed has positive probability.
    """
    limits = as_constraint(constraint, model.alphabet, model.n)
    if limits is None:
        must = "a regular expression over labels or an acceptor is needed"
        raise InputError(sentence("given", must, constraint))
    local = neighbours(limits)
    scores = None if local is None or model.n == 0 else chain_scores(model)
    try:
        if local is not None and scores is not None:
            return Potentials(*_masked(*scores, local), model.labels)
        return Acceptor(restricted(model.layered(), limits, "given"))
    except EmptyError:
        must = "some sequence that the constraint allows must have positive probability"
        raise EmptyError(sentence("given", must)) from None


def _masked(unary: Floats, pairwise: Floats, local: Neighbours) -> tuple[Floats, Floats]:
    """The potentials with -inf for what is not allowed."""
    unary = unary.copy()
    unary[0, ~local.first] = -np.inf
    unary[-1, ~local.last] = -np.inf
    return unary, np.where(local.pairs, pairwise, -np.inf)
