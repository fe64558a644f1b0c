"""Random label sequences, all of them drawn together, position by position."""

from __future__ import annotations

import numpy as np

from fsmeu.errors import InputError, as_whole, sentence
from fsmeu.fst.layers import Floats, Ints, Layered
from fsmeu.models.checks import check_arcs, count
from fsmeu.models.distances import normalize

__all__ = ["sample"]

_SOURCES = (np.random.Generator, np.random.BitGenerator, np.random.SeedSequence)


def sample(layered: Layered, size: int, seed: int | np.random.Generator | None = None) -> Ints:
    """Label sequences drawn with probabilities proportional to their weights.

    Args:
        layered: the acceptor.
        size: how many sequences.
        seed: a numpy Generator, or the seed of a new one.

    Returns:
        Label indices of shape (size, n).
    """
    size = count(size, "sample size")
    check_arcs("sample", size * layered.n, "labels")
    random = _generator(seed)
    pushed = normalize(layered)
    nowhere, everyone = np.zeros(len(pushed.start), np.int64), np.zeros(size, np.int64)
    state = _pick(nowhere, pushed.start, 1, everyone, random)
    drawn = np.empty((size, layered.n), np.int64)
    for k, layer in enumerate(pushed.layers):
        arc = _pick(layer.source, layer.weight, pushed.widths[k], state, random)
        drawn[:, k] = layer.label[arc]
        state = layer.target[arc]
    return drawn


def _generator(seed: object) -> np.random.Generator:
    """A generator of random numbers; numpy is asked only with what it is known to take."""
    if seed is None or isinstance(seed, _SOURCES):
        return np.random.default_rng(seed)
    number = as_whole(seed, least=0)
    if number is None:
        must = "must be a whole number, at least 0, or a numpy Generator"
        raise InputError(sentence("sample seed", must, seed))
    return np.random.default_rng(number)


def _pick(
    group: Ints, weight: Floats, groups: int, wanted: Ints, random: np.random.Generator
) -> Ints:
    """For each wanted group, a random member: an index into ``group`` and ``weight``.

    The weights of a group sum to 1, so the running sum of all weights, sorted by group, holds the
    distribution of group g between two whole numbers. Members of weight 0 are left out first.
    """
    members = np.flatnonzero(weight > 0)
    members = members[np.argsort(group[members], kind="stable")]
    sizes = np.bincount(group[members], minlength=groups)
    ends = np.cumsum(sizes)
    sums = np.concatenate(([0.0], np.cumsum(weight[members])))
    low, high = sums[ends - sizes][wanted], sums[ends][wanted]
    point = low + random.random(len(wanted)) * (high - low)
    at = np.searchsorted(sums[1:], point, side="right")
    picked: Ints = members[np.clip(at, (ends - sizes)[wanted], ends[wanted] - 1)]
    return picked
