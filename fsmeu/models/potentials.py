"""Linear chains given by log-potentials: conditional random fields.

A chain gives a sequence y the score sum_i unary[i, y_i] + sum_i pairwise[i, y_i, y_{i+1}]; a score
of -inf forbids it. ``conditionals`` turns the scores into P(y_1) and P(y_{i+1} | y_i), many chains
of one length at a time: by sums of products of potentials where these stay far from the limits of
doubles, else with logarithms throughout, which takes several times as long.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from fsmeu import limits
from fsmeu.arrays import Floats
from fsmeu.errors import EmptyError, InputError
from fsmeu.fst.alphabet import Label
from fsmeu.fst.layers import LogLayered
from fsmeu.models import checks
from fsmeu.models.base import Model
from fsmeu.models.chains import Chain, initial_layers, transition_layers
from fsmeu.models.paths import forward, normalized

MAX_POTENTIAL = 1e300
"""Greatest size of a finite log-potential, so that no sum of them overflows."""


_MOST_SPREAD = 150.0
"""Scores that differ by no more than this are multiplied as they are: the least product of four of
them is far above the least double."""

_LEAST_REST = 1e-150
"""What follows a label, as a part of the greatest at its position, may weigh as little as this: its
product with two potentials is still above the least double, so that no sum becomes 0 by itself."""


@dataclass(frozen=True, eq=False, repr=False)
class Potentials(Chain):
    """A linear chain with log-potentials: P(y) is proportional to exp(score of y).

    Layer 1 has L arcs, in the order of the labels; every later layer has L * L arcs, number
    a * L + b from state a (the label before) with label b. The weights are conditional
    probabilities.

    Attributes:
        unary: score of each label at each position, shape (n, L); -inf forbids.
        pairwise: score of each label (last axis) after each other, shape (L, L) for all positions,
            or (n - 1, L, L); -inf forbids.
        labels: the L labels, 0, ..., L - 1 unless given.
    """

    unary: Floats
    pairwise: Floats
    labels: tuple[Label, ...]
    n: int
    fixed_support: ClassVar[bool] = True
    order: ClassVar[int] = 1
    title = "linear-chain conditional random field"
    # Roundings behind exp(score), where potentials were rounded before.
    _arguments = ("unary", "pairwise", "labels")

    def __init__(
        self, unary: ArrayLike, pairwise: ArrayLike, labels: Sequence[Label] | None = None
    ) -> None:
        scores = _scores(unary, "potentials unary")
        links = _scores(pairwise, "potentials pairwise")
        scores = checks.label_rows(scores, labels, "potentials", "unary")
        n, size = scores.shape
        if links.shape == (0,):
            links = links.reshape(0, size, size)
        shared = (size, size)
        per_position = (max(0, n - 1), size, size)
        if links.shape not in (shared, per_position):
            must = f"must have shape {shared}, or position by position {per_position}"
            raise InputError("potentials pairwise", must, given=f"shape {links.shape}")
        checks.check_arcs("potentials", size + max(0, n - 1) * size * size)
        alphabet = checks.alphabet_of(labels, size, "potentials labels")
        self._keep(unary=scores, pairwise=links, labels=alphabet.labels, n=n, alphabet=alphabet)
        at = first_impossible(scores, links)
        if at is not None:
            what = f"the -inf among them leave no label for entry {at}"
            raise EmptyError("potentials", f"must allow some sequence, but {what}")

    @classmethod
    def _prepare(cls, models: Sequence[Model]) -> None:
        alike: dict[Hashable, list[Potentials]] = {}
        for model in models:
            if isinstance(model, Potentials):
                alike.setdefault((model.unary.shape, model.pairwise.shape), []).append(model)
        for same in alike.values():
            size = max(
                1, limits.NORMALISED_CELLS // max(1, same[0].unary.size + same[0].pairwise.size)
            )
            for begin in range(0, len(same), size):
                block = same[begin : begin + size]
                for model, chain in zip(block, conditionals(block), strict=True):
                    model._keep(_prepared=chain)

    @cached_property
    def _prepared(self) -> Conditionals:
        return conditionals([self])[0]

    @property
    def log_partition(self) -> float:
        """The logarithm of the sum of exp(score) over all sequences."""
        return self._prepared.log_partition

    def _conditionals(self) -> tuple[Floats, Floats]:
        return self._prepared[:2] if self.n else (np.ones(1), self.unary[:, None])

    def marginals(self) -> Floats:
        """P(y_i = l) as an array of shape (n, L)."""
        result = np.empty(self.unary.shape)
        result[:1] = self._prepared.first
        for i, step in enumerate(self._prepared.steps):
            result[i + 1] = result[i] @ step
        return result

    def pullback(self, arc_gradients: Sequence[Floats], value: float) -> dict[str, Floats]:
        """dE/d(unary) and dE/d(pairwise).

        The derivative for a log-potential is the covariance of g with the event that it is used:
        E[g; arc] - E[g] P(arc), and E[g; arc] is the arc's weight times dE/d(weight).
        A pairwise table that serves several positions collects the derivatives of all.
        """
        size = len(self.labels)
        unary = np.zeros(self.unary.shape)
        links = np.zeros((max(0, self.n - 1), size, size))
        masses = forward(self.layered())[: self.n]
        for i, (layer, mass) in enumerate(zip(self.layered().layers, masses, strict=True)):
            arcs = layer.weight * (arc_gradients[i] - value * mass[layer.source])
            unary[i] = np.bincount(layer.label, arcs, size)
            if i:
                links[i - 1] = arcs.reshape(size, size)
        pairwise = links.sum(axis=0) if self.pairwise.ndim == 2 else links
        return {"unary": unary, "pairwise": pairwise}


def from_potentials(
    unary: ArrayLike, pairwise: ArrayLike, labels: Sequence[Label] | None = None
) -> Potentials:
    """The distribution of a linear-chain conditional random field, normalised exactly.

    Args:
        unary: log-potentials of the labels, shape (n, L).
        pairwise: log-potentials of neighbours, shape (L, L) or (n - 1, L, L).
        labels: the L labels, 0, ..., L - 1 unless given.
    """
    return Potentials(unary, pairwise, labels)


def _scores(value: ArrayLike, where: str) -> Floats:
    array = checks.real_array(value, where)
    must = f"each entry must be a number up to {MAX_POTENTIAL:g} in size, or -inf to forbid"
    checks.check_entries(array, (np.abs(array) <= MAX_POTENTIAL) | np.isneginf(array), where, must)
    return array


# -- normalising -----------------------------------------------------------------------------------


class Conditionals(NamedTuple):
    """P(y_1), (L,); P(y_{i+1} | y_i), (n - 1, L, L), 0 after dead ends; log of all exp(score)."""

    first: Floats
    steps: Floats
    log_partition: float


def conditionals(block: Sequence[Potentials]) -> list[Conditionals]:
    """The conditional probabilities of each model, the potentials of all having the same shapes."""
    n, size = block[0].unary.shape
    if n == 0:
        return [Conditionals(np.zeros((0, size)), np.zeros((0, size, size)), 0.0) for _ in block]
    unary = np.stack([model.unary for model in block])
    pairwise = np.stack([model.pairwise.reshape(-1, size, size) for model in block])
    pairwise = pairwise[:, : None if n > 1 else 0]  # one table for all positions, or n - 1
    rows = np.flatnonzero(_spread(unary) + _spread(pairwise) <= _MOST_SPREAD)
    result = dict(zip(rows.tolist(), _by_products(unary[rows], pairwise[rows]), strict=True))
    return [result.get(k) or _by_logarithms(unary[k], pairwise[k]) for k in range(len(block))]


def _spread(scores: Floats) -> Floats:
    """The difference between the greatest and the least finite score of each chain, (batch,)."""
    flat = scores.reshape(len(scores), -1) if scores.size else np.zeros((len(scores), 1))
    top = flat.max(axis=1)
    least = flat.min(axis=1)
    if least.min() == -np.inf:
        least = np.where(flat == -np.inf, top[:, None], flat).min(axis=1)
    difference: Floats = top - least
    return difference


def _by_products(unary: Floats, pairwise: Floats) -> list[Conditionals | None]:
    """The conditional probabilities of chains of similar scores; None where sums leave the doubles.

    P(y_{i+1} | y_i) is the potential of both times the weight of y_{i+1} with all that may follow
    it, divided by the sum of that over y_{i+1}, which is 0 for a dead end. Potentials are (batch,
    n, L) and (batch, tables, L, L). ``ahead`` is the weight of each label with all that may follow
    it, divided by the factors of later positions; ``sums`` are those over what may follow it;
    ``factors``, the greatest of these.
    """
    if (pairwise[1:] == pairwise[:1]).all():
        pairwise = pairwise[:1]
    batch, n, labels = unary.shape
    backward = np.ones(())
    tops = unary.max(axis=2)
    link_tops = pairwise.max(axis=(2, 3))
    single = np.exp(unary - tops[:, :, None]).transpose(1, 0, 2)
    double = np.exp(pairwise - link_tops[:, :, None, None])
    ahead = np.empty((n, batch, labels))
    sums = np.empty((n - 1, batch, labels))
    factors = np.empty((n - 1, batch, 1))
    with np.errstate(divide="ignore", invalid="ignore"):  # where sums became 0, which is seen below
        for i in range(n - 2, -1, -1):
            after = np.multiply(single[i + 1], backward, out=ahead[i + 1])
            table = double[:, i % double.shape[1]]
            # A product for each chain: one for all of them would round as their number has it.
            np.matmul(table, after[:, :, None], out=sums[i, :, :, None])
            np.maximum.reduce(sums[i], axis=1, keepdims=True, out=factors[i])
            backward = sums[i] / factors[i]
        np.multiply(single[0], backward, out=ahead[0])
        totals = ahead[0].sum(axis=1)
        logs = np.log(factors).sum(axis=(0, 2)) + np.log(totals) + tops.sum(axis=1)
        logs = logs + link_tops.sum(axis=1) * (len(sums) / max(1, link_tops.shape[1]))
        first = ahead[0] / totals[:, None]
    accurate = ((sums >= _LEAST_REST * factors) | (sums == 0)).all(axis=(0, 2))
    sums[sums == 0] = 1.0
    result: list[Conditionals | None] = [None] * batch
    for k in np.flatnonzero(accurate).tolist():
        steps = double[k % len(double)] * ahead[1:, k, None]
        steps /= sums[:, k, :, None]
        result[k] = Conditionals(first[k], steps, float(logs[k]))
    return result


def _by_logarithms(unary: Floats, pairwise: Floats) -> Conditionals:
    """The conditional probabilities of one chain, whatever its potentials, as of any acceptor."""
    n, labels = unary.shape
    links = np.broadcast_to(pairwise, (n - 1, labels, labels))
    tables = links + unary[1:, None]
    layers = initial_layers(unary[0], labels, 1)
    layers += transition_layers(tables.reshape(n - 1, labels * labels), labels)
    zero = np.zeros(1)
    alphabet = checks.alphabet_of(None, labels, "labels")
    logs = LogLayered(alphabet, zero, tuple(layers), np.zeros(labels))
    pushed, log_partition = normalized(logs)
    first, *steps = (layer.weight for layer in pushed.layers)
    return Conditionals(first, np.reshape(steps, links.shape), log_partition)


def first_impossible(unary: Floats, pairwise: Floats) -> int | None:
    """The first position (from 0) that no sequence allowed by log-potentials reaches, or None."""
    allowed = np.isfinite(unary)
    linked = np.isfinite(pairwise)
    if not linked.all():
        linked = np.broadcast_to(linked, (max(0, len(unary) - 1), *linked.shape[-2:]))
        for i in range(1, len(unary)):
            allowed[i] &= (linked[i - 1] & allowed[i - 1, :, None]).any(axis=0)
    rows = np.flatnonzero(~allowed.any(axis=1))
    return int(rows[0]) if len(rows) else None
