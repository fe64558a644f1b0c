"""Both tapes of a split loss, and the value as a function of where their counters end."""

from __future__ import annotations

from typing import Any

import numpy as np

from fsmeu.arrays import Bools, Floats
from fsmeu.losses.algebra.split import Split, slope, starts_of
from fsmeu.losses.language.syntax import Expr
from fsmeu.losses.semantics.evaluator import Scope, number
from fsmeu.trellis.tape import Tape
from fsmeu.trellis.terms import Term, joint_terms

__all__ = ["Tapes", "value_tables", "values_at"]


class Tapes:
    """The tapes of a split loss for sequences of length n, or of every length up to n.

    Args:
        form: the split loss.
        n: the length.

    Attributes:
        terms: the terms of the joint counts.
        reads_clock: whether a term looks at the position.
    """

    def __init__(self, form: Split, n: int) -> None:
        self.form, self.n = form, n
        self.terms: tuple[Term, ...] = joint_terms(form)
        self.z = Tape(form.z, n, [term.z for term in self.terms])
        self.y = Tape(form.y, n, [term.y for term in self.terms])
        self.reads_clock = any(term.reads_clock for term in self.terms)
        self._served: dict[int, bool] = {}
        self.tables: dict[int, tuple[list[Floats], Floats]] = {}

    def serves(self, n: int) -> bool:
        """True when the tapes are those of sequences of length n as well.

        Requires that no step looks at the length, or that n is the tapes' own.
        """
        if n not in self._served:
            kept = n == self.n or (self.z.keeps_bounds(n) and self.y.keeps_bounds(n))
            self._served[n] = kept
        return self._served[n]


def value_tables(tapes: Tapes, n: int) -> tuple[list[Floats], Floats]:
    """The slopes g_q(k, s) of each joint count and the offset h(k, s), (z counts, y counts).

    They are 0 for counts that no sequence of length n has.
    """
    if n not in tapes.tables:
        z, y = tapes.z.reachable(n), tapes.y.reachable(n)
        hyp, ref = np.arange(len(z))[:, None], np.arange(len(y))[None, :]
        tapes.tables[n] = values_at(tapes.form, n, hyp, ref, z[:, None] & y)
    return tapes.tables[n]


def values_at(
    form: Split, n: int, hyp: Any, ref: Any, possible: Bools
) -> tuple[list[Floats], Floats]:
    """The slopes of each joint count and the offset for counts of z and y; 0 where impossible.

    Args:
        form: the split loss.
        n: the length.
        hyp: ends of the counter of z.
        ref: ends of the counter of y; both broadcast to the shape of ``possible``.
        possible: which of them some sequences have.
    """
    current: dict[str, Any] = {"n": float(n)}
    for part, counts in ((form.z, hyp), (form.y, ref)):
        if part.counter is not None:
            current[part.counter] = np.asarray(counts, np.float64)
    registers = [joint_count.register for joint_count in form.joint_counts]
    current |= starts_of(form.bound, registers, n)
    scope = Scope(form.bound, current, current, {})

    def table(expr: Expr) -> Floats:
        return np.where(possible, number(expr, scope, possible), 0.0)

    spec = form.bound.spec
    return [table(slope(spec, register)) for register in registers], table(spec.value)
