"""Does a loss only tell whether two sequences are equal?"""

from __future__ import annotations

import numpy as np

from fsmeu.errors import FsmeuError
from fsmeu.limits import ZERO_ONE_STATES, ZERO_ONE_TRIAL
from fsmeu.losses.protocol import Loss

__all__ = ["zero_one_values"]


def zero_one_values(loss: Loss, n: int) -> tuple[float, float] | None:
    """The value of equal and of different pairs of length n, or None when there are more values.

    Walks the compiled machine with one bit that remembers whether the labels have differed; a short
    length is tried first, because most losses fail there already.

    Proven: every pair of length n ends in one of the states that are looked at, and values are
    equal to the last digit. None also where the machine would be too large, or a pair has no value.
    """
    for length in sorted({min(n, ZERO_ONE_TRIAL), n}):
        try:
            machine = loss.compile(length, max_states=ZERO_ONE_STATES)
        except FsmeuError:
            return None
        size = len(loss.alphabet)
        same = np.eye(size, dtype=bool)
        reached = np.zeros((machine.states, 2), bool)
        reached[0, 0] = True
        for _ in range(length):
            after = np.zeros_like(reached)
            equal = machine.next[reached[:, 0]][:, same]
            after[equal[equal >= 0], 0] = True
            for states in (machine.next[reached[:, 0]][:, ~same], machine.next[reached[:, 1]]):
                after[states[states >= 0], 1] = True
            reached = after
        values = [np.unique(machine.values[reached[:, k]]) for k in (0, 1)]
        if any(len(v) > 1 for v in values) or not len(values[0]):
            return None
    different = float(values[1][0]) if len(values[1]) else float(values[0][0])
    return float(values[0][0]), different
