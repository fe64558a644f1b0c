"""Losses that could be sums over positions, if their value were counted at the last one.

``value EXPR`` and ``count c by EXPR when i == n`` with ``value c`` say the same of sequences of
length 1 or more. The second is linear in a count, which lets exact decoders apply where EXPR only
compares what each tape remembers, or reads registers that hold nothing but the last step.
"""

from __future__ import annotations

from dataclasses import replace

from fsmeu.checking.applies import Applies, exact_methods
from fsmeu.errors import FsmeuError
from fsmeu.losses.algebra.rewrite import replace_parts
from fsmeu.losses.language.dependencies import names_read
from fsmeu.losses.language.syntax import Binary, Choice, Expr, Name, Number, Register, Spec
from fsmeu.losses.loss import SpecLoss

__all__ = ["counted_at_the_end", "methods_at_the_end"]

_COUNT = "value at the end"


def methods_at_the_end(loss: SpecLoss) -> tuple[Applies, ...]:
    """The exact methods that would apply if the value were counted where i == n."""
    try:
        return exact_methods(replace(loss, spec=counted_at_the_end(loss.spec)))
    except FsmeuError:
        return ()


def counted_at_the_end(spec: Spec) -> Spec:
    """The same loss for sequences of length 1 or more, its value being a count of the last step."""
    value, kept = spec.value, list(spec.registers)
    below: set[str] = set()
    for register in reversed(spec.registers):
        reads = names_read(register.update)
        read_by = [other for other in kept if register.name in names_read(other.update)]
        below.add(register.name)
        if not read_by and register.sugar == "register" and not reads & below:
            value = replace_parts(value, {Name(register.name): register.update})
            kept.remove(register)
    last: Expr = Binary("==", Name("i"), Name("n"))
    own = Name(_COUNT)
    update = Choice(last, Binary("+", own, value), own)
    counted = Register(_COUNT, "count", Number(0.0), update, None, None, spec.value.place)
    return replace(spec, registers=(*kept, counted), value=own, range=None, examples=())
