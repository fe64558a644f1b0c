"""The report on a loss file: its examples, its derived properties, the growth of its machine."""

from __future__ import annotations

import itertools
import os
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from fsmeu.checking.exact_methods import Applies, Tried, try_methods
from fsmeu.checking.examples import ExampleResult, labels_of_examples, run_examples
from fsmeu.checking.growth import LONGEST, Growth, growth
from fsmeu.errors import FsmeuError, InputError, check_int
from fsmeu.fst.alphabet import BINARY, Label, as_alphabet
from fsmeu.fst.distinct import group
from fsmeu.fst.tags import tag_labels, tag_parts
from fsmeu.losses.describe import Properties, properties
from fsmeu.losses.language import syntax
from fsmeu.losses.language.syntax import Spec, names_read
from fsmeu.losses.loss import Labels, SpecLoss, bind_loss, read_spec
from fsmeu.losses.machine.machine import Machine, build_machine, machine_view
from fsmeu.losses.machine.minimize import same_values
from fsmeu.losses.protocol import as_loss
from fsmeu.losses.semantics.bind import give_param
from fsmeu.losses.semantics.evaluator import BoundLoss, constant

_MOST_STATES = 4000  # of a machine in which redundant registers are looked for
_MOST_CLOSED = 20_000  # states up to which arcs are followed until there are no new ones
_ASSUMED_ENTRIES = 256  # of the side of a table that a position or a number chooses from
_FEW_LABELS = 2  # fewer tell nothing apart
_OTHER_LABEL = "other"
_LENGTHS = (2, 4, 8, 16, 32, 64, 128)
_ALL_PAIRS = 6  # the length up to which all pairs are compared


class _MissingError(InputError):
    """A parameter is needed for a measurement, and nothing says which number it may be."""


@dataclass(frozen=True)
class RegisterFacts:
    """One register and what follows from the file."""

    name: str  # its name
    kind: str  # the word of the file that made it
    tapes: tuple[str, ...]  # which of z, y and i it depends on
    free: str  # where it is stored when the hypothesis is free: "state" or "weight"
    given: str  # where it is stored when it is given: "state", "weight" or "constant"


class Pair(NamedTuple):
    """A pair of sequences and its value."""

    z: str
    y: str
    value: float


@dataclass(frozen=True)
class Determinism:
    """Whether the steps of a loss are deterministic and defined, and up to which length."""

    arcs: bool  # whether the file draws arcs between states; registers have one next value each
    every_length: bool  # whether exactly one arc applies whatever the length of the sequences
    up_to: int  # the length up to which every step and value was seen to be defined, in its range
    fault: str  # where something is undefined or leaves its range, and why; empty if nowhere

    def __str__(self) -> str:
        if self.fault:
            return f"no fault up to n = {self.up_to}; beyond: {self.fault.splitlines()[0]}"
        steps = f"every step and value is defined, for n = 1 to {self.up_to}"
        if not self.arcs:
            return f"one next value by construction; {steps}"
        reach = "for every n" if self.every_length else f"up to n = {self.up_to}"
        return f"exactly one arc applies in each state, {reach}; {steps}"


@dataclass(frozen=True, eq=False)
class Report:
    """The results of examples, measurements and proofs for a loss file."""

    spec: Spec  # the file
    examples: tuple[ExampleResult, ...]  # what became of each example
    registers: tuple[RegisterFacts, ...]  # the registers in order
    loss: SpecLoss | None = None  # the loss that was measured; None when something is missing
    assumed: Mapping[str, Any] = field(default_factory=dict)  # parameters that nobody gives
    assumed_labels: tuple[str, ...] = ()  # that the file names and nobody uses
    missing: FsmeuError | None = None  # what is missing for a measurement, or nothing
    bound: bool = True  # False when labels and parameters do not suit what the file says of them
    properties: Properties | None = None  # what is derived of the loss
    growth: Growth | None = None  # how its machine grows
    determinism: Determinism | None = None  # what is proven of its steps
    clash: tuple[Pair, Pair] | None = None  # pairs of one confusion table with different values
    clash_n: int = 0  # the length up to which such pairs were looked for
    redundant: tuple[str, ...] = ()  # registers that could be left out, one at a time
    together: tuple[str, ...] = ()  # registers that could be left out together
    redundant_n: int = 0  # the length for which this holds
    underived: str = ""  # the error that kept properties from being derived, or nothing
    methods_n: int | None = None  # the length at which methods are tried, if one was asked for

    @property
    def holds(self) -> bool:
        """True when every example holds, every step is defined, and labels and parameters fit."""
        defined = self.determinism is None or not self.determinism.fault
        return self.bound and defined and all(result.holds for result in self.examples)

    @cached_property
    def tried(self) -> Tried | None:
        """The exact methods, and why others do not apply, where something is derived of the loss.

        They are tried at the length that was asked for, else at a short one.
        """
        if self.properties is None or self.loss is None:
            return None
        with np.errstate(over="ignore", invalid="ignore"):  # said of the values
            return try_methods(self.loss, self.methods_n)

    @property
    def methods(self) -> tuple[Applies, ...]:
        """The exact methods that decide for the loss, where something is derived of it."""
        return () if self.tried is None else self.tried.applies


def check(
    loss: str | os.PathLike[str] | SpecLoss,
    *,
    labels: Labels = None,
    n: int | None = None,
    **params: Any,
) -> Report:
    """The report that ``fsmeu check`` prints: examples, sizes of machines, derived properties.

    Args:
        loss: the name or path of a loss file, or a loss that ``load`` or ``loads`` made of one,
            with its labels and parameters.
        labels: the labels, where the file leaves them open.
        n: the greatest length to measure.
        params: parameters for the measurement, by name.

    >>> check("pk", k=2).properties.additive
    True
    """
    n = None if n is None else check_int("check", "n", n)
    if isinstance(loss, str | os.PathLike):
        return report(read_spec(loss, "check"), params=params, labels=labels, n=n)
    if isinstance(as_loss(loss, "check"), SpecLoss):
        given = None if loss.labels_open else loss.alphabet.labels
        return report(
            loss.spec,
            params={**loss.params_given, **params},
            labels=given if labels is None else labels,
            n=n,
        )
    must = "a loss of a file is needed: one in Python tells nothing of itself"
    raise InputError("check", must, given=loss)


@np.errstate(over="ignore", invalid="ignore")  # values that doubles cannot hold are reported
def report(
    spec: Spec,
    *,
    params: Mapping[str, Any] | None = None,
    labels: Labels = None,
    n: int | None = None,
) -> Report:
    """The report on a loss file: results of its examples, sizes of machines, derived properties.

    Args:
        spec: the loss file.
        params: parameters for the measurement; those without a default are also for examples that
            do not bind them.
        labels: the labels, where the file leaves them open.
        n: the greatest length to measure.

    >>> from fsmeu.losses.loss import read_spec
    >>> result = report(read_spec("hamming"), n=8)
    >>> result.holds, str(result.growth.states), result.properties.additive
    (True, 'n', True)
    """
    values = dict(params or {})
    needed = {p.name: values[p.name] for p in spec.params if p.default is None and p.name in values}
    examples = tuple(run_examples(spec, params=needed, labels=labels))
    result = Report(spec, examples, register_facts(SpecLoss(spec)))
    try:
        loss, assumed = loss_to_measure(spec, values, labels)
    except FsmeuError as error:
        return replace(result, missing=error, bound=isinstance(error, _MissingError))
    sizes = growth(loss, n or LONGEST)
    props = None
    underived = ""
    try:
        props = properties(loss.bound)
    except FsmeuError as error:  # something in the file is undefined
        underived = str(error).splitlines()[0]
    proven = _determinism(loss.bound, sizes)
    result = replace(result, loss=loss, assumed=assumed, properties=props, underived=underived)
    if labels is None and spec.labels is None:
        used = {"0", "1", "O", *map(str, labels_of_examples(spec))}
        named = tuple(name for name in loss.bound.named if name not in used)
        result = replace(result, assumed_labels=named)
    result = replace(result, methods_n=n)
    result = replace(result, growth=sizes, determinism=proven)
    return replace(result, **_clash(loss, props, sizes), **_redundant(loss, sizes))


def register_facts(loss: SpecLoss) -> tuple[RegisterFacts, ...]:
    """The registers in order, each with the tapes it depends on and where it is stored."""
    reach = loss.spec.tapes
    free = loss.linear(False)
    given = loss.linear(True)
    rows = []
    for register in loss.spec.registers:
        name = register.name
        reads = reach[register.name]
        where_given = "weight" if name in given else "state" if "y" in reads else "constant"
        order = tuple(tape for tape in ("z", "y", "i") if tape in reads)
        where_free = "weight" if name in free else "state"
        rows.append(RegisterFacts(name, register.sugar, order, where_free, where_given))
    return tuple(rows)


def _determinism(bound: BoundLoss, sizes: Growth) -> Determinism:
    """The determinism of a loss whose machines were built, as building takes every step once."""
    state = next((r for r in bound.spec.registers if r.sugar == "state"), None)
    closes = not sizes.fault and (state is None or _closes(bound, state))
    return Determinism(state is not None, closes, sizes.longest, sizes.fault)


def _closes(bound: BoundLoss, state: syntax.Register) -> bool:
    """True when the states, with all registers that their arcs look at, stop growing.

    Then every combination that a pair of any length can reach was reached, and an arc taken in it.
    """
    followed = syntax.needed_registers(bound.spec.registers, [state.update]) | {state.name}
    registers = tuple(r for r in bound.spec.registers if r.name in followed)
    read = [part for r in registers for part in (r.start, r.update, r.low, r.high, r.depth)]
    if any({"n", "i"} & names_read(part) for part in read if part is not None):
        return False
    part = replace(
        bound, spec=replace(bound.spec, registers=registers, value=syntax.Number(0.0), range=None)
    )
    before = 0
    with suppress(FsmeuError):
        for n in _LENGTHS:
            view = machine_view(part.at(n))
            machine = build_machine("", bound.alphabet, view, None, _MOST_CLOSED)
            if machine.states == before:
                return True
            before = machine.states
    return False


def _redundant(loss: SpecLoss, sizes: Growth) -> dict[str, Any]:
    """Redundant registers of the largest machine that is small, and not constant.

    Those that can be left out one at a time, and as many as can be left out together (later ones
    first).
    """
    small = [s.n for s in sizes.sizes if s.states <= _MOST_STATES and s.values > 1]
    if not small:
        return {}
    machine = loss.compile(small[-1])
    names = [register.name for register in loss.spec.registers]
    beside = machine.registers.keys() - set(names)  # of the requirement, which stays
    alone = tuple(name for name in names if _can_drop(machine, [name, *beside]))
    together: list[str] = []
    for name in reversed(alone):
        if _can_drop(machine, [name, *beside, *together]):
            together.insert(0, name)
    return {"redundant": alone, "together": tuple(together), "redundant_n": small[-1]}


def _can_drop(machine: Machine, names: Collection[str]) -> bool:
    """True when the other registers determine their next values, and the value at the end.

    States that differ in the dropped registers only are merged then. What holds for pairs of the
    machine's length need not hold for longer ones.
    """
    columns = [column for name, column in machine.registers.items() if name not in names]
    numbers = [np.unique(column, return_inverse=True)[1] for column in columns]
    blocks = group(np.stack([np.zeros(machine.states, np.int64), *numbers], axis=1))
    steps = machine.next.reshape(machine.states, -1)
    targets = np.where(steps >= 0, blocks[steps], -1)
    for outcome in (*targets.T, same_values(machine.values)):  # of each state, -1 for none
        pairs = np.stack([blocks, outcome], axis=1)[outcome >= 0]
        if len(np.unique(pairs, axis=0)) > len(np.unique(pairs[:, 0])):
            return False
    return True


def _clash(loss: SpecLoss, props: Properties | None, sizes: Growth) -> dict[str, Any]:
    """Two pairs of one length with equal confusion tables and different values, if there are."""
    if len(loss.alphabet) != 2 or props is None or props.confusion:
        return {}
    last = min(sizes.longest, _ALL_PAIRS)
    text = loss.alphabet.text
    for n in range(1, last + 1):
        sequences = np.array(list(itertools.product((0, 1), repeat=n)), np.int64)
        allowed = loss.allowed(n)
        hypotheses = sequences
        if allowed is not None:
            hypotheses = np.array([z for z in sequences if allowed.accepts(z)])
        z = np.repeat(hypotheses, len(sequences), axis=0)
        y = np.tile(sequences, (len(hypotheses), 1))
        values = loss.pair_values(z, y)
        tables = group(np.stack([(z & y).sum(axis=1), z.sum(axis=1), y.sum(axis=1)], axis=1))
        for table in np.unique(tables):
            rows = np.flatnonzero(tables == table)
            ends = rows[np.argsort(values[rows], kind="stable")[[0, -1]]]
            least, most = (Pair(text(z[k]), text(y[k]), float(values[k])) for k in ends)
            if most.value - least.value > 1e-12 * max(1.0, abs(most.value)):
                return {"clash": (least, most), "clash_n": last}
    return {"clash_n": last}


def loss_to_measure(
    spec: Spec, params: Mapping[str, Any], labels: Labels = None
) -> tuple[SpecLoss, dict[str, Any]]:
    """The loss of a file with everything filled in, and the parameters that had to be assumed.

    Labels that the file leaves open are those of its examples, and those that it names. A parameter
    without default is the greatest number that an example gives it, or the last label; a table has
    0 on the diagonal and 1 beside it, or if it has one side, 1 for each label, position or number.
    An InputError where no example gives a number, or what is given does not suit the file.
    """
    open_params = [p for p in spec.params if p.default is None and p.name not in params]
    used = labels_of_examples(spec)
    some = used[-_FEW_LABELS:] if len(used) >= _FEW_LABELS else BINARY.labels
    assumed = {param.name: _assumed(spec, param, spec.labels or some) for param in open_params}
    loss = SpecLoss(spec, {**params, **assumed}, None if labels is None else as_alphabet(labels))
    if loss.labels_open:
        labels = loss.labels_among([used])
        if spec.scheme and len(used) < 2:  # O
            types = dict.fromkeys(tag_parts(name)[1] for name in loss.unlabelled.named)
            labels = tag_labels([name for name in types if name] or ["X"], spec.scheme)
        elif labels is not None and len(labels) < _FEW_LABELS:
            labels = (*labels, _OTHER_LABEL)
    among = as_alphabet(labels or loss.alphabet).labels
    assumed = {param.name: _assumed(spec, param, among) for param in open_params}
    return bind_loss(spec, {**params, **assumed}, labels), assumed


def _assumed(spec: Spec, param: syntax.Param, labels: Sequence[Label]) -> Any:
    """The value of a parameter without default: the greatest of examples, a label, a table."""
    size = len(labels)
    if param.type == "label":
        return labels[-1]
    if param.type == "table":
        if param.sides == ("label", "label"):
            return (1.0 - np.eye(size)).tolist()
        sizes = [size if side == "label" else _ASSUMED_ENTRIES for side in param.sides]
        return np.ones(sizes).tolist()
    bindings = [expr for e in spec.examples for name, expr in e.bindings if name == param.name]
    numbers = []
    for expr in bindings:
        with suppress(FsmeuError):
            numbers.append(constant(expr, {}, spec))
    if not numbers:
        must = f"the parameter {param.name!r} has no default, and no example gives it"
        raise _MissingError(f"{spec.kind} {spec.name}", must, remedy=give_param(param.name))
    return max(numbers)
