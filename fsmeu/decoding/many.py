"""Decisions for many sequences: those that rank by probability are made all at once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fsmeu.decoding.decode import decode
from fsmeu.decoding.problem import Decision, Problem
from fsmeu.decoding.ranking_fast import WHY, check_fast, fast_values
from fsmeu.errors import FsmeuError, InputError, sentence
from fsmeu.expectation.query import over_labels
from fsmeu.fst.alphabet import BINARY
from fsmeu.losses.confusion import fractional
from fsmeu.losses.loss import SpecLoss
from fsmeu.losses.protocol import Loss, check_loss
from fsmeu.models import Bernoulli, Model

__all__ = ["decode_many"]

Floats = NDArray[np.float64]

_MOST_CELLS = 8_000_000


def decode_many(
    loss: Loss,
    models: Sequence[Any],
    *,
    method: str = "auto",
    keep: int | None = None,
    constraint: Any = None,
    budget: int = 65_536,
    progress: Callable[[int], None] | None = None,
) -> list[Decision]:
    """The decision for each model, ``decode`` of every one of them.

    Args:
        loss: a loss or utility.
        models: label models; vectors of probabilities stand for ``Bernoulli``.
        method: as for ``decode``.
        keep: as for ``decode``.
        constraint: as for ``decode``; the same for all.
        budget: as for ``decode``.
        progress: called with the number of decisions made since the last call.
    """
    check_loss(loss, "decode_many")
    if not isinstance(models, Iterable):
        raise InputError(sentence("decode_many", "models must be a sequence of models", models))
    models = list(models)
    tell = progress or (lambda made: None)
    found: dict[int, Decision] = {}
    if keep is None and constraint is None and method in ("auto", "ranking_fast"):
        for rows, p in _independent(models):
            made = _ranked_together(loss, rows, p)
            found.update(made)
            tell(len(made))
    options: dict[str, Any] = {
        "method": method,
        "keep": keep,
        "constraint": constraint,
        "budget": budget,
    }
    for row, model in enumerate(models):
        if row not in found:
            found[row] = decode(loss, model, **options)
            tell(1)
    return [found[row] for row in range(len(models))]


def _independent(models: Sequence[Any]) -> list[tuple[list[int], Floats]]:
    """Sequences of independent binary labels in blocks of equal length, probabilities stacked."""
    by_length: dict[int, list[int]] = {}
    vectors: dict[int, Floats] = {}
    for row, model in enumerate(models):
        if isinstance(model, Bernoulli):
            vectors[row] = model.p
        elif not isinstance(model, Model):
            vector = np.asarray(model)
            if vector.ndim == 1 and vector.dtype.kind in "fiu" and not np.ma.is_masked(model):
                vectors[row] = vector
        if row in vectors:
            by_length.setdefault(len(vectors[row]), []).append(row)
    blocks = []
    for n, rows in by_length.items():
        size = max(1, _MOST_CELLS // (n + 1) ** 2)
        for begin in range(0, len(rows), size):
            part = rows[begin : begin + size]
            joined = Bernoulli(np.concatenate([vectors[row] for row in part]))
            blocks.append((part, joined.p.reshape(len(part), n)))
    return blocks


def _ranked_together(loss: Loss, rows: list[int], p: Floats) -> dict[int, Decision]:
    """Decisions by ``ranking_fast`` for sequences of one length; none where it does not apply."""
    try:
        bound = over_labels(loss, BINARY, "decode_many")
        problem = Problem(bound, Bernoulli(p[0]))
        form = problem.confusion
        ratio = fractional(form) if form is not None and isinstance(bound, SpecLoss) else None
        if form is None or ratio is None:
            return {}
        check_fast(problem, ratio)
    except FsmeuError:
        return {}
    n = p.shape[1]
    order = np.argsort(-p, axis=1, kind="stable")
    values = fast_values(form, ratio, np.take_along_axis(p, order, axis=1))
    best = (problem.sign * values).argmax(axis=1)
    chosen = np.zeros(p.shape, np.int64)
    np.put_along_axis(chosen, order, (np.arange(n) < best[:, None]).astype(np.int64), axis=1)
    labels = np.array(bound.alphabet.labels, dtype=object)[chosen].tolist()
    value = values[np.arange(len(rows)), best].tolist()
    return {
        row: Decision(labels[k], value[k], "ranking_fast", True, n + 1, WHY)
        for k, row in enumerate(rows)
    }
