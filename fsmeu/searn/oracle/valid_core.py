"""The core of a loss over sequences in which not every label may follow every other.

A label that may not follow *stands for* one that may: it leads where that one leads and adds what
that one adds. So every sequence of labels means one that is allowed, all allowed ones are among
these, and the best over all completions is the best over allowed ones. What a label that is not
allowed costs is for the caller to leave out.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fsmeu.errors import InputError, sentence
from fsmeu.fst.distinct import distinct
from fsmeu.searn.oracle.core import Core, Gain

__all__ = ["LastLabels", "ValidCore", "checked_meanings"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def checked_meanings(meanings: object, labels: int) -> Ints:
    """The label that each label stands for after each other, (L + 1, L); last row: at the start.

    Raises:
        InputError: it is no such table, or one stands for another that may not stand there.
    """
    try:
        table = np.asarray(meanings)
    except ValueError:  # rows of different lengths
        table = np.zeros(0)
    good = table.shape == (labels + 1, labels) and table.dtype.kind in "iu" and labels > 0
    if good and 0 <= table.min() <= table.max() < labels:
        held = table.astype(np.int64)
        if (np.take_along_axis(held, held, axis=1) == held).all():
            return held
    must = (
        f"meanings must be a table of {labels + 1} rows and {labels} columns of label indices, "
        "in which what another stands for stands for itself"
    )
    raise InputError(sentence("cost oracle", must, meanings))


class LastLabels:
    """What the last label says about the next: labels of equal rows say the same.

    Args:
        meanings: the label that each label stands for after each other, (L + 1, L).

    Attributes:
        start: the kind of the start.
        kinds: how many kinds of last labels there are.
        stands_for: the label that each label stands for in each kind, (kinds, L).
        after: the kind after it, (kinds, L).
    """

    def __init__(self, meanings: Ints) -> None:
        self.stands_for, kind = np.unique(meanings, axis=0, return_inverse=True)
        kind = np.asarray(kind, np.int64).ravel()
        self.kinds, self.start = len(self.stands_for), int(kind[-1])
        self.after: Ints = kind[self.stands_for]


class ValidCore:
    """A core whose states also hold the kind of the last label; see ``core.Core``.

    The code of a state is ``code in the core * kinds + kind``. Layers have those that are reached
    there; if steps of the core are the same everywhere, all that are reached anywhere.

    Args:
        core: the loss with the reference given.
        last: what the last label says about the next.
    """

    def __init__(self, core: Core, last: LastLabels) -> None:
        self._core, self._last = core, last
        self.n, self.labels, self.sums = core.n, core.labels, core.sums
        self.sum_order = core.sum_order
        self.first = core.first[core.start : core.start + 1] * last.kinds + last.start
        self.start = 0
        self.steady: Ints | None = None
        if core.steady is not None:
            self.first, self.start = self._reached(core.steady)
        self.serves, self.contexts, self.begin = core.serves, core.contexts, core.begin
        self.values, self.slopes, self.check = core.values, core.slopes, core.check

    def _reached(self, steady: Ints) -> tuple[Ints, int]:
        """All codes that are reached where steps do not depend on contexts, and the start's place.

        Args:
            steady: the place of the state after each step, (states, labels).
        """
        kinds, found = self._last.kinds, self.first
        new = found
        while len(new):
            kind = new % kinds
            places = steady[(new // kinds)[:, None], self._last.stands_for[kind]]
            new = np.setdiff1d(places * kinds + self._last.after[kind], found)
            found = np.union1d(found, new)
        return found, int(np.searchsorted(found, self.first[0]))

    def advance(self, context: int, codes: Ints) -> tuple[Ints, Ints, list[Gain]]:
        """The states after a step, targets among them, and what the step adds to each sum."""
        held, rows = np.unique(codes // self._last.kinds, return_inverse=True)
        kind = codes % self._last.kinds
        after, places, gains = self._core.advance(context, held)
        at = (rows[:, None], self._last.stands_for[kind])  # (states, labels)
        targets = after[places[at]] * self._last.kinds + self._last.after[kind]
        added = [Gain(one.kinds[at], one.amounts) for one in gains]
        if self._core.steady is not None:
            return self.first, np.searchsorted(self.first, targets), added
        return *distinct(targets), added

    def keeps_bounds(self, codes: Ints, n: int) -> bool:
        """Whether the registers of these states keep the bounds declared for this length."""
        return self._core.keeps_bounds(np.unique(codes // self._last.kinds), n)

    def ends(self, codes: Ints) -> Floats:
        """What the value looks at in each state, (states, registers)."""
        return self._core.ends(codes // self._last.kinds)
