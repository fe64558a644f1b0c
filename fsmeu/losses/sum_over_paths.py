"""A loss as a transducer whose paths add up: counts ride in the weight.

The machine of ``compile`` has one path per pair and the value at its end, so every count is part of
its states. Where the value is linear in some of them, several paths per pair can share the work:
one pays for the value with these counts at their start, and for each position one that waits, pays
what a count gains there, and goes on. The weights of all paths of a pair sum to its value, so the
total weight of a composition is the expected value still, and the machine is smaller by the counts.
Where the loss is a sum over windows, a path waits, reads one window, pays, and goes on.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from fsmeu.arrays import Bools, Floats, Ints
from fsmeu.display import Picture
from fsmeu.errors import InputError, message, visible
from fsmeu.fst.alphabet import Alphabet
from fsmeu.fst.compose import guard_size
from fsmeu.fst.image import ArcTable, Fst, fst_from_table, symbol_table, trimmed
from fsmeu.losses.loss import SpecLoss
from fsmeu.losses.machine.machine import explore, in_blocks, machine_view, minimize
from fsmeu.losses.machine.view import SpecView
from fsmeu.losses.protocol import Loss, check_loss, encoded, reached_by
from fsmeu.losses.windows import Windows, windows

_SHIFTED = 0.0


@dataclass(frozen=True, eq=False)
class SummedMachine(Picture):
    """A transducer whose paths add up to the value of a loss.

    Attributes:
        name: what it computes.
        n: the length of the sequences it is for.
        alphabet: the labels of both tapes.
        table: its arcs; input tape z, output tape y. The weights of the paths of a pair of length n
            sum to value + shift.
        shift: what was added to every value, because weights cannot be negative.
    """

    name: str
    n: int
    alphabet: Alphabet
    table: ArcTable
    shift: float

    def __repr__(self) -> str:
        """Names what it computes and its size."""
        return f"<machine of {visible(self.name)}: {self.states:,} states, {self.arcs:,} arcs>"

    @property
    def states(self) -> int:
        """The number of states."""
        return self.table.states

    @property
    def arcs(self) -> int:
        """The number of arcs."""
        return self.table.arcs

    @cached_property
    def fst(self) -> Fst:
        """The pynini machine (log64 arcs, symbol tables attached)."""
        symbols = symbol_table(self.alphabet)
        return fst_from_table(self.table, symbols, symbols)


class _Arcs:
    """Arcs as they are collected: weights are real factors, arcs of weight 0 are left out."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._parts: list[tuple[Ints, Ints, Floats, Ints]] = []

    def add(self, source: Ints, pair: Ints, factor: Floats | float, target: Ints) -> None:
        """More arcs; the arguments broadcast against each other."""
        cells = np.broadcast_arrays(source, pair, np.asarray(factor, np.float64), target)
        kept = cells[2].ravel() > 0
        flat = [cell.ravel()[kept] for cell in cells]
        self._parts.append((flat[0], flat[1], flat[2], flat[3]))

    def table(self, final: Floats) -> ArcTable:
        """The machine of these arcs; state 0 is the start, final weights are real numbers."""
        source, pair, factor, target = (
            np.concatenate([part[k] for part in self._parts]) for k in range(4)
        )
        order = np.lexsort((pair, source))
        source, pair, factor, target = (cell[order] for cell in (source, pair, factor, target))
        with np.errstate(divide="ignore"):
            weights, ends = -np.log(factor), -np.log(final)
        z, y = np.divmod(pair.astype(np.int64), self._size)
        return ArcTable(0, source, z + 1, y + 1, weights, target, ends)


def compile_summed(
    loss: Loss, n: int, z: Any = None, max_states: int | None = None
) -> SummedMachine:
    """The transducer whose paths add up to the loss.

    Args:
        loss: a loss or utility from a file.
        n: length of the sequences.
        z: a hypothesis; then only what it can reach is built.
        max_states: limit on the number of states.

    Raises:
        SizeLimitError: there are more states than the limit.
        LossFileError: a reachable step or value is not defined.

    >>> from fsmeu.losses.loss import load
    >>> f1 = load("fscore")
    >>> f1.compile(40).states, compile_summed(f1, 40).states
    (12341, 3200)
    """
    return _compiled(loss, n, z, max_states, _SHIFTED)


def signed_parts(
    loss: Loss, n: int, z: Any = None, max_states: int | None = None
) -> list[tuple[float, SummedMachine]]:
    """Machines without a shift and the signs with which their weights add up to the loss.

    It is one machine where no shift is needed. Otherwise one has the paths that pay, the other
    those that are paid: a shift as great as the least value costs the digits of all others.
    """
    whole = compile_summed(loss, n, z, max_states)
    if not whole.shift:
        return [(1.0, whole)]
    return [(sign, _compiled(loss, n, z, max_states, sign)) for sign in (1.0, -1.0)]


def _compiled(loss: Loss, n: int, z: Any, max_states: int | None, sign: float) -> SummedMachine:
    """The machine of what has this sign, or of all, shifted."""
    check_loss(loss, "compile_summed")
    if not isinstance(loss, SpecLoss):
        must = "counts ride in the weight of losses from files; of a Python loss nothing is known"
        raise InputError(message("compile_summed", must, loss.name, "Use its compile"))
    given = encoded(loss, n, z)
    name = f"{loss.kind} {loss.name}, n = {n}, summed"
    form = windows(loss, n)
    if form is not None:
        return _over_windows(loss, n, name, form, max_states, sign)
    return _over_positions(loss, n, name, given, max_states, sign)


@np.errstate(over="ignore", invalid="ignore")  # what comes of it is checked
def _over_windows(
    loss: SpecLoss, n: int, name: str, form: Windows, max_states: int | None, sign: float
) -> SummedMachine:
    """Paths that wait in the start, read one window, pay what it adds, and go on in the end."""
    window = minimize(form.loss.compile(form.k, max_states=max_states), layered=True)
    steps = window.next.reshape(window.states, -1)
    inner = np.flatnonzero(np.isnan(window.values))
    number = np.full(window.states, -1, np.int64)
    number[inner] = np.arange(len(inner))
    end = len(inner)
    pairs = np.arange(steps.shape[1])
    worth, base = _signed(window.values, sign), float(_signed(form.base, sign))
    least = min(0.0, float(np.nanmin(worth)))
    arcs = _Arcs(len(loss.alphabet))
    for waiting in (0, end):
        arcs.add(np.array(waiting), pairs, 1.0, np.array(waiting))
    source, pair = np.nonzero(steps[inner] >= 0)
    target = steps[inner][source, pair]
    paid = np.where(number[target] < 0, worth[target] - least, 1.0)
    arcs.add(source, pair, paid, np.where(number[target] < 0, end, number[target]))
    shift = max(0.0, -base)
    final = np.zeros(end + 1)
    final[0], final[end] = base + shift, 1.0
    shift -= least * max(0, n - form.k + 1)
    return _finished(name, n, loss.alphabet, arcs, final, shift)


@np.errstate(over="ignore", invalid="ignore")  # what comes of it is checked
def _over_positions(
    loss: SpecLoss, n: int, name: str, z: Ints | None, max_states: int | None, sign: float
) -> SummedMachine:
    """Paths that pay at one position, beside the path that pays the rest at the end."""
    view = machine_view(loss.bound, n, z, merge=True, linear=loss.linear(z is not None))
    size = len(loss.alphabet)
    codes, targets, ending = explore(name, view, reached_by(loss, n, z), size, max_states)
    values, slopes = view.values(codes[ending])
    values = _signed(values, sign)
    taken = targets >= 0
    source, pair = np.nonzero(taken)
    waiting = _Steps(source, pair, targets[source, pair], ending)
    arcs = _Arcs(size)
    arcs.add(source, pair, 1.0, waiting.target)
    finals = [np.zeros(len(codes))]
    for gain, slope in zip(_gains(view, codes, taken), slopes, strict=True):
        for toward in (1.0, -1.0):
            signed, worth = _signed(toward * gain, sign), np.maximum(toward * slope, 0.0)
            if len(gain) and worth.any():
                least = 0.0 if sign else signed.min()
                begin = sum(map(len, finals))
                guard_size(name, begin + len(codes), max_states)
                finals.append(_add_paid(arcs, begin, waiting, signed - least, worth))
                values = values + n * least * worth  # every path has n steps
    shift = max(0.0, -float(values.min(initial=0.0)))
    finals[0][ending] = values + shift
    return _finished(name, n, loss.alphabet, arcs, np.concatenate(finals), shift)


def _signed(amounts: Any, sign: float) -> Any:
    """What of the amounts has this sign, without it; all of them where none is asked for."""
    return np.maximum(sign * amounts, 0.0) if sign else amounts


def _finished(
    name: str, n: int, alphabet: Alphabet, arcs: _Arcs, final: Floats, shift: float
) -> SummedMachine:
    """The machine, if doubles can hold what its paths add up to."""
    table = arcs.table(final)
    finite = (np.isfinite(numbers).all() for numbers in (shift, final, table.weight))
    if not all(finite):
        must = "values and what counts add up to must be numbers that doubles can hold"
        raise InputError(message(name, must, None, "Scale the loss down"))
    return SummedMachine(name, n, alphabet, trimmed(table), shift)


@dataclass(frozen=True, eq=False)
class _Steps:
    """The arcs of a machine, and which of its states are final."""

    source: Ints
    pair: Ints
    target: Ints
    ending: Bools


def _gains(view: SpecView, codes: Ints, taken: Bools) -> Floats:
    """What each linear register gains on each arc, (linear, arcs).

    ``taken`` says which steps (states, pairs of labels) are arcs; others may be undefined.
    """
    gains = np.zeros((view.linear, *taken.shape))
    for sources, symbols in _alike(taken) if view.linear else ():
        for block in in_blocks(sources, len(symbols)):
            gained = view.advance(1, codes[block], symbols)[1]
            gains[:, block[:, None], symbols] = gained
    return gains[:, taken]


def _alike(taken: Bools) -> Iterator[tuple[Ints, Ints]]:
    """States with the pairs of labels that exactly these states read."""
    columns = np.ascontiguousarray(np.packbits(taken, axis=0).T)
    kinds = np.unique(columns.view(f"V{columns.shape[1]}").ravel(), return_inverse=True)[1]
    order = np.argsort(kinds, kind="stable")
    for symbols in np.split(order, np.flatnonzero(np.diff(kinds[order])) + 1):
        sources = np.flatnonzero(taken[:, symbols[0]])
        if len(sources):
            yield sources, symbols


def _add_paid(arcs: _Arcs, begin: int, steps: _Steps, paid: Floats, worth: Floats) -> Floats:
    """Adds the states, numbered from ``begin``, in which a path is once it has paid.

    ``paid`` is what is paid on each arc, ``worth`` what that is worth in each final state, both at
    least 0. Returns their final weights; one state where it is worth the same everywhere.
    """
    if (worth == worth[0]).all():
        one = np.array(begin)
        arcs.add(steps.source, steps.pair, paid, one)
        arcs.add(one, np.unique(steps.pair), 1.0, one)
        return worth[:1]
    arcs.add(steps.source, steps.pair, paid, begin + steps.target)
    arcs.add(begin + steps.source, steps.pair, 1.0, begin + steps.target)
    final = np.zeros(len(steps.ending))
    final[steps.ending] = worth
    return final
