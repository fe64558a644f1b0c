"""The expected value and its derivatives by the engine on the CPU, as a differentiable function."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from fsmeu.expectation.expect import value_and_gradient_many
from fsmeu.losses.protocol import Loss
from fsmeu.models import from_potentials
from fsmeu.torch.sweep import refuse_second_derivatives


@dataclass(frozen=True, eq=False)
class References:
    """The tags of a batch, for the engine: label indices (B, n) and lengths (B,), on the CPU."""

    tags: Tensor
    lengths: Tensor

    @property
    def shape(self) -> tuple[int, int]:
        """The number B of sequences and the greatest length n."""
        return self.tags.shape[0], self.tags.shape[1]

    def rows(self, chosen: Tensor) -> References:
        """Those of some of the sequences, given by their numbers or a mask."""
        there = chosen.cpu()
        return References(self.tags[there], self.lengths[there])


@torch.compiler.disable
def engine_values(loss: Loss, given: References, emissions: Tensor, transitions: Tensor) -> Tensor:
    """The expected values (B,) in double precision, on the device of the emissions.

    Args:
        loss: the loss.
        given: the tags.
        emissions: scores (B, n, L).
        transitions: scores (L, L) or (B, n - 1, L, L).
    """
    values: Tensor = _ByEngine.apply(emissions, transitions, loss, given)  # type: ignore[no-untyped-call]
    return values


class _ByEngine(torch.autograd.Function):
    """Values and derivatives of both tables, found together."""

    @staticmethod
    def forward(
        ctx: Any, emissions: Tensor, transitions: Tensor, loss: Loss, given: References
    ) -> Tensor:
        """The expected values (B,)."""
        unary = emissions.detach().double().cpu().numpy()
        moves = transitions.detach().double().cpu().numpy()
        lengths = given.lengths.tolist()
        models = []
        references = []
        for row, n in enumerate(lengths):
            own = moves if moves.ndim == 2 else moves[row, : n - 1]
            models.append(from_potentials(unary[row, :n], own, loss.labels))
            references.append(loss.alphabet.decode(given.tags[row, :n].numpy()))
        values, slopes = value_and_gradient_many(loss.swapped, references, models)
        single = np.zeros(unary.shape)
        double = np.zeros((len(lengths), *moves.shape[-2:])) if moves.ndim == 2 else moves * 0.0
        for row, n in enumerate(lengths):
            tables: Any = slopes[row]
            single[row, :n] = tables["unary"]
            if moves.ndim == 2:
                double[row] = tables["pairwise"]
            else:
                double[row, : n - 1] = tables["pairwise"]
        device = emissions.device
        ctx.is_shared = moves.ndim == 2
        tensors = (torch.from_numpy(single).to(device), torch.from_numpy(double).to(device))
        ctx.save_for_backward(*tensors)
        ctx.dtypes = (emissions.dtype, transitions.dtype)
        return torch.from_numpy(values).to(device)

    @staticmethod
    def backward(ctx: Any, above: Tensor) -> tuple[Tensor | None, ...]:
        """The derivatives for emissions and transitions."""
        refuse_second_derivatives()
        single, double = ctx.saved_tensors
        scaled = double * above.view(-1, *[1] * (double.dim() - 1))
        moved = scaled.sum(0) if ctx.is_shared else scaled
        emitted = single * above[:, None, None]
        return emitted.to(ctx.dtypes[0]), moved.to(ctx.dtypes[1]), None, None
