"""A policy that looks back m labels as tables of probabilities, position by position."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fsmeu.errors import InputError, sentence, shorten
from fsmeu.fst.alphabet import Label
from fsmeu.fst.sequences import listed
from fsmeu.models import Bernoulli, Independent, Markov, Model

__all__ = ["policy_tables"]

Floats = NDArray[np.float64]

_ROUNDING = 1e-9


def policy_tables(policy: Any, n: int, labels: tuple[Label, ...]) -> tuple[list[Floats], int]:
    """The table of each position, and how many labels the policy looks back.

    Position t has an axis for each of the last min(t, m) labels, and one for the next. What a model
    does not define, because it gives the labels before it probability 0, is nan.

    Args:
        policy: an ``Independent`` or ``Markov`` model, or a sequence of n tables.
        n: the length.
        labels: the labels.

    Raises:
        InputError: the policy has other labels, another length, or is no policy.
    """
    where = "policy"
    if isinstance(policy, Model):
        if policy.labels != labels or policy.n != n:
            must = f"the policy must be for {n} labels out of {shorten(labels)}"
            raise InputError(sentence(where, must, policy))
        if isinstance(policy, Bernoulli):
            return [np.array([1.0 - p, p]) for p in policy.p], 0
        if isinstance(policy, Independent):
            return list(policy.probabilities), 0
        if isinstance(policy, Markov):
            return _of_chain(policy), min(policy.order, max(0, n - 1))
        must = "a policy that is a model must be Independent or Markov"
        raise InputError(sentence(where, must, policy))
    rows = listed(policy, where, "must be a model or a sequence of tables", rows=True)
    if len(rows) != n:
        must = f"there must be a table for each of the {n} positions"
        raise InputError(sentence(where, must, len(rows)))
    tables = [_table(row, t, len(labels)) for t, row in enumerate(rows)]
    order = max([0, *(table.ndim - 1 for table in tables)])
    for t, table in enumerate(tables):
        if table.ndim - 1 != min(t, order):
            must = f"the table of position {t} must have {min(t, order) + 1} axes"
            raise InputError(sentence(where, must, f"shape {table.shape}"))
    return tables, order


def _table(row: Any, t: int, size: int) -> Floats:
    """The probabilities of one position, checked."""
    where = f"policy, position {t}"
    try:
        table = np.array(row, np.float64)
    except Exception:  # whatever it raises
        raise InputError(sentence(where, "must be an array of probabilities", row)) from None
    if not table.ndim or set(table.shape) != {size}:
        must = f"each axis must have length {size}, the number of labels"
        raise InputError(sentence(where, must, f"shape {table.shape}"))
    sums = table.sum(axis=-1)
    if not ((table >= 0).all() and (np.abs(sums - 1.0) <= _ROUNDING).all()):
        must = "the probabilities of the next label must be at least 0 and sum to 1"
        raise InputError(sentence(where, must, row))
    normalised: Floats = table / sums[..., None]
    return normalised


def _of_chain(chain: Markov) -> list[Floats]:
    """The conditional probabilities of a chain."""
    tables = []
    for t in range(min(chain.order, chain.n)):
        joint = chain.initial.sum(axis=tuple(range(t + 1, chain.order)))
        with np.errstate(invalid="ignore", divide="ignore"):
            tables.append(joint / joint.sum(axis=-1, keepdims=True))
    rest = max(0, chain.n - chain.order)
    steps = [chain.transition] * rest if chain.homogeneous else list(chain.transition)
    return tables + [step / step.sum(axis=-1, keepdims=True) for step in steps]
