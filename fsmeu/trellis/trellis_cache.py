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
from fsmeu.fst.compose import max_states
from fsmeu.fst.layers import Layer, Layered, any_layers
from fsmeu.limits import MOST_TRELLISES
from fsmeu.losses.algebra.split import Split
from fsmeu.losses.protocol import Loss
from fsmeu.models.base import Model, arcs_key, last_arcs_repeat
from fsmeu.trellis.composed import LayersTooLargeError, compose, features_met
from fsmeu.trellis.engine import SplitTrellis
from fsmeu.trellis.structure import hypotheses, references
from fsmeu.trellis.tapes import Tapes, amounts_of

_BUILDING = RLock()


def capacity(n: int) -> int:
    """The greatest length that the structure for sequences of length n serves.

    One serves examples, one most sentences, and two the longer ones; long sequences have their own.
    """
    return next((size for size in (12, 32, 96, 288) if n <= size), n)


def split_trellis_of(
    loss: Loss, model: Model, allowed: Sequence[Layer] | None = None
) -> SplitTrellis:
    """The structure of a loss that splits by tape with a model, and with other models of its kind.

    ``allowed`` has the arcs of the acceptor of allowed sequences at each position, None for all.

    Raises:
        LossFileError: a step is undefined, be it only for sequences that no model gives.
        SizeLimitError: there are too many steps to keep.
        NonIntegerCountError: a counter does not grow by whole numbers.
    """
    form, n = loss.split, model.n
    assert form is not None
    with _BUILDING:  # a thread that asks for the same structure waits for it
        cached: dict[Hashable, SplitTrellis | None] = loss.derived.get("trellises", dict)
        kind = model.structure, None if allowed is None else arcs_key(allowed)
        longest, same = capacity(n), (*kind, n)
        repeats = model.repeats and (allowed is None or last_arcs_repeat(allowed))
        if longest > n and repeats and not form.reads_length:
            key, structure = (*kind, longest), None
            if key in cached:
                structure = cached.pop(key)
            else:
                with suppress(LossFileError, SizeLimitError):  # a later step may be undefined
                    structure = _unless_refused(loss, model, longest, allowed, kind)
            _keep(cached, key, structure)
            if structure is not None and _serves(structure, n):
                return structure
        structure = cached.pop(same, None)
        if structure is None:
            structure = _unless_refused(loss, model, n, allowed, kind)
        _keep(cached, same, structure)
        return structure


def _unless_refused(
    loss: Loss, model: Model, n: int, allowed: Sequence[Layer] | None, kind: Hashable
) -> SplitTrellis:
    """The structure for sequences of length n, unless one like it was too large before.

    Two methods of deciding ask for the same structure one after the other, and one for a greater
    length is asked for first. What was too large after some positions is so for greater lengths.
    """
    assert loss.split is not None
    refused: dict[Hashable, tuple[int, str]] = loss.derived.get("refused trellises", dict)
    key = (kind, max_states(), n if loss.split.reads_length else None)
    positions, reason = refused.get(key, (n + 1, ""))
    if n >= positions:
        raise SizeLimitError(reason)
    try:
        return _structure(loss.split, model.layered(), n, allowed)
    except SizeLimitError as error:
        positions = error.positions if isinstance(error, LayersTooLargeError) else n
        _keep(refused, key, (positions, str(error)))
        raise


def _serves(structure: SplitTrellis, n: int) -> bool:
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


def _structure(
    form: Split, layered: Layered, n: int, allowed: Sequence[Layer] | None
) -> SplitTrellis:
    """The structure for sequences of length n, the last layers repeated up to there."""
    tapes, alphabet = Tapes(form, n), form.bound.alphabet
    layers = [*layered.layers, *layered.layers[-1:] * (n - layered.n)]
    z_layers = list(any_layers(alphabet, n).layers if allowed is None else allowed)
    z_layers += z_layers[-1:] * (n - len(z_layers))
    y = compose(tapes.y, layers, len(layered.start), weighted=True)
    z = compose(tapes.z, z_layers, 1, weighted=False)
    shown = [(tapes.z.rows(k), tapes.y.rows(k)) for k in range(len(tapes.terms))]
    amounts, common = amounts_of(
        form, tapes.terms, shown, n, lambda: zip(features_met(z), features_met(y), strict=True)
    )
    weight_at = np.append(0, np.cumsum([len(layer.weight) for layer in layers], dtype=np.int64))
    adds, scored = (np.diff(at).sum(axis=0) > 0 for at in (amounts.begins, amounts.row_begins))
    r, h = references(y, adds), hypotheses(z, len(alphabet), scored[:-1])
    return SplitTrellis(tapes, n, y, z, r, h, amounts, common, weight_at)
