"""Which structure serves a query: built once for a loss, its labels and a kind of model, and kept.

The structure depends on the query's length and model alone, not on what was asked before, so that
the bits of an answer do not either.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from contextlib import suppress
from threading import RLock
from typing import Any

import numpy as np

from fsmeu.errors import LossFileError, SizeLimitError
from fsmeu.fst.layers import Layer, Layered, any_layers, arcs_digest
from fsmeu.limits import MOST_TRELLISES
from fsmeu.losses.algebra.split import Split
from fsmeu.losses.loss import SpecLoss
from fsmeu.models import Model
from fsmeu.models.chains import Chain
from fsmeu.trellis.composed import compose
from fsmeu.trellis.engine import Structure
from fsmeu.trellis.structure import hypotheses, references
from fsmeu.trellis.tapes import Tapes, amounts_of

_BUILDING = RLock()


def capacity(n: int) -> int:
    """The greatest length that the structure for sequences of length n serves.

    One serves examples, one most sentences, and two the longer ones; long sequences have their own.
    """
    return next((size for size in (12, 32, 96, 288) if n <= size), n)


def structure_of(loss: SpecLoss, model: Model, allowed: Sequence[Layer] | None = None) -> Structure:
    """The structure of a loss that splits by tape with a model, and with other models of its kind.

    ``allowed`` has the arcs of the acceptor of allowed sequences at each position, None for all.

    Raises:
        LossFileError: a step is undefined, be it only for sequences that no model gives.
        SizeLimitError: there are too many steps to keep.
        UncountableError: a counter does not grow by whole numbers.
    """
    form, n = loss.split, model.n
    assert form is not None
    with _BUILDING:  # a thread that asks for the same structure waits for it
        cached: dict[Hashable, Structure | None] = loss.memo("structures")
        limits = None if allowed is None else arcs_digest(allowed)
        longest, same = capacity(n), (model.structure, n, limits)
        if longest > n and limits is None and isinstance(model, Chain) and _repeats(loss, model):
            key, structure = (model.structure, longest, None), None
            if key in cached:
                structure = cached.pop(key)
            else:
                with suppress(LossFileError, SizeLimitError):  # a later step may be undefined
                    structure = _structure(form, model.layered(), longest, None)
            _keep(cached, key, structure)
            if structure is not None and _serves(structure, n):
                return structure
        structure = cached.pop(same, None) or _structure(form, model.layered(), n, allowed)
        _keep(cached, same, structure)
        return structure


def _serves(structure: Structure, n: int) -> bool:
    """Whether it is the structure of sequences of length n as well; no step looks at the length."""
    if n not in structure.serves:
        sides = ((structure.tapes.z, structure.z), (structure.tapes.y, structure.y))
        within = (tape.keeps_bounds(one.code[: one.width[n]], n) for tape, one in sides)
        structure.serves[n] = all(within)
    return structure.serves[n]


def _keep(cached: dict[Any, Any], key: Hashable, structure: object) -> None:
    """Caches a structure, the last of few."""
    cached[key] = structure
    while len(cached) > MOST_TRELLISES:
        del cached[next(iter(cached))]


def _repeats(loss: SpecLoss, model: Chain) -> bool:
    """Whether further positions of a longer chain would have the arcs and steps of the last one.

    Not where each state is reached by one arc: a chain of higher order spells its first state.
    """
    assert loss.split is not None
    return not loss.split.reads_length and model.n > max(1, model.depth)


def _structure(form: Split, layered: Layered, n: int, allowed: Sequence[Layer] | None) -> Structure:
    """The structure for sequences of length n, the last layer of a model repeated up to there."""
    tapes = Tapes(form, n)
    layers = [*layered.layers, *layered.layers[-1:] * (n - layered.n)]
    alphabet = form.bound.alphabet
    z_layers = any_layers(alphabet, n).layers if allowed is None else allowed
    y = compose(tapes.y, layers, len(layered.start), weighted=True)
    z = compose(tapes.z, z_layers, 1, weighted=False)
    shown = [(tapes.z.rows(k), tapes.y.rows(k)) for k in range(len(tapes.terms))]
    amounts = amounts_of(form, tapes.terms, shown, n)
    weight_at = np.append(0, np.cumsum([len(layer.weight) for layer in layers], dtype=np.int64))
    adds, scored = (np.diff(at).sum(axis=0) > 0 for at in (amounts.begins, amounts.row_begins))
    r, h = references(y, adds), hypotheses(z, len(alphabet), scored[:-1])
    return Structure(tapes, n, y, z, r, h, amounts, weight_at)
