"""The weight of a new policy in the mixture (Figure 1, line 16): fixed, by theory, or by search."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from fsmeu.errors import InputError, SizeLimitError, one_of, sentence, whole
from fsmeu.limits import MOST_ITERATIONS
from fsmeu.searn.learners.checks import number_between
from fsmeu.searn.learners.protocol import CostSensitiveModel
from fsmeu.searn.policies.mixture import Mixture, interpolated

__all__ = ["Chooser", "chooser", "iterations_of"]

Chooser = Callable[[Mixture, Sequence[CostSensitiveModel]], float]
Judge = Callable[[Mixture], float]

_GRID = (1.0, 0.7, 0.5, 0.3, 0.2, 0.1, 0.05)


def chooser(beta: Any, where: str, longest: int, judge: Judge | None) -> Chooser:
    """A function of the mixture so far and the new models that returns the new policy's weight.

    Args:
        beta: a number from (0, 1], "theory" or "search".
        where: the estimator, for messages.
        longest: the greatest number of decisions for one example, T.
        judge: for "search", the loss of a mixture of learned policies on development data.

    Raises:
        InputError: beta is none of these.
    """
    if isinstance(beta, str):
        if one_of(where, "beta", beta, ("theory", "search")) == "theory":
            return lambda policy, models: 1.0 / max(1, longest) ** 3
        assert judge is not None
        return lambda policy, models: _searched(policy, models, judge)
    number = number_between(where, "beta", beta, 0, 1)
    if number == 0:
        raise InputError(sentence(where, "beta must be greater than 0", beta))
    return lambda policy, models: number


def iterations_of(iterations: Any, beta: Any, influence: float, longest: int, where: str) -> int:
    """The greatest number of iterations.

    Without one, it is the number after which the optimal policy has lost its influence:
    (1 - beta)^I <= influence for a fixed beta, and 2 T^3 ln T by Theorem 2.

    Raises:
        InputError: it is no whole number of at least 1.
        SizeLimitError: it is derived, and larger than is reasonable.
    """
    if iterations is not None:
        return whole(where, "iterations", iterations)
    if beta == "theory":
        needed = max(1, math.ceil(2 * longest**3 * math.log(max(1, longest))))
    elif isinstance(beta, str) or beta == 1:
        needed = MOST_ITERATIONS if isinstance(beta, str) else 1
    elif influence == 0:
        raise InputError(sentence(where, "influence must be greater than 0 where beta is below 1"))
    else:
        needed = max(1, math.ceil(math.log(influence) / math.log1p(-beta) - 1e-9))
    if needed > MOST_ITERATIONS:
        must = f"at most {MOST_ITERATIONS:,} iterations are made unless their number is given"
        remedy = "Give iterations=, or a larger beta"
        raise SizeLimitError(sentence(where, must, f"{needed:,}", remedy))
    return needed


def _searched(policy: Mixture, models: Sequence[CostSensitiveModel], judge: Judge) -> float:
    """The weight of least loss without the optimal policy, the greatest of several; 0 for none.

    With 0 the new policy does not help, and training ends. The first policy has no other beside it,
    so that all weights are the same to it, and it gets 1.
    """
    if not policy.weights:
        return 1.0
    best, found = judge(policy.without_optimal()), 0.0
    for beta in _GRID:
        loss = judge(interpolated(policy, beta, models).without_optimal())
        if loss < best:
            best, found = loss, beta
    return found
