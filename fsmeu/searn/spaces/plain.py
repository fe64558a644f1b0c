"""A space of one's own, worked out: tagging from left to right, in the plainest way.

It does what ``LeftToRight`` does, one sentence at a time, and is there to be read and changed, and
to be put into a ``Queue``. A state is the sentence and the labels so far.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sklearn.base import BaseEstimator

from fsmeu.learning.features import feature_items
from fsmeu.learning.given_loss import given_loss
from fsmeu.learning.saving import register
from fsmeu.searn.oracle.cost_oracle import CostOracle

__all__ = ["PlainTagging"]

State = tuple[Sequence[Any], tuple[Any, ...]]


@register
class PlainTagging(BaseEstimator):  # type: ignore[misc]
    """Tagging from left to right, with the label before as a feature.

    Args:
        loss: a built-in name, the path of a loss file, or a loss.
        labels: the labels.
    """

    def __init__(self, loss: Any = "hamming", labels: Sequence[Any] = (0, 1)) -> None:
        self.loss = loss
        self.labels = labels

    def start(self, x: Sequence[Any]) -> State:
        """Nothing is labelled."""
        return x, ()

    def actions(self, state: State) -> Sequence[Any]:
        """The labels, until every position has one."""
        return self.labels if len(state[1]) < len(state[0]) else ()

    def step(self, state: State, action: Any) -> State:
        """One more label."""
        return state[0], (*state[1], action)

    def features(self, state: State, action: Any) -> dict[str, float]:
        """What is seen, and the label before, each together with the label."""
        x, done = state
        before = {f"after {done[-1] if done else None}": 1.0}
        seen = {**dict(feature_items(x[len(done)])), **before}
        return {f"{name} -> {action}": value for name, value in seen.items()}

    def output(self, state: State) -> list[Any]:
        """The labels."""
        return list(state[1])

    def value(self, state: State, y: Any) -> float:
        """The least loss that can be reached; of utilities, with the sign changed."""
        oracle = self._oracle(tuple(y))
        return float(oracle.value(state[1]) * (-1 if oracle.loss.kind == "utility" else 1))

    def _oracle(self, y: tuple[Any, ...]) -> Any:
        known = self.__dict__.setdefault("_oracles", {})
        if y not in known:
            loss = given_loss(self.loss, None, type(self).__name__, list(self.labels))
            known[y] = CostOracle(loss, y, labels=list(self.labels))
        return known[y]

    def preferred(self, state: State, y: Any) -> Any:
        """Gold's own label."""
        return y[len(state[1])]
