"""The expected value of every single-label change of a sequence.

It comes from one forward and one backward sweep over the machine with the hypothesis free: forward
mass before a position, times what the rest of the sequence is worth from there, for each label that
could stand there.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fsmeu.decoding.problem import Problem
from fsmeu.fst.compose import guard_size
from fsmeu.limits import CELLS_PER_STATE, HELD_STEPS
from fsmeu.trellis.source import model_source
from fsmeu.trellis.transfer import Transfer, backward_step, forward_step, make_transfer

__all__ = ["Changes"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class _Step:
    """One position of the loss.

    Attributes:
        targets: the state that each (state, pair of labels) leads to, -1 for none.
        gains: what linear registers gain, (linear, states, pairs), or None.
        width: the number of states after it.
    """

    targets: Ints
    gains: Floats | None
    width: int

    def given(self, label: int, labels: int) -> Transfer:
        """Where each (label of y, state) leads with this label of z."""
        pairs = slice(label * labels, (label + 1) * labels)
        gains = None if self.gains is None else self.gains[:, :, pairs]
        return make_transfer(self.targets[:, pairs], gains, self.width)


class Changes:
    """Expected values of single-label changes, for any number of sequences of one problem."""

    def __init__(self, problem: Problem) -> None:
        self._clock, self._n = problem.clock, problem.n
        self._size = len(problem.loss.alphabet)
        self._view = problem.loss.view(problem.n, None, weights=True)
        self._source = model_source(problem.model)
        self._widths = problem.model.layered().widths

    def values(self, indices: Ints) -> Floats:
        """Expected value of the sequence with the label at i replaced by a, for every (i, a).

        Raises:
            OutOfTimeError: the time of the problem is over.
        """
        layers, held = self._layers(indices)
        mass = np.zeros((1 + self._view.linear, len(self._source.start), 1))
        mass[0, :, 0] = self._source.start
        masses = [mass]
        for i, label in enumerate(indices.tolist()):
            self._clock.check()
            transfer = self._step(i, layers, held).given(label, self._size)
            masses.append(forward_step(transfer, masses[-1], self._source.factors(i)))
        ending, slopes = self._view.values(layers[-1])
        worth = np.concatenate([ending[None], slopes])[:, None, :] * self._source.final[:, None]
        table = np.empty((self._n, self._size))
        for i in range(self._n - 1, -1, -1):
            step, factors = self._step(i, layers, held), self._source.factors(i)
            mass, after = masses.pop(i), worth
            for label in range(self._size):
                self._clock.check()
                before, _ = backward_step(step.given(label, self._size), after, factors)
                table[i, label] = float(np.vdot(mass, before))
                if label == indices[i]:
                    worth = before
        return table

    def _layers(self, indices: Ints) -> tuple[list[Ints], dict[int, _Step]]:
        """States that one change can reach, layer by layer, and as many steps as memory takes."""
        size = self._size
        kept = np.array([self._view.start], np.int64)
        layers, held = [kept], {}
        cells = masses = 0
        for i, label in enumerate(indices.tolist()):
            self._clock.check()
            codes = layers[-1]
            targets, gains = self._advance(i, codes)
            columns = slice(label * size, (label + 1) * size)
            on_path = targets[np.isin(codes, kept)]
            kept = np.unique(on_path[:, columns])
            changed = np.union1d(on_path, targets[:, columns])
            layers.append(changed[changed >= 0])
            kept = kept[kept >= 0]
            masses += len(codes) * self._widths[i]
            guard_size("search", masses // CELLS_PER_STATE)
            cells += targets.size * (1 + self._view.linear)
            if cells <= HELD_STEPS:
                held[i] = _numbered(targets, gains, layers[-1])
        return layers, held

    def _step(self, i: int, layers: list[Ints], held: dict[int, _Step]) -> _Step:
        if i in held:
            return held[i]
        return _numbered(*self._advance(i, layers[i]), layers[i + 1])

    def _advance(self, i: int, codes: Ints) -> tuple[Ints, Floats | None]:
        guard_size("search", len(codes) * self._view.symbols // CELLS_PER_STATE)
        return self._view.advance(i + 1, codes)


def _numbered(targets: Ints, gains: Floats | None, after: Ints) -> _Step:
    """A step with its targets as numbers of the states after it, -1 for all others."""
    place = np.minimum(np.searchsorted(after, targets), len(after) - 1)
    return _Step(np.where(after[place] == targets, place, -1), gains, len(after))
