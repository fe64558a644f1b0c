"""Expectations of losses that split by tape: one structure serves all hypotheses and sentences."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from fsmeu.arrays import Floats, Ints
from fsmeu.errors import LossFileError, SizeLimitError
from fsmeu.fst.compose import guard_size
from fsmeu.limits import CELLS_PER_STATE
from fsmeu.losses.loss import SpecLoss
from fsmeu.models import Model, arc_weights_many
from fsmeu.trellis.roundings import Sums

if TYPE_CHECKING:
    from fsmeu.trellis.engine import Structure

__all__ = ["split_gradients", "split_values"]


@np.errstate(over="ignore", invalid="ignore")  # what comes of it is checked
def split_values(
    loss: SpecLoss,
    zs: Sequence[Ints],
    models: Sequence[Model],
    max_states: int | None = None,
    jobs: int = 1,
) -> list[Sums] | None:
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
    if loss.split is None or not loss.split.counted:
        return None
    from fsmeu.trellis.tape import UncountableError

    try:
        structure = _structure(loss, models[0], max_states)
        return structure.expectations(arc_weights_many(models), zs, jobs)
    except (LossFileError, SizeLimitError, UncountableError):
        return None


@np.errstate(over="ignore", invalid="ignore")  # what comes of it is checked
def split_gradients(
    loss: SpecLoss, zs: Sequence[Ints], models: Sequence[Model]
) -> tuple[Floats, list[list[Floats]]] | None:
    """The expected value of each hypothesis, (batch,), and its derivatives.

    These are, for each model and position, dE/d(weight) of its arcs, every arc a free variable.

    Args:
        loss: a loss over the models' labels.
        zs: label indices of the hypotheses.
        models: a model for each, all of the same structure and length.

    Returns:
        None where ``split_values`` would be.
    """
    if loss.split is None or not loss.split.counted:
        return None
    from fsmeu.trellis.tape import UncountableError

    try:
        return _structure(loss, models[0], None).gradients(arc_weights_many(models), zs)
    except (LossFileError, SizeLimitError, UncountableError):
        return None


def _structure(loss: SpecLoss, model: Model, max_states: int | None) -> Structure:
    """The structure of both tapes and the model.

    Raises:
        SizeLimitError: a layer would have too many numbers.
    """
    from fsmeu.trellis.kept import structure_of

    found, n = structure_of(loss, model), model.n
    size = int(found.r.columns[n])
    guard_size("composition", size * int(found.h.columns[n]) // CELLS_PER_STATE, max_states)
    cells = (1 + found.counts) * size * int(found.r.width[n])
    guard_size("composition", cells // CELLS_PER_STATE, max_states)
    return found
