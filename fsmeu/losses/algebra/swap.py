"""A loss with its tapes exchanged: what can be asked with z given can be asked with y given."""

from __future__ import annotations

from dataclasses import replace

from fsmeu.losses.algebra.rewrite import replace_parts
from fsmeu.losses.language.syntax import Expr, Name, Spec

__all__ = ["swapped_spec"]

_OTHER: dict[Expr, Expr] = {Name("z"): Name("y"), Name("y"): Name("z")}


def swapped_spec(spec: Spec) -> Spec:
    """The spec whose value for (z, y) is that of the given one for (y, z)."""
    registers, output_registers = (
        tuple(replace(r, update=replace_parts(r.update, _OTHER)) for r in registers)
        for registers in (spec.registers, spec.output_registers)
    )
    examples = tuple(replace(example, z=example.y, y=example.z) for example in spec.examples)
    return replace(spec, registers=registers, output_registers=output_registers, examples=examples)
