"""What is known of a loss file: its examples, what is derived of it, how its machine grows."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from fsmeu.checking.determinism import Determinism, determinism
from fsmeu.checking.examples import ExampleResult, labels_in, run_examples
from fsmeu.checking.growth import Growth, growth
from fsmeu.checking.redundant import redundant_registers
from fsmeu.errors import FsmeuError, InputError, sentence
from fsmeu.fst.alphabet import Alphabet, Label
from fsmeu.fst.tags import tag_labels
from fsmeu.losses.algebra.properties import Properties, properties
from fsmeu.losses.language.dependencies import tapes
from fsmeu.losses.language.syntax import Param, Spec
from fsmeu.losses.loss import SpecLoss, bind_loss
from fsmeu.losses.machine.refine import group
from fsmeu.losses.semantics.bind import table_sides
from fsmeu.losses.semantics.evaluator import constant

__all__ = [
    "Pair",
    "RegisterFacts",
    "Report",
    "confusion_clash",
    "loss_to_measure",
    "register_facts",
    "report",
]

_MOST_STATES = 4000
_ALL_PAIRS = 6


class _MissingError(InputError):
    """A parameter is needed for a measurement, and nothing says which number it may be."""


@dataclass(frozen=True)
class RegisterFacts:
    """One register and what follows from the file.

    Attributes:
        name: its name.
        kind: the word of the file that made it.
        tapes: which of z, y and i it depends on.
        free: where it is kept when the hypothesis is not known: "state" or "weight".
        given: where it is kept when it is: "state", "weight" or "constant".
    """

    name: str
    kind: str
    tapes: tuple[str, ...]
    free: str
    given: str


@dataclass(frozen=True)
class Pair:
    """A pair of sequences and its value."""

    z: str
    y: str
    value: float


@dataclass(frozen=True, eq=False)
class Report:
    """What is known of a loss file.

    Attributes:
        spec: the file.
        examples: what became of each example.
        registers: the registers in order.
        loss: the loss that was measured; None when something is missing for it.
        assumed: parameters that neither the caller nor the file gives, and what they were taken as.
        missing: what is missing for a measurement, or nothing.
        bound: False when the labels and parameters do not suit what the file says of them.
        properties: what is derived of the loss.
        growth: how its machine grows.
        determinism: what is proven of its steps.
        clash: two pairs with equal confusion tables and different values, if there are such.
        clash_n: the length up to which such pairs were looked for.
        redundant: registers that could be left out, one at a time.
        together: registers that could be left out together.
        redundant_n: the length for which this was found.
    """

    spec: Spec
    examples: tuple[ExampleResult, ...]
    registers: tuple[RegisterFacts, ...]
    loss: SpecLoss | None
    assumed: Mapping[str, Any]
    missing: str
    properties: Properties | None = None
    growth: Growth | None = None
    determinism: Determinism | None = None
    clash: tuple[Pair, Pair] | None = None
    clash_n: int = 0
    redundant: tuple[str, ...] = ()
    together: tuple[str, ...] = ()
    redundant_n: int = 0
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

    >>> from fsmeu.losses.library import read_spec
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
    proven = determinism(loss.bound, sizes.longest, sizes.fault)
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


def _with_redundant(found: Report, loss: SpecLoss, sizes: Growth) -> Report:
    """The report with redundant registers of the largest machine that is small, not constant."""
    small = [s.n for s in sizes.sizes if s.states <= _MOST_STATES and s.values > 1]
    if not small:
        return found
    names = [register.name for register in loss.spec.registers]
    alone, together = redundant_registers(loss.compile(small[-1]), names)
    return replace(found, redundant=alone, together=together, redundant_n=small[-1])


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
    order = np.lexsort((values, tables))
    lowest = order[np.searchsorted(tables[order], np.unique(tables))]
    highest = order[np.searchsorted(tables[order], np.unique(tables), side="right") - 1]
    scale = np.maximum(1.0, np.abs(values[highest]))
    clashes = np.flatnonzero(values[highest] - values[lowest] > 1e-12 * scale)
    if not len(clashes):
        return None
    text = loss.alphabet.text
    first, second = (
        Pair(text(z[row]), text(y[row]), float(values[row]))
        for row in (lowest[clashes[0]], highest[clashes[0]])
    )
    return first, second


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
    if labels is None and spec.labels is None:
        texts = [text for example in spec.examples for text in (example.z, example.y)]
        found = labels_in(texts, bool(spec.scheme))
        labels = found or None
        if spec.scheme and len(found) < 2:
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
        raise _MissingError(sentence(f"{spec.kind} {spec.name}", must, None, remedy))
    return max(numbers)
