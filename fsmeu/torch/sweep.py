"""The sweep over positions as a differentiable function: E[t^k] and E[T t^k] by lane.

Rows x (B, Q, C, S) hold, for each sentence, lane, channel and state, the mass of all prefixes of z
that end there, counted items being factors t, and the same times each joint count. A step is

    x <- x M[kind],   x <- x F,   x <- x / (the mass of the first lane),

M being the matrix of the step's kind (C S, C S) with blocks R on its diagonal and R * amounts from
the mass to each joint count, R the transitions between states, and F = emission * t^counted by the
state in which a prefix arrives. One scale serves all lanes, that of t = 1: so x is E[...; state]
itself, and no logarithms are needed. Lanes that vanish are those of counts that do not occur.

Derivatives. Let e be the ends, N their sums before scaling, Z that of the first lane: e = N / Z.
For a function with derivatives g = df/de, df is the sum of (g - [first lane, mass] <g, e>) dN / Z,
and dN is pulled back by the transposed steps, from the last to the first: one sweep, no tape.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from fsmeu.errors import InputError
from fsmeu.torch.plan import Plan
from fsmeu.torch.tables import ScoreTables


class DeviceTables(nn.Module):
    """Tables of a loss as tensors of a device: buffers of a module.

    Attributes:
        label: (K, S), L for none.
        counted: (K, S).
        potential: the potential of each arc, (K, S, S).
        coefficient: what potentials are multiplied by in the matrix of a step, (K, C S, C S).
        arcs: the arcs of each potential, places in (K S S,), filled up with K S S, (L L, width).
        pairs: what a pair adds, (L + 1, L, C (1 + most counted)): for each label of y, L being
            padding, and of z, 1 and each amount in the column of what is counted.
    """

    label: Tensor
    counted: Tensor
    potential: Tensor
    coefficient: Tensor
    arcs: Tensor
    pairs: Tensor

    def __init__(self, tables: ScoreTables) -> None:
        super().__init__()
        self.labels = tables.labels
        self.states = tables.states
        self.channels = 1 + tables.joint_counts
        self.kinds = tables.kinds
        self.most_counted = tables.most_counted
        self.is_memoryless = tables.is_memoryless
        columns = {
            "label": tables.label,
            "counted": tables.counted,
            "potential": tables.potential,
            "coefficient": _coefficients(tables),
            "arcs": _arcs_of_potentials(tables),
            "pairs": _pairs(tables),
        }
        for name, column in columns.items():
            self.register_buffer(name, torch.from_numpy(np.array(column)), persistent=False)

    def _apply(self, fn: Any, recurse: bool = True) -> DeviceTables:
        """Moves buffers, and leaves doubles doubles: ``half()`` is meant for a model's weights."""
        pairs = self.pairs
        coefficient = self.coefficient
        super()._apply(fn, recurse)
        self.pairs = pairs.to(self.label.device)
        self.coefficient = coefficient.to(self.label.device)
        return self


def _coefficients(tables: ScoreTables) -> np.ndarray[Any, Any]:
    """The factor of the potential in each cell of a step's matrix, (K, C S, C S)."""
    kinds, states = tables.label.shape
    channels = 1 + tables.joint_counts
    blocks = np.zeros((kinds, channels, states, channels, states))
    for channel in range(channels):
        blocks[:, channel, :, channel, :] = 1.0
        if channel:
            blocks[:, 0, :, channel, :] = tables.amounts[channel - 1]
    return blocks.reshape(kinds, channels * states, channels * states)


def _arcs_of_potentials(tables: ScoreTables) -> np.ndarray[Any, Any]:
    """The places of arcs that have a potential, by potential, filled up: (L L, width)."""
    cells = tables.labels**2
    flat = tables.potential.ravel()
    order = np.argsort(flat, kind="stable")
    sizes = np.bincount(flat, minlength=cells)[:cells]
    begins = np.cumsum(sizes) - sizes
    arcs = np.full((cells, max(int(sizes.max(initial=0)), 1)), flat.size)
    column = np.arange(arcs.shape[1])
    inside = column < sizes[:, None]
    arcs[inside] = order[(begins[:, None] + column)[inside]]
    return arcs


def _pairs(tables: ScoreTables) -> np.ndarray[Any, Any]:
    """What pairs of labels add, by label of y and of z, (L + 1, L, C (1 + most counted))."""
    width = 1 + tables.most_counted
    hot = np.eye(width)[tables.pair_counted]  # (z, y, counted)
    amounts = np.concatenate([np.ones((1, *tables.pair_counted.shape)), tables.pair_amounts])
    table = (amounts[..., None] * hot).transpose(2, 1, 0, 3)
    padding = np.zeros((1, *table.shape[1:]))
    padding[:, :, 0, 0] = 1.0
    whole = np.concatenate([table, padding])
    return whole.reshape(len(whole), tables.labels, -1)


@torch.compiler.disable
def swept_ends(tables: DeviceTables, plan: Plan, emissions: Tensor, transitions: Tensor) -> Tensor:
    """E[t^k] and E[T t^k] of each sentence by lane, channel and end, (B, Q, C, E).

    Args:
        tables: the tables of the loss.
        plan: the plan of the tags, in the precision of the emissions.
        emissions: scores (B, n, L).
        transitions: scores of a label (last axis) after another, (L, L) or (B, n - 1, L, L).
    """
    ends: Tensor = _Sweep.apply(emissions, transitions, tables, plan)  # type: ignore[no-untyped-call]
    return ends


class _Steps(NamedTuple):
    """The matrices of steps: of kinds, (K, C S, C S), or made of potentials of each position."""

    tables: DeviceTables
    kinds: tuple[Tensor, ...]  # of each position, (B,)
    shared: Tensor | None  # (K, C S, C S)
    own: Tensor | None  # factors of potentials, (n, B, L L + 2)
    dtype: torch.dtype

    def matrix(self, i: int) -> Tensor:
        """The matrices of the step at a position, (B, C S, C S)."""
        if self.shared is not None:
            return self.shared.index_select(0, self.kinds[i])
        assert self.own is not None
        chosen = self.tables.potential.index_select(0, self.kinds[i])
        arcs = self.own[i].gather(1, chosen.flatten(1)).view(chosen.shape)
        coefficient = self.tables.coefficient.index_select(0, self.kinds[i]).to(arcs.dtype)
        return (_repeated(arcs, self.tables.channels) * coefficient).to(self.dtype)


def _steps(tables: DeviceTables, plan: Plan, transitions: Tensor) -> _Steps:
    """The matrices of all steps."""
    dtype = plan.nodes.dtype
    kinds = plan.kinds.unbind(0)
    fixed = _one_and_zero(transitions)
    if transitions.dim() == 2:
        factors = torch.cat([(transitions - transitions.max()).exp().flatten(), fixed])
        arcs = _repeated(factors[tables.potential], tables.channels)
        return _Steps(tables, kinds, (arcs * tables.coefficient).to(dtype), None, dtype)
    own = (transitions - transitions.amax((2, 3), keepdim=True)).exp().flatten(2).transpose(0, 1)
    first = torch.cat([own.new_zeros(1, *own.shape[1:]), own])
    own = torch.cat([first, fixed.expand(*first.shape[:2], 2)], 2)
    return _Steps(tables, kinds, None, own, dtype)


def _one_and_zero(like: Tensor) -> Tensor:
    """The numbers 1 and 0, (2,), made without a copy from the host."""
    return torch.cat([like.new_ones(1), like.new_zeros(1)])


def _repeated(arcs: Tensor, channels: int) -> Tensor:
    """Tables of arcs (any, S, S) once for each pair of channels, (any, C S, C S)."""
    return arcs.repeat(1, channels, channels) if channels > 1 else arcs


def _arrival(tables: DeviceTables, plan: Plan, emissions: Tensor) -> tuple[Tensor, Tensor]:
    """Factors of arriving in a state, (n, B, Q, S), and the labels of states, (n, B, S)."""
    label = tables.label[plan.kinds]
    factors = (emissions - emissions.amax(2, keepdim=True)).exp()
    padded = torch.cat([factors, torch.ones_like(factors[:, :, :1])], 2).transpose(0, 1)
    scores = padded.gather(2, label)[:, :, None]
    if tables.most_counted == 0:
        return scores.to(plan.nodes.dtype).expand(-1, -1, plan.lanes, -1), label
    counted = tables.counted[plan.kinds][:, :, None]
    if tables.most_counted == 1:
        return scores * torch.where(counted > 0, plan.nodes[None, :, :, None], 1.0), label
    powers = torch.stack([plan.nodes**c for c in range(tables.most_counted + 1)], 2)
    n, batch, _, states = counted.shape
    chosen = counted.expand(n, batch, plan.lanes, states)
    return scores * powers.expand(n, *powers.shape).gather(3, chosen), label


def refuse_second_derivatives() -> None:
    """Refuses to be a part of what is differentiated again, by an InputError.

    Derivatives would be taken for constants there.
    """
    if torch.is_grad_enabled():
        must = "derivatives of derivatives are not available"
        raise InputError("ExpectedScore", must, given="create_graph=True")


class _Sweep(torch.autograd.Function):
    """The forward sweep, and the backward sweep of its derivatives."""

    @staticmethod
    def forward(
        ctx: Any, emissions: Tensor, transitions: Tensor, tables: DeviceTables, plan: Plan
    ) -> Tensor:
        """The ends (B, Q, C, E)."""
        batch, n, _ = emissions.shape
        steps = _steps(tables, plan, transitions)
        factors, label = _arrival(tables, plan, emissions)
        shape = (n + 1, batch, plan.lanes, tables.channels, tables.states)
        rows = torch.empty(shape, dtype=steps.dtype, device=emissions.device)
        scales = torch.empty(n, batch, dtype=emissions.dtype, device=emissions.device)
        rows[0] = 0.0
        rows[0, :, :, 0, 0] = 1.0
        # Views of all positions are made at once: each costs as much time of the host as a launch.
        parts = rows.unbind(0)
        flat = rows.flatten(3).unbind(0)
        heads = _real(rows)[:, :, 0, 0].unbind(0)
        arrivals = factors[:, :, :, None].unbind(0)
        sums = scales.unbind(0)
        divisors = scales[:, :, None, None, None].unbind(0)
        for i in range(n):
            torch.bmm(flat[i], steps.matrix(i), out=flat[i + 1])
            parts[i + 1].mul_(arrivals[i])
            torch.sum(heads[i + 1], 1, out=sums[i])
            parts[i + 1].div_(divisors[i])
        ctx.tables = tables
        ctx.plan = plan
        ctx.steps = steps
        ctx.save_for_backward(rows, factors, scales, label)
        return _by_end(rows[n], plan)

    @staticmethod
    def backward(ctx: Any, above: Tensor) -> tuple[Tensor | None, ...]:
        """The derivatives for emissions and transitions."""
        refuse_second_derivatives()
        rows, factors, scales, label = ctx.saved_tensors
        tables: DeviceTables = ctx.tables
        steps: _Steps = ctx.steps
        n = len(factors)
        arrivals = (factors / scales[:, :, None, None])[:, :, :, None].unbind(0)
        pulled = torch.empty_like(rows[1:])
        pulled[n - 1] = _pulled_end(rows[n], above.conj(), ctx.plan)
        collected = _Collected(tables, steps) if ctx.needs_input_grad[1] else None
        parts = pulled.unbind(0)
        flat = pulled.flatten(3).unbind(0)
        before = rows.flatten(3).transpose(2, 3).unbind(0)
        moved = torch.empty_like(parts[0])
        flow = moved.flatten(2)
        for i in range(n - 1, -1, -1):
            torch.mul(parts[i], arrivals[i], out=moved)
            matrix = steps.matrix(i) if i else None
            if matrix is not None:
                torch.bmm(flow, matrix.transpose(1, 2), out=flat[i - 1])
            if collected is not None:
                collected.add(i, torch.bmm(before[i], flow), matrix)
        passed = _real((rows[1:] * pulled).sum((2, 3)))
        zeros = passed.new_zeros(n, rows.shape[1], tables.labels + 1)
        by_label = zeros.scatter_add_(2, label, passed)
        emitted = by_label[..., : tables.labels].transpose(0, 1)
        return emitted, None if collected is None else collected.derivatives(), None, None


class _Collected:
    """Derivatives for transitions, collected from step to step."""

    def __init__(self, tables: DeviceTables, steps: _Steps) -> None:
        self.tables = tables
        self.steps = steps
        self.shared = None if steps.shared is None else torch.zeros_like(steps.shared)
        self.own = list[Tensor]()

    def add(self, i: int, flow: Tensor, matrix: Tensor | None) -> None:
        """Adds the flow through the arcs of a position, (B, C S, C S), potentials aside."""
        kinds = self.steps.kinds[i]
        if self.shared is not None:
            self.shared.index_add_(0, kinds, flow)
        elif i and matrix is not None:
            chosen = self.tables.potential.index_select(0, kinds)
            arcs = self._arcs(flow * matrix).flatten(1)
            size = self.tables.labels**2
            sums = arcs.new_zeros(len(arcs), size + 2).scatter_add_(1, chosen.flatten(1), arcs)
            self.own.append(sums[:, :size])

    def _arcs(self, cells: Tensor) -> Tensor:
        """Cells (any, C S, C S) summed over pairs of channels, (any, S, S)."""
        channels = self.tables.channels
        states = self.tables.states
        return _real(cells.view(-1, channels, states, channels, states).sum((1, 3)))

    def derivatives(self) -> Tensor:
        """Those of all transitions, (L, L) or (B, n - 1, L, L)."""
        size = self.tables.labels
        if self.shared is not None and self.steps.shared is not None:
            arcs = self._arcs(self.shared * self.steps.shared).flatten()
            filled = torch.cat([arcs, arcs.new_zeros(1)])
            return filled[self.tables.arcs].sum(1).view(size, size)
        if not self.own:
            assert self.steps.own is not None
            return self.steps.own.new_zeros(self.steps.own.shape[1], 0, size, size)
        return torch.stack(self.own[::-1], 1).unflatten(2, (size, size))


def _real(numbers: Tensor) -> Tensor:
    """The real parts."""
    return numbers.real if numbers.is_complex() else numbers


def _by_end(row: Tensor, plan: Plan) -> Tensor:
    """Rows (B, Q, C, S) summed over the states of each end, (B, Q, C, E)."""
    if not plan.ends.numel():
        return row.sum(3, keepdim=True)
    return torch.einsum("bqcs,bse->bqce", row, plan.ends.to(row.dtype))


def _pulled_end(row: Tensor, above: Tensor, plan: Plan) -> Tensor:
    """The derivatives for the last row, (B, Q, C, S), before it was divided by its scale."""
    if plan.ends.numel():
        pulled = torch.einsum("bqce,bse->bqcs", above, plan.ends.to(above.dtype))
    else:
        pulled = above.expand(row.shape).clone()
    whole = _real((row * pulled).sum((1, 2, 3)))
    pulled[:, 0, 0] -= whole[:, None]
    return pulled
