"""The best labels of rows of independent labels 0 and 1 on a device, with a certificate.

The value of k ones of z, T of which are ones of y, where y has S ones, is gain_k T (v_k + S)^-a +
offset_k, with positive gains (values are turned round for a loss), and another number for S = 0.

**Which ones.** For two positions with p_i > p_j, and R ones of y elsewhere, the difference of
E[y_i f(S)] and E[y_j f(S)] is (p_i - p_j) E[f(1 + R)] > 0, f being the ratio's (v + S)^-a. So the
best labels with k ones are at the k greatest probabilities.

**How many.** A rule (v + S)^-a = sum of w exp(-x (v + S)), up to a part ``off`` of it
(``trellis/rules.py``), and E[y_i exp(-x S)] = p_i t prod over j of G_j / G_i with t = exp(-x) and
G_j = (1 - p_j) + p_j t, give the values of all k: a sort, a product, running sums, and a product of
matrices.

**Certificate.** All terms are positive, so that relative errors add up. Let u = 2^-53, and let
sigmoids and exponentials be right to 4 u. Then a factor G is right to 10 u, the product of all to
11 n u, and p t over G times that to 22 u more; running sums add n u, sums over Q lanes Q u; and
exp(-x v) is right to 2 x v u + 4 u, where x v is at most 745 unless the exponential is 0 in
doubles. So the ratio's part is off by at most (12 n + Q + 1,600) u + ``off``, the part at S = 0 by
8 n u, and what is constant by 8 u. A number of ones is certain if its value less its error is above
all others plus theirs. Labels of equal probability are interchangeable. The model is that of the
logits.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from fsmeu.arrays import Floats, Ints
from fsmeu.torch.tables import save_fields, saved_fields
from fsmeu.twofold import UNIT


@dataclass(frozen=True, eq=False)
class RowRule:
    """The value by number of ones, D lengths, numbers of ones from 0 to the greatest length n.

    Values are turned round for a loss, so that greater is better; -inf where a length has not got
    so many ones.

    Attributes:
        lengths: the lengths, ascending, (D,).
        gain: (D, n + 1).
        shift: v, (D, n + 1).
        offset: (D, n + 1).
        none: what is added where y has no ones, (D, n + 1).
        nodes: x, (Q,).
        weights: w, (Q,).
        off: a bound on what the rule leaves out, as a part.
        sign: 1 for a utility, -1 for a loss.
    """

    lengths: Ints
    gain: Floats
    shift: Floats
    offset: Floats
    none: Floats
    nodes: Floats
    weights: Floats
    off: float
    sign: float

    def save(self, path: str | Path) -> None:
        """Writes the rule to an npz file."""
        save_fields(self, path)

    @classmethod
    def load(cls, path: str | Path) -> RowRule:
        """The rule of an npz file that ``save`` wrote."""
        columns = saved_fields(cls, path)
        plain = {name: float(columns[name]) for name in ("off", "sign")}
        return cls(**{**columns, **plain})


class Decisions(NamedTuple):
    """The decisions of a batch.

    Attributes:
        labels: label indices (B, n); -1 at padding.
        values: the expected value of each, (B,).
        exact: whether it is proven that none is better, (B,).
    """

    labels: Tensor
    values: Tensor
    exact: Tensor


class _Values(NamedTuple):
    """Values by number of ones, and bounds on their errors, (B, n + 1) each."""

    values: Tensor
    errors: Tensor


def decide_rows(rule: RowRule, logits: Tensor, lengths: Tensor) -> Decisions:
    """The best labels of rows of logits (B, n), of which so many positions count, (B,)."""
    n = logits.shape[1]
    place = torch.arange(n, device=logits.device)
    inside = place < lengths[:, None]
    scores = logits.double().masked_fill(~inside, -torch.inf)
    ranked, order = scores.sort(dim=1, descending=True, stable=True)
    found = _values(rule, ranked, lengths)
    values, errors = found
    size = values.argmax(1, keepdim=True)
    reached = values.gather(1, size)
    low = reached - errors.gather(1, size)
    others = (values + errors).scatter(1, size, -torch.inf)
    chosen = (place < size).long()
    labels = torch.zeros_like(chosen).scatter_(1, order, chosen).masked_fill_(~inside, -1)
    exact = (low > others.amax(1, keepdim=True))[:, 0]
    return Decisions(labels, rule.sign * reached[:, 0], exact)


class _DeviceRule(NamedTuple):
    """A rule as tensors of a device."""

    lengths: Tensor  # (D,)
    gain: Tensor  # (D, n + 1)
    offset: Tensor  # (D, n + 1)
    none: Tensor  # (D, n + 1)
    powers: Tensor  # t, (Q,)
    falls: Tensor  # w exp(-x v), (D, n + 1, Q)


@lru_cache(maxsize=16)
def _on_device(rule: RowRule, device: torch.device) -> _DeviceRule:
    """The rule on a device, copied there once."""
    falls = rule.weights * np.exp(-rule.nodes * rule.shift[:, :, None])
    powers = np.exp(-rule.nodes)
    arrays = (rule.lengths, rule.gain, rule.offset, rule.none, powers, falls)
    return _DeviceRule(*(torch.from_numpy(np.array(array)).to(device) for array in arrays))


def _values(rule: RowRule, ranked: Tensor, lengths: Tensor) -> _Values:
    """The values of all numbers of ones; logits (B, n) are in descending order."""
    n = ranked.shape[1]
    known = _on_device(rule, ranked.device)
    which = torch.searchsorted(known.lengths, lengths)
    one = torch.sigmoid(ranked)
    zero = torch.sigmoid(-ranked)
    sums = _running_sums(one, zero, known.powers)
    if len(rule.lengths) == 1:
        ratios = torch.einsum("bkq,kq->bk", sums, known.falls[0, 1 : n + 1])
    else:
        ratios = (sums * known.falls[which, 1 : n + 1]).sum(2)
    gained = known.gain[which, : n + 1] * torch.nn.functional.pad(ratios, (1, 0))
    offset = known.offset[which, : n + 1]
    none = known.none[which, : n + 1] * zero.prod(1, keepdim=True)
    relative = (12 * n + len(rule.nodes) + 1600) * UNIT + rule.off
    finite = offset.masked_fill(offset == -torch.inf, 0.0)
    errors = relative * gained + 8 * n * UNIT * none.abs() + 8 * UNIT * finite.abs()
    return _Values(gained + offset + none, errors)


def _running_sums(one: Tensor, zero: Tensor, powers: Tensor) -> Tensor:
    """E[T t^S] for the first 1, 2, ... of all positions, (B, n, Q), from p and 1 - p, (B, n)."""
    factors = torch.addcmul(zero[:, :, None], one[:, :, None], powers)
    whole = factors.prod(1, keepdim=True) * powers
    return (one[:, :, None] / factors).mul_(whole).cumsum(1)
