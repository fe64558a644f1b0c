"""That in every state exactly one step applies: by construction, by closure, or up to a length."""

from __future__ import annotations

from dataclasses import dataclass, replace

from fsmeu.errors import FsmeuError
from fsmeu.losses.language.dependencies import names_read
from fsmeu.losses.language.syntax import Expr, Number, Register
from fsmeu.losses.machine.machine import build_machine, machine_view
from fsmeu.losses.semantics.bound import BoundLoss

__all__ = ["Determinism", "determinism"]

_MOST_STATES = 20_000
_LENGTHS = (2, 4, 8, 16, 32, 64, 128)


@dataclass(frozen=True)
class Determinism:
    """What is proven of the steps of a loss.

    Attributes:
        arcs: True when the file draws arcs between states; registers alone have one next value
            each, by construction.
        every_length: True when exactly one arc applies whatever the length of the sequences.
        up_to: the length up to which every step and every value was seen to be defined.
        fault: where it is not, and why; empty when nothing was found.
    """

    arcs: bool
    every_length: bool
    up_to: int
    fault: str

    @property
    def holds(self) -> bool:
        """True when nothing was found that is undefined."""
        return not self.fault

    def __str__(self) -> str:
        if self.fault:
            return f"defined up to n = {self.up_to}, not beyond: {self.fault.splitlines()[0]}"
        steps = f"every step and value is defined, up to n = {self.up_to}"
        if not self.arcs:
            return f"one next value by construction; {steps}"
        reach = "for every n" if self.every_length else f"up to n = {self.up_to}"
        return f"exactly one arc applies in each state, {reach}; {steps}"


def determinism(bound: BoundLoss, up_to: int, fault: str) -> Determinism:
    """What is proven of a loss whose machines were built up to a length.

    Args:
        bound: the loss.
        up_to: the greatest length whose machine was built; building it takes every step once.
        fault: why the next machine could not be built, or nothing.
    """
    state = next((r for r in bound.spec.registers if r.sugar == "state"), None)
    if state is None:
        return Determinism(False, not fault, up_to, fault)
    return Determinism(True, not fault and _closes(bound, state), up_to, fault)


def _closes(bound: BoundLoss, state: Register) -> bool:
    """True when the states, with all registers that their arcs look at, stop growing.

    Then every combination that a pair of any length can meet has been met, and an arc taken in it.
    """
    kept = _followed(bound, state)
    if any("n" in names_read(e) or "i" in names_read(e) for r in kept for e in _exprs(r)):
        return False
    spec = replace(bound.spec, registers=tuple(kept), value=Number(0.0), range=None)
    part = replace(bound, spec=spec)
    before = 0
    for n in _LENGTHS:
        try:
            view = machine_view(part, n, None)
            held = build_machine("", bound.alphabet, view, None, _MOST_STATES)
        except FsmeuError:
            return False
        if held.states == before:
            return True
        before = held.states
    return False


def _followed(bound: BoundLoss, state: Register) -> list[Register]:
    """The register and all that its steps depend on, in the order of the file."""
    registers = {r.name: r for r in bound.spec.registers}
    names, fresh = {state.name}, {state.name}
    while fresh:
        read = {other for name in fresh for other in names_read(registers[name].update)}
        fresh = (read & registers.keys()) - names
        names |= fresh
    return [r for r in bound.spec.registers if r.name in names]


def _exprs(register: Register) -> list[Expr]:
    parts = (register.start, register.update, register.low, register.high, register.depth)
    return [part for part in parts if part is not None]
