"""Spaces of one's own: plain tagging, and beam search as greedy search over a queue.

``PlainTagging`` does what ``LeftToRight`` does, one sentence at a time; a state is the sentence and
the labels so far. ``Queue`` is the abstract space over another of Daumé et al. (2009), 3.4.3: it
holds partial outputs in the order in which they were put in, those with more decisions first;
beyond ``size`` the last are dropped. A step that loses every optimal one costs what that loses.
"""

from typing import Any, NamedTuple

from sklearn.base import BaseEstimator

from fsmeu.learning.features import feature_items
from fsmeu.learning.given_loss import given_loss
from fsmeu.searn import CostOracle


class PlainTagging(BaseEstimator):
    def __init__(self, loss="hamming", labels=(0, 1)):
        self.loss = loss
        self.labels = labels

    def start(self, x):
        return x, ()

    def actions(self, state):
        return self.labels if len(state[1]) < len(state[0]) else ()

    def step(self, state, action):
        return state[0], (*state[1], action)

    def features(self, state, action):
        """What is seen, and the label before, each together with the label."""
        x, done = state
        before = {f"after {done[-1] if done else None}": 1.0}
        seen = {**dict(feature_items(x[len(done)])), **before}
        return {f"{name} -> {action}": value for name, value in seen.items()}

    def output(self, state):
        return list(state[1])

    def value(self, state, y):
        oracle = self._oracle(tuple(y))
        return float(oracle.value(state[1]) * (-1 if oracle.loss.kind == "utility" else 1))

    def _oracle(self, y):
        known = self.__dict__.setdefault("_oracles", {})
        if y not in known:
            loss = given_loss(self.loss, None, type(self).__name__, list(self.labels))
            known[y] = CostOracle(loss, y, labels=list(self.labels))
        return known[y]

    def preferred(self, state, y):
        return y[len(state[1])]


class Partial(NamedTuple):
    """A partial output: its state in the other space, its features added up, their number."""

    state: Any
    features: dict[str, float]
    decisions: int


class QueueState(NamedTuple):
    """A queue of partial outputs; ``taken`` is the one that ended the search."""

    waiting: tuple[Partial, ...]
    taken: Partial | None = None


class Queue(BaseEstimator):
    def __init__(self, space=None, size=10):
        self.space = space
        self.size = size

    def start(self, x):
        return QueueState((Partial(self.space.start(x), {}, 0),))

    def actions(self, state):
        return () if state.taken is not None else range(len(state.waiting))

    def step(self, state, action):
        """The queue after one of it is expanded, or taken where it is finished."""
        chosen = state.waiting[action]
        followers = [self._after(chosen, one) for one in self.space.actions(chosen.state)]
        if not followers:
            return QueueState((), chosen)
        rest = (*state.waiting[:action], *state.waiting[action + 1 :])
        queue = sorted((*followers, *rest), key=lambda one: -one.decisions)
        return QueueState(tuple(queue[: self.size]))

    def _after(self, chosen, action):
        features = dict(chosen.features)
        for name, value in feature_items(self.space.features(chosen.state, action)):
            features[name] = features.get(name, 0.0) + value
        return Partial(self.space.step(chosen.state, action), features, chosen.decisions + 1)

    def features(self, state, action):
        chosen = state.waiting[action]
        return {**chosen.features, "decisions": float(chosen.decisions)}

    def output(self, state):
        return self.space.output(state.taken.state)

    def value(self, state, y):
        held = state.waiting if state.taken is None else (state.taken,)
        return float(min(self.space.value(one.state, y) for one in held))

    def preferred(self, state, y):
        values = [self.space.value(one.state, y) for one in state.waiting]
        return values.index(min(values))
