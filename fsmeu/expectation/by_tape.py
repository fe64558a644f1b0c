"""Expectations of losses that split by tape: one structure serves all hypotheses and sentences."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from fsmeu.arrays import Floats, Ints
from fsmeu.errors import LossFileError, SizeLimitError
from fsmeu.fst.compose import guard_size
from fsmeu.fst.layers import ArcWeights
from fsmeu.limits import CELLS_PER_STATE
from fsmeu.losses.loss import SpecLoss
from fsmeu.models import Model, arc_weights_many
from fsmeu.trellis.roundings import Sums

if TYPE_CHECKING:
    from fsmeu.trellis.engine import Structure

__all__ = ["split_gradients", "split_values"]


T = TypeVar("T")


def split_values(
    loss: SpecLoss,
    zs: Sequence[Ints],
    models: Sequence[Model],
    max_states: int | None = None,
    jobs: int = 1,
) -> Sums | None:
    """The expected value of each hypothesis under its model, with what bounds its error.

    Args:
        loss: a loss over the models' labels.
        zs: label indices of the hypotheses.
        models: a model for each, all of the same structure and length.
        max_states: limit on the number of states of a layer.
        jobs: how many threads compute.

    Returns:
        None where the loss does not split by tape with a counter for each at most, or a step is
        undefined for some pair of sequences.
    """
    return _answer(
        loss, models, lambda found, weights: found.expectations(weights, zs, jobs), max_states
    )


def split_gradients(
    loss: SpecLoss, zs: Sequence[Ints], models: Sequence[Model]
) -> tuple[Floats, list[list[Floats]]] | None:
    """The expected value of each hypothesis, (batch,), and its derivatives.

    These are, for each model and position, dE/d(weight) of its arcs, every arc a free variable.
    Arguments are those of ``split_values``, and it is None where that would be.
    """
    return _answer(loss, models, lambda found, weights: found.gradients(weights, zs))


@np.errstate(over="ignore", invalid="ignore")  # what comes of it is checked
def _answer(
    loss: SpecLoss,
    models: Sequence[Model],
    ask: Callable[[Structure, list[ArcWeights]], T],
    max_states: int | None = None,
) -> T | None:
    """What the structure of both tapes and the models answers; None where there is none."""
    if loss.split is None or not loss.split.counted:
        return None
    from fsmeu.trellis.kept import structure_of
    from fsmeu.trellis.tapes import UncountableError

    try:
        found, n = structure_of(loss, models[0]), models[0].n
        size = int(found.r.columns[n])
        guard_size("composition", size * int(found.h.columns[n]) // CELLS_PER_STATE, max_states)
        cells = (1 + found.counts) * size * int(found.r.width[n])
        guard_size("composition", cells // CELLS_PER_STATE, max_states)
        return ask(found, arc_weights_many(models))
    except (LossFileError, SizeLimitError, UncountableError):
        return None
