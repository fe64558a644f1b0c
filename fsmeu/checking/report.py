"""What is known of a loss file: its examples, what is derived of it, how its machine grows."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from fsmeu.arrays import Ints
from fsmeu.checking.examples import ExampleResult, labels_of_examples, run_examples
from fsmeu.checking.growth import Growth, growth
from fsmeu.errors import FsmeuError, InputError, message
from fsmeu.fst.alphabet import Alphabet, Label
from fsmeu.fst.distinct import group
from fsmeu.fst.tags import tag_labels
from fsmeu.losses.describe import Properties, properties
from fsmeu.losses.language.syntax import Number, Param, Register, Spec, names_read, tapes
from fsmeu.losses.loss import SpecLoss, bind_loss
from fsmeu.losses.machine.machine import Machine, build_machine, machine_view, same_values
from fsmeu.losses.semantics.bind import table_sides
from fsmeu.losses.semantics.evaluator import BoundLoss, constant

_MOST_STATES = 4000
_MOST_CLOSED = 20_000  # states up to which arcs are followed until nothing new is met
_LENGTHS = (2, 4, 8, 16, 32, 64, 128)
_ALL_PAIRS = 6


class _MissingError(InputError):
    """A parameter is needed for a measurement, and nothing says which number it may be."""


@dataclass(frozen=True)
class RegisterFacts:
    """One register and what follows from the file."""

    name: str  # its name
    kind: str  # the word of the file that made it
    tapes: tuple[str, ...]  # which of z, y and i it depends on
    free: str  # where it is kept when the hypothesis is not known: "state" or "weight"
    given: str  # where it is kept when it is: "state", "weight" or "constant"


@dataclass(frozen=True)
class Pair:
    """A pair of sequences and its value."""

    z: str
    y: str
    value: float


@dataclass(frozen=True)
class Determinism:
    """What is proven of the steps of a loss."""

    # True when the file draws arcs between states; registers alone have one next value each, by
    # construction
    arcs: bool
    every_length: bool  # True when exactly one arc applies whatever the length of the sequences
    up_to: int  # the length up to which every step and every value was seen to be defined
    fault: str  # where it is not, and why; empty when nothing was found

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


@dataclass(frozen=True, eq=False)
class Report:
    """What is known of a loss file."""

    spec: Spec  # the file
    examples: tuple[ExampleResult, ...]  # what became of each example
    registers: tuple[RegisterFacts, ...]  # the registers in order
    loss: SpecLoss | None  # the loss that was measured; None when something is missing for it
    # parameters that neither the caller nor the file gives, and what they were taken as
    assumed: Mapping[str, Any]
    missing: str  # what is missing for a measurement, or nothing
    properties: Properties | None = None  # what is derived of the loss
    growth: Growth | None = None  # how its machine grows
    determinism: Determinism | None = None  # what is proven of its steps
    # two pairs with equal confusion tables and different values, if there are such
    clash: tuple[Pair, Pair] | None = None
    clash_n: int = 0  # the length up to which such pairs were looked for
    redundant: tuple[str, ...] = ()  # registers that could be left out, one at a time
    together: tuple[str, ...] = ()  # registers that could be left out together
    redundant_n: int = 0  # the length for which this was found
    # False when the labels and parameters do not suit what the file says of them
    bound: bool = True

    @property
    def holds(self) -> bool:
        """True when every example holds and nothing was found that is undefined or does not fit."""
        defined = self.determinism is None or self.determinism.holds
        return self.bound and defined and all(result.holds for result in self.examples)


@np.errstate(over="ignore", invalid="ignore")  # values that doubles cannot hold are reported
def report(
    spec: Spec,
    *,
    params: Mapping[str, Any] | None = None,
    labels: Alphabet | Sequence[Label] | str | None = None,
    longest: int | None = None,
) -> Report:
    """What the examples of a loss file say, the sizes of its machines, and what is derived.

    Args:
        spec: the loss file.
        params: parameters for the measurement; those without a default are also for examples that
            do not bind them.
        labels: the labels, where the file leaves them open.
        longest: the greatest length to measure.

    >>> from fsmeu.losses.loss import read_spec
    >>> found = report(read_spec("hamming"), longest=8)
    >>> found.holds, str(found.growth.states), found.properties.additive
    (True, 'n', True)
    """
    given = dict(params or {})
    needed = {p.name: given[p.name] for p in spec.params if p.default is None and p.name in given}
    examples = tuple(run_examples(spec, params=needed, labels=labels))
    registers = register_facts(SpecLoss(spec))
    try:
        loss, assumed = loss_to_measure(spec, given, labels)
    except _MissingError as error:
        return Report(spec, examples, registers, None, {}, str(error))
    except FsmeuError as error:
        return Report(spec, examples, registers, None, {}, str(error), bound=False)
    sizes = growth(loss) if longest is None else growth(loss, longest)
    proven = _determinism(loss.bound, sizes.longest, sizes.fault)
    found = Report(spec, examples, registers, loss, assumed, "", _properties(loss), sizes, proven)
    return _with_clash(_with_redundant(found, loss, sizes), loss, sizes)


def register_facts(loss: SpecLoss) -> tuple[RegisterFacts, ...]:
    """Each register with the tapes it depends on and where it is kept."""
    reach = tapes(loss.spec)
    free, given = loss.linear(False), loss.linear(True)
    rows = []
    for register in loss.spec.registers:
        name, reads = register.name, reach[register.name]
        kept = "weight" if name in given else "state" if "y" in reads else "constant"
        order = tuple(tape for tape in ("z", "y", "i") if tape in reads)
        held = "weight" if name in free else "state"
        rows.append(RegisterFacts(name, register.sugar, order, held, kept))
    return tuple(rows)


def _determinism(bound: BoundLoss, up_to: int, fault: str) -> Determinism:
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
    if any(map(_reads_position, kept)):
        return False
    spec = replace(bound.spec, registers=tuple(kept), value=Number(0.0), range=None)
    part = replace(bound, spec=spec)
    before = 0
    for n in _LENGTHS:
        try:
            view = machine_view(part, n, None)
            held = build_machine("", bound.alphabet, view, None, _MOST_CLOSED)
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


def _reads_position(register: Register) -> bool:
    parts = (register.start, register.update, register.low, register.high, register.depth)
    return any({"n", "i"} & set(names_read(part)) for part in parts if part is not None)


def _with_redundant(found: Report, loss: SpecLoss, sizes: Growth) -> Report:
    """The report with redundant registers of the largest machine that is small, not constant.

    Those that can be left out one at a time, and as many as can be left out together (later ones
    first).
    """
    small = [s.n for s in sizes.sizes if s.states <= _MOST_STATES and s.values > 1]
    if not small:
        return found
    machine = loss.compile(small[-1])
    names = [register.name for register in loss.spec.registers]
    alone = tuple(name for name in names if can_drop(machine, [name]))
    together: list[str] = []
    for name in reversed(alone):
        if can_drop(machine, [name, *together]):
            together.insert(0, name)
    return replace(found, redundant=alone, together=tuple(together), redundant_n=small[-1])


def can_drop(machine: Machine, names: Collection[str]) -> bool:
    """True when the other registers decide where each step leads them, and what the end is worth.

    States that differ in the dropped registers only are one then. What holds for pairs of the
    machine's length need not hold for longer ones.
    """
    kept = [held for name, held in machine.registers.items() if name not in names]
    numbers = [np.unique(held, return_inverse=True)[1] for held in kept]
    blocks = group(np.stack([np.zeros(machine.states, np.int64), *numbers], axis=1))
    steps = machine.next.reshape(machine.states, -1)
    targets = np.where(steps >= 0, blocks[steps], -1)
    columns = np.concatenate([targets, same_values(machine.values)[:, None]], axis=1)
    return all(_is_function(blocks, column) for column in columns.T)


def _is_function(blocks: Ints, outcome: Ints) -> bool:
    """True when all states of a block that have an outcome have the same."""
    known = outcome >= 0
    pairs = np.stack([blocks[known], outcome[known]], axis=1)
    return len(np.unique(pairs, axis=0)) == len(np.unique(blocks[known]))


def _with_clash(found: Report, loss: SpecLoss, sizes: Growth) -> Report:
    """The report with pairs that the value tells apart although the confusion table does not."""
    last = min(sizes.longest, _ALL_PAIRS)
    if len(loss.alphabet) != 2 or found.properties is None or found.properties.confusion:
        return found
    clashes = (confusion_clash(loss, n) for n in range(1, last + 1))
    clash = next((pair for pair in clashes if pair is not None), None)
    return replace(found, clash=clash, clash_n=last)


def confusion_clash(loss: SpecLoss, n: int) -> tuple[Pair, Pair] | None:
    """Two pairs of length n with equal confusion tables and different values, or None.

    Labels are two, the second being the positive one.
    """
    rows = np.array(list(itertools.product((0, 1), repeat=n)), np.int64)
    z, y = np.repeat(rows, len(rows), axis=0), np.tile(rows, (len(rows), 1))
    values = loss.pair_values(z, y)
    tables = group(np.stack([(z & y).sum(axis=1), z.sum(axis=1), y.sum(axis=1)], axis=1))
    for table in np.unique(tables):
        rows = np.flatnonzero(tables == table)
        rows = rows[np.argsort(values[rows], kind="stable")]
        low, high = (
            Pair(loss.alphabet.text(z[row]), loss.alphabet.text(y[row]), float(values[row]))
            for row in (rows[0], rows[-1])
        )
        if high.value - low.value > 1e-12 * max(1.0, abs(high.value)):
            return low, high
    return None


def _properties(loss: SpecLoss) -> Properties | None:
    """None when something in the file is undefined; the measurement says what."""
    try:
        return properties(loss.bound)
    except FsmeuError:
        return None


def loss_to_measure(
    spec: Spec,
    params: Mapping[str, Any],
    labels: Alphabet | Sequence[Label] | str | None = None,
) -> tuple[SpecLoss, dict[str, Any]]:
    """The loss of a file with everything filled in, and the parameters that had to be assumed.

    Labels that the file leaves open are those of its examples. A parameter without default is the
    greatest number that an example gives it; a table has 0 on the diagonal and 1 beside it, or if
    it has one side, 1 for each label.

    Raises:
        InputError: a parameter has no default and no example gives it; or what is given does not
            suit the file.
    """
    if labels is None:
        labels = labels_of_examples(spec)
        if spec.scheme and len(labels or ()) < 2:
            labels = tag_labels(["X"], spec.scheme)
    open_params = [p for p in spec.params if p.default is None and p.name not in params]
    size = len(SpecLoss(spec, {}, _as_alphabet(labels)).alphabet)
    assumed = {param.name: _assumed(spec, param, size) for param in open_params}
    return bind_loss(spec, {**params, **assumed}, labels), assumed


def _as_alphabet(labels: Alphabet | Sequence[Label] | str | None) -> Alphabet | None:
    return labels if labels is None or isinstance(labels, Alphabet) else Alphabet(tuple(labels))


def _assumed(spec: Spec, param: Param, size: int) -> Any:
    if param.type == "table":
        sides = table_sides(spec, param.name)
        return (1.0 - np.eye(size) if sides == 2 else np.ones((size,) * sides)).tolist()
    bindings = [expr for e in spec.examples for name, expr in e.bindings if name == param.name]
    numbers = []
    for expr in bindings:
        try:
            numbers.append(constant(expr, {}, spec))
        except FsmeuError:
            continue
    if not numbers:
        must = f"the parameter {param.name!r} has no default, and no example gives it"
        remedy = f"Give it: --param {param.name}=VALUE, or {param.name}=VALUE in Python"
        raise _MissingError(message(f"{spec.kind} {spec.name}", must, None, remedy))
    return max(numbers)
