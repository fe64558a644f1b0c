"""Which structure serves a query: found once for a loss, its labels and a kind of model, and kept.

The structure depends on the query's length and model alone, not on what was asked before, so that
the bits of an answer do not either.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np

from fsmeu.errors import LossFileError, SizeLimitError
from fsmeu.fst.layers import Layer, Layered, any_layers
from fsmeu.limits import MOST_TRELLISES
from fsmeu.losses.algebra.split import Split
from fsmeu.losses.loss import SpecLoss
from fsmeu.models import Model
from fsmeu.trellis.composed import compose
from fsmeu.trellis.engine import Structure
from fsmeu.trellis.structure import hypotheses, references
from fsmeu.trellis.tapes import Tapes
from fsmeu.trellis.terms import amounts_of


def capacity(n: int) -> int:
    """The greatest length that the structure for sequences of length n serves.

    It depends on n alone, so that a query has the same structure whatever was asked before. One
    serves examples, one most sentences, and one most of the longer ones; long sequences have their
    own.
    """
    return next((size for size in _CAPACITIES if n <= size), n)


_CAPACITIES = (12, 32, 96, 288)


def structure_of(loss: SpecLoss, model: Model, allowed: Sequence[Layer] | None = None) -> Structure:
    """The structure of a split loss with a model, and with other models of its kind.

    Args:
        loss: a loss that splits by tape.
        model: the model.
        allowed: the arcs of the acceptor of allowed sequences at each position; None where all
            sequences are.

    Raises:
        LossFileError: a step is undefined, be it only for sequences that no model gives.
        SizeLimitError: there are too many steps to keep.
        UncountableError: a counter does not grow by whole numbers.
    """
    form, n = loss.split, model.n
    assert form is not None
    if model.structure is None or allowed is not None:
        return _structure(form, model.layered(), n, allowed)
    kept: dict[Hashable, Structure | None] = loss.memo("structures")
    repeats: dict[Hashable, bool] = loss.memo("models that repeat")
    longest, same = capacity(n), (model.structure, n)
    if same not in repeats:
        repeats[same] = not form.reads_length and _repeats(model.layered())
    if longest > n and repeats[same]:
        key = (model.structure, longest)
        found = kept.pop(key) if key in kept else _if_defined(form, model.layered(), longest)
        _keep(kept, key, found)
        if found is not None and _serves(found, n):
            return found
    found = kept.pop(same, None) or _structure(form, model.layered(), n, None)
    _keep(kept, same, found)
    return found


def _serves(found: Structure, n: int) -> bool:
    """Whether it is the structure of sequences of length n as well; no step looks at the length."""
    if n not in found.serves:
        sides = ((found.tapes.z, found.z), (found.tapes.y, found.y))
        kept = (tape.keeps_bounds(one.code[: one.width[n]], n) for tape, one in sides)
        found.serves[n] = all(kept)
    return found.serves[n]


def _keep(kept: dict[Any, Any], key: Hashable, found: object) -> None:
    """Keeps what was found last, and few others."""
    kept[key] = found
    while len(kept) > MOST_TRELLISES:
        del kept[next(iter(kept))]


def _repeats(layered: Layered) -> bool:
    """Whether further positions of a longer model would have the arcs of the last one.

    Not where each state is reached by one arc: a chain of higher order spells its first state.
    """
    if layered.n < 2 or layered.widths[-1] != layered.widths[-2]:
        return False
    return len(layered.layers[-1].weight) > int(layered.widths[-1])


def _if_defined(form: Split, layered: Layered, n: int) -> Structure | None:
    """The structure for lengths up to n; None where a later step is undefined."""
    try:
        return _structure(form, layered, n, None)
    except (LossFileError, SizeLimitError):
        return None


def _structure(form: Split, layered: Layered, n: int, allowed: Sequence[Layer] | None) -> Structure:
    """The structure for sequences of length n, the last layer of a model repeated up to there."""
    tapes = Tapes(form, n)
    layers = [*layered.layers, *layered.layers[-1:] * (n - layered.n)]
    alphabet = form.bound.alphabet
    y = compose(tapes.y, layers, len(layered.start), weighted=True)
    z_layers = any_layers(alphabet, n).layers if allowed is None else allowed
    z = compose(tapes.z, z_layers, 1, weighted=False)
    z_rows, y_rows = (
        [tape.rows(k) for k in range(len(tapes.terms))] for tape in (tapes.z, tapes.y)
    )
    amounts = amounts_of(form, tapes.terms, z_rows, y_rows, n)
    arcs = [len(layer.weight) for layer in layers]
    weight_at = np.append(0, np.cumsum(arcs, dtype=np.int64))
    return Structure(
        tapes, n, y, z, references(y), hypotheses(z, len(alphabet)), amounts, weight_at
    )
