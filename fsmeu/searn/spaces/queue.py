"""Beam search as greedy search in an abstract space (section 3.4.3 of the paper).

A state is a queue of at most ``size`` partial outputs of another space. An action expands one of
them: it is taken out, and all that follow it are put in. Where a partial output is finished, the
action takes it, and that ends the search. What is learned is which of them to expand: the features
of an action are those of all decisions of its partial output together, so that its score is the sum
of their scores.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from sklearn.base import BaseEstimator

from fsmeu.errors import whole
from fsmeu.learning.features import feature_items
from fsmeu.learning.saving import register

__all__ = ["Partial", "Queue", "QueueState"]


@dataclass(frozen=True)
class Partial:
    """A partial output.

    Attributes:
        state: its state in the other space.
        features: the features of its decisions, added up.
        decisions: their number.
    """

    state: Any
    features: dict[str, float] = field(default_factory=dict)
    decisions: int = 0


@dataclass(frozen=True)
class QueueState:
    """A queue of partial outputs; ``taken`` is the one that ended the search."""

    waiting: tuple[Partial, ...]
    taken: Partial | None = None


@register
class Queue(BaseEstimator):  # type: ignore[misc]
    """The abstract space over a space of one's own (see ``one_by_one``).

    The queue is in the order in which partial outputs were put in, those with more decisions
    first; beyond ``size`` the last are dropped, so that with size 1 only the first follower stays.
    A step whose queue has lost every optimal partial output costs what that loses.

    Args:
        space: the other space.
        size: the greatest length of the queue.
    """

    def __init__(self, space: Any = None, size: int = 10) -> None:
        self.space = space
        self.size = size

    def start(self, x: Any) -> QueueState:
        """The queue that holds the other space's first state."""
        return QueueState((Partial(self.space.start(x)),))

    def actions(self, state: QueueState) -> Sequence[int]:
        """The places of the queue."""
        return () if state.taken is not None else range(len(state.waiting))

    def step(self, state: QueueState, action: int) -> QueueState:
        """The queue after one of it is expanded, or taken where it is finished."""
        chosen = state.waiting[action]
        followers = [self._after(chosen, one) for one in self.space.actions(chosen.state)]
        if not followers:
            return QueueState((), chosen)
        rest = (*state.waiting[:action], *state.waiting[action + 1 :])
        size = whole(type(self).__name__, "size", self.size)
        queue = sorted((*followers, *rest), key=lambda one: -one.decisions)
        return QueueState(tuple(queue[:size]))

    def _after(self, chosen: Partial, action: Any) -> Partial:
        features = dict(chosen.features)
        for name, value in feature_items(self.space.features(chosen.state, action)):
            features[name] = features.get(name, 0.0) + value
        return Partial(self.space.step(chosen.state, action), features, chosen.decisions + 1)

    def features(self, state: QueueState, action: int) -> dict[str, float]:
        """The features of all decisions of a partial output, and their number."""
        chosen = state.waiting[action]
        return {**chosen.features, "decisions": float(chosen.decisions)}

    def output(self, state: QueueState) -> Any:
        """The output of the partial output that was taken."""
        assert state.taken is not None
        return self.space.output(state.taken.state)

    def value(self, state: QueueState, y: Any) -> float:
        """The least loss that any of the queue can still reach."""
        held = state.waiting if state.taken is None else (state.taken,)
        return float(min(self.space.value(one.state, y) for one in held))

    def preferred(self, state: QueueState, y: Any) -> int:
        """The place of the partial output that can reach the least loss; of several the first."""
        values = [self.space.value(one.state, y) for one in state.waiting]
        return values.index(min(values))
