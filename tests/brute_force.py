"""What the losses mean and what an expectation is, by definition and by listing every sequence.

Slow and obvious; nothing here is shared with the package.
"""

import math
from itertools import product

# -- losses and utilities on two lists of labels -----------------------------------------------


def fscore(z, y, beta=1, empty=1):
    tp = sum(1 for a, b in zip(z, y, strict=True) if a == 1 and b == 1)
    hyp, ref = sum(1 for a in z if a == 1), sum(1 for b in y if b == 1)
    below = hyp + beta**2 * ref
    return (1 + beta**2) * tp / below if below else empty


def precision(z, y, empty=1):
    chosen = [b for a, b in zip(z, y, strict=True) if a == 1]
    return sum(1 for b in chosen if b == 1) / len(chosen) if chosen else empty


def recall(z, y, empty=1):
    return precision(y, z, empty)


def jaccard(z, y, empty=1):
    ours = {i for i, a in enumerate(z) if a == 1}
    theirs = {i for i, b in enumerate(y) if b == 1}
    return len(ours & theirs) / len(ours | theirs) if ours | theirs else empty


def hamming(z, y):
    return sum(1 for a, b in zip(z, y, strict=True) if a != b) / len(z) if len(z) else 0.0


def accuracy(z, y):
    return sum(1 for a, b in zip(z, y, strict=True) if a == b) / len(z) if len(z) else 1.0


def zero_one(z, y):
    return 0.0 if list(z) == list(y) else 1.0


def pk(z, y, k):
    windows = range(len(z) - k + 1)
    if not len(windows):
        return 0.0
    differ = sum(1 for i in windows if (1 in z[i : i + k]) != (1 in y[i : i + k]))
    return differ / len(windows)


# -- distributions of y: dictionaries from tuples of labels to probabilities ---------------------


def sequences(labels, n):
    return list(product(labels, repeat=n))


def independent(rows, labels):
    """Each position has its own probabilities, one for each label."""
    listed = {}
    for at in product(range(len(labels)), repeat=len(rows)):
        p = math.prod(float(rows[i][k]) for i, k in enumerate(at))
        listed[tuple(labels[k] for k in at)] = p
    return listed


def markov(initial, transition, labels, n):
    """A chain whose order is the number of axes of ``initial``; one table, or one per position."""
    order, size = initial.ndim, len(labels)
    listed = {}
    for at in product(range(size), repeat=n):
        ahead = product(range(size), repeat=max(0, order - n))
        p = sum(float(initial[(*at[:order], *rest)]) for rest in ahead)
        for i in range(order, n):
            table = transition if transition.ndim == order + 1 else transition[i - order]
            p *= float(table[at[i - order : i + 1]])
        listed[tuple(labels[k] for k in at)] = p
    return listed


# -- expectations --------------------------------------------------------------------------------


def joint(values, of_y):
    """Pairs (value, probability) from a dictionary of values and a distribution, both of y."""
    return [(values[y], p) for y, p in of_y.items()]


def joint_of_both(values, of_z, of_y):
    """The same with z and y drawn independently; ``values`` is asked for each pair."""
    return [(values[z, y], p * q) for z, p in of_z.items() for y, q in of_y.items()]


def mean(pairs):
    return math.fsum(float(v) * p for v, p in pairs)


def variance(pairs):
    centre = mean(pairs)
    return math.fsum((float(v) - centre) ** 2 * p for v, p in pairs)


def levels(pairs, same=1e-11):
    """Distinct values of positive probability, ascending, each with its probability."""
    found = []
    for value, p in sorted((float(v), p) for v, p in pairs if p > 0):
        if found and value - found[-1][0] <= same * max(1.0, abs(value)):
            found[-1][1].append(p)
        else:
            found.append((value, [p]))
    return [(value, math.fsum(parts)) for value, parts in found]


def quantile(pairs, q):
    """The least value v with P(value <= v) >= q; q must not be one of the sums themselves."""
    below = 0.0
    for value, p in levels(pairs):
        below += p
        if below >= q:
            return value
    raise AssertionError(q)
