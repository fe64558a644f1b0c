"""Two online learners that Liu et al. (2018) compare FOFO with: STAMP and OMCSL, for F1.

Both learn classifiers of costs. F1 = 2 TP / (POS + TP + FP) reaches the value v where
(2 - v) TP - v FP reaches v POS: to be at least v is a matter of a linear function of counts, in
which a positive example weighs 2 - v and a negative one v. Steps have the lengths c / sqrt(t).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_random_state

from fsmeu.jit import jit_entry, jit_helper
from fsmeu.learning.online import _flat
from fsmeu.learning.online.kernels import dot, logistic, move

Bits = NDArray[np.int64]


@jit_helper
def _learn_stamp(state, chance, y):
    """The cost at the present level, or 0 where the level of the next epoch is estimated."""
    level, estimates, steps, epoch, growth, positive, total = state[:7]
    cost = 0.0
    if estimates == 0.0:
        cost = 2.0 - level if y > 0.5 else level
    elif y > 0.5:
        state[7] += 1.0 + math.log2(max(chance, 1e-300))
        state[8] += 1.0
    else:
        state[9] += 1.0 + math.log2(max(1.0 - chance, 1e-300))
        state[10] += 1.0
    state[2] = steps + 1.0
    if state[2] < epoch:
        return cost
    state[2], state[1] = 0.0, 1.0 - estimates
    if estimates == 0.0:
        return cost
    state[3] = math.floor(epoch * growth)
    if state[8] > 0.0 and state[10] > 0.0:
        hit, spared = max(state[7] / state[8], 0.0), state[9] / state[10]
        odds = (total - positive) / positive
        state[0] = min(2.0 * hit / (1.0 + hit + odds * (1.0 - spared)), 1.0)
        state[7:11] = 0.0
    return cost


@jit_entry
def _run_stamp(state, weights, step, seen, held, labels):
    """What was predicted before labels were used, (n,)."""
    values, columns, begins = held
    predicted = np.zeros(len(labels), np.int64)
    for i in range(len(labels)):
        begin, end, y = begins[i], begins[i + 1], labels[i]
        chance = logistic(dot(weights[0], values, columns, begin, end, 1.0))
        predicted[i] = 1 if chance >= 0.5 else 0
        state[5] += y
        state[6] += 1.0
        by = step / math.sqrt(seen + i + 1.0) * _learn_stamp(state, chance, y) * (chance - y)
        move(weights[0], values, columns, begin, end, 1.0, -by)
    return predicted


@jit_helper
def _drawn(counts, positive, gamma, draw):
    """A classifier drawn with probability proportional to exp(gamma F)."""
    best, total = 0.0, 0.0
    for again in range(3):  # the greatest measure, the sum of weights, the one that is drawn
        passed = 0.0
        for j in range(len(counts)):
            below = positive + counts[j, 1]
            value = 2.0 * counts[j, 0] / below if below > 0.0 else 0.0
            if again == 0:
                best = max(best, value)
                continue
            passed += math.exp(gamma * (value - best))
            if again == 2 and passed > draw * total:
                return j
        total = passed
    return len(counts) - 1


@jit_entry
def _run_omcsl(state, weights, step, seen, held, labels, counts, draws):
    """What was predicted before labels were used, (n,); state: the sharpness, the positives."""
    values, columns, begins = held
    predicted, count = np.zeros(len(labels), np.int64), len(weights)
    chances = np.empty(count)
    for i in range(len(labels)):
        begin, end, y = begins[i], begins[i + 1], labels[i]
        for j in range(count):
            chances[j] = logistic(dot(weights[j], values, columns, begin, end, 1.0))
        chosen = _drawn(counts, state[1], state[0], draws[i])
        predicted[i] = 1 if chances[chosen] >= 0.5 else 0
        state[1] += y
        for j in range(count):
            if chances[j] >= 0.5:
                counts[j, 0] += y
                counts[j, 1] += 1.0
            level = (j + 1.0) / (count + 1.0)  # costs of both kinds of errors have the sum 1
            cost = (2.0 - level if y > 0.5 else level) / 2.0
            by = step / math.sqrt(seen + i + 1.0) * cost * (chances[j] - y)
            move(weights[j], values, columns, begin, end, 1.0, -by)
    return predicted


class Baseline:
    """Linear classifiers with costs, (classifiers, features + 1), and the number of examples."""

    classifiers = 1

    def __init__(self, step: float = 1.0) -> None:
        self.step, self.seen = step, 0
        self.weights = np.zeros((0, 0))

    def predict_then_fit(self, rows: Any, labels: Any, classes: Any = (0, 1)) -> Bits:
        """What is predicted for each example before its label is learned from, (examples,)."""
        if not self.seen:
            self.weights = np.zeros((self.classifiers, rows.shape[1] + 1))
        predicted = self._run(_flat(rows), np.asarray(labels, np.float64))
        self.seen += rows.shape[0]
        return predicted

    def predict(self, rows: Any) -> Bits:
        """1 where the margin by the classifier that is used is not negative, (examples,)."""
        weights = self.weights[self._used()]
        return np.asarray(rows @ weights[:-1] + weights[-1] >= 0.0, np.int64)

    def _run(self, held: Any, labels: NDArray[np.float64]) -> Bits:
        raise NotImplementedError

    def _used(self) -> int:
        return 0


class STAMP(Baseline):
    """Stochastic alternate maximisation of F1 as a quotient of rates of rewards.

    Narasimhan, Kar, Jain (ICML 2015), the procedure STAMP for pseudo-linear measures. TP and FP are
    replaced by rewards: an example with the margin m on its own side gives 1 - log2(1 + exp(-m)), a
    concave lower bound of [m >= 0] (the logistic reward with which Liu et al., 2018, compare). Two
    stages alternate, of the same number of examples each: the weights climb the linear function of
    the present level v; then, with the weights held, v is estimated anew as F1 of the mean rewards.
    In this second stage nothing else is learned. Where the mean reward of positives is below 0, v
    is 0; the first level is 1, which has equal costs.

    Args:
        step: c.
        epoch: the number of examples of each of the first two stages.
        growth: what it is multiplied by after each pair of stages.
    """

    def __init__(self, step: float = 1.0, epoch: int = 100, growth: float = 1.0) -> None:
        super().__init__(step)
        self.state = np.array([1.0, 0.0, 0.0, epoch, growth, *[0.0] * 6])

    @property
    def level(self) -> float:
        """The present level v."""
        return float(self.state[0])

    def _run(self, held: Any, labels: NDArray[np.float64]) -> Bits:
        return np.asarray(
            _run_stamp(self.state, self.weights, self.step, self.seen, held, labels), np.int64
        )


class OMCSL(Baseline):
    """Online learning of several classifiers with different costs, one of which predicts.

    Yan, Yang, Yang, Chen (AAAI 2017). Classifier j of K has the costs of the level v = j / (K + 1):
    1 - v/2 for an error on a positive example, v/2 on a negative one. All are updated with every
    example. The one that predicts is drawn with a probability proportional to exp(gamma F_j), where
    F_j is F1 of its own predictions so far; ``predict`` uses the one with the greatest.

    Args:
        step: c.
        classifiers: K; Liu et al. (2018) compare with 10.
        gamma: how sharply better classifiers are preferred; the default is ours.
        random_state: where the draws begin.
    """

    def __init__(
        self, step: float = 1.0, classifiers: int = 10, gamma: float = 100.0, random_state: Any = 0
    ) -> None:
        super().__init__(step)
        self.classifiers = classifiers
        self.counts = np.zeros((classifiers, 2))  # true positives and predicted positives of each
        self.state = np.array([gamma, 0.0])
        self.seed = int(check_random_state(random_state).randint(2**31 - 1))

    @property
    def scores(self) -> NDArray[np.float64]:
        """F1 of each classifier's own predictions so far, (classifiers,)."""
        below = self.state[1] + self.counts[:, 1]
        return np.asarray(2 * self.counts[:, 0] / np.where(below > 0, below, 1.0))

    def _used(self) -> int:
        return int(np.argmax(self.scores))

    def _run(self, held: Any, labels: NDArray[np.float64]) -> Bits:
        draws = uniform(self.seed, self.seen, len(labels))
        given = (self.state, self.weights, self.step, self.seen, held, labels, self.counts, draws)
        return np.asarray(_run_omcsl(*given), np.int64)


def uniform(seed: int, seen: int, count: int) -> NDArray[np.float64]:
    """A number from [0, 1) for each example, (examples,), by the mixing function of SplitMix64.

    It depends on the seed and on how many examples came before: pieces get the same as the whole.
    """
    place = np.arange(1, count + 1).astype(np.uint64) + np.uint64(seen)
    word = (place + np.uint64(seed << 32)) * np.uint64(0x9E3779B97F4A7C15)
    word = (word ^ (word >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    word = (word ^ (word >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    word ^= word >> np.uint64(31)
    return np.asarray((word >> np.uint64(11)) * 2.0**-53)
