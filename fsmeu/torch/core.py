"""Expected values from tables and a plan: what runs on the device, without the toolkit."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from fsmeu.torch.closed import closed_ends, is_closed
from fsmeu.torch.plan import Plan
from fsmeu.torch.sweep import DeviceTables, swept_ends
from fsmeu.torch.tables import ScoreTables


class TableScore(nn.Module):
    """The expected value of a loss whose tables are given.

    Args:
        tables: the tables of the loss (``ScoreTables.load`` reads them from a file).
        sums: the precision of sweeps. With scores that lie far apart, float32 loses the best paths.
    """

    def __init__(self, tables: ScoreTables, sums: torch.dtype = torch.float64) -> None:
        super().__init__()
        self.tables = DeviceTables(tables)
        self.sums = sums

    def forward(self, emissions: Tensor, plan: Plan, transitions: Tensor | None = None) -> Tensor:
        """The expected value of each sentence, (B,), or of the corpus, (), in ``sums``.

        Args:
            emissions: scores (B, n, L).
            plan: what follows from the tags.
            transitions: scores of a label after another, (L, L) or (B, n - 1, L, L).
        """
        plan = plan.to(emissions.device, self.sums)
        scores = emissions.to(self.sums)
        if transitions is None and is_closed(self.tables, plan):
            ends = closed_ends(self.tables, plan, scores)
        else:
            moves = scores.new_zeros(self.tables.labels, self.tables.labels)
            if transitions is not None:
                moves = transitions.to(self.sums)
            ends = swept_ends(self.tables, plan, scores, moves)
        if plan.is_corpus:
            ends = product_of_sentences(ends)
        values = (plan.weights * ends).sum((1, 2, 3))
        values = values.real if values.is_complex() else values
        return values[0] if plan.is_corpus else values


def product_of_sentences(ends: Tensor) -> Tensor:
    """E[t^K] and E[T t^K] of totals over independent sentences, (1, Q, C, 1), from (B, Q, C, 1).

    K is a sum of counts and T one of joint counts, so that masses are multiplied, and a joint count
    of either side goes with the mass of the other: products of a + b e with e^2 = 0, pair by pair.
    """
    while len(ends) > 1:
        half = len(ends) // 2
        left = ends[:half]
        right = ends[half : 2 * half]
        joint = left[:, :, :1] * right[:, :, 1:] + left[:, :, 1:] * right[:, :, :1]
        joined = torch.cat([left[:, :, :1] * right[:, :, :1], joint], 2)
        ends = torch.cat([joined, ends[2 * half :]])
    return ends
