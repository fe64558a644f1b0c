"""The F-measure of a logistic regression as a smooth function of its parameters (Jansche 2005)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array, issparse
from scipy.special import expit

from fsmeu.learning.base import Floats, Rows

__all__ = ["SmoothF"]

_BLOCK = 4096
"""Rows that are looked at together: what is kept for each of them does not grow with all rows."""


@dataclass(frozen=True)
class SmoothF:
    """A function of the parameters, (1 + features,): the approximate F-measure of equation 6.

    With p_i = g(gamma (theta_0 + x_i theta)), g the logistic function and w_i the weights, it is
    A / (alpha npos + (1 - alpha) m), where A is the sum of w_i p_i over positive examples, m that
    over all examples, and npos the weight of the positive ones. One call takes O(nk) time and,
    beside the data, O(k) memory, as Figure 1 does. (Line 10 of the figure has d for p, and lines
    10 and 15 leave out gamma; equations 5 and 6 and the derivatives below them are followed.)

    Attributes:
        rows: examples, (examples, features), an array or a ``csr_array``.
        positive: 1 for positive examples, 0 for others, (examples,).
        weights: weights of examples, (examples,), or None where all are 1.
        alpha: the weight of recall in the harmonic mean, from 0 (precision) to 1 (recall).
        gamma: the steepness of the approximation to a decision (below equation 4).
    """

    rows: Rows
    positive: Floats
    weights: Floats | None = None
    alpha: float = 0.5
    gamma: float = 1.0

    def __call__(self, theta: Floats) -> tuple[float, Floats]:
        """The value and the gradient, (1 + features,)."""
        hits = marked = relevant = 0.0
        slopes = np.zeros((2, len(theta)))  # of A and of m
        for block, y, w in self._blocks():
            p = expit(self.gamma * (block @ theta[1:] + theta[0]))
            change = self.gamma * w * p * (1 - p)
            p *= w
            hits, marked, relevant = hits + float(y @ p), marked + p.sum(), relevant + float(y @ w)
            both = np.stack([y * change, change], axis=1)
            slopes[:, 0] += both.sum(axis=0)
            slopes[:, 1:] += (block.T @ both).T
        below = self.alpha * relevant + (1 - self.alpha) * marked
        if below == 0:  # precision where no example has a probability that doubles tell from 0
            return 0.0, np.zeros(len(theta))
        value = hits / below
        return value, (slopes[0] - value * (1 - self.alpha) * slopes[1]) / below

    def root_mean_squares(self) -> Floats:
        """The root mean square of each feature, (1 + features,): 1 for the constant and for 0."""
        squares, total = np.zeros(self.rows.shape[1]), 0.0
        for block, _, w in self._blocks():
            squares += w @ (block.power(2) if issparse(block) else block**2)
            total += float(w.sum())
        squares = np.sqrt(squares / total)
        return np.append(1.0, np.where(squares > 0, squares, 1.0))

    def _blocks(self) -> Iterator[tuple[Rows, Floats, Floats]]:
        """Blocks of rows with their classes and weights; the rows are not copied."""
        count = self.rows.shape[0]
        for a in range(0, count, _BLOCK):
            b = min(a + _BLOCK, count)
            w = np.ones(b - a) if self.weights is None else self.weights[a:b]
            yield _between(self.rows, a, b), self.positive[a:b], w


def _between(rows: Rows, a: int, b: int) -> Rows:
    """Rows a, ..., b - 1, (b - a, features), on the memory of all rows."""
    if not issparse(rows):
        return rows[a:b]
    first, last = rows.indptr[a], rows.indptr[b]
    held = (rows.data[first:last], rows.indices[first:last], rows.indptr[a : b + 1] - first)
    return csr_array(held, shape=(b - a, rows.shape[1]), copy=False)
