"""The general walk: the composition of a loss and a model, layer by layer, never built.

One layer is in memory at a time (Jansche 2007, Algorithm 4, for any model): mass moves forward, of
shape (quantities, model states, loss states), quantity 0 being probability, the others expectations
of the registers that are linear in the value. With ``keep`` only the most probable states of each
layer are expanded (section 4 of the paper).

Where arrays may span all states of a loss, the steps of all of them are computed once for each kind
of position, and one call walks many sentences. Otherwise each layer holds the states that are
reached, in ascending order.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from fsmeu import limits
from fsmeu.arrays import Floats, Ints
from fsmeu.errors import LossFileError
from fsmeu.fst.compose import guard_size, guard_work
from fsmeu.fst.distinct import distinct, distinct_rows
from fsmeu.fst.layers import ArcWeights, Layer, Layered, all_arcs, arc_weights, arcs_by_label
from fsmeu.losses.machine.view import LossAutomaton
from fsmeu.losses.protocol import Loss
from fsmeu.losses.sum_over_paths import WindowSum
from fsmeu.models.paths import backward, forward
from fsmeu.trellis.estimate import Estimate, joined, one_estimate
from fsmeu.trellis.kernels import kernel
from fsmeu.trellis.layer_step import LayerStep, Steps, acceptor_of, steps_of
from fsmeu.trellis.walk_kernels import (
    AcceptorArcs,
    SpaceBuffers,
    SpaceSteps,
    WalkedSentences,
    span,
)


@dataclass(frozen=True, eq=False)
class Final:
    """The last layer: loss states and the masses in which the sentences of a batch end there."""

    view: LossAutomaton  # the loss with the first hypothesis
    codes: Ints  # states of the loss
    masses: Floats  # (1 + linear registers, batch, states); row 0 is probability
    cancelled: Floats  # (linear registers, batch): gains without signs at most; 0: none is negative
    ends: Mapping[str, Floats] | None = None  # where registers that look at z alone end, (batch, 1)

    @property
    def mass(self) -> Floats:
        """The masses of the first sentence, (1 + linear registers, states)."""
        mass: Floats = self.masses[:, 0]
        return mass

    def sums(self) -> Estimate:
        """The expected value of each sentence, and the same sum without signs."""
        mass = self.masses
        if self.ends is None:
            value, slopes = self.view.values(self.codes)
            value = value[None]
            slopes = slopes[:, None]
        else:
            value, slopes = self.view.values_with(
                self.ends, self.codes, mass.shape[1:], mass[0] > 0
            )
        terms = mass * np.concatenate([value[None], slopes])  # (1 + linear, batch, states)
        sizes = (np.abs(mass[1:]) + self.cancelled[:, :, None] * mass[:1]) * np.abs(slopes)
        size = (mass[0] * np.abs(value)).sum(axis=-1) + sizes.sum(axis=-1).sum(axis=0)
        values = terms.sum(axis=-1).sum(axis=0)
        return Estimate(values, size, mass[0].sum(axis=-1))


def walk(
    view: LossAutomaton, layered: Layered, keep: int | None = None, max_states: int | None = None
) -> Final:
    """The mass at the end of the composition of a loss and a layered acceptor, in a batch of one.

    Symbols of the loss are those of the model. ``keep`` expands only so many of the most probable
    states of each layer, which has ``max_states`` at most.
    """
    space = view.space if keep is None else None
    small = space is not None and space <= limits.SMALL_SPACE
    merged = view if small else view.merged_given_z(_most_ends(layered))
    if merged is view and space is not None and space * view.symbols <= limits.MOST_DENSE_STEPS:
        guard_size("composition", space * _most_ends(layered) // limits.CELLS_PER_STATE, max_states)
        z = np.zeros((1, view.n), np.int64) if view.z is None else view.z[None, :]
        acceptor = acceptor_of(layered)
        rows = _rows(layered, acceptor, arc_weights(layered), 1)
        final = dense_walk(lambda row: view, z, acceptor, rows)
        if final is not None:
            return final
    return _walk_reached(merged, layered, keep, max_states)


def _most_ends(layered: Layered) -> int:
    """The number of states of the first layer or of the last, whichever is greater."""
    return max(len(layered.start), len(layered.final))


# -- layers of reached states ----------------------------------------------------------------------


def _walk_reached(
    view: LossAutomaton, layered: Layered, keep: int | None, max_states: int | None
) -> Final:
    """As ``walk``, the states that are reached."""
    layer_step = LayerStep(layered, view.linear)
    codes = np.array([view.start], np.int64)
    mass = layer_step.start
    cancelled = np.zeros(view.linear)
    guard_size("composition", len(layered.start), max_states)
    done = 0
    for i in range(view.n):
        if keep is not None:
            codes, mass = _most_probable(codes, mass, keep)
        taken = len(codes) * view.symbols
        guard_size("composition", taken // limits.STEPS_PER_STATE, max_states)
        guard_work("composition", done + taken * (view.n - i), max_states)
        done += taken
        codes, steps = _next_layer(view, i, codes, layered.layers[i], mass)
        guard_size("composition", steps.table.width * mass.shape[1], max_states)
        cancelled += steps.cancelling
        codes, mass = _drop_empty(codes, layer_step.forward(i, mass, steps))
    ending = (layered.final[:, None] * mass).sum(axis=1, keepdims=True)
    codes, ending = _drop_empty(codes, ending)
    return Final(view, codes, ending, cancelled[:, None])


def _next_layer(
    view: LossAutomaton, i: int, codes: Ints, layer: Layer, mass: Floats | None
) -> tuple[Ints, Steps]:
    """The states after position i, from 0 on, ascending, and the steps that lead there.

    What has probability 0 may be undefined, if the masses before the position are given.
    """
    try:
        targets, gains = view.advance(i + 1, codes)
    except LossFileError:
        if mass is None:
            raise
        targets, gains = _possible_steps(view, i, codes, layer, mass)
    after, place = distinct(targets)
    if len(after) and after[0] < 0:
        after = after[1:]
        place = place - 1
    return after, steps_of(place, gains, len(after))


def _possible_steps(
    view: LossAutomaton, i: int, codes: Ints, layer: Layer, mass: Floats
) -> tuple[Ints, Floats | None]:
    """Targets and gains of the steps that have positive probability."""
    targets = np.full((len(codes), view.symbols), -1, np.int64)
    gains = np.zeros((view.linear, *targets.shape)) if view.linear else None
    for symbol, arcs in arcs_by_label(layer):
        rows = np.flatnonzero((mass[0, layer.source[arcs]] > 0).any(axis=0))
        if not len(rows):
            continue
        reached, gained = view.advance(i + 1, codes[rows], np.array([symbol]))
        targets[rows, symbol] = reached[:, 0]
        if gains is not None and gained is not None:
            gains[:, rows, symbol] = gained[:, :, 0]
    return targets, gains


def _drop_empty(codes: Ints, mass: Floats) -> tuple[Ints, Floats]:
    """Leaves out states that no sequence of positive probability reaches."""
    positive = mass[0].any(axis=0)
    return (codes, mass) if positive.all() else (codes[positive], mass[:, :, positive])


def _most_probable(codes: Ints, mass: Floats, keep: int) -> tuple[Ints, Floats]:
    """Keeps the given number of (model state, loss state) pairs and the states they belong to."""
    weights = mass[0].ravel()
    if np.count_nonzero(weights) <= keep:
        return codes, mass
    kept = np.argsort(-weights, kind="stable")[:keep]
    mask = np.zeros(len(weights))
    mask[kept] = 1.0
    return _drop_empty(codes, mass * mask.reshape(mass.shape[1:]))


def walk_gradient(view: LossAutomaton, layered: Layered, fixed: bool) -> tuple[float, list[Floats]]:
    """The expected value, and for each position its derivatives with respect to arcs' weights.

    ``fixed`` says whether what has probability 0 keeps it, and so may be undefined.
    """
    view = view.merged_given_z(_most_ends(layered))
    layer_step = LayerStep(layered, view.linear)
    codes = np.array([view.start], np.int64)
    masses = [layer_step.start]
    taken: list[Steps] = []
    cells = 0
    for i, layer in enumerate(layered.layers):
        codes, steps = _next_layer(view, i, codes, layer, masses[-1] if fixed else None)
        cells += (1 + view.linear) * (steps.table.width * layer.width + len(steps.table.step))
        guard_size("gradient", cells // limits.KEPT_CELLS_PER_STATE)
        taken.append(steps)
        masses.append(layer_step.forward(i, masses[-1], steps))
    positive = masses[-1][0].any(axis=0) if fixed else np.ones(len(codes), bool)
    value, slopes = view.values(codes[positive])
    beyond = np.zeros(masses[-1].shape)
    ends = np.concatenate([value[None], slopes])  # (quantities, states)
    beyond[:, :, positive] = ends[:, None, :] * layered.final[:, None]
    expected = float((masses[-1] * beyond).sum())
    derivatives: list[Floats] = []
    for i in reversed(range(layered.n)):
        beyond, arcs = layer_step.backward(i, masses[i], taken[i], beyond)
        derivatives.append(arcs)
    return expected, derivatives[::-1]


# -- all states of a space -------------------------------------------------------------------------


def _rows(
    layered: Layered, acceptor: AcceptorArcs, weights: ArcWeights, batch: int
) -> WalkedSentences:
    """Sentences of whole length, from the weights of a model for each, or of one for all."""
    arcs = weights.arcs.take(acceptor.order, axis=1)
    first = np.zeros(batch, np.int64)
    model = np.arange(batch) if len(arcs) > 1 else first
    return WalkedSentences(arcs, model, first, weights.start[model], weights.final[model])


def dense_walk(
    view_of: Callable[[int], LossAutomaton],
    z: Ints,
    acceptor: AcceptorArcs,
    rows: WalkedSentences,
) -> Final | None:
    """The ends of sentences with hypotheses z (batch, n); None as ``walk_many``."""
    view = view_of(0)
    batch, n = z.shape
    states = view.space or 0
    quantities = 1 + view.linear
    tracks = view.tracks(z)
    cells = view.context_cells(z, tracks)
    first, kinds = _context_kinds(cells)
    layer = quantities * int(acceptor.widths.max()) * states
    size = view.symbols * states
    if max(layer, len(first) * quantities * size) > limits.MOST_DENSE_STEPS:
        return None
    try:
        by_kind = [_kept_steps(view, view_of, cells, *divmod(place, n)) for place in first.tolist()]
    except LossFileError:
        return None
    space = _space_steps(view, by_kind, kinds)
    buffers = SpaceBuffers(np.zeros(layer), np.zeros(layer), np.empty(quantities * states))
    ending = np.zeros((batch, quantities * states))
    work = batch * quantities * states * (len(acceptor.arc) + 2 * len(acceptor.group))
    run = kernel(span, work)
    run(acceptor, rows, space, buffers, ending)
    masses = ending.reshape(batch, quantities, states).transpose(1, 0, 2)
    cancelling = np.array([one.cancelling for one in by_kind])
    cancelling = cancelling.reshape(len(by_kind), view.linear)
    return Final(
        view,
        codes=np.arange(states),
        masses=np.ascontiguousarray(masses),
        cancelled=cancelling[kinds].sum(axis=1).T,
        ends={name: track[:, n:] for name, track in tracks.items()},
    )


def _context_kinds(cells: Floats) -> tuple[Ints, Ints]:
    """The first place of each kind of position, and the kinds, (batch, n): one for a context.

    ``cells`` has the context of each position, (batch, n, columns).
    """
    batch, n, _ = cells.shape
    columns = np.moveaxis(cells, 2, 0)
    levels = [np.unique(column, return_inverse=True)[1].ravel() for column in columns]
    first, kinds = distinct_rows([np.zeros(batch * n, np.int64), *levels])
    return first, kinds.reshape(batch, n)


def _space_steps(view: LossAutomaton, by_kind: Sequence[Steps], kinds: Ints) -> SpaceSteps:
    """The steps of all states of a space, of kinds of positions, and these kinds, (batch, n)."""
    states = view.space or 0
    size = view.symbols * states
    steps = np.array([one.table.step for one in by_kind], np.int64)
    gains = np.array([one.table.gain for one in by_kind], np.float64)
    return SpaceSteps(
        start=view.start,
        quantities=1 + view.linear,
        symbols=view.symbols,
        states=states,
        kind=kinds,
        step=steps.reshape(len(by_kind), size),
        gain=gains.reshape(len(by_kind), view.linear * size),
    )


def _kept_steps(
    view: LossAutomaton, view_of: Callable[[int], LossAutomaton], cells: Floats, row: int, i: int
) -> Steps:
    """The steps of all states of a space at a position of a sentence, cached on the loss."""
    cache: dict[Sequence[float], Steps] = view.memo.setdefault("steps", {})
    states = view.space or 0
    key = tuple(cells[row, i].tolist())
    if (steps := cache.get(key)) is None:
        if len(cache) * states > limits.KEPT_STEPS:
            cache.clear()
        targets, gains = view_of(row).advance(i + 1, np.arange(states))
        steps = steps_of(targets, gains, states)
        cache[key] = steps
    return steps


def walk_many(loss: Loss, z: Ints, layered: Layered, weights: ArcWeights) -> Estimate | None:
    """The expected value of each hypothesis under its model.

    None where arrays cannot span the states of the loss: there are too many, or a step is undefined
    in some that no sequence may reach.

    Args:
        loss: a loss over the labels of the models.
        z: label indices of the hypotheses, (sequences, n).
        layered: the first model; the others have the same arcs.
        weights: those of each model, or of one that all share.
    """
    acceptor = acceptor_of(layered)
    rows = _rows(layered, acceptor, weights, len(z))
    return dense_walk_many(loss, z, acceptor, rows)


def dense_walk_many(
    loss: Loss, z: Ints, acceptor: AcceptorArcs, rows: WalkedSentences
) -> Estimate | None:
    """The expected values of sentences, block by block; None where ``walk_many`` has none."""
    n = z.shape[1]
    parts = []
    view = loss.view(n, z[0], weights=True)
    if view.space is None or view.space > limits.SMALL_SPACE:
        return None
    size = max(1, limits.BATCHED_CELLS // max((1 + view.linear) * view.space, len(acceptor.arc)))
    for block in (slice(begin, begin + size) for begin in range(0, len(z), size)):
        zs = z[block]
        columns = (column[block] for column in rows[1:])

        def view_of(row: int, zs: Ints = zs) -> LossAutomaton:
            return loss.view(n, zs[row], weights=True)

        some = WalkedSentences._make((rows.weights, *columns))
        final = dense_walk(view_of, zs, acceptor, some)
        if final is None:
            return None
        parts.append(final.sums())
    return joined(parts)


def walk_windows(form: WindowSum, z: Ints, layered: Layered) -> Estimate | None:
    """The expected value of a sum over windows, in a batch of one.

    All windows are walked at once, each from the mass that the model has before it, with what it
    has to go as final weights. None when arrays cannot span the states of a window.
    """
    before = forward(layered)
    after = backward(layered)
    mass = float(before[-1] @ after[-1])
    value = form.base * mass
    size = abs(form.base) * mass
    first = np.arange(len(z) - form.k + 1)
    if len(first):
        acceptor = acceptor_of(layered)
        arcs = all_arcs(layered)
        widths = layered.widths
        start = np.zeros((len(first), max(widths)))
        final = np.zeros((len(first), max(widths)))
        for i in first.tolist():
            end = i + form.k
            start[i, : widths[i]] = before[i]
            final[i, : widths[end]] = after[end]
        weights = arcs.weight[acceptor.order][None]
        rows = WalkedSentences(weights, 0 * first, first, start, final)
        windows = sliding_window_view(z, form.k)
        sums = dense_walk_many(form.loss, windows, acceptor, rows)
        if sums is None:
            return None
        value += sums.values.sum()
        size += sums.sizes.sum()
    return one_estimate(value, size, mass)
