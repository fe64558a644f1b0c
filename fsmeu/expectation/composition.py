"""The materialised engine: hypothesis o loss o model, built by OpenFst and read back as arrays."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pynini
from numpy.typing import NDArray

from fsmeu.errors import EmptyError, sentence
from fsmeu.fst.arcs import ArcTable, by_depth
from fsmeu.fst.compose import compose as compose_fsts
from fsmeu.fst.compose import guard_size
from fsmeu.fst.convert import fst_from_layered
from fsmeu.fst.distance import forward, total_weight
from fsmeu.fst.image import table_from_fst
from fsmeu.fst.layers import Layered
from fsmeu.losses.machine import Machine

__all__ = ["Composition", "compose_machines"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Composition:
    """hypothesis o loss o model as an explicit machine.

    Attributes:
        fst: the pynini machine (log64): input tape z, output tape y, weights -log of probabilities,
            final weights -log of (value + shift).
        machine: the compiled loss in the middle.
        kept: probability mass that ends anywhere.
    """

    fst: pynini.Fst
    machine: Machine

    @cached_property
    def table(self) -> ArcTable:
        """The arcs of the machine in full precision."""
        return table_from_fst(self.fst, "composition")

    @property
    def states(self) -> int:
        """The number of states."""
        return int(self.fst.num_states())

    @cached_property
    def loss_states(self) -> Ints:
        """The state of the loss machine inside each composed state.

        The loss is deterministic in the pair of labels, so running it along the arcs finds them.
        """
        table, inside = self.table, np.full(self.table.states, -1, np.int64)
        if table.start < 0:
            return inside
        inside[table.start] = 0
        for arcs in by_depth(table, "composition")[1]:
            here = inside[table.source[arcs]]
            there = self.machine.next[here, table.ilabel[arcs] - 1, table.olabel[arcs] - 1]
            inside[table.target[arcs]] = there
        return inside

    @cached_property
    def masses(self) -> Floats:
        """Summed probability of the paths from the start to each state."""
        return forward(self.table)

    @property
    def total(self) -> float:
        """The total weight, less the shift: the expected value."""
        return total_weight(self.table) - self.machine.shift * self.ending.sum()

    @cached_property
    def ending(self) -> Floats:
        """Probability of ending in each state; zero in states before the last layer."""
        depth, arcs_at = by_depth(self.table, "composition")
        return np.where(depth == len(arcs_at), self.masses, 0.0)

    def registers(self) -> dict[str, Floats]:
        """Register values behind each composed state."""
        return {k: v[self.loss_states] for k, v in self.machine.registers.items()}


def compose_machines(
    hypothesis: Layered, machine: Machine, model: Layered, max_states: int | None = None
) -> Composition:
    """hypothesis o loss o model.

    Args:
        hypothesis: a layered acceptor over the labels (one sequence, or a distribution).
        machine: a compiled loss for the same n.
        model: a layered acceptor over the same labels.
        max_states: limit on the number of states of the result.

    Raises:
        SizeLimitError: the result could have more states than the limit.
        EmptyError: a model that gives every sequence probability zero.
    """
    layers = zip(hypothesis.widths, model.widths, strict=True)
    bound = sum(left * right for left, right in layers) * machine.states
    guard_size("composition", bound, max_states)
    names = ("hypothesis z", "loss", "model")
    left = compose_fsts(fst_from_layered(hypothesis), machine.fst, names[:2])
    whole = compose_fsts(left, fst_from_layered(model), names[1:])
    if whole.start() < 0:
        must = "hypothesis, loss and model must have a sequence in common"
        raise EmptyError(sentence("composition", must))
    return Composition(whole, machine)
