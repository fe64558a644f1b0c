"""The loops of the general walk: a loss's states times the states of a model, arc by arc.

    push    masses of the next layer from those of a layer (expectation semiring, Eisner 2002)
    pull    its adjoint: backward values, and the derivative with respect to each arc's weight
    change  expected values with the label of z at one position exchanged
    span    masses at the end for many sentences, over one space of states

A step of the product is taken in two parts. Arcs of the model with the same label that lead to the
same state are a *group*; the masses before them are added up once, row[q, s] = sum of weight times
mass[q, source, s]; then the row goes where the loss's steps lead. Quantity 0 is probability, the
others are expectations of linear registers: q gains gain[q, s] row[0, s].

States are taken in ascending order, and states without mass add zeros, so that it does not matter
which of these are among them.

Arrays of a layer are flat: masses (quantities, model states, states), rows (quantities, states),
steps (symbols, states) and gains (linear registers, symbols, states).
"""

from __future__ import annotations

from typing import NamedTuple

from fsmeu.arrays import Floats, Ints
from fsmeu.trellis.kernels import jit_entry, jit_helper, unsigned
from fsmeu.trellis.rows import ArcGroup, RowSlice, add_arcs, dot, fill


class AcceptorArcs(NamedTuple):
    """The arcs of a layered acceptor, those of a position sorted by state after and label."""

    widths: Ints  # states of each layer, (n + 1,)
    arcs: Ints  # where the arcs of each position begin, (n + 1,)
    groups: Ints  # where the groups of each position begin, (n + 1,)
    group: Ints  # first arc, state after and label of each group, and the end, (groups + 1, 3)
    arc: Ints  # state before, 0, its own number, of each arc, (arcs, 3)
    order: Ints  # where each arc stands among those of the layers, one layer after the other


class Position(NamedTuple):
    """A position of a model."""

    acceptor: AcceptorArcs
    weight: Floats  # the weights of all arcs, (arcs,)
    i: int  # counted from 0


class StateRange(NamedTuple):
    """States low, ..., high - 1 of a loss."""

    low: int
    high: int


class MassLayer(NamedTuple):
    """The masses before a position."""

    mass: Floats  # (quantities * model states * states,)
    quantities: int
    states: int  # of the loss
    reached: StateRange  # those that may have mass
    row: Floats  # a buffer, (quantities * states,)


class StepTable(NamedTuple):
    """Where each (symbol, state) of a layer leads."""

    step: Ints  # the state after, -1 for none, (symbols * states,)
    gain: Floats  # what linear registers gain, (linear registers * symbols * states,)
    symbols: int
    width: int  # the number of states after


class BackwardLayer(NamedTuple):
    """Backward values at a position, in the shape of masses, and derivatives."""

    beyond: Floats  # the values after it
    before: Floats  # zeros, to which the values before it are added
    slopes: Floats  # derivatives with respect to the weights of its arcs, (arcs of the position,)


class WalkedSentences(NamedTuple):
    """Sentences that are walked over one space."""

    weights: Floats  # weights of all arcs, in the order of the acceptor, (models, arcs)
    model: Ints  # the row of weights of each sentence, (batch,)
    first: Ints  # the position at which each begins, (batch,)
    start: Floats  # start weights, (batch, states)
    final: Floats  # final weights, (batch, states)


class SpaceSteps(NamedTuple):
    """The steps of all states of a space, which are the same in all layers."""

    start: int  # the state to start in
    quantities: int
    symbols: int
    states: int
    kind: Ints  # the kind of each position of each sentence, (batch, n)
    step: Ints  # of each kind the state after, -1 for none, (kinds, symbols * states)
    gain: Floats  # and the gains, (kinds, linear registers * symbols * states)


class SpaceBuffers(NamedTuple):
    """Arrays in which sentences are walked."""

    mass: Floats  # zeros, for the masses of a layer
    after: Floats  # zeros, for those of the next
    row: Floats  # (quantities * states,)


@jit_helper
def gather(at: Position, g: int, layer: MassLayer) -> None:
    """Fills the layer's row, where states may have mass, with the sums over a group's arcs."""
    acceptor = at.acceptor
    states = layer.states
    low = layer.reached.low
    high = layer.reached.high
    width = acceptor.widths[at.i]
    begin = acceptor.group[g, 0]
    end = acceptor.group[g + 1, 0]
    for q in range(layer.quantities):
        fill(layer.row, q * states + low, q * states + high, 0.0)
        into = RowSlice(layer.row, q * states + low, high - low)
        masses = RowSlice(layer.mass[q * width * states + low :], 0, states)
        group = ArcGroup(acceptor.arc, 0, begin, end)
        add_arcs(into, masses, 0, group, RowSlice(at.weight, 0, 0))


@jit_helper
def states_reached(
    at: Position, layer: MassLayer, steps: StepTable, offset: int, after: Floats
) -> StateRange:
    """Adds to ``after`` the masses of the next layer; returns the range of the states reached.

    Args:
        at: the position.
        layer: the masses before it.
        steps: the steps of the loss.
        offset: added to labels of arcs, to make them symbols of the steps.
        after: (quantities * model states after * states after,).
    """
    acceptor = at.acceptor
    states = layer.states
    row = layer.row
    low = unsigned(layer.reached.low)
    high = unsigned(layer.reached.high)
    wider = acceptor.widths[at.i + 1]
    first = steps.width
    last = 0
    for g in range(acceptor.groups[at.i], acceptor.groups[at.i + 1]):
        gather(at, g, layer)
        symbol = acceptor.group[g, 2] + offset
        begin = unsigned(symbol * states)
        for q in range(layer.quantities):
            goal = (q * wider + acceptor.group[g, 1]) * steps.width
            own = unsigned(q * states)
            if q:
                more = unsigned(((q - 1) * steps.symbols + symbol) * states)
                for s in range(low, high):
                    row[own + s] += steps.gain[more + s] * row[s]
            for s in range(low, high):
                t = steps.step[begin + s]
                if t >= 0:
                    after[unsigned(goal + t)] += row[own + s]
                    first = t if t < first else first
                    last = t + 1 if t >= last else last
    return StateRange(first if last else 0, last)


@jit_entry
def push(at: Position, layer: MassLayer, steps: StepTable, offset: int, after: Floats) -> None:
    """Adds to ``after`` the masses of the next layer; the arguments of ``states_reached``."""
    states_reached(at, layer, steps, offset, after)


@jit_entry
def pull(
    at: Position, layer: MassLayer, steps: StepTable, offset: int, back: BackwardLayer
) -> None:
    """Adds to ``back.before`` the backward values of a layer, from those beyond it.

    Fills ``back.slopes`` with the derivatives with respect to the weights of the position's arcs:
    the mass before an arc times what follows it. The other arguments are those of ``push``.
    """
    acceptor = at.acceptor
    states = layer.states
    row = layer.row
    width = acceptor.widths[at.i]
    wider = acceptor.widths[at.i + 1]
    fours = states // 4 * 4
    for g in range(acceptor.groups[at.i], acceptor.groups[at.i + 1]):
        symbol = acceptor.group[g, 2] + offset
        begin = unsigned(symbol * states)
        for q in range(layer.quantities):
            goal = (q * wider + acceptor.group[g, 1]) * steps.width
            own = unsigned(q * states)
            more = unsigned(((q - 1) * steps.symbols + symbol) * states) if q else begin
            for s in range(unsigned(states)):
                t = steps.step[begin + s]
                row[own + s] = back.beyond[unsigned(goal + t)] if t >= 0 else 0.0
                if q:
                    row[s] += steps.gain[more + s] * row[own + s]
        for e in range(acceptor.group[g, 0], acceptor.group[g + 1, 0]):
            weight = at.weight[e]
            total = 0.0
            for q in range(layer.quantities):
                source = (q * width + acceptor.arc[e, 0]) * states
                total += dot(layer.mass, source, row, q * states, fours)
                a = unsigned(source)
                own = unsigned(q * states)
                for s in range(unsigned(fours), unsigned(states)):
                    total += layer.mass[a + s] * row[own + s]
                for s in range(unsigned(states)):
                    back.before[a + s] += weight * row[own + s]
            back.slopes[e - acceptor.arcs[at.i]] = total


@jit_entry
def change(
    at: Position, layer: MassLayer, steps: StepTable, beyond: Floats, values: Floats
) -> None:
    """Adds to ``values`` the expected value with each label of z at a position, (labels,).

    Symbols are pairs z * labels + y; ``beyond`` has the backward values after the position, the
    other arguments are those of ``push``. All states may have mass.
    """
    acceptor = at.acceptor
    states = layer.states
    row = layer.row
    wider = acceptor.widths[at.i + 1]
    labels = len(values)
    for g in range(acceptor.groups[at.i], acceptor.groups[at.i + 1]):
        gather(at, g, layer)
        for z in range(labels):
            symbol = z * labels + acceptor.group[g, 2]
            total = 0.0
            begin = unsigned(symbol * states)
            for q in range(layer.quantities):
                goal = (q * wider + acceptor.group[g, 1]) * steps.width
                own = unsigned(q * states)
                more = unsigned(((q - 1) * steps.symbols + symbol) * states) if q else begin
                for s in range(unsigned(states)):
                    t = steps.step[begin + s]
                    if t >= 0:
                        gained = steps.gain[more + s] * row[s] if q else 0.0
                        total += (row[own + s] + gained) * beyond[unsigned(goal + t)]
            values[z] += total


@jit_helper
def clear(layer: MassLayer, width: int) -> None:
    """Sets the masses of a layer of so many model states to 0."""
    for k in range(layer.quantities * width):
        begin = k * layer.states
        fill(layer.mass, begin + layer.reached.low, begin + layer.reached.high, 0.0)


@jit_entry
def span(
    acceptor: AcceptorArcs,
    rows: WalkedSentences,
    space: SpaceSteps,
    buffers: SpaceBuffers,
    ending: Floats,
) -> None:
    """Adds to ``ending`` (batch, quantities * states) the masses in which sentences end."""
    mass = buffers.mass
    after = buffers.after
    quantities = space.quantities
    states = space.states
    n = space.kind.shape[1]
    for b in range(len(space.kind)):
        weight = rows.weights[rows.model[b]]
        first = rows.first[b]
        for m in range(acceptor.widths[first]):
            mass[m * states + space.start] = rows.start[b, m]
        reached = StateRange(space.start, space.start + 1)
        for k in range(n):
            kind = space.kind[b, k]
            at = Position(acceptor, weight, first + k)
            layer = MassLayer(mass, quantities, states, reached, buffers.row)
            steps = StepTable(space.step[kind], space.gain[kind], space.symbols, states)
            reached = states_reached(at, layer, steps, 0, after)
            clear(layer, acceptor.widths[first + k])
            mass, after = after, mass
        width = acceptor.widths[first + n]
        for q in range(quantities):
            for m in range(width):
                final = rows.final[b, m]
                for s in range(reached.low, reached.high):
                    ending[b, q * states + s] += final * mass[(q * width + m) * states + s]
        clear(MassLayer(mass, quantities, states, reached, buffers.row), width)
