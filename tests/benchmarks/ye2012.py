"""The best F1 of independent labels in n² steps: Ye, Chai, Lee and Chieu 2012, Algorithm 1.

It shares nothing with fsmeu but numba. With labels in the order of falling probabilities, the
candidate with k ones has the expectation

    sum over a of  2 a P(a of the first k are ones) E[1 / (k + a + ones among the others)].
"""

import numpy as np
from numba import njit


@njit(error_model="numpy", nogil=True)
def _best_of_row(p, order, hits, inverse, labels):
    """The value of the best labels of a row; F1 of nothing against nothing is 1.

    Args:
        p: P(1), (n,).
        order: its indices, by falling probability, (n,).
        hits: room for P(a of the first k are ones), (n + 1, n + 1).
        inverse: room for E[1 / (i + ones among those behind the first k)], (2 n + 2,).
        labels: the best labels, 0 before the call, (n,).
    """
    n = len(p)
    hits[0, 0] = 1.0
    for k in range(n):
        q = p[order[k]]
        hits[k + 1, 0] = (1.0 - q) * hits[k, 0]
        for a in range(1, k + 1):
            hits[k + 1, a] = (1.0 - q) * hits[k, a] + q * hits[k, a - 1]
        hits[k + 1, k + 1] = q * hits[k, k]
    best = hits[n, 0]  # no ones
    size = 0
    for i in range(1, 2 * n + 1):
        inverse[i] = 1.0 / i
    for k in range(n, 0, -1):
        value = 0.0
        for a in range(1, k + 1):
            value += a * hits[k, a] * inverse[k + a]
        if 2.0 * value > best:
            best = 2.0 * value
            size = k
        q = p[order[k - 1]]
        for i in range(1, 2 * k - 1):
            inverse[i] = (1.0 - q) * inverse[i] + q * inverse[i + 1]
    for k in range(size):
        labels[order[k]] = 1
    return best


@njit(error_model="numpy", nogil=True)
def best_fscore(rows):
    """The best labels of each row, (rows, n), and their expected F1, (rows,)."""
    count, n = rows.shape
    hits = np.zeros((n + 1, n + 1))
    inverse = np.zeros(2 * n + 2)
    labels = np.zeros((count, n), np.int64)
    values = np.empty(count)
    for row in range(count):
        p = rows[row]
        values[row] = _best_of_row(p, np.argsort(-p), hits, inverse, labels[row])
    return labels, values


@njit(error_model="numpy", nogil=True)
def joint_table(p):
    """P(y_i = 1, s ones in all), s = 1 ... n, (n, n), and P(no ones), for P(1) of each label, (n,).

    What GFM (Dembczyński et al. 2011) reads of a model. The number of the other ones has the
    distribution of all ones divided by label i's, from that side on which no digits are lost.
    """
    n = len(p)
    ones = np.zeros(n + 1)
    ones[0] = 1.0
    for i in range(n):
        for s in range(i + 1, 0, -1):
            ones[s] = (1.0 - p[i]) * ones[s] + p[i] * ones[s - 1]
        ones[0] *= 1.0 - p[i]
    table = np.empty((n, n))
    for i in range(n):
        q = p[i]
        others = table[i]
        if q < 0.5:
            others[0] = ones[0] / (1.0 - q)
            for s in range(1, n):
                others[s] = (ones[s] - q * others[s - 1]) / (1.0 - q)
        else:
            others[n - 1] = ones[n] / q
            for s in range(n - 2, -1, -1):
                others[s] = (ones[s + 1] - (1.0 - q) * others[s + 1]) / q
        others *= q
    return table, ones[0]
