"""The weight of a new policy in the mixture (Figure 1, line 16)."""

from __future__ import annotations

from typing import Any

from fsmeu.searn.learners.logistic import number_between

__all__ = ["chooser"]


def chooser(beta: Any, where: str) -> Any:
    """A function of the mixture so far and the new model that returns the new model's weight."""
    number = number_between(where, "beta", beta, 1e-9, 1)
    return lambda policy, models: number
