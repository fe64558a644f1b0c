"""A chain of two labels of any order, in lanes: what its long sequences count, and share with z.

A state is the last m labels, label y leads from s to (2 s + y) mod 2^m, and labels before the first
are 0. An item that y's label counts is a factor exp(-x c) in lane x. With masses before and values
after each position,

    mass_(i+1)(s') = sum over s, y that lead to s' of  mass_i(s) P_i(y | s) exp(-x c(z_i, y)),
    back_i(s)      = sum over y of  P_i(y | s) exp(-x c(z_i, y)) back_(i+1)(s'),

the share of ones at a position is E[y_i exp(-x C)] / E[exp(-x C)], the part of mass times back in
states that end in a one. That is all that expectations and decisions ask for: with z given, C is
any sum of costs of pairs, N = sum of gains of pairs, and E[N exp(-x C)] is a sum of shares. A
general trellis has the same sums; it takes ten times as long to be made for 10^5 labels.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from fsmeu.arrays import Floats, Ints
from fsmeu.trellis.kernels import jit_entry, kernel
from fsmeu.trellis.lanes import NodeLogs, NodeMeans

_BLOCK = 64  # positions after which masses are divided by their sum
_TINY = 1e-300  # stands for the mass of states that are not reached
STEEPEST = 8.0  # the greatest |x c| at which masses of a block are doubles
_CELLS = 1 << 23  # masses that are kept at once: 64 MB


class Masses(NamedTuple):
    """Masses of states before each position, (n + 1, states, lanes), divided by their sums."""

    kept: Floats
    logs: Floats  # the logarithms of what they were divided by, (lanes,)


@jit_entry
def forward(steps: Floats, z: Ints, factors: Floats, masses: Masses) -> None:
    """Fills masses, of the last two layers where no more are kept.

    Args:
        steps: P(y | state), (n, states, 2).
        z: the labels of the hypothesis, (n,).
        factors: exp(-x c) by labels of z and y, (2, 2, lanes).
        masses: what is filled.
    """
    kept = masses.kept
    layers, states, lanes = kept.shape
    for s in range(states):
        for m in range(lanes):
            kept[0, s, m] = 1.0 if s == 0 else 0.0
    half = states >> 1
    for i in range(len(steps)):
        now = kept[i % layers]
        after = kept[(i + 1) % layers]
        for low in range(max(1, half)):
            high = low + half
            for y in range(2):
                target = (2 * low + y) % states
                p = steps[i, low, y]
                q = steps[i, high, y]
                for m in range(lanes):
                    moved = p * now[low, m] + q * now[high, m]
                    after[target, m] = factors[z[i], y, m] * moved
        if (i + 1) % _BLOCK == 0 or i + 1 == len(steps):
            for m in range(lanes):
                total = 0.0
                for s in range(states):
                    total += after[s, m]
                masses.logs[m] += np.log(total) if total > 0.0 else -np.inf
                if total > 0.0:
                    for s in range(states):
                        after[s, m] /= total


@jit_entry
def shares_of_ones(
    steps: Floats, z: Ints, factors: Floats, kept: Floats, back: Floats, shares: Floats
) -> None:
    """Fills E[y_i exp(-x C)] / E[exp(-x C)], (n, lanes), given all masses.

    Args:
        steps: as for ``forward``, as are the next two.
        z: the labels of the hypothesis.
        factors: what pairs of labels are multiplied by.
        kept: the masses.
        back: values of states, (2, states, lanes), to work in.
        shares: what is filled.
    """
    states, lanes = kept.shape[1:]
    for s in range(states):
        for m in range(lanes):
            back[len(steps) % 2, s, m] = 1.0
    for i in range(len(steps) - 1, -1, -1):
        now = back[(i + 1) % 2]
        older = back[i % 2]
        for m in range(lanes):
            shares[i, m] = 0.0
            older[0, m] = 0.0
        for s in range(0, states, 2):  # older[0] holds the part of zeros for now
            for m in range(lanes):
                older[0, m] += kept[i + 1, s, m] * now[s, m]
                shares[i, m] += kept[i + 1, s + 1, m] * now[s + 1, m]
        for m in range(lanes):
            whole = older[0, m] + shares[i, m]
            shares[i, m] = shares[i, m] / whole if whole > 0.0 else 0.0
        for s in range(states):
            zero = (2 * s) % states
            p = steps[i, s, 0]
            q = steps[i, s, 1]
            for m in range(lanes):
                later = p * factors[z[i], 0, m] * now[zero, m]
                older[s, m] = later + q * factors[z[i], 1, m] * now[zero + 1, m]
        if i % _BLOCK == 0:
            for m in range(lanes):
                greatest = 0.0
                for s in range(states):
                    greatest = max(greatest, older[s, m])
                if greatest > 0.0:
                    for s in range(states):
                        older[s, m] /= greatest


class Shares(NamedTuple):
    """What a chain counts at some nodes."""

    logs: Floats  # log E[exp(-x C)], (lanes,)
    ones: Floats  # E[y_i exp(-x C)] / E[exp(-x C)], (n, lanes); none where these were not asked for


@dataclass(frozen=True, eq=False)
class BinaryChain:
    """A chain of two labels with P(next label | last m), (n, 2^m, 2), 0 where none is reached."""

    steps: Floats

    @property
    def n(self) -> int:
        """The number of labels."""
        return len(self.steps)

    @cached_property
    def chances_of_all(self) -> tuple[float, float]:
        """The probabilities that all labels are 0, and 1."""
        order = self.steps.shape[1].bit_length() - 1
        chances = []
        for y in range(2):
            opening = [(2**i - 1) * y for i in range(order)]  # the states on the way, from 0 on
            last = (self.steps.shape[1] - 1) * y
            steps = np.append(self.steps[range(order), opening, y], self.steps[order:, last, y])
            with np.errstate(divide="ignore"):
                chances.append(math.exp(float(np.log(steps).sum())))
        return chances[0], chances[1]

    def shares(self, costs: Floats, nodes: Floats, z: Ints, ones: bool = True) -> Shares:
        """What is counted at nodes x, given z, (n,); ``costs`` are those of labels of z and y."""
        states = self.steps.shape[1]
        at_once = min(8, max(4, _CELLS // (self.n * states)))
        logs = []
        shares = [np.zeros((self.n if ones else 0, 0))]
        for some in np.array_split(nodes, -(-len(nodes) // at_once)):
            lanes = len(some) + 1  # in the last, x = 0, the mass is 1 but for rounding
            factors = 1.0 + np.expm1(-costs[:, :, None] * np.append(some, 0.0))
            layers = self.n + 1 if ones else 2
            masses = Masses(np.empty((layers, states, lanes)), np.zeros(lanes))
            work = self.n * states * lanes
            kernel(forward, work)(self.steps, z, factors, masses)
            logs.append(masses.logs[:-1] - masses.logs[-1])
            if ones:
                back = np.empty((2, states, lanes))
                found = np.empty((self.n, lanes))
                kernel(shares_of_ones, work)(self.steps, z, factors, masses.kept, back, found)
                shares.append(found[:, :-1])
        return Shares(np.concatenate(logs), np.concatenate(shares, axis=1))


def chain_of(first: Floats, steps: Floats) -> BinaryChain:
    """The chain with P(first m labels), (2^m,), and P(next label | last m), (n - m, 2^m, 2)."""
    states = len(first)
    order = states.bit_length() - 1
    table = np.concatenate([np.zeros((order, states, 2)), steps])
    for i in range(order):
        masses = first.reshape(2**i, 2, -1).sum(axis=2)
        table[i, : 2**i] = masses / np.maximum(masses.sum(axis=1, keepdims=True), _TINY)
    return BinaryChain(table)


# -- what a loss counts of it ----------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class PairAmounts:
    """What a loss counts of two labels: amounts that do not depend on other positions."""

    of_z: Floats  # what labels of z count, (2,): 0 or 1
    of_y: Floats  # what labels of y count, (2,)
    joint: Floats  # what pairs add to the joint count, (2, 2)


@dataclass(frozen=True, eq=False)
class ChainGroup:
    """One long sequence under a chain of two labels, as ``lanes.Counted``."""

    chain: BinaryChain
    amounts: PairAmounts
    size: int = 1

    @property
    def n(self) -> int:
        """Its length."""
        return self.chain.n

    @property
    def most_counted(self) -> tuple[int, int]:
        """The greatest counts of a hypothesis and of a reference."""
        return int(self.n * self.amounts.of_z.max()), int(self.n * self.amounts.of_y.max())

    @property
    def steepest(self) -> float:
        """The greatest |x| of nodes: masses are divided by their sums after blocks."""
        return STEEPEST / max(1.0, float(self.amounts.of_y.max()))

    @property
    def allows_none(self) -> bool:
        """Whether hypotheses that count nothing are allowed."""
        return bool((self.amounts.of_z == 0).any())

    @property
    def is_nonnegative(self) -> bool:
        """Whether the joint count is at least 0 for all pairs of sequences."""
        return bool((self.amounts.joint >= 0).all())

    def needs_item(self, tape: str) -> bool:
        """Whether the joint count is 0 where "z", or "y", counts nothing."""
        joint = self.amounts.joint
        silent = self.amounts.of_z == 0 if tape == "z" else self.amounts.of_y == 0
        return not (joint[silent] if tape == "z" else joint[:, silent]).any()

    def shares(self, nodes: Floats, ones: bool = True) -> Shares:
        """What references count at nodes."""
        costs = np.stack([self.amounts.of_y] * 2)
        return self.chain.shares(costs, nodes, np.zeros(self.n, np.int64), ones)

    def node_logs(self, nodes: Floats) -> NodeLogs:
        """log E[exp(-x S)] of each sentence at nodes x."""
        return NodeLogs(self.shares(nodes, ones=False).logs[None], 0.0)

    def node_means(self, nodes: Floats, zs: Sequence[Ints]) -> NodeMeans:
        """The same beside E[T exp(-x S)] / G, for a hypothesis."""
        found = self.shares(nodes)
        joint = self.amounts.joint[zs[0]]  # (n, 2)
        means = (joint[:, 1] - joint[:, 0]) @ found.ones + joint[:, 0].sum()
        return NodeMeans(found.logs[None], means[None])

    def hypothesis_counts(self, zs: Sequence[Ints]) -> Ints:
        """What hypotheses count, (batch,)."""
        return np.array([int(self.amounts.of_z[z].sum()) for z in zs])
