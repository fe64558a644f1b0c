"""Nodes and weights by which sweeps side by side become the expectation of a function of a count.

A *lane* is a number t: where every item that is counted is a factor t, the mass at the end is
E[t^k], k being the count. Functions f of k become sums over lanes of w t^k, in three ways:

- **One lane**, t = 1, where f does not depend on the count.
- **Real lanes** for f = offset + gain (k + shift)^-a. As 1 / (k + p) = int_0^1 t^(p-1) t^k dt, the
  rule of Gauss and Jacobi of order M, for the weight t^(p-1) on [0, 1], is exact for all k < 2 M,
  and its nodes may differ from sentence to sentence, as p does. Where M would be large, or a is
  1/2, a sum of exponentials serves (``trellis/rules.py``), whose error is a stated part of the
  ratio. Where the ratio does not hold for k = 0, the lane ``VANISHING`` is P(k = 0), up to 1e-18,
  and makes up for the difference.
- **Roots of unity** for any f: with N > k of them, f(k) is (1 / N) times the sum over m of
  F_m exp(2 pi i m k / N), F being the discrete Fourier transform of f; as f is real, half of them
  are enough.

The first lane is always t = 1: its mass is what all others are divided by.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fsmeu import limits
from fsmeu.arrays import Floats
from fsmeu.trellis.rules import wide_rule

VANISHING = 1e-18  # a node whose powers are 0, up to this, unless nothing is counted


class Lanes(NamedTuple):
    """Nodes and weights of cases, Q lanes, C channels: the mass and each joint count."""

    nodes: NDArray[Any]  # t, (cases, Q), real or complex
    weights: NDArray[Any]  # (cases, Q, C, ends)


class RatioValue(NamedTuple):
    """offset + gain (k + shift)^-power for k from ``least`` (0 or 1) on, by channel, (C,) each."""

    offsets: Floats
    gains: Floats
    at_zero: Floats  # the function at k = 0
    shift: float
    power: float
    least: int


def one_lane(values: Floats) -> Lanes:
    """The lane of values that depend on no count, (cases, C, ends)."""
    return Lanes(np.ones((len(values), 1)), values[:, None])


def root_lanes(tables: Floats) -> Lanes:
    """The lanes of functions of a count that are given by their values, (cases, C, ends, k).

    The number of roots is odd, so that -1 is none of them (``closed.py``).
    """
    tables = np.pad(tables, [(0, 0), (0, 0), (0, 0), (0, 1 - tables.shape[-1] % 2)])
    size = tables.shape[-1]
    half = np.arange(size // 2 + 1)
    twice = np.where(half == 0, 1.0, 2.0)
    spectrum = np.fft.fft(tables, axis=-1)[..., : len(half)] * (twice / size)
    nodes = np.broadcast_to(np.exp(2j * np.pi * half / size), (len(tables), len(half)))
    return Lanes(nodes, np.moveaxis(spectrum, -1, 1))


def ratio_lanes(values: Sequence[RatioValue], most: int, eps: float) -> Lanes:
    """The lanes of ratios of one power, k being at most ``most``.

    Args:
        values: the function of each case.
        most: the greatest count.
        eps: the part of a ratio that a sum of exponentials may leave out.
    """
    power = next((value.power for value in values if value.gains.any()), 1.0)
    shift = np.array([value.shift for value in values])
    least = np.array([value.least for value in values])
    gains = np.stack([value.gains for value in values])
    offsets = np.stack([value.offsets for value in values])
    low = shift + least
    widest = float(((shift + max(most, 1)) / low).max())
    rule = wide_rule(1.0, max(widest, 2.0), power, eps)
    order = (most - int(least.min()) + 2) // 2
    if power == 1.0 and order <= min(limits.TORCH_GAUSS_NODES, len(rule.nodes)):
        nodes, weights = gauss_jacobi(order, low)
        weights = weights / np.where(least[:, None] > 0, nodes, 1.0)
    else:
        steps = rule.nodes / low[:, None]
        nodes = np.exp(-steps)
        weights = rule.weights * low[:, None] ** -power * np.exp(-steps * shift[:, None])
    by_channel = weights[:, :, None] * gains[:, None, :]
    first = np.ones((len(values), 1))
    all_nodes = [first, nodes]
    all_weights = [offsets[:, None], by_channel]
    if least.any():
        at_zero = np.stack([value.at_zero for value in values])
        rest = np.where(least[:, None] > 0, at_zero - offsets - by_channel.sum(axis=1), 0.0)
        all_nodes.append(np.full_like(first, VANISHING))
        all_weights.append(rest[:, None])
    joined = np.concatenate(all_weights, axis=1)
    return Lanes(np.concatenate(all_nodes, axis=1), joined[..., None])


def gauss_jacobi(order: int, shifts: Floats) -> tuple[Floats, Floats]:
    """Nodes t and weights w, (shifts, order) each: 1/(k + p) = sum of w t^k for k < 2 order.

    By the eigenvalues of Jacobi's matrix of the weight t^(p - 1) on [0, 1] (Golub and Welsch 1969).

    >>> t, w = gauss_jacobi(2, np.array([0.5]))
    >>> [round(float((w * t**k).sum()), 12) for k in range(4)]
    [2.0, 0.666666666667, 0.4, 0.285714285714]
    """
    b = np.asarray(shifts, np.float64)[:, None] - 1.0
    diagonal = np.empty((len(b), order))
    diagonal[:, :1] = b / (b + 2.0)
    k = np.arange(1.0, order)
    twice = 2.0 * k + b
    diagonal[:, 1:] = b * b / (twice * (twice + 2.0))
    # At k = 1 a factor of (k + b)^2 cancels against one of twice^2 - 1 = (1 + b) (3 + b).
    beside = 4.0 * k**2 * (k + b) ** 2 / (twice**2 * (twice**2 - 1.0))
    beside[:, :1] = 4.0 * (1.0 + b) / ((2.0 + b) ** 2 * (3.0 + b))
    matrix = np.zeros((len(b), order, order))
    rows = np.arange(order)
    matrix[:, rows, rows] = (diagonal + 1.0) / 2.0
    matrix[:, rows[1:], rows[:-1]] = np.sqrt(beside) / 2.0  # eigh reads the lower triangle
    nodes, vectors = np.linalg.eigh(matrix)
    return np.clip(nodes, 0.0, 1.0), vectors[:, 0, :] ** 2 / (b + 1.0)
