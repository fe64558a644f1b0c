"""The explicit engine: hypothesis o loss o model, composed by pynini, distances by OpenFst.

It shares the loss's text, its compiled transducer and the model's automaton with the default
engine, and nothing else, so that each is a check of the other. The compositions are machines
that one can look at; their sizes are guarded.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np

from fsmeu import limits
from fsmeu.arrays import Floats, Ints
from fsmeu.display import Picture
from fsmeu.errors import EmptyError, SizeLimitError, visible
from fsmeu.expectation import result
from fsmeu.expectation.query import Query, query_of
from fsmeu.expectation.result import Expectation, Levels, level_sets
from fsmeu.fst.compose import compose as compose_fsts
from fsmeu.fst.compose import guard_size
from fsmeu.fst.distance import backward, forward, total_weight
from fsmeu.fst.image import ArcTable, fst_from_table, minus_log, symbol_table, table_from_fst
from fsmeu.fst.layers import Layered, all_arcs, fst_from_layered, pair_layers
from fsmeu.fst.openfst import Fst
from fsmeu.losses.machine.machine import Machine
from fsmeu.losses.protocol import Loss, LossLike, takes_loss
from fsmeu.losses.sum_over_paths import WindowSum, signed_machines, window_sum
from fsmeu.models import HypothesisLike, ModelLike, Parametrized
from fsmeu.models.paths import total
from fsmeu.trellis.estimate import Estimate, one_estimate


@dataclass(frozen=True, eq=False)
class Composition(Picture):
    """hypothesis o loss o model as an explicit machine.

    Before values are attached, ``paths`` has input tape z, output tape y, and as weights -log of
    the probabilities that hypothesis and model give.
    """

    paths: Fst  # of pynini, log64
    machine: Machine  # the compiled loss in the middle
    names: Ints | None = None  # label indices by symbol of the output tape, where others are there

    def __repr__(self) -> str:
        name = visible(self.machine.name)
        return f"<composition with {name}: {self.states:,} states, {self.arcs:,} arcs>"

    @property
    def states(self) -> int:
        """The number of states."""
        return self.plain.states

    @property
    def arcs(self) -> int:
        """The number of arcs."""
        return self.plain.arcs

    @cached_property
    def plain(self) -> ArcTable:
        """The arcs of ``paths`` in full precision."""
        return table_from_fst(self.paths, "composition")

    @cached_property
    def table(self) -> ArcTable:
        """The arcs with the values, plus the shift of the loss, as factors of final weights."""
        return self.weighted(self.values + self.machine.shift)

    @cached_property
    def fst(self) -> Fst:
        """The pynini machine of ``table``: final weights are -log of (value + shift)."""
        symbols = symbol_table(self.machine.alphabet)
        return fst_from_table(self.table, symbols, symbols)

    @cached_property
    def loss_states(self) -> Ints:
        """The state of the loss machine inside each composed state, -1 where none."""
        table = self.plain
        y = self.plain.olabel - 1
        y = y if self.names is None else self.names[y]
        depths, arcs_at = table.depths
        inside = np.where(depths == 0, 0, -1)  # at the start; it follows the pairs of labels
        for arcs in arcs_at:
            here = inside[table.source[arcs]]
            z = table.ilabel[arcs] - 1
            inside[table.target[arcs]] = self.machine.next[here, z, y[arcs]]
        return inside

    @cached_property
    def values(self) -> Floats:
        """The value of ending in each state, 0 where no path ends."""
        ends = np.isfinite(self.plain.final)
        return np.where(ends, self.machine.values[self.loss_states], 0.0)

    def weighted(self, ending: Floats) -> ArcTable:
        """The arcs with one more factor, at least 0, of ending in each state."""
        return replace(self.plain, final=self.plain.final + minus_log(ending))

    @cached_property
    def masses(self) -> Floats:
        """Summed probability of the paths from the start to each state."""
        return forward(self.plain)

    @cached_property
    def ending(self) -> Floats:
        """Probability of ending in each state; zero in states before the last layer."""
        return self.masses * np.exp(-self.plain.final)

    @property
    def total(self) -> float:
        """The expected value: the summed weight of all paths, each with the value at its end."""
        # without the shift, which may be greater than the result by more than a double has digits
        return total_weight(self.plain, self.values)

    def registers(self) -> dict[str, Floats]:
        """Register values behind each composed state."""
        return {k: v[self.loss_states] for k, v in self.machine.registers.items()}


@contextmanager
def advising_default() -> Iterator[None]:
    """Adds to errors about sizes that the default engine has no such limit."""
    try:
        yield
    except SizeLimitError as error:
        more = "The default engine has no such limit: leave the engine openfst out"
        raise error.advised(more) from None


# -- composing -------------------------------------------------------------------------------------


@takes_loss
def compose(
    loss: LossLike,
    z: HypothesisLike,
    model: ModelLike,
    *,
    max_states: int | None = None,
    minimize: bool = False,
) -> Composition:
    """The explicit machine hypothesis o loss o model.

    Args:
        loss: a loss or utility, or its name or path as ``load`` takes it.
        z: a label sequence, or a model.
        model: a label model.
        max_states: limit on the number of states that may be built.
        minimize: merge states of the loss that no continuation can tell apart.
    """
    return _composition(query_of(loss, z, model, "compose"), max_states, minimize)


def _composition(query: Query, max_states: int | None, minimize: bool = False) -> Composition:
    parts = (query.loss, query.hypothesis, query.model.layered())
    z = query.labels
    return compose_layers(*parts, max_states, z=z, minimize=minimize)


def compose_layers(
    loss: Loss, hypothesis: Layered, model: Layered, max_states: int | None = None, **how: Any
) -> Composition:
    """The composition with a loss that is compiled, as ``how`` says, for pairs that can occur."""
    pairs = pair_layers(hypothesis, model)
    machine = loss.compile(model.n, max_states=max_states, pairs=pairs, **how)
    return Composition(_composed(hypothesis, machine.unvalued, model, max_states), machine)


def _composed(
    hypothesis: Layered, loss: Fst, model: Layered, max_states: int | None, arcs: Fst | None = None
) -> Fst:
    """hypothesis o loss o model, or ``arcs`` in its place, which must have a sequence in common."""
    bound = int(np.dot(hypothesis.widths, model.widths)) * loss.num_states()
    guard_size("composition", bound, max_states)
    left = compose_fsts(fst_from_layered(hypothesis), loss, ("hypothesis z", "loss"))
    if arcs is not None:
        left.set_output_symbols(None)
    right = fst_from_layered(model) if arcs is None else arcs
    composed = compose_fsts(left, right, ("loss", "model"))
    if composed.start() < 0:
        must = "hypothesis, loss and model must have a sequence in common"
        raise EmptyError("composition", must)
    return composed


# -- expectations ----------------------------------------------------------------------------------


def explicit_expectation(query: Query, keep: int | None, max_states: int | None) -> Expectation:
    """The expected value by the explicit composition, with its distribution; as ``expect``."""
    with advising_default():
        if keep is not None:
            built = _composition(query, max_states)
            levels = level_sets(built.values, _pruned_masses(built, keep))
            return result.kept_expectation(query, levels)
        small = _small_composition(query, max_states)
        found = summed_value(query, max_states) if small is None else _total_of(small, query)
    return result.estimated_expectations([query], found, partial(_levels, max_states, small))[0]


def _small_composition(query: Query, max_states: int | None) -> Composition | None:
    """The composition; None if it is too large, and the loss may be summed over paths instead.

    How large it is, is known once it is built.
    """
    if window_form(query) is not None:
        return None
    try:
        return _composition(query, max_states)
    except SizeLimitError:
        if query.loss.bound is None:
            raise
        return None


def _total_of(built: Composition, query: Query) -> Estimate:
    """The expected value by a composition, in a batch of one."""
    value = size = built.total
    if (built.values < 0).any():
        size = total_weight(built.plain, np.abs(built.values))
    mass = total(query.hypothesis) * total(query.model.layered())
    return one_estimate(value, size, mass)


def _levels(max_states: int | None, built: Composition | None, query: Query) -> Levels:
    """The distribution of the value, by a machine that tells values apart."""
    with advising_default():
        built = _composition(query, max_states) if built is None else built
    return level_sets(built.values, built.ending)


def _pruned_masses(built: Composition, keep: int) -> Floats:
    """The probability of ending in each state if only the most probable of a layer are expanded."""
    table = built.plain
    depth, arcs_at = table.depths
    mass = np.zeros(table.states)
    mass[table.start] = 1.0
    for layer, arcs in enumerate(arcs_at):
        here = np.flatnonzero((depth == layer) & (mass > 0))
        mass[here[np.argsort(-mass[here], kind="stable")[keep:]]] = 0.0
        np.add.at(mass, table.target[arcs], mass[table.source[arcs]] * table.factor[arcs])
    return mass * np.exp(-table.final)


def window_form(query: Query) -> WindowSum | None:
    """The loss as a sum over windows; None if it is none, or has few memory contents."""
    form = window_sum(query.loss, query.n)
    return form if form is not None and form.contents >= limits.MUCH_TO_REMEMBER else None


def summed_value(query: Query, max_states: int | None) -> Estimate:
    """The expected value by machines of the loss whose paths add up, in a batch of one."""
    model = query.model.layered()
    mass = total(query.hypothesis) * total(model)
    value = 0.0
    size = 0.0
    for sign, machine in signed_machines(query.loss, query.n, query.labels, max_states):
        composed = _composed(query.hypothesis, machine.shared, model, max_states)
        table = table_from_fst(composed, "composition")
        part = total_weight(table)
        shift = machine.shift * mass
        value += sign * (part - shift)
        size += part + shift
    return one_estimate(value, size, mass)


# -- derivatives -----------------------------------------------------------------------------------


def explicit_gradient(query: Query) -> tuple[float, list[Floats]]:
    """The expected value, and its derivative with respect to the weight of each arc of the model.

    Forward distance of its source times backward distance of its target, summed over the composed
    arcs that take an arc of the model: an array for each position. The model, with one start and no
    final weights, enters as a transducer from labels to the numbers of its arcs, all of weight one,
    so that each composed arc says which one it took, also one of probability zero.
    """
    model: Layered = query.model.layered()
    possible = isinstance(query.model, Parametrized) and query.model.fixed_support
    pairs = pair_layers(query.hypothesis, model) if possible else None
    arcs = all_arcs(model)
    order = np.lexsort((arcs.label, arcs.source))
    source = arcs.source[order]
    label = arcs.label[order]
    target = arcs.target[order]
    ends = np.where(np.arange(arcs.width) >= arcs.width - model.widths[-1], 0.0, np.inf)
    names = ArcTable(0, source, label + 1, order + 1, np.zeros(len(order)), target, ends)
    with advising_default():
        machine = query.loss.compile(query.n, query.labels, pairs=pairs)
        named = fst_from_table(names)
        composed = _composed(query.hypothesis, machine.unvalued, model, None, named)
    built = Composition(composed, machine, arcs.label)
    table = built.plain
    arc = built.plain.olabel - 1
    weighted = replace(table, weight=minus_log(table.factor * arcs.weight[arc]))
    behind = backward(weighted, built.values * np.exp(-table.final))
    flow = forward(weighted)[table.source] * table.factor * behind[table.target]
    flat = np.bincount(arc, flow, minlength=len(arcs.weight)).astype(np.float64)
    sizes = [len(layer.source) for layer in model.layers]
    return float(behind[table.start]), np.split(flat, np.cumsum(sizes)[:-1]) if sizes else []
