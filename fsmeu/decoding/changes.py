"""The expected value of every single-label change of a sequence.

It comes from one forward and one backward sweep over the machine with the hypothesis free: forward
mass before a position, times what the rest of the sequence is worth from there, for each label that
could stand there.
"""

from __future__ import annotations

import numpy as np

from fsmeu.arrays import Floats, Ints
from fsmeu.decoding.problem import Problem
from fsmeu.fst.compose import guard_size
from fsmeu.limits import CELLS_PER_STATE, HELD_STEPS
from fsmeu.trellis.mover import Mover, Steps, steps_of

__all__ = ["Changes"]


class Changes:
    """Expected values of single-label changes, for any number of sequences of one problem."""

    def __init__(self, problem: Problem) -> None:
        self._clock, self._size = problem.clock, len(problem.loss.alphabet)
        self._view = problem.loss.view(problem.n, None, weights=True)
        self._mover = Mover(problem.model.layered(), self._view.linear)

    def values(self, indices: Ints) -> Floats:
        """Expected value of the sequence with the label at i replaced by a, for every (i, a).

        Raises:
            OutOfTimeError: the time of the problem is over.
        """
        layers, held = self._layers(indices)
        mover, size = self._mover, self._size
        masses = [mover.start]
        for i, label in enumerate(indices.tolist()):
            self._clock.check()
            masses.append(mover.forward(i, masses[-1], self._steps(i, layers, held), label * size))
        ending, slopes = self._view.values(layers[-1])
        ends = np.concatenate([ending[None], slopes])  # (quantities, states)
        beyond = ends[:, None, :] * mover.layered.final[:, None]
        table = np.empty((len(indices), size))
        for i in range(len(indices) - 1, -1, -1):
            self._clock.check()
            steps, mass = self._steps(i, layers, held), masses.pop(i)
            table[i] = mover.changed(i, mass, steps, beyond, size)
            beyond, _ = mover.backward(i, mass, steps, beyond, int(indices[i]) * size)
        return table

    def _layers(self, indices: Ints) -> tuple[list[Ints], dict[int, Steps]]:
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
            masses += len(codes) * self._mover.layered.widths[i]
            guard_size("search", masses // CELLS_PER_STATE)
            cells += targets.size * (1 + self._view.linear)
            if cells <= HELD_STEPS:
                held[i] = _numbered(targets, gains, layers[-1])
        return layers, held

    def _steps(self, i: int, layers: list[Ints], held: dict[int, Steps]) -> Steps:
        """The steps at position i, numbered by the states that one change can reach."""
        if i in held:
            return held[i]
        return _numbered(*self._advance(i, layers[i]), layers[i + 1])

    def _advance(self, i: int, codes: Ints) -> tuple[Ints, Floats | None]:
        guard_size("search", len(codes) * self._view.symbols // CELLS_PER_STATE)
        return self._view.advance(i + 1, codes)


def _numbered(targets: Ints, gains: Floats | None, after: Ints) -> Steps:
    """Steps whose targets are numbers of the states after them, -1 for all others."""
    place = np.minimum(np.searchsorted(after, targets), len(after) - 1)
    return steps_of(np.where(after[place] == targets, place, -1), gains, len(after))
