"""The streamed engine: the composition is walked layer by layer and never built.

One layer is in memory at a time (Jansche 2007, Algorithm 4, for any model): mass over (loss state,
model state) moves forward by array operations. With ``keep`` only the most probable states of each
layer are expanded (section 4 of the paper).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fsmeu.errors import LossFileError
from fsmeu.fst.compose import guard_size, guard_work
from fsmeu.fst.layers import Layer, arcs_by_label
from fsmeu.limits import CELLS_PER_STATE, MOST_DENSE_STEPS, STEPS_PER_STATE
from fsmeu.losses.machine.quotient_given_z import quotient_given_z
from fsmeu.losses.machine.view import SpecView, View
from fsmeu.trellis.roundings import Sums
from fsmeu.trellis.source import Source
from fsmeu.trellis.state_free_gains import is_steady, steady_walk
from fsmeu.trellis.threads import one_thread
from fsmeu.trellis.transfer import Workspace, forward_step, forward_step_by_arcs
from fsmeu.trellis.view_layers import DenseWalker, SparseWalker, Walker

__all__ = ["Final", "merged_view", "possible_steps", "run"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

_IN_PAIRS = 64
"""Roundings of the sum of an array, which numpy adds up in pairs of blocks; generously."""


@dataclass(frozen=True, eq=False)
class Final:
    """The last layer: loss states and the mass in which sequences end there.

    Attributes:
        codes: states of the loss.
        mass: shape (1 + linear registers, states); row 0 is probability.
        cancelled: how much linear registers whose gains have both signs may have gained, signs
            aside; 0 for others, whose row of the mass says so itself.
        roundings: a bound on the number of roundings behind each mass.
    """

    codes: Ints
    mass: Floats
    cancelled: Floats
    roundings: int

    def sums(self, view: View) -> Sums:
        """The expected value, and what bounds its error."""
        held = self.mass[0] > 0
        codes, (mass, *gained) = self.codes[held], self.mass[:, held]
        value, slopes = view.values(codes)
        found, size = [mass * value], [mass * np.abs(value)]
        for gain, slope, lost in zip(gained, slopes, self.cancelled, strict=True):
            found.append(gain * slope)
            size.append((np.abs(gain) + lost * mass) * np.abs(slope))
        values, masses, sizes = (np.array([np.sum(part)]) for part in (found, mass, size))
        return Sums(values, masses, sizes, self.roundings + _IN_PAIRS)


@one_thread()
def run(
    view: View, source: Source, keep: int | None = None, max_states: int | None = None
) -> Final:
    """The mass at the end of the composition.

    Args:
        view: the loss; its symbols are those of the input.
        source: what it reads, a layered acceptor of the same length.
        keep: expand only this many of the most probable states of each layer.
        max_states: limit on the number of states of a layer.
    """
    merged = merged_view(view, source)
    if merged is not None:
        return _run(SparseWalker(merged), source, keep, max_states)
    if view.space is not None and keep is None and view.space * view.symbols <= MOST_DENSE_STEPS:
        try:
            return _run_dense(DenseWalker(view, view.space), source, max_states)
        except LossFileError:
            pass  # a step is undefined somewhere in the space; only reached states may complain
    return _run(SparseWalker(view), source, keep, max_states)


def merged_view(view: View, source: Source) -> View | None:
    """The view with states merged that z leaves alike; None where that is not worth it."""
    if not (isinstance(view, SpecView) and view.merge):
        return None
    return quotient_given_z(view, max(len(source.start), len(source.final)))


def _run_dense(walker: DenseWalker, source: Source, max_states: int | None) -> Final:
    """Takes the faster walk where the steps allow it."""
    most = len(walker.codes) if walker.widths is None else walker.widths[-1]
    cells = most * max(len(source.start), len(source.final))
    guard_size("composition", cells // CELLS_PER_STATE, max_states)
    if walker.widths is None and source.table is not None and walker.contexts_repeat:
        transfers = walker.transfers()
        if is_steady(transfers):
            mass = _start_mass(walker, source)
            ending = steady_walk(transfers, source.table, mass)
            most = max((transfer.most for transfer in transfers), default=0)
            # Two positions at once: each of two factors is a sum, and pairs of ways lead on.
            roundings = len(transfers) * (2 * len(source.start) + max(most, most**2 // 2) + 4)
            cancelled = sum((t.cancelling for t in transfers), np.zeros(walker.view.linear))
            return Final(walker.codes, source.final @ ending, cancelled, roundings)
    return _run(walker, source, None, max_states)


def _start_mass(walker: Walker, source: Source) -> Floats:
    mass = np.zeros((1 + walker.view.linear, len(source.start), len(walker.codes)))
    mass[0, :, walker.place] = source.start
    return mass


def _run(walker: Walker, source: Source, keep: int | None, max_states: int | None) -> Final:
    view = walker.view
    codes = walker.codes
    sparse = isinstance(walker, SparseWalker)
    guard_size("composition", len(codes) * len(source.start), max_states)
    mass = _start_mass(walker, source)
    space, cancelled = Workspace(), np.zeros(view.linear)
    done = roundings = 0
    for i in range(1, view.n + 1):
        if keep is not None:
            codes, mass = _most_probable(codes, mass, keep)
        if sparse:
            steps = len(codes) * view.symbols
            guard_size("composition", steps // STEPS_PER_STATE, max_states)
            guard_work("composition", done + steps * (view.n + 1 - i), max_states)
            done += steps
        try:
            codes, transfer = walker.step(i, codes)
        except LossFileError:
            if not isinstance(walker, SparseWalker):
                raise
            layer = source.layered().layers[i - 1]
            codes, transfer = walker.step(i, codes, possible_steps(mass, layer, view.symbols))
        if sparse:
            guard_size("composition", transfer.width * mass.shape[1], max_states)
        if view.linear:
            cancelled += transfer.cancelling
        roundings += transfer.most + mass.shape[1] + view.symbols * source.sparse + 6
        if source.sparse:
            mass = forward_step_by_arcs(transfer, mass, source.layered().layers[i - 1])
        else:
            mass = forward_step(transfer, mass, source.factors(i - 1), space)
        if sparse:
            codes, mass = _drop_empty(codes, mass)
    return Final(codes, source.final @ mass, cancelled, roundings + len(source.final))


def possible_steps(mass: Floats, layer: Layer, symbols: int) -> Bools:
    """Which steps (loss states, symbols) have positive probability; others may be undefined."""
    possible = np.zeros((mass.shape[2], symbols), bool)
    for symbol, arcs in arcs_by_label(layer):
        possible[:, symbol] = (mass[0, layer.source[arcs]] > 0).any(axis=0)
    return possible


def _drop_empty(codes: Ints, mass: Floats) -> tuple[Ints, Floats]:
    """Leaves out states that no sequence of positive probability reaches."""
    held = mass[0].any(axis=0)
    return (codes, mass) if held.all() else (codes[held], mass[:, :, held])


def _most_probable(codes: Ints, mass: Floats, keep: int) -> tuple[Ints, Floats]:
    """Keeps the given number of (model state, loss state) pairs and the states they belong to."""
    weights = mass[0].ravel()
    if np.count_nonzero(weights) <= keep:
        return codes, mass
    kept = np.argsort(-weights, kind="stable")[:keep]
    mask = np.zeros(len(weights))
    mask[kept] = 1.0
    return _drop_empty(codes, mass * mask.reshape(mass.shape[1:]))
