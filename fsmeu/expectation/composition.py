"""The materialised engine: hypothesis o loss o model, built by OpenFst and read back as arrays."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from fsmeu.errors import EmptyError, sentence
from fsmeu.fst.arcs import ArcTable, by_depth
from fsmeu.fst.compose import compose as compose_fsts
from fsmeu.fst.compose import guard_size
from fsmeu.fst.convert import fst_from_layered
from fsmeu.fst.distance import backward, forward, total_weight
from fsmeu.fst.image import Fst, fst_from_table, table_from_fst
from fsmeu.fst.layers import Layer, Layered, all_arcs
from fsmeu.losses.machine.machine import Machine
from fsmeu.losses.sum_over_paths import SummedMachine
from fsmeu.models import total
from fsmeu.trellis.roundings import Sums

__all__ = [
    "Composition",
    "arc_products",
    "compose_machines",
    "ending_masses",
    "roundings_of",
    "summed_value",
]

_MOST_LOG = 746  # -log of the least double

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Composition:
    """hypothesis o loss o model as an explicit machine.

    Attributes:
        fst: the pynini machine (log64): input tape z, output tape y, weights -log of probabilities,
            final weights -log of (value + shift).
        machine: the compiled loss in the middle.
    """

    fst: Fst
    machine: Machine

    def __repr__(self) -> str:
        """Names the loss in the middle and the size."""
        arcs = sum(self.fst.num_arcs(state) for state in self.fst.states())
        return f"<composition with {self.machine.name}: {self.states:,} states, {arcs:,} arcs>"

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
        """The state of the loss machine inside each composed state."""
        return _run_loss(self.table, self.machine, self.table.olabel - 1)

    @cached_property
    def masses(self) -> Floats:
        """Summed probability of the paths from the start to each state."""
        return forward(self.table)

    @property
    def total(self) -> float:
        """The total weight, less the shift: the expected value.

        Where there is a shift it is not subtracted but left out, for it may be greater than the
        result by more than a double has digits.
        """
        if not self.machine.shift:
            return total_weight(self.table)
        held = self.ending > 0
        return float(self.machine.values[self.loss_states[held]] @ self.ending[held])

    @cached_property
    def ending(self) -> Floats:
        """Probability of ending in each state; zero in states before the last layer."""
        return ending_masses(self.table)

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
    return Composition(_composed(hypothesis, machine, model, max_states), machine)


def summed_value(
    hypothesis: Layered, machine: SummedMachine, model: Layered, max_states: int | None = None
) -> Sums:
    """The expected value of a loss whose machine has paths that add up, with what bounds its error.

    Args:
        hypothesis: a layered acceptor over the labels.
        machine: a summed loss for the same n.
        model: a layered acceptor over the same labels.
        max_states: limit on the number of states of the composition.

    Raises:
        SizeLimitError: the composition could have more states than the limit.
    """
    whole = _composed(hypothesis, machine, model, max_states)
    mass, table = total(hypothesis) * total(model), table_from_fst(whole, "composition")
    weight, shift = total_weight(table), machine.shift * mass
    values, masses, sizes = np.array([[weight - shift], [mass], [weight + shift]])
    roundings = roundings_of(table, model.n) + model.n * (max(model.widths) + 4)
    return Sums(values, masses, sizes, roundings)


def roundings_of(table: ArcTable, n: int) -> int:
    """A bound on the number of roundings behind the mass of each path through a composition.

    A factor that comes from a logarithm has lost as many units as that is great, and the logarithms
    of a path add up to no more than doubles hold.
    """
    logs, ends = (some[np.isfinite(some)] for some in (table.weight, table.final))
    great, last = (float(np.abs(some).max(initial=0.0)) for some in (logs, ends))
    most = int(np.bincount(table.target).max(initial=0))
    return n * (most + 6) + len(ends) + int(2 * min(_MOST_LOG, n * great) + last)


def _composed(
    hypothesis: Layered, machine: Machine | SummedMachine, model: Layered, max_states: int | None
) -> Fst:
    layers = zip(hypothesis.widths, model.widths, strict=True)
    bound = sum(left * right for left, right in layers) * machine.states
    guard_size("composition", bound, max_states)
    names = ("hypothesis z", "loss", "model")
    left = compose_fsts(fst_from_layered(hypothesis), machine.fst, names[:2])
    whole = compose_fsts(left, fst_from_layered(model), names[1:])
    if whole.start() < 0:
        must = "hypothesis, loss and model must have a sequence in common"
        raise EmptyError(sentence("composition", must))
    return whole


def ending_masses(table: ArcTable, keep: int | None = None) -> Floats:
    """The probability of ending in each state of the last layer, zero elsewhere.

    Args:
        table: a composition; all paths to a state have the same length.
        keep: expand only this many of the most probable states of each layer.
    """
    depth, arcs_at = by_depth(table)
    mass = np.zeros(table.states)
    mass[table.start] = 1.0
    for layer, arcs in enumerate(arcs_at):
        if keep is not None:
            here = np.flatnonzero((depth == layer) & (mass > 0))
            mass[here[np.argsort(-mass[here], kind="stable")[keep:]]] = 0.0
        np.add.at(mass, table.target[arcs], mass[table.source[arcs]] * table.factor[arcs])
    return np.where(depth == len(arcs_at), mass, 0.0)


def arc_products(hypothesis: Layered, machine: Machine, model: Layered) -> tuple[float, Floats]:
    """The expected value, and its derivative with respect to the weight of every arc of the model.

    Requires a model with one start and no final weights, as models with parameters are. It enters
    the composition as a transducer from labels to the numbers of its arcs, all of weight one, so
    that each composed arc says which arc of the model it took, also where that arc has probability
    zero.
    """
    arcs = all_arcs(model)
    left = compose_fsts(fst_from_layered(hypothesis), machine.fst, ("hypothesis z", "loss"))
    left.set_output_symbols(None)
    whole = compose_fsts(
        left, fst_from_table(_arc_names(arcs, model.widths[-1])), ("loss", "model")
    )
    table = table_from_fst(whole, "composition")
    arc = table.olabel - 1
    weighted = replace(table, weight=_minus_log(table.factor * arcs.weight[arc]))
    inside = _run_loss(table, machine, arcs.label[arc])
    depth, arcs_at = by_depth(table)
    ends = np.flatnonzero(depth == len(arcs_at))
    values = np.zeros(table.states)
    values[ends] = np.nan_to_num(machine.values[inside[ends]])  # 0 where no possible pair ends
    worth = backward(weighted, values)
    flow = forward(weighted)[table.source] * table.factor * worth[table.target]
    return float(worth[table.start]), np.bincount(arc, flow, minlength=len(arcs.weight)).astype(
        float
    )


def _arc_names(arcs: Layer, ends: int) -> ArcTable:
    """A transducer from labels to arc numbers + 1, every weight one; the last states are final."""
    order = np.lexsort((arcs.label, arcs.source))
    final = np.full(arcs.width, np.inf)
    final[arcs.width - ends :] = 0.0
    return ArcTable(
        start=0,
        source=arcs.source[order],
        ilabel=arcs.label[order] + 1,
        olabel=order + 1,
        weight=np.zeros(len(order)),
        target=arcs.target[order],
        final=final,
    )


def _run_loss(table: ArcTable, machine: Machine, labels: Ints) -> Ints:
    """The loss state inside each composed state, -1 where none.

    The loss is deterministic in the pair of labels, so running it along the arcs finds them.
    """
    inside = np.full(table.states, -1, np.int64)
    if table.start >= 0:
        inside[table.start] = 0
        for arcs in by_depth(table)[1]:
            here = inside[table.source[arcs]]
            inside[table.target[arcs]] = machine.next[here, table.ilabel[arcs] - 1, labels[arcs]]
    return inside


def _minus_log(factors: Floats) -> Floats:
    with np.errstate(divide="ignore"):
        return -np.log(factors)
