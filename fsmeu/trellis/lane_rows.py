"""Rows of E[t^count] by lane, as kernels add them up: generating functions at a few nodes.

A lane belongs to a node x of a rule (``rules.py``), and t = exp(-x): to count an item more
multiplies its number by t. Rows have one number for each lane, padded by zeros to a length that
four divides, or 1. Arcs do not move rows: the row of class c for an arc that counts m is row
c + classes * m, and ``fill_shifted_copies`` makes it.

What counting takes from the mass is added up in ``f.deficit``. Where weights are stochastic, so
that the probabilities of all that may follow add up to 1, the mass at the end is that at the start
less the deficit: a sum of positive terms which is small where little is counted, and as accurate as
such sums are, while the mass itself would be rounded at every step.
"""

from __future__ import annotations

from fsmeu.arrays import Floats, Ints, Places
from fsmeu.trellis.batches import ArcGroup, ForwardLayers, Lanes, RowSlice
from fsmeu.trellis.count_rows import dot, fill, padded, row_of
from fsmeu.trellis.kernels import jit_helper, jit_small, unsigned

__all__ = [
    "add", "add_arcs", "add_class_arcs", "add_flow", "add_group", "count_loss", "dot",
    "dot_counted", "fill", "fill_shifted_copies", "flow_into", "padded", "pull", "row_of",
    "start_row", "usable",
]  # fmt: skip


@jit_small
def usable(columns: int, counted: int) -> int:
    """The number of lanes, whatever is counted."""
    return columns


@jit_small
def start_row(mass: Floats, begin: int, columns: int, number: float) -> None:
    """Sets all lanes of a row to the mass of a pair that has counted nothing."""
    for m in range(columns):
        mass[begin + m] = number


@jit_small
def add(lanes: Lanes, into: RowSlice, source: RowSlice, factor: float, counted: int) -> None:
    """Adds a multiple of a row to another, so much being counted after it."""
    goal = unsigned(into.begin)
    at = unsigned(source.begin)
    if counted == 0:
        for m in range(unsigned(source.size)):
            into.values[goal + m] += factor * source.values[at + m]
        return
    for m in range(unsigned(source.size)):
        into.values[goal + m] += factor * lanes.powers[counted, m] * source.values[at + m]


@jit_small
def pull(lanes: Lanes, into: RowSlice, source: RowSlice, factor: float, counted: int) -> None:
    """Adds a multiple of a row of backward values to another, so much being counted before it."""
    goal = unsigned(into.begin)
    at = unsigned(source.begin)
    for m in range(unsigned(into.size)):
        into.values[goal + m] += factor * lanes.powers[counted, m] * source.values[at + m]


@jit_small
def dot_counted(lanes: Lanes, mass: RowSlice, back: RowSlice, counted: int) -> float:
    """The sum over lanes of a row of masses times backward values, so much being counted."""
    total = 0.0
    a = unsigned(mass.begin)
    b = unsigned(back.begin)
    for m in range(unsigned(mass.size)):
        total += mass.values[a + m] * lanes.powers[counted, m] * back.values[b + m]
    return total


@jit_small
def add_group(
    lanes: Lanes, part: Floats, into: RowSlice, rows: RowSlice, group: ArcGroup, weights: RowSlice
) -> None:
    """Adds to a row what a group of arcs leads to."""
    if group.counted == 0:
        add_arcs(into, rows, group.arcs, group.begin, group.end, weights)
        return
    fill(part, 0, into.size, 0.0)
    moved = RowSlice(part, 0, into.size)
    add_arcs(moved, rows, group.arcs, group.begin, group.end, weights)
    add(lanes, into, moved, 1.0, group.counted)


@jit_small
def add_class_arcs(
    lanes: Lanes,
    f: ForwardLayers,
    into: RowSlice,
    rows: RowSlice,
    group: ArcGroup,
    weights: RowSlice,
) -> None:
    """Adds to the row of a pair what class arcs lead to.

    The mass before it is counted is t^-c times what is added, so that counting takes
    t^-c - 1 = expm1(x c) times it.
    """
    if group.counted == 0:
        add_arcs(into, rows, group.arcs, group.begin, group.end, weights)
        return
    fill(f.part, 0, into.size, 0.0)
    moved = RowSlice(f.part, 0, into.size)
    add_arcs(moved, rows, group.arcs, group.begin, group.end, weights)
    for m in range(unsigned(into.size)):
        into.values[unsigned(into.begin) + m] += f.part[m]
        f.deficit[m] += lanes.rises[group.counted, m] * f.part[m]


@jit_small
def count_loss(
    lanes: Lanes, f: ForwardLayers, row: RowSlice, factor: float, before: int, counted: int
) -> None:
    """Adds to the deficit what counting takes from a multiple of a row."""
    for m in range(unsigned(row.size)):
        taken = lanes.rises[counted, m] * lanes.powers[before + counted, m]
        f.deficit[m] += taken * factor * row.values[unsigned(row.begin) + m]


@jit_helper
def fill_shifted_copies(lanes: Lanes, rows: Floats, classes: int, size: int, copies: int) -> None:
    """Fills the rows of classes for arcs that count 1, ..., copies - 1, from those that do not."""
    for counted in range(1, copies):
        shift = counted * classes * size
        for c in range(classes):
            at = unsigned(c * size)
            goal = unsigned(c * size + shift)
            for m in range(unsigned(size)):
                rows[goal + m] = lanes.powers[counted, m] * rows[at + m]


@jit_small
def flow_into(
    lanes: Lanes, flow: Floats, mass: RowSlice, back: RowSlice, scale: float, counted: int
) -> None:
    """Sets ``flow``, a number for each lane, to a row of masses times backward values."""
    a = unsigned(mass.begin)
    b = unsigned(back.begin)
    if mass.size == 1:
        flow[0] = scale * lanes.powers[counted, 0] * mass.values[a] * back.values[b]
        return
    for m in range(unsigned(0), unsigned(mass.size), unsigned(4)):
        v = scale * lanes.powers[counted, m] * mass.values[a + m] * back.values[b + m]
        k = m + unsigned(1)
        w = scale * lanes.powers[counted, k] * mass.values[a + k] * back.values[b + k]
        k = m + unsigned(2)
        x = scale * lanes.powers[counted, k] * mass.values[a + k] * back.values[b + k]
        k = m + unsigned(3)
        y = scale * lanes.powers[counted, k] * mass.values[a + k] * back.values[b + k]
        flow[m] = v
        flow[m + unsigned(1)] = w
        flow[m + unsigned(2)] = x
        flow[m + unsigned(3)] = y


@jit_small
def add_flow(flow: Floats, amount: float, row: int, score: Floats) -> None:
    """Adds a multiple of a flow to the scores of a score row, (score rows * lanes,)."""
    size = unsigned(len(flow))
    goal = unsigned(row) * size
    if size == unsigned(1):
        score[goal] += amount * flow[0]
        return
    for m in range(unsigned(0), size, unsigned(4)):
        at = goal + m
        v = score[at] + amount * flow[m]
        w = score[at + unsigned(1)] + amount * flow[m + unsigned(1)]
        x = score[at + unsigned(2)] + amount * flow[m + unsigned(2)]
        y = score[at + unsigned(3)] + amount * flow[m + unsigned(3)]
        score[at] = v
        score[at + unsigned(1)] = w
        score[at + unsigned(2)] = x
        score[at + unsigned(3)] = y


@jit_helper
def add_arcs(
    into: RowSlice, rows: RowSlice, arc: Places | Ints, begin: int, end: int, weights: RowSlice
) -> None:
    """Adds to a row what arcs (number of a row of ``rows``, counted, weight) lead to.

    As that of rows by count, with four sums at a time instead of four arcs: rows are short.
    """
    one = unsigned(1)
    goal = unsigned(into.begin)
    size = unsigned(into.size)
    stride = unsigned(rows.size)
    first = unsigned(weights.begin)
    if size == one:
        total = into.values[goal]
        for e in range(unsigned(begin), unsigned(end)):
            weight = weights.values[first + unsigned(arc[e, 2])]
            total += weight * rows.values[row_of(arc, e, stride)]
        into.values[goal] = total
        return
    for m in range(unsigned(0), size, unsigned(4)):
        at = goal + m
        v = into.values[at]
        w = into.values[at + one]
        x = into.values[at + unsigned(2)]
        y = into.values[at + unsigned(3)]
        for e in range(unsigned(begin), unsigned(end)):
            weight = weights.values[first + unsigned(arc[e, 2])]
            a = row_of(arc, e, stride) + m
            v += weight * rows.values[a]
            w += weight * rows.values[a + one]
            x += weight * rows.values[a + unsigned(2)]
            y += weight * rows.values[a + unsigned(3)]
        into.values[at] = v
        into.values[at + one] = w
        into.values[at + unsigned(2)] = x
        into.values[at + unsigned(3)] = y
