"""Independent labels and a loss without memory: E[t^k] and E[T t^k] without a sweep.

Let m_c be the probability that position i counts c, and a_c that times the amount which it adds to
a joint count T. Then, with G_i = sum over c of m_c t^c,

    E[t^k] = prod over i of G_i,    E[T t^k] = E[t^k] r,   r = sum over i, c of a_c t^c / G_i,

and derivatives follow by hand: that of E[t^k] for m_c is E[t^k] t^c / G_i, that of r for a_c is
t^c / G_i, and for m_c it is -t^c (sum over d of a_d t^d) / G_i^2: three products of matrices.

G_i must not be 0. Real nodes are above 0. A complex node t with |t| = 1 makes m_0 + m_1 t vanish
only for t = -1, which is no root of unity of odd order; where a position may count more than 1,
sweeps serve complex nodes.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from fsmeu import limits
from fsmeu.torch.plan import Plan
from fsmeu.torch.sweep import DeviceTables, refuse_second_derivatives

_GREATEST = 1e30  # 1 / G is cut off there: where it is, E[t^k] is 0 or next to it


def is_closed(tables: DeviceTables, plan: Plan) -> bool:
    """Whether the closed form serves independent labels."""
    return tables.is_memoryless and (tables.most_counted <= 1 or not plan.nodes.is_complex())


def closed_ends(tables: DeviceTables, plan: Plan, emissions: Tensor) -> Tensor:
    """E[t^k] and E[T t^k] of each sentence by lane and channel, (B, Q, C, 1); scores (B, n, L)."""
    is_padding = (plan.tags == tables.labels)[:, :, None]
    shares = torch.softmax(emissions.masked_fill(is_padding, 0.0), 2)
    added = tables.pairs.to(shares.dtype)[plan.tags]  # (B, n, L, columns)
    mass = (shares[..., None] * added).sum(2)
    if tables.most_counted == 0:
        counts = mass[:, :, 1:].sum(1)
        ones = counts.new_ones(len(counts), 1)
        return torch.cat([ones, counts], 1)[:, None, :, None]
    size = max(1, limits.TORCH_NUMBERS // max(1, mass.shape[1] * plan.lanes))
    parts = [
        _ends_of(rows, nodes, tables.most_counted)
        for rows, nodes in zip(mass.split(size), plan.nodes.split(size), strict=True)
    ]
    return parts[0] if len(parts) == 1 else torch.cat(parts)


def _ends_of(mass: Tensor, nodes: Tensor, most: int) -> Tensor:
    """The ends of rows of m and a, (B, n, C (1 + most)), at nodes (B, Q)."""
    ends: Tensor = _Closed.apply(mass, nodes, most)  # type: ignore[no-untyped-call]
    return ends


class _Closed(torch.autograd.Function):
    """The closed form, and its derivatives."""

    @staticmethod
    def forward(ctx: Any, mass: Tensor, nodes: Tensor, most: int) -> Tensor:
        """The ends (B, Q, C, 1) of rows (B, n, C (1 + most)); the first columns are m."""
        rows = mass.to(nodes.dtype)
        powers = _powers(nodes, most)
        whole, inverse = _product(rows[:, :, : most + 1], nodes, powers)
        sums = torch.bmm(rows[:, :, most + 1 :].transpose(1, 2), inverse)
        ratios = (sums.unflatten(1, (-1, most + 1)) * powers[:, None]).sum(2)  # (B, J, Q)
        ctx.save_for_backward(mass, nodes, inverse, whole, ratios)
        ctx.most = most
        ends = torch.cat([whole[:, None], whole[:, None] * ratios], 1)
        return ends.transpose(1, 2).unsqueeze(3)

    @staticmethod
    def backward(ctx: Any, above: Tensor) -> tuple[Tensor | None, ...]:
        """The derivatives for m and a."""
        refuse_second_derivatives()
        mass, nodes, inverse, whole, ratios = ctx.saved_tensors
        most: int = ctx.most
        powers = _powers(nodes, most)
        pulled = above.conj().squeeze(3).transpose(1, 2)  # (B, C, Q)
        own = pulled[:, 0] + (pulled[:, 1:] * ratios).sum(1)
        scaled = whole[:, None] * torch.cat([own[:, None], pulled[:, 1:]], 1)  # (B, C, Q)
        first = (scaled[:, :, None] * powers[:, None]).flatten(1, 2)
        slopes = torch.bmm(inverse, first.transpose(1, 2))  # (B, n, C (1 + most))
        if ratios.shape[1]:
            square = inverse * inverse
            amounts = mass[:, :, most + 1 :].to(nodes.dtype)
            for c in range(most + 1):
                second = (first[:, most + 1 :] * powers[:, c : c + 1]).transpose(1, 2)
                slopes[:, :, c] -= (torch.bmm(square, second) * amounts).sum(2)
        return (slopes.real if slopes.is_complex() else slopes), None, None


def _powers(nodes: Tensor, most: int) -> Tensor:
    """The powers t^0, ..., t^most of nodes (B, Q), (B, 1 + most, Q)."""
    return torch.stack([nodes**c for c in range(most + 1)], 1)


def _product(mass: Tensor, nodes: Tensor, powers: Tensor) -> tuple[Tensor, Tensor]:
    """The product of all G, (B, Q), and 1 / G, (B, n, Q).

    Near 1, where nodes are, log G is log1p of what counting takes: G itself would be rounded.
    """
    if nodes.is_complex():
        factors = torch.bmm(mass, powers)
        return factors.prod(1), factors.reciprocal()
    if mass.shape[2] == 2:
        factors = torch.addcmul(mass[:, :, :1], mass[:, :, 1:], nodes[:, None])
        lost = mass[:, :, 1:] * (nodes - 1.0)[:, None]
    else:
        factors = torch.bmm(mass, powers)
        lost = torch.bmm(mass[:, :, 1:], powers[:, 1:] - 1.0)
    logs = torch.where(lost > -0.5, torch.log1p(lost), torch.log(factors))
    return logs.sum(1).exp(), factors.reciprocal().clamp(max=_GREATEST)
