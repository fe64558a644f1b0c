"""Which structure serves a query: built once for a loss, its labels and a kind of model, and kept.

The structure depends on the query's length and model alone, not on what was asked before, so that
the bits of an answer do not either.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from contextlib import suppress
from functools import partial
from threading import RLock
from typing import Any

import numpy as np

from fsmeu.errors import LossFileError, SizeLimitError
from fsmeu.fst.compose import max_states
from fsmeu.fst.layers import Layer, Layered, any_layers
from fsmeu.limits import MOST_TRELLISES
from fsmeu.losses.loss import SpecLoss
from fsmeu.models.base import Model, arcs_key
from fsmeu.models.chains import Chain
from fsmeu.trellis.composed import (
    LayersTooLargeError,
    compose,
    features_met,
    merged_at_cap,
    quotient_of,
)
from fsmeu.trellis.engine import SplitTrellis
from fsmeu.trellis.structure import tables_of_y, tables_of_z
from fsmeu.trellis.tapes import Tapes, amounts_of

_BUILDING = RLock()


def capacity(n: int, cap: int | None = None) -> int:
    """The greatest length that the structure for sequences of length n serves.

    One serves examples, one most sentences, and two the longer ones; long sequences have their own,
    unless ages stop at a ``cap``, so that structures do not grow with the length.
    """
    longer = () if cap is None else (1152, 4608)
    return next((size for size in (12, 32, 96, 288, *longer) if n <= size), n)


def split_trellis_of(
    loss: SpecLoss,
    model: Model,
    allowed: Sequence[Layer] | None = None,
    cap: int | None = None,
) -> SplitTrellis:
    """The structure of a loss that splits by tape with a model, and with other models of its kind.

    Args:
        loss: the loss; where ages stop at a cap, it must have some (``SpecLoss.ages``).
        model: the label model.
        allowed: the arcs of the acceptor of allowed sequences at each position, None for all.
        cap: where ages stop, None where they do not.

    Raises:
        LossFileError: a step is undefined, be it only for sequences that no model gives.
        SizeLimitError: there are too many steps to keep.
        NonIntegerCountError: a counter does not grow by whole numbers.
    """
    n = model.n
    ages = tuple(loss.ages) if cap is not None else ()
    loss = loss if cap is None else loss.saturated(cap)
    form = loss.split
    assert form is not None
    build = partial(_unless_refused, loss, model, allowed=allowed, ages=ages, cap=cap)
    with _BUILDING:  # a thread that asks for the same structure waits for it
        cached: dict[Hashable, SplitTrellis | None] = loss.memo("structures")
        kind = model.structure, None if allowed is None else arcs_key(allowed)
        longest, same = capacity(n, cap), (*kind, n)
        repeats = _repeats(model) and (allowed is None or _repeat(allowed))
        if longest > n and repeats and not form.reads_length:
            key, structure = (*kind, longest), None
            if key in cached:
                structure = cached.pop(key)
            else:
                with suppress(LossFileError, SizeLimitError):  # a later step may be undefined
                    structure = build(longest, kind=kind)
            _keep(cached, key, structure)
            if structure is not None and _serves(structure, n):
                return structure
        structure = cached.pop(same, None)
        if structure is None:
            structure = build(n, kind=kind)
        _keep(cached, same, structure)
        return structure


def _unless_refused(
    loss: SpecLoss,
    model: Model,
    n: int,
    *,
    allowed: Sequence[Layer] | None,
    kind: Hashable,
    ages: Sequence[str],
    cap: int | None,
) -> SplitTrellis:
    """The structure for sequences of length n, unless one like it was too large before.

    Two methods of deciding ask for the same structure one after the other, and one for a greater
    length is asked for first. What was too large after some positions is so for greater lengths.
    """
    assert loss.split is not None
    refused: dict[Hashable, tuple[int, str]] = loss.memo("refused structures")
    key = (kind, max_states(), n if loss.split.reads_length else None)
    positions, reason = refused.get(key, (n + 1, ""))
    if n >= positions:
        raise SizeLimitError(reason)
    try:
        tapes = Tapes(loss.split, n, ages)
        return _structure(tapes, model.layered(), n, allowed, cap)
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


def _repeats(model: Model) -> bool:
    """Whether further positions of a longer model would have the arcs of the last one."""
    if isinstance(model, Chain):  # of higher order, it spells its first state
        return model.n > max(1, model.depth)
    return _repeat(model.layered().layers)


def _repeat(layers: Sequence[Layer]) -> bool:
    """Whether the last two layers have the same arcs; not where each state is reached by one."""
    last = layers[-2:]
    return len(arcs_key(last)) < len(last) and len(last[-1].source) > last[-1].width


def _structure(
    tapes: Tapes, layered: Layered, n: int, allowed: Sequence[Layer] | None, cap: int | None
) -> SplitTrellis:
    """The structure for sequences of length n, the last layers repeated up to there."""
    form = tapes.form
    alphabet = form.bound.alphabet
    layers = [*layered.layers, *layered.layers[-1:] * (n - layered.n)]
    z_layers = list(any_layers(alphabet, n).layers if allowed is None else allowed)
    z_layers += z_layers[-1:] * (n - len(z_layers))
    y = compose(tapes.y, layers, len(layered.start), weighted=True, cap=cap, stops=True)
    z = merged_at_cap(compose(tapes.z, z_layers, 1, weighted=False, cap=cap))
    shown = [(tapes.z.rows(k), tapes.y.rows(k)) for k in range(len(tapes.terms))]
    amounts, common = amounts_of(
        form, tapes.terms, shown, n, lambda: zip(features_met(z), features_met(y), strict=True)
    )
    weight_at = np.append(0, np.cumsum([len(layer.weight) for layer in layers], dtype=np.int64))
    adds, scored = (np.diff(at).sum(axis=0) > 0 for at in (amounts.begins, amounts.row_begins))
    if cap is not None:
        z = quotient_of(z, scored[:-1])
    y_tables = tables_of_y(y, adds)
    z_tables = tables_of_z(z, len(alphabet), scored[:-1])
    sources = [layer.source for layer in layers]
    return SplitTrellis(tapes, n, y, z, y_tables, z_tables, amounts, common, weight_at, sources)
