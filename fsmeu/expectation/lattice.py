"""The streamed engine: the composition is walked layer by layer and never built.

One layer is in memory at a time (Jansche 2007, Algorithm 4, for any model): mass over (loss state, model
state) moves forward by array operations. With ``keep`` only the most probable states of each layer
are expanded (section 4 of the paper).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fsmeu.errors import LossFileError
from fsmeu.expectation.input import Input
from fsmeu.expectation.transfer import Workspace, push
from fsmeu.expectation.walk import DenseWalker, SparseWalker, Walker
from fsmeu.fst.compose import guard_size
from fsmeu.losses.view import View

__all__ = ["Final", "run"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Final:
    """The last layer: loss states and the mass in which sequences end there.

    Attributes:
        codes: states of the loss.
        mass: shape (1 + linear registers, states); row 0 is probability.
    """

    codes: Ints
    mass: Floats


def run(view: View, source: Input, keep: int | None = None) -> Final:
    """The mass at the end of the composition.

    Args:
        view: the loss; its symbols are those of the input.
        source: what it reads, a layered acceptor of the same length.
        keep: expand only this many of the most probable states of each layer.
    """
    if view.space is not None and keep is None:
        try:
            return _run(DenseWalker(view, view.space), source, None)
        except LossFileError:
            pass  # a step is undefined somewhere in the space; only reached states may complain
    return _run(SparseWalker(view), source, keep)


def _run(walker: Walker, source: Input, keep: int | None) -> Final:
    view = walker.view
    codes, place = walker.codes, walker.place
    sparse = isinstance(walker, SparseWalker)
    guard_size("composition", len(codes) * len(source.start))
    mass = np.zeros((1 + view.linear, len(codes), len(source.start)))
    mass[0, place] = source.start
    space = Workspace()
    for i in range(1, view.n + 1):
        if keep is not None:
            codes, mass = _most_probable(codes, mass, keep)
        codes, transfer = walker.step(i, codes)
        if sparse:
            guard_size("composition", transfer.width * mass.shape[2])
        mass = push(transfer, mass, source.factors(i - 1), space)
        if sparse:
            codes, mass = _drop_empty(codes, mass)
    return Final(codes, mass @ source.final)


def _drop_empty(codes: Ints, mass: Floats) -> tuple[Ints, Floats]:
    """Leaves out states that no sequence of positive probability reaches."""
    held = mass[0].any(axis=1)
    return (codes, mass) if held.all() else (codes[held], mass[:, held])


def _most_probable(codes: Ints, mass: Floats, keep: int) -> tuple[Ints, Floats]:
    """Keeps the given number of (loss state, model state) pairs and the states they belong to."""
    weights = mass[0].ravel()
    if np.count_nonzero(weights) <= keep:
        return codes, mass
    kept = np.argsort(-weights, kind="stable")[:keep]
    mask = np.zeros(len(weights))
    mask[kept] = 1.0
    return _drop_empty(codes, mass * mask.reshape(mass.shape[1:]))
