"""Theorem 3 of Daumé et al. (2009): the chain on which training with true previous labels fails.

A label is the one before it, turned around at a turn; the first one follows a 0. A look at the turn
is wrong with probability epsilon, a look at the label itself (the hint) with probability delta,
which is greater. With the true previous label, following the turns errs with probability epsilon at
each position, so that this is what a maximum entropy Markov model learns. With its own previous
label each wrong look spoils all that follows, and the expected Hamming loss is that of equation 14,
which nears T / 2. SEARN sees its own labels in training: where these are worse than the hint it
learns to follow the hint, so that its loss is at most delta T in the limit of many examples.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fsmeu.searn.searn import Searn

__all__ = ["chain_examples", "chain_losses", "markov_loss"]

EPSILON, DELTA = 0.05, 0.15


def markov_loss(length: int, epsilon: float) -> float:
    """The expected number of wrong labels of equation 14, T/2 - (1 - (1 - 2e)^(T+1)) / 4e + 1/2.

    Position t is wrong where an odd number of the first t looks is: (1 - (1 - 2e)^t) / 2.
    """
    return length / 2 - (1 - (1 - 2 * epsilon) ** (length + 1)) / (4 * epsilon) + 0.5


def chain_examples(count: int, length: int, seed: int) -> tuple[list[Any], list[Any]]:
    """Sentences of looks at turns and labels, and their labels, drawn."""
    random = np.random.default_rng(seed)
    turns = random.integers(2, size=(count, length))
    labels = np.cumsum(turns, axis=1) % 2
    seen = turns ^ (random.random(turns.shape) < EPSILON)
    hints = labels ^ (random.random(turns.shape) < DELTA)
    both = zip(seen.tolist(), hints.tolist(), strict=True)
    looks = [[{"turn": str(s), "hint": str(h)} for s, h in zip(*one, strict=True)] for one in both]
    return looks, labels.tolist()


def chain_losses(length: int, positions: int = 20_000, seed: int = 0) -> dict[str, float]:
    """Wrong labels in a sentence of so many positions, by method: equation 14, and as measured.

    Args:
        length: T.
        positions: how many positions there are to train on, and as many to predict.
        seed: of the examples and of the training.
    """
    count = max(20, positions // length)
    train = chain_examples(count, length, seed)
    test = chain_examples(count, length, seed + 10_000)
    found = {"equation 14": markov_loss(length, EPSILON)}

    def look(iteration: int, learned: Searn) -> None:
        wrong = np.array(learned.predict(test[0])) != np.array(test[1])
        name = "MEMM" if iteration == 1 else f"SEARN, iteration {iteration - 1}"
        found[name] = float(wrong.sum(axis=1).mean())

    settings = {"crossed": ["turn"], "bits": 10, "folds": 2, "beam": 1, "random_state": seed}
    Searn("hamming", beta=1.0, iterations=3, **settings).fit(*train, on_iteration=look)
    return {**found, "hint alone": DELTA * length}
