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
"""

# Arrays are flat: masses (quantities, model states, states), steps (symbols, states) and gains
# (linear registers, symbols, states). ``acceptor`` is walk.AcceptorArcs, ``rows`` walk.Rows.
# ruff: noqa: D417

from __future__ import annotations

from fsmeu.trellis.batches import RowSlice
from fsmeu.trellis.count_rows import add_arcs, dot, fill
from fsmeu.trellis.kernels import jit_entry, jit_helper, unsigned


@jit_helper
def gather(acceptor, g, weight, mass, quantities, width, states, low, high, row):
    """Fills ``row`` (quantities, states) from low to high with the sums over a group's arcs."""
    begin, end = acceptor.group[g, 0], acceptor.group[g + 1, 0]
    for q in range(quantities):
        fill(row, q * states + low, q * states + high, 0.0)
        into = RowSlice(row, q * states + low, high - low)
        masses = RowSlice(mass[q * width * states + low :], 0, states)
        add_arcs(into, masses, acceptor.arc, begin, end, RowSlice(weight, 0, 0))


@jit_entry
def push(acceptor, i, weight, mass, shape, step, gain, offset, row, after):
    """Adds to ``after`` the masses of the next layer; returns the range of the states reached.

    Args:
        weight: the weights of all arcs.
        shape: quantities, symbols, states before, states after, first state, end of the states.
        step: the state after each (symbol, state), -1 for none.
        offset: added to labels of arcs, to make them symbols of the steps.
        row: a buffer for (quantities, states).
    """
    quantities, symbols, states, beyond, low, high = shape
    width, wider = acceptor.widths[i], acceptor.widths[i + 1]
    first, last = beyond, 0
    for g in range(acceptor.groups[i], acceptor.groups[i + 1]):
        gather(acceptor, g, weight, mass, quantities, width, states, low, high, row)
        symbol = acceptor.group[g, 2] + offset
        at = unsigned(symbol * states)
        for q in range(quantities):
            goal, own = (q * wider + acceptor.group[g, 1]) * beyond, unsigned(q * states)
            if q:
                more = unsigned(((q - 1) * symbols + symbol) * states)
                for s in range(unsigned(low), unsigned(high)):
                    row[own + s] += gain[more + s] * row[s]
            for s in range(unsigned(low), unsigned(high)):
                t = step[at + s]
                if t >= 0:
                    after[unsigned(goal + t)] += row[own + s]
                    first = t if t < first else first
                    last = t + 1 if t >= last else last
    return (first, last) if last else (0, 0)


@jit_entry
def pull(acceptor, i, weight, mass, shape, step, gain, offset, row, beyond, before, slopes):
    """Adds to ``before`` the backward values of a layer, from those ``beyond`` it.

    Fills ``slopes`` with the derivatives with respect to the weights of the position's arcs: the
    mass before an arc times what follows it. The other arguments are those of ``push``.
    """
    quantities, symbols, states, after = shape[0], shape[1], shape[2], shape[3]
    width, wider, fours = acceptor.widths[i], acceptor.widths[i + 1], states // 4 * 4
    for g in range(acceptor.groups[i], acceptor.groups[i + 1]):
        symbol = acceptor.group[g, 2] + offset
        at = unsigned(symbol * states)
        for q in range(quantities):
            goal, own = (q * wider + acceptor.group[g, 1]) * after, unsigned(q * states)
            more = unsigned(((q - 1) * symbols + symbol) * states) if q else at
            for s in range(unsigned(states)):
                t = step[at + s]
                row[own + s] = beyond[unsigned(goal + t)] if t >= 0 else 0.0
                if q:
                    row[s] += gain[more + s] * row[own + s]
        for e in range(acceptor.group[g, 0], acceptor.group[g + 1, 0]):
            u, total = weight[e], 0.0
            for q in range(quantities):
                a, own = (q * width + acceptor.arc[e, 0]) * states, q * states
                total += dot(mass, a, row, own, fours)
                a, own = unsigned(a), unsigned(own)
                for s in range(unsigned(fours), unsigned(states)):
                    total += mass[a + s] * row[own + s]
                for s in range(unsigned(states)):
                    before[a + s] += u * row[own + s]
            slopes[e - acceptor.arcs[i]] = total


@jit_entry
def change(acceptor, i, weight, mass, shape, step, gain, labels, row, beyond, values):
    """Adds to ``values`` the expected value with each label of z at a position, (labels,).

    Symbols are pairs z * labels + y; the other arguments are those of ``pull``.
    """
    quantities, symbols, states, after = shape[0], shape[1], shape[2], shape[3]
    width, wider = acceptor.widths[i], acceptor.widths[i + 1]
    for g in range(acceptor.groups[i], acceptor.groups[i + 1]):
        gather(acceptor, g, weight, mass, quantities, width, states, 0, states, row)
        for z in range(labels):
            symbol, total = z * labels + acceptor.group[g, 2], 0.0
            at = unsigned(symbol * states)
            for q in range(quantities):
                goal, own = (q * wider + acceptor.group[g, 1]) * after, unsigned(q * states)
                more = unsigned(((q - 1) * symbols + symbol) * states) if q else at
                for s in range(unsigned(states)):
                    t = step[at + s]
                    if t >= 0:
                        gained = gain[more + s] * row[s] if q else 0.0
                        total += (row[own + s] + gained) * beyond[unsigned(goal + t)]
            values[z] += total


@jit_helper
def clear(mass, quantities, width, states, low, high):
    """Sets the masses of states low, ..., high - 1 to 0."""
    for k in range(quantities * width):
        fill(mass, k * states + low, k * states + high, 0.0)


@jit_entry
def span(acceptor, rows, kinds, size, place, steps, gains, buffers, ending):
    """Adds to ``ending`` (batch, quantities * states) the masses in which sentences end.

    Args:
        kinds: the kind of each position of each sentence, (batch, n).
        size: quantities, symbols, states; the states are the same in all layers.
        place: the state to start in.
        steps: of each kind of position, (kinds, symbols * states).
        gains: of each kind of position, (kinds, linear registers * symbols * states).
        buffers: two arrays of zeros for masses of a layer, and one for a row.
    """
    mass, after, row = buffers
    quantities, symbols, states = size
    for b in range(len(kinds)):
        weight, i, n = rows.weights[rows.model[b]], rows.first[b], kinds.shape[1]
        for m in range(acceptor.widths[i]):
            mass[m * states + place] = rows.start[b, m]
        low, high = place, place + 1
        for k in range(n):
            kind, shape = kinds[b, k], (quantities, symbols, states, states, low, high)
            reached = push(
                acceptor, i + k, weight, mass, shape, steps[kind], gains[kind], 0, row, after
            )
            clear(mass, quantities, acceptor.widths[i + k], states, low, high)
            mass, after = after, mass
            low, high = reached
        width = acceptor.widths[i + n]
        for q in range(quantities):
            for m in range(width):
                u = rows.final[b, m]
                for s in range(low, high):
                    ending[b, q * states + s] += u * mass[(q * width + m) * states + s]
        clear(mass, quantities, width, states, low, high)
