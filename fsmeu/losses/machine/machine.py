"""A loss as an explicit two-tape transducer for sequences of length n.

Input tape z, output tape y, one path per pair, the value as final weight (-log of it): the total
weight of hypothesis o machine o model is the expected value. Values that can be negative are
shifted up by a constant that is kept beside the machine.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from fsmeu.arrays import Floats, Ints
from fsmeu.display import Picture
from fsmeu.errors import visible
from fsmeu.fst.alphabet import Alphabet
from fsmeu.fst.arcs import ArcTable
from fsmeu.fst.image import Fst, fst_from_table
from fsmeu.fst.layers import Layered
from fsmeu.fst.symbols import symbol_table
from fsmeu.losses.language.dependencies import names_read, reads_clock, tapes
from fsmeu.losses.language.syntax import Binary, Name, Number, Place, Register
from fsmeu.losses.machine.reachability import explore
from fsmeu.losses.machine.view import MachineView, SpecView
from fsmeu.losses.semantics.bound import BoundLoss
from fsmeu.losses.semantics.trajectory import trajectories

__all__ = ["Machine", "build_machine", "machine_view"]

_ZERO = Number(0.0)
_CLOCK = Register(
    "i", "clock", _ZERO, Binary("+", Name("i"), Number(1.0)), _ZERO, Name("n"), Place()
)


@dataclass(frozen=True, eq=False)
class Machine(Picture):
    """A compiled loss.

    Attributes:
        name: what it computes, for pictures and messages.
        n: the length of the sequences it is for.
        alphabet: the labels of both tapes.
        next: target (states, z, y) of each step, -1 where no pair of length n takes it.
        values: value of ending in each state; nan where no pair of length n ends.
        shift: what was added to every value to make final weights of them.
        registers: register values behind each state.
        source: the loss that it was compiled from, which knows what registers mean; None if it was
            made otherwise.
    """

    name: str
    n: int
    alphabet: Alphabet
    next: Ints
    values: Floats
    shift: float
    registers: dict[str, Floats]
    source: BoundLoss | None = None

    def __repr__(self) -> str:
        """Names what it computes and its size."""
        return f"<machine of {visible(self.name)}: {self.states:,} states, {self.arcs:,} arcs>"

    @property
    def states(self) -> int:
        """The number of states."""
        return len(self.values)

    @property
    def arcs(self) -> int:
        """The number of arcs."""
        return int((self.next >= 0).sum())

    @cached_property
    def table(self) -> ArcTable:
        """The arcs, sorted by state and input label; state 0 is the start."""
        source, z, y = np.nonzero(self.next >= 0)
        target = self.next[source, z, y]
        with np.errstate(divide="ignore"):
            final = -np.log(np.where(np.isnan(self.values), 0.0, self.values + self.shift))
        return ArcTable(0, source, z + 1, y + 1, np.zeros(len(source)), target, final)

    @cached_property
    def fst(self) -> Fst:
        """The pynini machine (log64 arcs, symbol tables attached)."""
        symbols = symbol_table(self.alphabet)
        return fst_from_table(self.table, symbols, symbols)

    @cached_property
    def unvalued(self) -> Fst:
        """The pynini machine without values: every final weight is one."""
        symbols = symbol_table(self.alphabet)
        final = np.where(np.isnan(self.values), np.inf, 0.0)
        return fst_from_table(replace(self.table, final=final), symbols, symbols)


def machine_view(
    bound: BoundLoss, n: int, z: Ints | None, merge: bool = False, linear: tuple[str, ...] = ()
) -> SpecView:
    """The view whose steps are the same at every position, as a machine needs it.

    The position is a register where a step looks at it. With z given, registers that read z alone
    and that no step looks at are left out (Figure 1 of Jansche 2007: states are (tp, ref)).
    """
    spec = bound.spec
    if reads_clock(spec):
        bound = replace(bound, spec=replace(spec, registers=(_CLOCK, *spec.registers)))
    ends: dict[str, float] = {}
    if z is not None:
        ends = _unread_z_registers(bound, n, z)
    return SpecView(bound, n, None, linear, ends=ends, merge=merge)


def _unread_z_registers(bound: BoundLoss, n: int, z: Ints) -> dict[str, float]:
    spec = bound.spec
    reach = tapes(spec)
    out = {name for name, t in reach.items() if "y" not in t and name != "i"}
    while True:
        kept = [r for r in spec.registers if r.name not in out]
        read = frozenset().union(*(names_read(r.update) for r in kept)) if kept else frozenset()
        if not out & read:
            break
        out -= read
    plain = replace(
        bound, spec=replace(spec, registers=tuple(r for r in spec.registers if r.sugar != "clock"))
    )
    names = {name for name, t in reach.items() if "y" not in t and name != "i"}
    tracks = trajectories(plain, n, z[None, :], names)
    return {name: float(tracks[name][0, n]) for name in sorted(out)}


def build_machine(
    name: str,
    alphabet: Alphabet,
    view: MachineView,
    pairs: Layered | None = None,
    max_states: int | None = None,
) -> Machine:
    """The explicit machine of a view that is the same at every position.

    Args:
        name: what it computes.
        alphabet: the labels of both tapes.
        view: a view with the hypothesis free, so that its symbols are pairs.
        pairs: an acceptor of pairs, z * L + y; then only what these can reach is built.
        max_states: limit on the number of states.

    Raises:
        SizeLimitError: there are more states than the limit.
        LossFileError: a reachable step or value is not defined.
    """
    codes, targets, ending = explore(name, view, pairs, len(alphabet), max_states)
    size = len(alphabet)
    nxt = targets.reshape(len(codes), size, size)
    values = np.full(len(codes), np.nan)
    values[ending] = view.values(codes[ending])[0]
    least = np.nanmin(values) if ending.any() else 0.0
    shift = -float(least) if least < 0 else 0.0
    return Machine(name, view.n, alphabet, nxt, values, shift, view.registers(codes))
