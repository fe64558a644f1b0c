"""Expectations of losses that split by tape: one trellis serves all hypotheses and sentences."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from fsmeu.errors import LossFileError, SizeLimitError
from fsmeu.fst.compose import guard_size
from fsmeu.limits import (
    CELLS_PER_STATE,
    GRADIENT_CELLS,
    KEPT_CELLS_PER_STATE,
    KEPT_FREE,
    MANY_LABELS,
)
from fsmeu.losses.loss import SpecLoss
from fsmeu.models import Model, layered_many, marginals_many
from fsmeu.models.base import marginal_roundings
from fsmeu.trellis.roundings import Sums
from fsmeu.trellis.threads import one_thread

if TYPE_CHECKING:
    from fsmeu.trellis.split_trellis import References, SplitTrellis

__all__ = ["split_gradients", "split_values"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@one_thread()
@np.errstate(over="ignore", invalid="ignore")  # what comes of it is checked
def split_values(
    loss: SpecLoss,
    z: Ints,
    models: Sequence[Model],
    max_states: int | None = None,
    positions: int = 0,
) -> Sums | None:
    """The expected value of each hypothesis under its model, with what bounds its error.

    Args:
        loss: a loss over the models' labels.
        z: label indices of the hypotheses, (batch, n).
        models: a model for each, all of the same structure.
        max_states: limit on the number of states of a layer.
        positions: how many positions are swept in all, where more calls follow.

    Returns:
        None where the loss does not split by tape with a counter for each at most, there are few
        labels, or a step is undefined for some pair of sequences.
    """
    if not _is_worth_it(loss):
        return None
    # Loaded here: a command over two labels does without scipy, which takes a while to load.
    from fsmeu.trellis.kept import announce
    from fsmeu.trellis.label_marginals import reads_marginals, values_by_marginals
    from fsmeu.trellis.means import hypothesis_values
    from fsmeu.trellis.tape import UncountableError

    try:
        trellis, references, cells = _tapes(loss, z.shape[1], models[0], max_states)
        if models[0].structure is not None and reads_marginals(trellis, z.shape[1]):
            roundings = marginal_roundings(models[0]) or 0  # there are marginals of chains alone
            return values_by_marginals(trellis, z, marginals_many(models), roundings)
        announce(loss, positions)
        layered = layered_many(models)
        arcs = [len(layer.weight) for layer in layered[0].layers]
        # A sweep holds the weights of all layers: a few times the numbers of one.
        block = max(1, trellis.steps(0).layer_cells // max(cells, *arcs, sum(arcs) // 8))
        return hypothesis_values(trellis, references, z, layered, block)
    except (LossFileError, SizeLimitError, UncountableError):
        return None


@one_thread()
@np.errstate(over="ignore", invalid="ignore")  # what comes of it is checked
def split_gradients(
    loss: SpecLoss, z: Ints, models: Sequence[Model]
) -> tuple[Floats, list[list[Floats]]] | None:
    """The expected value of each hypothesis, (batch,), and its derivatives.

    These are, for each model and position, dE/d(weight) of its arcs, every arc a free variable.

    Args:
        loss: a loss over the models' labels.
        z: label indices of the hypotheses, (batch, n).
        models: a model for each, all of the same structure.

    Returns:
        None where ``split_values`` would be.
    """
    if not _is_worth_it(loss):
        return None
    from fsmeu.trellis.mean_gradients import hypothesis_gradients
    from fsmeu.trellis.tape import UncountableError

    n = z.shape[1]
    try:
        trellis, references, cells = _tapes(loss, n, models[0], None)
        guard_size("gradient", cells * (n + 1) // KEPT_CELLS_PER_STATE)
        block = max(1, GRADIENT_CELLS // max(1, cells * n))
        values, slopes = [], []
        for begin in range(0, len(z), block):
            rows = slice(begin, begin + block)
            layered = layered_many(models[rows])
            some, arcs = hypothesis_gradients(trellis, references, z[rows], layered)
            values.append(some)
            slopes += [[layer[k] for layer in arcs] for k in range(len(some))]
    except (LossFileError, SizeLimitError, UncountableError):
        return None
    return np.concatenate(values), slopes


def _is_worth_it(loss: SpecLoss) -> bool:
    """Whether the loss splits with a counter for each tape at most, and there are many labels."""
    form = loss.split
    return form is not None and form.counted and len(loss.alphabet) >= MANY_LABELS


def _tapes(
    loss: SpecLoss, n: int, model: Model, max_states: int | None
) -> tuple[SplitTrellis, References, int]:
    """Both tapes, that of y composed with the model's structure, and the cells of a layer.

    Raises:
        SizeLimitError: there are too many of these.
    """
    from fsmeu.trellis.kept import split_trellis

    form = loss.split
    assert form is not None
    _keep_freed_memory()
    trellis = split_trellis(loss, form, n)
    references = trellis.references(model.layered(), model.structure)
    size = trellis.y.most(n) + 1
    guard_size("composition", size * trellis.z.most(n) // CELLS_PER_STATE, max_states)
    cells = (1 + len(form.joint_counts)) * size * max(map(len, references.pairs[: n + 1]))
    guard_size("composition", cells // CELLS_PER_STATE, max_states)
    return trellis, references, cells


@lru_cache(maxsize=1)
def _keep_freed_memory() -> None:
    """Has the C library keep the memory of a block for the next one.

    glibc returns what is freed to the system beyond twice the largest array freed so far; to be
    given it again, page by page, takes as long as the sums do. Elsewhere this does nothing.
    """
    np.empty(KEPT_FREE, np.uint8)
