"""The exact methods whose conditions a loss satisfies: each is tried on models of one length.

Conditions are checked anew for every problem. Those of ``additive`` and ``counting`` are read off
the text, but for how counts grow; those of the others may hold at one length and not at another.

A loss whose value is not a sum over positions may be written as one that counts its value at the
last position: ``value EXPR`` and ``count c by EXPR when i == n`` with ``value c`` say the same of
sequences of length 1 or more. The second is linear in a count, which lets exact decoders apply
where EXPR only compares what each tape remembers, or reads registers that hold nothing but the last
step.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from fsmeu.decoding.choice import EXACT, METHODS
from fsmeu.decoding.problem import Problem, RefusalError
from fsmeu.errors import FsmeuError
from fsmeu.losses.algebra.split import replace_parts
from fsmeu.losses.language import syntax
from fsmeu.losses.language.syntax import Binary, Name, Spec, names_read
from fsmeu.losses.protocol import Loss
from fsmeu.models import Bernoulli, Independent, Markov

_LENGTH = {2: 12, 3: 6}
_SHORT = 4
_EFFORT = 6000  # parts of expressions that are looked at, over all positions
_COUNT = "at_end"


@dataclass(frozen=True)
class Applies:
    """An exact method that decides for a loss at one length."""

    method: str  # its name, as ``decode`` takes it
    any_model: bool  # whether labels may depend on each other, or must be independent
    why: str  # the property of the loss that makes it exact
    n: int  # the length of the sequences for which it was tried; others may differ


@dataclass(frozen=True)
class Tried:
    """The exact methods that decide for a loss, and why each of the others does not."""

    applies: tuple[Applies, ...]  # in the order in which they are tried
    refused: Mapping[str, str]  # by method, the condition that the loss does not meet
    faults: Mapping[str, str]  # by method, the error that kept its condition from being derived
    n: int  # the length of the sequences


def exact_methods(loss: Loss) -> tuple[Applies, ...]:
    """The methods that prove a decision for this loss, in the order in which they are tried."""
    return try_methods(loss).applies


def try_methods(loss: Loss, n: int | None = None) -> Tried:
    """The methods that prove a decision for this loss, and what keeps the others from it.

    Each is tried at one length (without n, a short one for long files), which says nothing for
    certain of others. Trying every sequence, which works for short ones, is not among them.
    """
    registers = () if loss.bound is None else loss.bound.spec.registers
    parts = 1 + sum(1 for register in registers for _ in syntax.subexpressions(register.update))
    if n is None:
        n = min(_LENGTH.get(len(loss.alphabet), _SHORT), max(_SHORT, _EFFORT // parts))
    labels = loss.alphabet.labels
    size = len(loss.alphabet)
    rows = np.random.default_rng(0).dirichlet(np.ones(size), n + 1 + size)  # all are positive
    independent = Bernoulli(rows[:n, 1]) if labels == (0, 1) else Independent(rows[:n], labels)
    models = ((Markov(rows[n], rows[n + 1 :], n, labels), True), (independent, False))
    methods = []
    refused: dict[str, str] = {}
    faults: dict[str, str] = {}
    for method in (name for name in EXACT if name != "exhaustive"):
        for model, any_model in models:
            try:
                problem = Problem(loss, model)
                if METHODS[method].after_counting(problem):
                    METHODS[method].check(problem)
                    refused[method] = "the sequence must be longer: short ones are counted exactly"
                    continue
                why = METHODS[method].reason(problem)
            except RefusalError as error:
                refused[method] = error.must
                continue
            except FsmeuError as error:
                faults[method] = str(error).splitlines()[0]
                continue
            if why is not None:
                methods.append(Applies(method, any_model, why, n))
                refused.pop(method, None)
                faults.pop(method, None)
                break
            refused[method] = "rounding hides which sequence is best"
    return Tried(tuple(methods), refused, faults, n)


def counted_at_the_end(spec: Spec) -> Spec:
    """The file whose value is a count at the last position, where i == n.

    Registers that nothing but the value reads, and that do not look back, are written into it.
    """
    value = spec.value
    registers = list(spec.registers)
    later: set[str] = set()
    for register in reversed(spec.registers):
        reads = names_read(register.update)
        read_by = [other for other in registers if register.name in names_read(other.update)]
        later.add(register.name)
        if not read_by and register.sugar == "register" and not reads & later:
            value = replace_parts(value, {Name(register.name): register.update})
            registers.remove(register)
    own = Name(_COUNT)
    last = Binary("==", Name("i"), Name("n"))
    update = syntax.Choice(last, Binary("+", own, value), own)
    start = syntax.Number(0.0)
    counted = syntax.Register(_COUNT, "count", start, update, None, None, spec.value.place)
    parts = {"outputs": (), "file_registers": ()}
    new = replace(spec, registers=(*registers, counted), value=own, range=None, examples=())
    return replace(new, **parts)  # type: ignore[arg-type]
