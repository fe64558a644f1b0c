"""Which exact methods a loss satisfies the conditions of: each is asked, on models of one length.

Conditions are checked anew for every problem. Those of ``additive`` and ``counting`` are read off
the text, but for how counts grow; those of the others may hold at one length and not at another.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fsmeu.decoding.decode import EXACT, METHODS
from fsmeu.decoding.problem import Problem
from fsmeu.errors import FsmeuError
from fsmeu.losses.language.syntax import walk
from fsmeu.losses.loss import SpecLoss
from fsmeu.losses.protocol import Loss
from fsmeu.models import Bernoulli, Independent, Markov, Model

__all__ = ["Applies", "exact_methods"]

_LENGTH = {2: 12, 3: 6}
_SHORT = 4
_EFFORT = 6000  # parts of expressions that are looked at, over all positions


@dataclass(frozen=True)
class Applies:
    """An exact method that decides for a loss at one length.

    Attributes:
        method: its name, as ``decode`` takes it.
        any_model: True when labels may depend on each other; False when they must be independent.
        why: the property of the loss that makes it exact.
        n: the length of the sequences for which it was asked; others may differ.
    """

    method: str
    any_model: bool
    why: str
    n: int


def exact_methods(loss: Loss) -> tuple[Applies, ...]:
    """The methods that prove a decision for this loss, in the order in which they are tried.

    Each was asked at one length (a short one for long files), which says nothing for certain of
    others. Trying every sequence,
    which works for short ones, is not among them.
    """
    n = min(_LENGTH.get(len(loss.alphabet), _SHORT), max(_SHORT, _EFFORT // _size(loss)))
    chain, independent = _chain(loss, n), _independent(loss, n)
    found = []
    for method in EXACT:
        if method == "exhaustive":
            continue
        for model, any_model in ((chain, True), (independent, False)):
            try:
                answer = METHODS[method](Problem(loss, model))
            except FsmeuError:
                continue
            if answer.exact:
                found.append(Applies(method, any_model, answer.why, n))
                break
    return tuple(found)


def _size(loss: Loss) -> int:
    """How many parts the expressions of a file have that are computed at each position."""
    registers = loss.spec.registers if isinstance(loss, SpecLoss) else ()
    return 1 + sum(1 for register in registers for _ in walk(register.update))


def _independent(loss: Loss, n: int) -> Model:
    labels = loss.alphabet.labels
    weights = 1.0 + (np.arange(n)[:, None] + np.arange(len(labels))) % (len(labels) + 1)
    table = weights / weights.sum(axis=1, keepdims=True)
    return Bernoulli(table[:, 1]) if labels == (0, 1) else Independent(table, labels)


def _chain(loss: Loss, n: int) -> Model:
    size = len(loss.alphabet)
    weights = 1.0 + np.arange(size + size * size).reshape(size + 1, size) % (size + 2)
    rows = weights / weights.sum(axis=1, keepdims=True)
    return Markov(rows[0], rows[1:], n, loss.alphabet.labels)
