"""Costs under any policy, by drawing completions (Daume et al. 2009, section 3.2.2).

A policy may look at the whole prefix and at random numbers. With *tied* randomness (Ng and Jordan
2000) all labels of a state are followed by roll-outs that see the same random numbers, so that
costs differ by what the label does and not by luck; one sample may then do.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fsmeu.errors import InputError, sentence, truth, whole
from fsmeu.fst.alphabet import Label
from fsmeu.losses.protocol import Loss
from fsmeu.searn.oracle.checks import bound_to
from fsmeu.searn.oracle.ties import costs_of

__all__ = ["SampledCosts"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

Policy = Callable[[Sequence[Label], np.random.Generator], Label]


class SampledCosts:
    """Estimates of the expected value after each next label, the policy choosing all that follow.

    Args:
        loss: a loss or utility.
        y: the reference.
        policy: a function of the labels so far (a tuple) and a numpy ``Generator`` that returns the
            next label. It must draw from this generator alone.
        samples: how many completions are drawn for each label.
        tied: whether the completions of all labels see the same random numbers at each position.
        seed: of the random numbers; they are the same whenever the same prefix is asked for.
        labels: the labels, in the order of costs; the loss's own unless they are given.

    Raises:
        InputError: an argument is not what it must be.
    """

    def __init__(
        self,
        loss: Loss,
        y: Any,
        policy: Policy,
        *,
        samples: int = 1,
        tied: bool = True,
        seed: int = 0,
        labels: Any = None,
    ) -> None:
        where = "sampled costs"
        self.loss = bound_to(loss, labels, where)
        self.labels = self.loss.alphabet.labels
        self._y = self.loss.alphabet.encode(y, "reference y")
        if not callable(policy):
            must = "the policy must be a function of a prefix and a random generator"
            raise InputError(sentence(where, must, policy))
        self._policy = policy
        self.samples = whole(where, "samples", samples)
        self.tied = truth(where, "tied", tied)
        self.seed = whole(where, "seed", seed, least=0)
        self._sign = 1.0 if self.loss.kind == "utility" else -1.0

    def draws(self, prefix: Any) -> Floats:
        """The values of the completions that are drawn, (samples, labels).

        Raises:
            InputError: the policy returns what is no label.
        """
        indices = self.loss.alphabet.encode(prefix, "prefix").tolist()
        n, size = len(self._y), len(self.labels)
        if len(indices) >= n:
            must = f"a prefix must have fewer than {n} labels"
            raise InputError(sentence("sampled costs", must, f"{len(indices)}"))
        rows = np.empty((self.samples, size, n), np.int64)
        for sample in range(self.samples):
            for label in range(size):
                own = 0 if self.tied else 1 + label
                rows[sample, label] = self._completed([*indices, label], (sample, own))
        z = rows.reshape(self.samples * size, n)
        values = self.loss.pair_values(z, np.broadcast_to(self._y, z.shape))
        return values.reshape(self.samples, size)

    def _completed(self, indices: list[int], stream: tuple[int, int]) -> list[int]:
        """The prefix and what the policy appends to it, with its own numbers at each position."""
        labels, index = self.labels, self.loss.alphabet.index
        for t in range(len(indices), len(self._y)):
            random = np.random.default_rng([self.seed, *stream, t])
            chosen = self._policy(tuple(labels[k] for k in indices), random)
            try:
                indices.append(index[chosen])
            except Exception:  # not there, or whatever a strange label raises
                must = f"the policy must return a label, one of {', '.join(map(str, labels))}"
                raise InputError(sentence("sampled costs", must, chosen)) from None
        return indices

    def values(self, prefix: Any) -> Floats:
        """The mean value of the completions of each label, (labels,): an unbiased estimate."""
        found: Floats = self.draws(prefix).mean(axis=0)
        return found

    def costs(self, prefix: Any) -> Floats:
        """The cost of each label, (labels,): its mean loss minus that of the best label.

        Means are unbiased, their least is not: costs are too great by what the best of several
        noisy means is too good. With tied randomness that noise is mostly common to all labels.
        """
        return costs_of(self._sign * self.values(prefix))
