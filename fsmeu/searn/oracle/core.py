"""A loss with the reference given: what a step on a label of z does, and what an end is worth.

What only adds up and is looked at by the value alone is a *sum*; the other registers that read z
are the *core*, whose contents are the states of a machine over z. Registers that read the reference
alone are constants of each position, and a step depends on the reference through them: through the
*context* of its position. Steps are computed once for each context, however many references share
it; where no step looks at the length, references of all lengths do.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

__all__ = ["CannotServeError", "Core", "Gain"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class CannotServeError(Exception):
    """A core that is shared by references cannot serve this one.

    A register may leave the bounds declared for its length, or a step be undefined that only other
    references take: a core for this one alone will tell.
    """


class Gain(NamedTuple):
    """What steps add to a sum.

    Attributes:
        kinds: the number of the amount of each step, (states, labels).
        amounts: the amounts, (kinds,); several may be equal.
    """

    kinds: Ints
    amounts: Floats


class Core(Protocol):
    """A loss with the reference given, for references of a length or of all lengths up to one.

    Attributes:
        n: the greatest length; 0 where it does not matter.
        labels: the number of labels.
        first: the codes of the states before the first position.
        start: the place of the first state among them.
        sums: how many sums the value looks at.
        sum_order: their numbers, those that read both tapes first.
        steady: where all layers have the states ``first`` and steps lead to the same ones in all
            contexts: the place of the state after each step, (states, labels); else None.
    """

    n: int
    labels: int
    first: Ints
    start: int
    sums: int
    sum_order: list[int]
    steady: Ints | None

    def serves(self, n: int) -> bool:
        """Whether references of this length can be given."""

    def contexts(self, ys: Ints) -> tuple[Ints, Floats]:
        """The context of each position (rows, n), and constants at the end (rows, constants).

        Args:
            ys: label indices of references of one length, (rows, n).
        """

    def advance(self, context: int, codes: Ints) -> tuple[Ints, Ints, list[Gain]]:
        """The states after a step, targets among them, and what the step adds to each sum.

        Args:
            context: the context of the position.
            codes: the states before.

        Returns:
            Codes (states after,), places among them (states, labels), and gains.
        """

    def keeps_bounds(self, codes: Ints, n: int) -> bool:
        """Whether the registers of these states keep the bounds declared for this length."""

    def ends(self, codes: Ints) -> Floats:
        """What the value looks at in each state, (states, registers)."""

    def begin(self, n: int) -> Floats:
        """What the sums are before the first step, (sums,)."""

    def values(
        self, n: int, constants: Floats, ends: Floats, sums: Floats, shape: tuple[int, ...]
    ) -> Floats:
        """The value at some ends, of this shape; ranges are not checked.

        Args:
            n: the length.
            constants: those of the reference, (constants,).
            ends: what the value looks at in the states, (registers, ...).
            sums: the sums there, (sums, ...).
            shape: what the axes after the first broadcast to.
        """

    def slopes(self, n: int, constants: Floats) -> tuple[float, Floats] | None:
        """The value with all sums at their start, and what each adds to it, if it is linear.

        That is asked where the value looks at sums and constants alone.

        Args:
            n: the length.
            constants: those of the reference, (constants,).
        """

    def check(self, n: int, values: Floats) -> None:
        """Refuses values outside the range that the file declares."""
