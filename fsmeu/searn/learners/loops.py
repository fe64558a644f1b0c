"""One pass over examples of decisions: gradient steps of logistic regression, or perceptron steps.

``logistic_pass`` and ``perceptron_pass`` take numpy, or loops that numba has compiled (the extra
"fast") for many entries, because loading them takes a while. Both do the same in the same order;
only sums are rounded differently. Which features are left out by dropout is told by a hash of the
seed and the entry's number, not by a generator that both would have to share.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fsmeu.extras import is_installed
from fsmeu.limits import COMPILED_ENTRIES
from fsmeu.searn.features.draws import uniform

__all__ = ["Entries", "logistic_pass", "perceptron_pass"]

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Entries:
    """Examples as flat arrays.

    Attributes:
        ends: where the entries of each row begin, and the end of the last, (R + 1,).
        columns: the number of each entry's column, less than the rows of weights.
        values: the value of each entry, of the type of the weights.
        begins: the first row of each example and the end of the last, (N + 1,).
        costs: (R, A), +inf where an action is not allowed; of the type of the weights.
        targets: bool (R, A).
        importance: the weight of each example, (N,); of the type of the weights.
    """

    ends: Ints
    columns: NDArray[np.int32]
    values: NDArray[Any]
    begins: Ints
    costs: NDArray[Any]
    targets: NDArray[np.bool_]
    importance: NDArray[Any]

    @property
    def arrays(self) -> tuple[Any, ...]:
        """All of them, in this order."""
        return (
            self.ends, self.columns, self.values, self.begins,
            self.costs, self.targets, self.importance,
        )  # fmt: skip


def logistic_pass(
    given: Entries,
    order: Ints,
    weights: NDArray[Any],
    squares: NDArray[Any],
    *,
    rate: float,
    margin: float,
    dropout: float,
    seed: int,
    least: float = 0.0,
) -> float:
    """The mean of the examples' losses before their steps; weights and squares are changed.

    The loss of an example is -log of the probability that softmax gives to its targets, with
    ``margin`` times the cost added to each score (softmax-margin, Gimpel and Smith 2010). A step is
    that of AdaGrad (Duchi, Hazan and Singer 2011): ``rate`` times the slope over the root of the
    sum of squared slopes so far.

    Args:
        given: the examples.
        order: the examples in the order in which they are visited.
        weights: (U + 1, A); the last row stays 0.
        squares: sums of squared slopes, (U + 1, A); greater than 0.
        rate: the length of a step.
        margin: how much of an action's cost is added to its score.
        dropout: the share of entries that is left out, at random in each pass.
        seed: says which.
        least: a row whose slopes are all less than this makes no step.
    """
    settings = (rate, margin, dropout, least, np.uint64(seed))
    if _compiled(given, weights):
        from fsmeu.searn.learners import compiled_loops

        total = compiled_loops.logistic_pass(*given.arrays, order, weights, squares, *settings)
    else:
        total = _logistic_plain(given, order, weights, squares, *settings)
    return float(total) / max(1, len(order))


def perceptron_pass(
    given: Entries,
    order: Ints,
    weights: NDArray[Any],
    delays: NDArray[Any],
    *,
    seen: int,
    by_cost: bool,
) -> int:
    """How many examples were decided wrongly; weights and delays are changed.

    Where the best action is no target, a row is added to the weights of the best target and taken
    from those of the best action. The mean of the weights after t examples is
    ``weights - delays / t``.

    Args:
        given: the examples.
        order: the examples in the order in which they are visited.
        weights: (U + 1, A); the last row stays 0.
        delays: steps times the number of examples before them, (U + 1, A).
        seen: the number of examples before this pass.
        by_cost: whether a step is as long as the difference of both costs; else it is 1.
    """
    if _compiled(given, weights):
        from fsmeu.searn.learners import compiled_loops

        settings = (seen, by_cost)
        wrong = compiled_loops.perceptron_pass(*given.arrays, order, weights, delays, *settings)
    else:
        wrong = _perceptron_plain(given, order, weights, delays, seen, by_cost)
    return int(wrong)


def _compiled(given: Entries, weights: NDArray[Any]) -> bool:
    return len(given.columns) * weights.shape[1] >= COMPILED_ENTRIES and is_installed("numba")


def _logistic_plain(
    given: Entries,
    order: Ints,
    weights: NDArray[Any],
    squares: NDArray[Any],
    rate: float,
    margin: float,
    dropout: float,
    least: float,
    seed: np.uint64,
) -> float:
    last, total = len(weights) - 1, 0.0
    for i in order:
        first, end = given.begins[i], given.begins[i + 1]
        weight = given.importance[i]
        if weight == 0:
            continue
        parts = [_entries(given, row, last, dropout, seed) for row in range(first, end)]
        scores = np.array([values @ weights[columns] for columns, values in parts])
        slopes, loss = _logistic_slopes(
            scores, given.costs[first:end], given.targets[first:end], margin
        )
        total += weight * loss
        for (columns, values), line in zip(parts, weight * slopes, strict=True):
            if np.abs(line).max() < least:
                continue
            for some in _without_doubles(columns):
                at, moves = columns[some], values[some, None] * line
                squares[at] += moves * moves
                weights[at] -= rate * moves / np.sqrt(squares[at])
    return total


def _without_doubles(columns: NDArray[np.int32]) -> list[slice]:
    """The entries of a row in pieces that have no column twice."""
    if len(np.unique(columns)) == len(columns):
        return [slice(0, len(columns))]
    return [slice(k, k + 1) for k in range(len(columns))]


def _entries(
    given: Entries, row: int, last: int, dropout: float, seed: np.uint64
) -> tuple[NDArray[np.int32], NDArray[Any]]:
    """The columns and values of a row, without those that have no weights or are left out."""
    begin, end = given.ends[row], given.ends[row + 1]
    columns, values = given.columns[begin:end], given.values[begin:end]
    kept = columns < last
    if dropout > 0:
        kept &= uniform(int(seed), np.arange(begin, end)) >= dropout
        values = values / values.dtype.type(1 - dropout)
    return columns[kept], values[kept]


def _logistic_slopes(
    scores: NDArray[Any], costs: NDArray[Any], targets: NDArray[np.bool_], margin: float
) -> tuple[NDArray[Any], float]:
    """The slopes of the loss for the scores of an example, (rows, A), and the loss."""
    allowed = np.isfinite(costs)
    if margin:
        scores = scores + margin * np.where(allowed, costs, 0)
    scores = np.where(allowed, scores, -np.inf)
    top, best = scores.max(), scores[targets].max()
    chances = np.exp(scores - top)
    aimed = np.where(targets, np.exp(scores - best), 0)
    whole, part = chances.sum(), aimed.sum()
    loss = (top + np.log(whole)) - (best + np.log(part))
    return chances / whole - aimed / part, float(loss)


def _perceptron_plain(
    given: Entries,
    order: Ints,
    weights: NDArray[Any],
    delays: NDArray[Any],
    seen: int,
    by_cost: bool,
) -> int:
    last, wrong = len(weights) - 1, 0
    for before, i in enumerate(order, seen):
        first, end = given.begins[i], given.begins[i + 1]
        parts = [_entries(given, row, last, 0.0, np.uint64(0)) for row in range(first, end)]
        scores = np.array([values @ weights[columns] for columns, values in parts])
        costs, targets = given.costs[first:end], given.targets[first:end]
        scores[~np.isfinite(costs)] = -np.inf
        chosen = np.unravel_index(scores.argmax(), scores.shape)
        if targets[chosen]:
            continue
        wrong += 1
        aim = np.unravel_index(np.where(targets, scores, -np.inf).argmax(), scores.shape)
        step = given.importance[i] * (costs[chosen] - costs[aim] if by_cost else 1)
        for (row, action), sign in ((aim, 1), (chosen, -1)):
            columns, values = parts[row]
            np.add.at(weights, (columns, action), sign * step * values)
            np.add.at(delays, (columns, action), sign * step * before * values)
    return wrong
