"""What tests of search-based prediction share: corpora, drawn models, a space, enumeration."""

from itertools import product

import numpy as np
from sklearn.base import BaseEstimator

from fsmeu.learning.tagger import feature_items
from fsmeu.searn import Searn


class Drawn:
    """A model of drawn weights."""

    def __init__(self, seed, actions, probabilistic=True):
        self.seed, self.actions, self.probabilistic = seed, actions, probabilistic

    def scores(self, rows):
        shape = (rows.shape[1], self.actions)
        return rows @ np.random.default_rng(self.seed).normal(size=shape)


def words(rng, lengths, kinds=4):
    """Sentences with one feature, a word, at each position."""
    return [[{"w": str(rng.integers(kinds))} for _ in range(n)] for n in lengths]


def running_sums(rng, count, longest=7):
    """Sentences whose label is the sum of all numbers so far, modulo 3."""
    X, y = [], []
    for n in rng.integers(1, longest + 1, count):
        numbers = rng.integers(3, size=n)
        X.append([{"number": str(k), "one": 1} for k in numbers])
        y.append(["abc"[k % 3] for k in np.cumsum(numbers)])
    return X, y


ROWS = [
    [("the", "DT"), ("man", "NN"), ("ate", "VBD")],
    [("a", "DT"), ("fish", "NN"), ("swam", "VBD"), ("home", "NN")],
] * 4
TAGS = [["B-NP", "I-NP", "B-VP"], ["B-NP", "I-NP", "B-VP", "B-NP"]] * 4


def few(space):
    """An estimator for chunks that is trained in no time."""
    return Searn("chunk_fscore", space=space, iterations=2, folds=2, random_state=0)


class PlainTagging(BaseEstimator):
    """Does what ``LeftToRight`` does for Hamming loss; a state is a sentence and labels so far."""

    def __init__(self, labels=(0, 1)):
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
        return sum(a != b for a, b in zip(state[1], y, strict=False)) / len(y)

    def preferred(self, state, y):
        return y[len(state[1])]


def listed(world, ys):
    """The value of every hypothesis, expected over {reference: probability}.

    ``world`` is a ``World`` of a loss file: a second reading, in fractions.
    """
    found = {}
    for z in product(world.labels, repeat=len(next(iter(ys)))):
        found[z] = 0
        for y, p in ys.items():
            state = world.start()
            for i, (a, b) in enumerate(zip(z, y, strict=True)):
                state = world.step(state, a, b, i + 1)
            found[z] += p * world.value(state)
    return found


def best_ahead(every, prefix, following, kind):
    """The best value after a prefix, and the cost of each label that may follow, by listing."""
    best = max if kind == "utility" else min
    heads = [(*prefix, label) for label in following]
    ahead = [best(v for z, v in every.items() if z[: len(head)] == head) for head in heads]
    return best(ahead), [abs(value - best(ahead)) for value in ahead]


def well_formed(rng, types, n):
    """A random sequence in which I follows B or I of its type only."""
    tags = []
    for _ in range(n):
        last = tags[-1][2:] if tags and tags[-1] != "O" else None
        choices = ["O", f"B-{rng.choice(types)}"] + ([f"I-{last}"] * 2 if last else [])
        tags.append(rng.choice(choices))
    return tags
