"""Which structure serves a query: built once for a loss, its labels and a kind of model, and kept.

The structure depends on the query's length and model alone, not on what was asked before, so that
the bits of an answer do not either.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from threading import RLock
from typing import NamedTuple

import numpy as np

from fsmeu import limits
from fsmeu.cache import Cache
from fsmeu.errors import FsmeuError, LossFileError, SizeLimitError
from fsmeu.fst.compose import max_states
from fsmeu.fst.layers import Layer, Layered, any_layers
from fsmeu.losses.algebra.split import Split
from fsmeu.losses.protocol import Loss
from fsmeu.models.base import Model, arcs_key, last_arcs_repeat
from fsmeu.trellis.composed import (
    LayersTooLargeError,
    compose,
    features_met,
    merged_at_cap,
    quotient_of,
)
from fsmeu.trellis.engine import SplitTrellis
from fsmeu.trellis.paths import paths_of
from fsmeu.trellis.tapes import NonIntegerCountError, Tapes, amounts_of
from fsmeu.trellis.y_tables import tables_of_y

_BUILDING = RLock()


def capacity(n: int, cap: int | None = None) -> int:
    """The greatest length that the structure for sequences of length n serves.

    One serves examples, one most sentences, and two the longer ones; long sequences have their own,
    unless ages stop at a ``cap``, so that structures do not grow with the length.
    """
    longer = () if cap is None else (1152, 4608)
    return next((size for size in (12, 32, 96, 288, *longer) if n <= size), n)


class _Restriction(NamedTuple):
    """What pairs of sequences are looked at."""

    allowed: Sequence[Layer] | None  # arcs of the acceptor of allowed z at each position, or all
    ages: tuple[str, ...]  # registers that stop at the cap
    cap: int | None


class Refused(NamedTuple):
    """Why a loss has no trellis with a model: a value, for who chooses another way."""

    error: FsmeuError
    positions: int  # sequences of so many labels have none, nor have longer ones


def trellis_of(
    loss: Loss,
    model: Model,
    allowed: Sequence[Layer] | None = None,
    cap: int | None = None,
) -> SplitTrellis | Refused:
    """The trellis of a loss that splits by tape with a model, and with other models of its kind.

    ``allowed`` has the arcs of the acceptor of allowed sequences at each position, None for all;
    ages stop at the ``cap``, if there is one and the loss has ages (``Loss.ages``).

    There is none where a step is undefined (a LossFileError), be it only for sequences that no
    model gives, where there are too many steps to keep (a SizeLimitError), or where a counter does
    not grow by whole numbers (a NonIntegerCountError).
    """
    restriction = _Restriction(allowed, () if cap is None else tuple(loss.ages), cap)
    loss = loss if cap is None else loss.saturated(cap)
    form = loss.split
    assert form is not None
    n = model.n
    with _BUILDING:  # a thread that asks for the same trellis waits for it
        kind = model.structure, None if allowed is None else arcs_key(allowed)
        repeats = model.repeats and (allowed is None or last_arcs_repeat(allowed))
        longest = capacity(n, cap)
        if longest > n and repeats and not form.reads_length:
            found = _cached(loss, model, longest, restriction, kind)
            if isinstance(found, SplitTrellis) and _serves(found, n):
                return found
        return _cached(loss, model, n, restriction, kind)


def split_trellis_of(
    loss: Loss,
    model: Model,
    allowed: Sequence[Layer] | None = None,
    cap: int | None = None,
) -> SplitTrellis:
    """As ``trellis_of``; where there is none, its error is raised."""
    found = trellis_of(loss, model, allowed, cap)
    if isinstance(found, Refused):
        raise found.error.with_traceback(None)
    return found


def sweep_obstacle(trellis: SplitTrellis, n: int, where: str) -> FsmeuError | None:
    """The error that deciding by sweeps of length n would meet; None where it meets none."""
    try:
        trellis.guard(where, n)
        trellis.check_values(where, n)
    except FsmeuError as error:
        return error
    return None


def is_valued(trellis: SplitTrellis, n: int) -> bool:
    """Whether the value is a number for all pairs of counts that sequences of length n have."""
    try:
        trellis.check_values("expect", n)
    except FsmeuError:
        return False
    return True


def _cached(
    loss: Loss, model: Model, n: int, restriction: _Restriction, kind: Hashable
) -> SplitTrellis | Refused:
    """The trellis for sequences of length n, or why there is none; only trellises are kept here."""
    trellises = loss.derived.get("trellises", lambda: Cache(limits.MOST_TRELLISES))
    found = trellises.get((kind, n), lambda: _built(loss, model, n, restriction, kind))
    if isinstance(found, Refused):
        trellises.drop((kind, n))
    return found


def _built(
    loss: Loss, model: Model, n: int, restriction: _Restriction, kind: Hashable
) -> SplitTrellis | Refused:
    """The trellis for sequences of length n, unless one like it was refused before.

    Two methods of deciding ask for the same trellis one after the other, and one for a greater
    length is asked for first. What is refused after some positions is so for greater lengths.
    """
    form = loss.split
    assert form is not None
    refusals = loss.derived.get("refused trellises", lambda: Cache(limits.MOST_TRELLISES))
    like = kind, max_states(), n if form.reads_length else None
    known: Refused | None = refusals.get(like, lambda: None)
    if known is not None and n >= known.positions:
        return known
    try:
        return _structure(form, model.layered(), n, restriction)
    except LayersTooLargeError as error:
        refused = Refused(error, error.positions)
    except (LossFileError, SizeLimitError, NonIntegerCountError) as error:
        refused = Refused(error, n)
    refusals.put(like, refused)
    return refused


def _serves(structure: SplitTrellis, n: int) -> bool:
    """Whether it is the structure of sequences of length n as well; no step looks at the length."""
    if n not in structure.serves:
        sides = ((structure.tapes.z, structure.z), (structure.tapes.y, structure.y))
        within = (tape.keeps_bounds(one.code[: one.width[n]], n) for tape, one in sides)
        structure.serves[n] = all(within)
    return structure.serves[n]


def _structure(form: Split, layered: Layered, n: int, restriction: _Restriction) -> SplitTrellis:
    """The structure for sequences of length n, the last layers repeated up to there."""
    tapes = Tapes(form, n, restriction.ages)
    alphabet = form.bound.alphabet
    allowed = restriction.allowed
    cap = restriction.cap
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
    paths = paths_of(z, len(alphabet), scored[:-1])
    sources = [layer.source for layer in layers]
    return SplitTrellis(tapes, n, y, z, y_tables, paths, amounts, common, weight_at, sources)
