"""Expected costs when a stochastic policy that looks back m labels completes the sequence: exact.

After a prefix the rest of the sequence is then a Markov chain. The expected value is that of the
loss with this chain on the hypothesis tape and the reference given: composed layer by layer, from
the last position to the first, so that all prefixes are answered by one sweep. Daume et al. (2009,
section 3.2.2) draw samples for it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fsmeu.errors import InputError, sentence
from fsmeu.losses.protocol import Loss
from fsmeu.models import Model
from fsmeu.searn.oracle.additive import NotAdditiveError, linear_scores
from fsmeu.searn.oracle.checks import bound_to, guard_bytes
from fsmeu.searn.oracle.core import Core
from fsmeu.searn.oracle.layers import Walked
from fsmeu.searn.oracle.listed import list_states
from fsmeu.searn.oracle.policy_tables import policy_tables
from fsmeu.searn.oracle.ties import costs_of
from fsmeu.searn.oracle.walks import walk_all

__all__ = ["ExpectedCosts"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_EPSILON = float(np.finfo(np.float64).eps)


class ExpectedCosts:
    """Expected values and costs of the next label, the policy choosing all that follow.

    Args:
        loss: a loss or utility.
        y: the reference.
        policy: an ``Independent`` or ``Markov`` model of the sequences that the policy makes, or
            the probabilities of labels position by position: for position t (from 0) an array with
            an axis for each of the last min(t, m) labels, the oldest first, and one for the next.
        labels: the labels, in the order of costs; unless they are given, those of a policy that is
            a model, else the loss's.

    Raises:
        InputError: the policy has other labels or another length, or is no policy.
        LossFileError: the loss is not defined for a completion.
        SizeLimitError: there are too many states.

    >>> from fsmeu.losses.library import load
    >>> coin = [[0.5, 0.5]] * 3
    >>> ExpectedCosts(load("hamming"), [0, 1, 0], coin).values([1]).round(4).tolist()
    [0.8333, 0.5]
    """

    def __init__(self, loss: Loss, y: Any, policy: Any, labels: Any = None) -> None:
        if labels is None and isinstance(policy, Model):
            labels = policy.labels
        self.loss = bound_to(loss, labels, "expected costs")
        self.labels = self.loss.alphabet.labels
        self._y = self.loss.alphabet.encode(y, "reference y")
        n, size = len(self._y), len(self.labels)
        self._tables, self._order = policy_tables(policy, n, self.labels)
        self._sign = 1.0 if self.loss.kind == "utility" else -1.0
        walks = next(walk_all(self.loss, [self._y]))
        self._steps = _steps(walks.layers.core, walks.machines[0], self._sign)
        sizes = [*map(len, self._steps.targets), len(self._steps.ends)]
        histories = [size ** min(t, self._order) for t in range(n + 1)]
        guard_bytes(8 * sum(a * b for a, b in zip(sizes, histories, strict=True)))
        last = self._steps.ends
        self._slack = 4 * _EPSILON * (n + 1) * self._steps.greatest
        self._scores = [np.repeat(last[:, None], histories[n], axis=1)]
        for t in range(n - 1, -1, -1):
            self._scores.insert(0, self._before(t, histories[t]))

    def _before(self, t: int, histories: int) -> Floats:
        """Expected scores (states, histories) still to come before position t."""
        targets, gains = self._steps.targets[t], self._steps.gains[t]
        table, ahead = self._tables[t].reshape(histories, -1), self._scores[0]
        found = np.zeros((len(targets), histories))
        for label in range(len(self.labels)):
            after = self._history(np.arange(histories), label, t)
            chance = table[:, label]
            with np.errstate(invalid="ignore"):
                part = chance * (ahead[targets[:, label]][:, after] + gains[:, label, None])
            found += np.where(chance == 0.0, 0.0, part)
        return found

    def _history(self, history: Any, label: Any, t: int) -> Any:
        """The number of the last labels after position t."""
        return (history * len(self.labels) + label) % len(self.labels) ** min(t + 1, self._order)

    def _reached(self, prefix: Any) -> tuple[int, int, int, float]:
        """Position, state, history and score so far after a prefix."""
        indices = self.loss.alphabet.encode(prefix, "prefix").tolist()
        if len(indices) > len(self._y):
            must = f"a prefix must have at most {len(self._y)} labels"
            raise InputError(sentence("expected costs", must, f"{len(indices)}"))
        state, history, score = self._steps.start, 0, 0.0
        for t, label in enumerate(indices):
            score += float(self._steps.gains[t][state, label])
            state = int(self._steps.targets[t][state, label])
            history = int(self._history(history, label, t))
        return len(indices), state, history, score

    def _after(self, prefix: Any) -> Floats:
        """Expected scores after each next label, (labels,)."""
        t, state, history, score = self._reached(prefix)
        if t == len(self._y):
            raise InputError(sentence("expected costs", "there must be a next position"))
        after = self._history(history, np.arange(len(self.labels)), t)
        ahead = self._scores[t + 1][self._steps.targets[t][state], after]
        return _defined(score + (self._steps.gains[t][state] + ahead))

    def values(self, prefix: Any) -> Floats:
        """The expected value after each next label, (labels,)."""
        return self._sign * self._after(prefix) + 0.0

    def costs(self, prefix: Any) -> Floats:
        """The cost of each next label, (labels,): the expected loss minus that of the best one.

        It is equation 2 of Daume et al. (2009); for a utility, losses are minus utilities.
        """
        return costs_of(self._after(prefix), self._slack)

    def value(self, prefix: Sequence[Any] = ()) -> float:
        """The expected value after a prefix, the policy choosing the next label as well."""
        t, state, history, score = self._reached(prefix)
        scores = _defined(score + self._scores[t][state, [history]])
        return float(self._sign * scores[0]) + 0.0


@dataclass(frozen=True, eq=False)
class _Steps:
    """A machine over z whose paths add up to the score.

    Attributes:
        start: the number of the first state.
        targets: for each position the state after each step, (states, labels).
        gains: what the step adds to the score, of the same shape.
        ends: what the states after the last position add to it, (states,).
    """

    start: int
    targets: list[Ints]
    gains: list[Floats]
    ends: Floats

    @property
    def greatest(self) -> float:
        """A bound on the absolute value of a score."""
        added = sum(float(np.abs(gain).max()) for gain in self.gains)
        return added + float(np.abs(self.ends).max())


def _steps(core: Core, machine: Walked, sign: float) -> _Steps:
    """The classes where the value is a sum over positions, else the states with their sums."""
    try:
        base, ratios, scale = linear_scores(core, machine, sign)
    except NotAdditiveError:
        states = list_states(core, machine, sign)
        bounds = list(pairwise(states.begins.tolist()))
        targets = [states.next[a:b].astype(np.int64) - b for a, b in bounds[:-1]]
        gains = [np.broadcast_to(0.0, one.shape) for one in targets]
        return _Steps(0, targets, gains, states.scores[states.begins[-2] :])
    gains = [scale * np.tensordot(ratios, layer.gains, axes=1) for layer in machine.layers]
    targets = [layer.next for layer in machine.layers]
    return _Steps(machine.start, targets, gains, np.full(len(machine.ends), base))


def _defined(scores: Floats) -> Floats:
    """The scores, if the policy is defined wherever it may get to."""
    if np.isnan(scores).any():
        must = "the policy must be defined after this prefix; its model gives it probability 0"
        remedy = "Give probabilities position by position"
        raise InputError(sentence("expected costs", must, None, remedy))
    return scores
