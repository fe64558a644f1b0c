"""The best expected chunk F1 under a linear chain, without fsmeu.

The decision of ``grammars/chunk_fscore.loss`` (beta = 1, empty = 1) for BIO tags. A hypothesis
with k chunks is worth the sum over its chunks of

    score[k, chunk] = sum over s of P(y has this chunk, y has s chunks) * 2 / (k + s),

so that the best one is, for each k, a best path over positions with exactly k chunks. The
distributions of s are kept as generating functions, that is as their values at some points, where
adding up two independent counts is one multiplication.
"""

from functools import lru_cache

import numpy as np
from seqeval.metrics.sequence_labeling import get_entities


def conditionals(model):
    """P(y_1), shape (L,), and P(y_{i+1} | y_i), shape (n - 1, L, L), of a chain of order 1."""
    first, *others = (layer.weight for layer in model.layered().layers)
    size = len(first)
    return first, np.array(others).reshape(-1, size, size)


def canonical(first, steps, tags):
    """The same with the tags in the order O, B-t for every type t, I-t for every t; the types."""
    types = list(dict.fromkeys(tag[2:] for tag in tags if tag != "O"))
    order = ["O", *(f"B-{t}" for t in types), *(f"I-{t}" for t in types)]
    index = [list(tags).index(tag) for tag in order]
    return first[index], steps[:, np.array(index)[:, None], index], types


# -- where generating functions are evaluated -----------------------------------------------------


@lru_cache(maxsize=128)
def roots_of_unity(n):
    """Points x, and the table that turns values of sum_s p_s x^s into sum_s p_s * 2 / (k + s).

    The counts s are 1, ..., n, the columns of the table are k = 1, ..., n. The coefficients are
    real, so half of the n roots suffice; the rows are for the real and imaginary parts in turn.
    """
    counts = np.arange(1, n + 1)
    points = np.exp(2j * np.pi * np.arange(n // 2 + 1) / n)
    twice = np.full(len(points), 2.0)
    twice[0] = 1.0
    if n % 2 == 0:
        twice[-1] = 1.0
    values = points[:, None] ** -counts @ (2.0 / (counts[:, None] + counts))
    values = values * (twice / n)[:, None]
    return points, np.stack((values.real, -values.imag), axis=1).reshape(-1, n)


# -- the distribution of chunks -------------------------------------------------------------------


def sweeps(first, steps, points):
    """Sums over all paths to a tag (index 0) and from a tag (index 1), arrays (n, 2, L, points).

    Returns:
        The sums, and the part of them whose last step (to the tag) or first step (from the tag)
        opens a chunk.
    """
    n, size = len(steps) + 1, len(first)
    types = size // 2
    stays = np.zeros((size, size))
    stays[:, 0] = 1.0
    inside = np.arange(types + 1, size)
    stays[inside, inside] = stays[inside - types, inside] = 1.0
    both = np.empty((n - 1, 2, 2 * size, size))
    np.multiply(steps[::-1], stays, out=both[:, 1, :size])
    np.subtract(steps[::-1], both[:, 1, :size], out=both[:, 1, size:])
    both[:, 0, :size] = both[::-1, 1, :size].swapaxes(1, 2)
    both[:, 0, size:] = both[::-1, 1, size:].swapaxes(1, 2)
    sums = np.empty((n, 2, size, len(points)), points.dtype)
    opened = np.zeros_like(sums)
    sums[0, 0] = opened[0, 0] = first[:, None] * points
    sums[0, 0, 0], opened[0, 0, 0] = first[0], 0.0
    sums[0, 1] = 1.0
    moved = np.empty((2, 2 * size, len(points)), points.dtype)
    reals, state = moved.view(np.float64), sums.view(np.float64)
    for i in range(n - 1):
        np.matmul(both[i], state[i], out=reals)
        np.multiply(moved[:, size:], points, out=opened[i + 1])
        np.add(moved[:, :size], opened[i + 1], out=sums[i + 1])
    return sums, opened


@lru_cache(maxsize=16)
def spans(n):
    """First and last positions of all spans, ordered by the last; the spans of one position."""
    last, first = np.tril_indices(n)
    return first, last, np.flatnonzero(first == last)


class Distribution:
    """P(a chunk is in y, y has s chunks) as a generating function, for all spans and types.

    For a span of two or more positions it is a function of its first position times one of its
    last times a number: the probability of the steps from I to I in between.
    """

    def __init__(self, first, steps, points):
        n, types = len(steps) + 1, len(first) // 2
        sums, opened = sweeps(first, steps, points)
        b, i = slice(1, types + 1), slice(types + 1, 2 * types + 1)
        opens, closes = opened[:, 0], opened[::-1, 1]
        closes[n - 1] = 1.0
        closes[:-1] += steps[:, :, :1] * sums[::-1, 1][1:, :1]
        into, again = (np.diagonal(steps[:, rows, i], axis1=1, axis2=2) for rows in (b, i))
        self.single = (opens[:, b] * closes[:, b] + opens[:, i] * closes[:, i]).swapaxes(0, 1)
        self.goes = np.zeros((types, n, len(points)), points.dtype)
        goes = opens[:-1, b] * into[:, :, None] + opens[:-1, i] * again[:, :, None]
        self.goes[:, :-1] = goes.swapaxes(0, 1)
        self.ends = np.ascontiguousarray(closes[:, i].swapaxes(0, 1))
        factors = np.ones((types, n, n))
        factors[:, :, 2:] = again[1:].T[:, None, :]
        later = np.arange(n) > np.arange(n)[:, None] + 1
        self.between = np.where(later, factors, 1.0).cumprod(axis=2)

    def values(self, types, first, last, short):
        """The values at the points for some types (a slice) and spans, as real numbers.

        Spans are given by first and last positions, and the indices of those of one position.
        """
        values = self.goes[types].take(first, axis=1)
        values *= self.ends[types].take(last, axis=1)
        values *= self.between[types, first, last][:, :, None]
        values[:, short] = self.single[types, first[short]]
        return values.view(np.float64)


BLOCK = 65_536
"""How many values are computed at once, so that they stay in the processor's cache."""


def chunk_scores(chunks, n, table):
    """score[span, k] of the best type, shape (spans, n), for k = 1, ..., n."""
    which, types = spans(n), len(chunks.goes)
    size = max(1, BLOCK // (len(which[0]) * len(table)))
    best = None
    for begin in range(0, types, size):
        values = chunks.values(slice(begin, begin + size), *which)
        scores = values.reshape(-1, len(table)) @ table
        scores = scores.reshape(len(values), -1, n).max(axis=0) if len(values) > 1 else scores
        best = scores if best is None else np.maximum(best, scores, out=best)
    return best


# -- the best hypothesis --------------------------------------------------------------------------


def best_paths(scores, n):
    """worth[i, c, d]: the best c chunks within the first i positions, where d are still to come.

    Position j sees c up to j + 1 chunks and d up to n - 1 - j more; their scores are those of
    k = c + d, a view of the scores in which equal sums c + d share an entry.
    """
    worth = np.full((n + 1, n + 1, n + 1), -np.inf)
    worth[:, 0, :] = 0.0
    for j in range(n):
        begin = j * (j + 1) // 2
        rows = scores[begin : begin + j + 1]
        row, item = rows.strides
        by_sum = np.lib.stride_tricks.as_strided(
            rows, (j + 1, j + 1, n - j), (row, item, item), writeable=False
        )
        grown = worth[: j + 1, : j + 1, 1 : n - j + 1] + by_sum
        target = worth[j + 1, 1 : j + 2, : n - j]
        np.maximum(worth[j, 1 : j + 2, : n - j], grown.max(axis=0), out=target)
    return worth


def traced(worth, scores, k):
    """The first and last positions of the chunks of a best path with k of them."""
    n = len(worth) - 1
    j, c, found = n, k, []
    while c:
        if worth[j, c, k - c] == worth[j - 1, c, k - c]:
            j -= 1
            continue
        begin = j * (j - 1) // 2
        worths = worth[:j, c - 1, k - c + 1] + scores[begin : begin + j, k - 1]
        i = int(worths.argmax())
        found.append((i, j - 1))
        j, c = i, c - 1
    return found


def decide(first, steps, tags):
    """A tag sequence with the highest expected chunk F1, and that.

    Args:
        first: P(y_1), shape (L,).
        steps: P(y_{i+1} | y_i), shape (n - 1, L, L).
        tags: the L labels, O and B-X and I-X for every type X, in any order.
    """
    first, steps, types = canonical(first, steps, tags)
    n = len(steps) + 1
    points, table = roots_of_unity(n)
    chunks = Distribution(first, steps, points)
    scores = chunk_scores(chunks, n, table)
    worth = best_paths(scores, n)
    by_count = worth[n, :, 0].copy()
    by_count[0] = first[0] * np.prod(steps[:, 0, 0])
    k = int(by_count.argmax())
    labels = ["O"] * n
    if k:
        begin, end = np.array(traced(worth, scores, k)).T
        values = chunks.values(slice(None), begin, end, np.flatnonzero(begin == end))
        for i, j, t in zip(begin, end, (values @ table[:, k - 1]).argmax(axis=0), strict=True):
            labels[i : j + 1] = [f"B-{types[t]}", *[f"I-{types[t]}"] * (j - i)]
    return labels, float(by_count[k])


# -- the value of a hypothesis --------------------------------------------------------------------


def expected(first, steps, tags, labels):
    """The expected chunk F1 of a tag sequence; arguments as for ``decide``."""
    first, steps, types = canonical(first, steps, tags)
    found = get_entities(list(labels))
    if not found:
        return float(first[0] * np.prod(steps[:, 0, 0]))
    begin, end = np.array([chunk[1:] for chunk in found]).T
    points, table = roots_of_unity(len(labels))
    chunks = Distribution(first, steps, points)
    values = chunks.values(slice(None), begin, end, np.flatnonzero(begin == end))
    kinds = [types.index(name) for name, _, _ in found]
    return float((values[kinds, np.arange(len(found))] @ table[:, len(found) - 1]).sum())
