"""The expected value of every single-label change of a sequence.

It comes from one forward and one backward pass over the machine with the hypothesis free: forward
mass before a position, times what the rest of the sequence is worth after it, for each label that
could stand there.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fsmeu.decoding.problem import Problem
from fsmeu.fst.compose import guard_size
from fsmeu.limits import CELLS_PER_STATE, HELD_STEPS
from fsmeu.trellis.source import cube_source

__all__ = ["Changes"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class _Arcs:
    """The arcs of the model at one position, by the label they read and where they lead.

    Attributes:
        after: the model state that each kind of arc leads to, (kinds,).
        label: the label of y that it reads, (kinds,).
        factors: its weight from every model state, (kinds, model states).
    """

    after: Ints
    label: Ints
    factors: Floats


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


class Changes:
    """Expected values of single-label changes, for any number of sequences of one problem."""

    def __init__(self, problem: Problem) -> None:
        self._clock, self._n = problem.clock, problem.n
        self._size = len(problem.loss.alphabet)
        self._view = problem.loss.view(problem.n, None, weights=True)
        source = cube_source(problem.model)
        self._start, self._final = source.start, source.final
        self._arcs = []
        for i in range(problem.n):
            self._clock.check()
            cube = source.factors(i)
            assert isinstance(cube, np.ndarray)
            after, label = np.nonzero(cube.any(axis=2))
            self._arcs.append(_Arcs(after, label, cube[after, label]))

    def values(self, indices: Ints) -> Floats:
        """Expected value of the sequence with the label at i replaced by a, for every (i, a).

        Raises:
            OutOfTimeError: the time of the problem is over.
        """
        layers, held = self._layers(indices)
        mass = np.zeros((1 + self._view.linear, len(self._start), 1))
        mass[0, :, 0] = self._start
        masses = [mass]
        for i, label in enumerate(indices.tolist()):
            self._clock.check()
            step = self._step(i, layers, held)
            masses.append(self._moved(i, step, label, masses[-1]))
        ending, slopes = self._view.values(layers[-1])
        worth = np.concatenate([ending[None], slopes])[:, None, :] * self._final[:, None]
        table = np.empty((self._n, self._size))
        for i in range(self._n - 1, -1, -1):
            step = self._step(i, layers, held)
            flow = self._arcs[i].factors @ masses.pop(i)
            for label in range(self._size):
                self._clock.check()
                reached = self._reached(i, step, label, worth)
                table[i, label] = float((flow * reached).sum())
                if label == indices[i]:
                    kept = reached
            worth = self._arcs[i].factors.T @ kept
        return table

    def _columns(self, i: int, step: _Step, label: int) -> tuple[Ints, Floats | None]:
        """Targets (kinds of arcs, states) with this label of z, and gains (linear, same shape)."""
        pairs = label * self._size + self._arcs[i].label
        targets = step.targets[:, pairs].T
        return targets, None if step.gains is None else step.gains[:, :, pairs].transpose(0, 2, 1)

    def _moved(self, i: int, step: _Step, label: int, mass: Floats) -> Floats:
        """The mass (quantities, model states, states) after position i."""
        targets, gains = self._columns(i, step, label)
        flow = self._arcs[i].factors @ mass
        if gains is not None:
            flow = np.concatenate([flow[:1], flow[1:] + gains * flow[:1]])
        models = len(self._final) if i + 1 == self._n else self._arcs[i + 1].factors.shape[1]
        place = self._arcs[i].after[:, None] * step.width + targets
        taken = targets >= 0
        place, size = place[taken], models * step.width
        sums = [np.bincount(place, row[taken], minlength=size) for row in flow]
        moved: Floats = np.stack(sums).reshape(len(flow), models, step.width).astype(np.float64)
        return moved

    def _reached(self, i: int, step: _Step, label: int, worth: Floats) -> Floats:
        """What each (kind of arc, state) is worth with this label of z, for each quantity."""
        targets, gains = self._columns(i, step, label)
        padded = np.concatenate([worth, np.zeros((*worth.shape[:2], 1))], axis=2)
        reached = padded[:, self._arcs[i].after[:, None], targets]
        if gains is not None:
            reached[0] += (gains * reached[1:]).sum(axis=0)
        return reached

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
            masses += len(codes) * self._arcs[i].factors.shape[1]
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
