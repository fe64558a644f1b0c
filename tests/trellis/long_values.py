"""Expected values of two labels by dynamic programs over counts, apart from the package.

A chain has P(first m labels), an array (2,) * m, and P(next | last m), (n - m,) + (2,) * m + (2,).
Independent labels are one of order 1.
"""

import numpy as np

import fsmeu
from tests.support.ratios import LOSSES, TEXTS

RATIOS = [*LOSSES, *((name, {}) for name in TEXTS if (name, {}) not in LOSSES)]
RATIOS += [("mcc", {"empty": 1}), ("g_mean", {}), ("weighted_cost", {})]


def two(up, stay, n, first=None):
    """Tables of a chain of order 1, the same at all positions."""
    first = up if first is None else first
    step = [[1 - up, up], [1 - stay, stay]]
    return np.array([1 - first, first]), np.array([step] * (n - 1))


def drawn(random, n, order):
    """Steps that are 64ths, drawn at each position, one of eight 0 or 1."""
    high = random.integers(1, 64, (n - order, *(2,) * order))
    high[random.random(high.shape) < 0.125] = random.choice([0, 64])
    first = random.multinomial(64, np.full(2**order, 0.5**order)).reshape((2,) * order) / 64
    return first, np.stack([64 - high, high], axis=-1) / 64


def apart(p):
    """Tables of independent labels."""
    rows = np.stack([1 - p, p], axis=1)
    return rows[0], np.stack([rows[1:]] * 2, axis=1)


CHAINS = {
    "mixing": lambda random, n: two(0.25, 0.75, n),
    "slow": lambda random, n: two(2.0**-10, 1 - 2.0**-10, n, 0.5),
    "rare": lambda random, n: two(2.0 ** -np.ceil(np.log2(4 * n)), 0.25, n),
    "zeros": lambda random, n: two(0.375, 0.0, n, 0.5),
    "periodic": lambda random, n: two(1.0, 0.0, n, 0.5),
    "absorbing": lambda random, n: two(2.0 ** -np.ceil(np.log2(n)), 1.0, n, 0.125),
    "order 2": lambda random, n: drawn(random, n, 2),
    "order 3": lambda random, n: drawn(random, n, 3),
}
CHANCES = {
    "uniform": lambda random, n: random.random(n),
    "all .3": lambda random, n: np.full(n, 0.3),
    "two values": lambda random, n: np.where(random.random(n) < 0.5, 0.1, 0.9),
    "rare ones": lambda random, n: random.beta(0.05, 5, n),
    "few": lambda random, n: random.random(n) * 3 / n,
    "sure ones": lambda random, n: np.where(random.random(n) < 0.3, 1.0, random.random(n) / 100),
    "0 or 1": lambda random, n: (random.random(n) < 0.5).astype(float),
}


def tables(kind, random, n):
    """(Tables, model) of a kind."""
    if kind in CHAINS:
        both = CHAINS[kind](random, n)
        return both, fsmeu.models.Markov(*both)
    p = CHANCES[kind](random, n)
    return apart(p), fsmeu.models.Bernoulli(p)


def counted(z, first, steps):
    """P(tp, fn) where y hits so many ones of z, and so many zeros, (ones + 1, zeros + 1)."""
    order, ones = first.ndim, sum(z)
    mass = np.zeros((2,) * order + (ones + 1, len(z) - ones + 1))
    for y in np.ndindex(first.shape):
        tp = sum(a * b for a, b in zip(z, y, strict=False))
        mass[(*y, tp, sum(y) - tp)] = first[y]
    for one, step in zip(z[order:], steps, strict=True):
        moved = np.zeros_like(mass)
        for *before, label in np.ndindex(step.shape):
            part = step[(*before, label)] * mass[tuple(before)]
            if label:
                part = np.roll(part, 1, axis=0 if one else 1)  # what is last there is 0
            moved[(*before[1:], label)] += part
        mass = moved
    return mass.sum(axis=tuple(range(order)))


def table_values(loss, z):
    """The value for each table of counts, (ones + 1, zeros + 1)."""
    where = np.flatnonzero(z), np.flatnonzero(np.equal(z, 0))
    sizes = [len(some) + 1 for some in where]
    ys = np.zeros((*sizes, len(z)), int)
    for tp, fn in np.ndindex(*sizes):
        ys[tp, fn, where[0][:tp]] = ys[tp, fn, where[1][:fn]] = 1
    rows = ys.reshape(-1, len(z))
    return fsmeu.evaluate_many(loss, [list(z)] * len(rows), rows).reshape(sizes)


def expected(loss, z, first, steps):
    """The expected value."""
    return float((counted(z, first, steps) * table_values(loss, z)).sum())
