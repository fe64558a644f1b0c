"""Expectations of many sequences at once: the walk of one sequence with one more axis.

Sequences are put in buckets of equal length and model size. Within a bucket every array has the
sequences as its first axis; at each position those whose step is the same move together.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fsmeu.errors import InputError, LossFileError, sentence
from fsmeu.expectation.expect import expect, over_labels
from fsmeu.expectation.transfer import Transfer
from fsmeu.expectation.walk import DenseWalker
from fsmeu.losses.loss import Loss, SpecLoss
from fsmeu.losses.view import SpecView, trajectories
from fsmeu.models import Bernoulli, Model, as_model
from fsmeu.models.dense import Dense

__all__ = ["expect_many"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_MOST_STATES = 4096
_MOST_CELLS = 4_000_000


def expect_many(loss: Loss, zs: Sequence[Any], models: Sequence[Any]) -> Floats:
    """The expected value of each hypothesis under its model, ``expect(...).value`` of every pair.

    Args:
        loss: a loss or utility.
        zs: hypotheses, label sequences of any lengths; or an array (sequences, n).
        models: a label model for each; vectors of probabilities stand for ``Bernoulli``.

    >>> from fsmeu.losses.library import load
    >>> expect_many(load("hamming"), ["10", "111"], [[0.9, 0.5], [0.5, 0.5, 0.5]])
    array([0.3, 0.5])
    """
    if len(zs) != len(models):
        must = "there must be one model for each hypothesis"
        raise InputError(sentence("expect_many", must, f"{len(zs)} and {len(models)}"))
    values = np.empty(len(zs))
    for rows, bound, z, arrays in _buckets(loss, zs, models):
        if isinstance(bound, SpecLoss) and arrays is not None:
            try:
                values[rows] = _bucket(bound, z, arrays)
                continue
            except (_NotDense, LossFileError):
                pass  # the states cannot be spanned; one sequence at a time decides what is wrong
        for row in rows:
            values[row] = expect(bound, zs[row], models[row]).value
    return values


class _NotDense(Exception):
    """The states of the loss cannot be spanned by arrays."""


def _buckets(
    loss: Loss, zs: Sequence[Any], models: Sequence[Any]
) -> list[tuple[list[int], Loss, Ints, Dense | None]]:
    """Rows of equal length, labels and model size, with their hypotheses and factors stacked."""
    groups: dict[tuple[Any, ...], list[int]] = {}
    held: list[Any] = []
    for row, model in enumerate(models):
        plain = _probabilities(model)
        if plain is not None:
            key: tuple[Any, ...] = ("probabilities", len(plain))
            held.append(plain)
        else:
            made = as_model(model)
            arrays = made.dense()
            shape = None if arrays is None else arrays.tables.shape
            key = (made.labels, made.n, shape)
            held.append((made, arrays))
        groups.setdefault(key, []).append(row)
    return [_stack(loss, rows, zs, held) for rows in groups.values()]


def _probabilities(model: Any) -> Floats | None:
    """The vector when a model is given as one; a nested list or a model is not."""
    if isinstance(model, Model):
        return None
    vector = np.asarray(model)
    return vector if vector.ndim == 1 and vector.dtype.kind in "fiu" else None


def _stack(
    loss: Loss, rows: list[int], zs: Sequence[Any], held: list[Any]
) -> tuple[list[int], Loss, Ints, Dense | None]:
    first = held[rows[0]]
    if isinstance(first, np.ndarray):
        n = len(first)
        joined = Bernoulli(np.concatenate([held[row] for row in rows]))
        p = joined.p.reshape(len(rows), n)
        tables = np.stack((1.0 - p, p), axis=2)[:, :, None, :, None]
        alphabet, arrays = joined.alphabet, Dense(tables, np.ones((1, 1)), np.ones((1, 1)))
    else:
        alphabet, n = first[0].alphabet, first[0].n
        parts = [held[row][1] for row in rows]
        arrays = (
            None
            if first[1] is None
            else Dense(
                *(
                    np.stack([getattr(part, name) for part in parts])
                    for name in ("tables", "start", "final")
                )
            )
        )
    bound = over_labels(loss, alphabet, "expect_many")
    z = np.empty((len(rows), n), np.int64)
    for k, row in enumerate(rows):
        indices = bound.alphabet.encode(zs[row], f"hypothesis {row}")
        if len(indices) != n:
            must = f"hypothesis {row} and its model must have the same length"
            raise InputError(sentence("expect_many", must, f"lengths {len(indices)} and {n}"))
        z[k] = indices
    return rows, bound, z, arrays


def _bucket(loss: SpecLoss, z: Ints, arrays: Dense) -> Floats:
    """Values of a bucket, a part of it at a time."""
    n = z.shape[1]
    view = loss.view(n, z[0], weights=True)
    if view.space is None or view.space > _MOST_STATES:
        raise _NotDense
    cells = (1 + view.linear) * view.space * view.symbols * arrays.tables.shape[2]
    size = max(1, _MOST_CELLS // max(cells, 1))
    parts = []
    for begin in range(0, len(z), size):
        rows = slice(begin, begin + size)
        part = Dense(
            arrays.tables[rows],
            arrays.start[rows] if len(arrays.start) > 1 else arrays.start,
            arrays.final[rows] if len(arrays.final) > 1 else arrays.final,
        )
        parts.append(_walk(loss, view, z[rows], part))
    return np.concatenate(parts)


def _walk(loss: SpecLoss, view: SpecView, z: Ints, arrays: Dense) -> Floats:
    batch, n = z.shape
    tracks = trajectories(view.bound, n, z, set(view.track))
    groups = _groups(loss, view, z, tracks)
    factors = np.ascontiguousarray(arrays.tables.transpose(1, 0, 4, 3, 2))
    mass = np.zeros((batch, 1 + view.linear, arrays.tables.shape[2], view.space))
    mass[:, 0, :, view.start] = arrays.start
    for position in range(n):
        mass = _push(groups[position], mass, factors[position])
    final = np.broadcast_to(arrays.final, (batch, mass.shape[2]))
    ending = np.einsum("bqms,bm->bqs", mass, final)
    ends = {name: track[:, n:] for name, track in tracks.items()}
    codes = np.arange(view.space)
    shape = (batch, view.space)
    value, slopes = view.values_with(ends, codes, shape, ending[:, 0] > 0)
    return (ending[:, 0] * value).sum(axis=1) + np.einsum("brs,rbs->b", ending[:, 1:], slopes)


def _groups(
    loss: SpecLoss, view: SpecView, z: Ints, tracks: dict[str, Floats]
) -> list[list[tuple[Ints, Transfer]]]:
    """For each position, the rows that step alike with the transfer they take."""
    batch, n = z.shape
    cells = view.context_cells(z, tracks)
    cells = cells.reshape(batch * n, cells.shape[2])
    kinds = np.zeros(batch * n, np.int64)
    for column in cells.T:
        kinds = np.unique(
            np.stack([kinds, np.unique(column, return_inverse=True)[1]]),
            axis=1,
            return_inverse=True,
        )[1].ravel()
    kinds = kinds.reshape(batch, n)
    known: dict[int, Transfer] = {}
    by_position: list[list[tuple[Ints, Transfer]]] = []
    for position in range(n):
        groups = []
        for kind in np.unique(kinds[:, position]).tolist():
            rows = np.flatnonzero(kinds[:, position] == kind)
            if kind not in known:
                one = loss.view(n, z[rows[0]], weights=True)
                known[kind] = DenseWalker(one, one.space or 0).transfer(position + 1)
            groups.append((rows, known[kind]))
        by_position.append(groups)
    return by_position


def _push(groups: list[tuple[Ints, Transfer]], mass: Floats, factors: Floats) -> Floats:
    """The mass (sequences, quantities, model states, states) after one more position."""
    batch, quantities, width, states = mass.shape
    after, symbols = factors.shape[1:3]
    moved = np.empty((batch, quantities, after, states))
    for rows, transfer in groups:
        cells = symbols * states
        flat = np.zeros((len(rows), quantities, after, cells + 1))
        inner = flat[..., :cells].reshape(len(rows), quantities, after, symbols, states)
        if width == 1:
            np.multiply(mass[rows][:, :, :, None], factors[rows][:, None], out=inner)
        else:
            inner[...] = np.einsum("bnam,bqms->bqnas", factors[rows], mass[rows])
        if transfer.gains is not None:
            inner[:, 1:] += transfer.gains[None, :, None] * inner[:, :1]
        if transfer.before is not None:
            moved[rows] = np.add.reduce(flat.take(transfer.before, axis=3), axis=3)
        else:
            target = np.zeros((len(rows), quantities, after, states))
            sums = np.add.reduceat(flat.take(transfer.order, axis=3), transfer.starts, axis=3)
            target[..., transfer.reached] = sums
            moved[rows] = target
    return moved
