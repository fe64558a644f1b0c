"""Batches of sentences as arrays, what kernels fill for them, and threads that share one."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np

from fsmeu.arrays import Bools, Floats, Ints


class ForwardLayers(NamedTuple):
    """Masses of the pairs of layers, or of two of them, by the value of y's counter.

    Attributes:
        mass: rows of masses, one after the other.
        place: where the row of a pair begins, its first count and its length, (layers, pairs, 3).
        scale: what that row is multiplied by, (layers, pairs).
        total: the sums of masses, (layers, pairs).
        keeps: whether pairs may have rows of earlier layers, (1,).
    """

    mass: Floats
    place: Ints
    scale: Floats
    total: Floats
    keeps: Bools


class BestLayers(NamedTuple):
    """Best scores of paths to the pairs of layers, by the value of z's counter.

    Attributes:
        value: rows of scores, one after the other.
        place: where the row of a pair begins, its first count and its length, (layers, pairs, 3).
        offset: what is added to that row, (layers, pairs).
    """

    value: Floats
    place: Ints
    offset: Floats


class Values(NamedTuple):
    """The values of several lengths: value = sum of joint counts q times slope + offset.

    Attributes:
        at: where the tables (k, s) of each length begin, (n + 1,).
        slope: g_q(k, s), (joint counts, cells).
        group: for each joint count the first with the same slopes, (joint counts,).
        offset: h(k, s), (cells,).
        greatest: bounds on joint counts, signs aside, (joint counts, n + 1).
        cap: bounds on the joint count of a hypothesis by its own count, (n + 1, k).
        rounding: bounds on relative errors of sums without signs, (n + 1,).
        underflow: what is lost where numbers are too small for doubles, (n + 1,).
        nothing: a mass up to which it is not moved on, as long as that bounds errors well.
        lost: a bound on the mass that is then not moved on, (n + 1,).
        prunes: whether one end bounds the others, (n + 1,).
        one_sign: whether nothing that is added up is below 0, or nothing above, (n + 1,).
    """

    at: Ints
    slope: Floats
    group: Ints
    offset: Floats
    greatest: Floats
    cap: Floats
    rounding: Floats
    underflow: Floats
    nothing: float
    lost: Floats
    prunes: Bools
    one_sign: Bools


def have_one_sign(tables: Floats, signs: Bools) -> bool:
    """Whether nothing that is added up is below 0, or nothing above.

    Args:
        tables: slopes of joint counts, and the offset, (joint counts + 1, cells).
        signs: whether some amounts of joint counts are below 0, and above, (2, joint counts).
    """
    below, above = (tables < 0).any(axis=1), (tables > 0).any(axis=1)
    less, more = np.append(signs[0], False), np.append(signs[1], True)
    return not (((below & more) | (above & less)).any() and ((above & more) | (below & less)).any())


def first_alike(rows: Floats) -> Ints:
    """For each row the number of the first that equals it, (rows,)."""
    known: dict[bytes, int] = {}
    found = [known.setdefault(row.tobytes(), k) for k, row in enumerate(rows)]
    return np.array(found, np.int64)


class Batch(NamedTuple):
    """The sentences of a batch, as arrays.

    Attributes:
        weights: the weights of all arcs of all models, one after the other.
        begins: where those of each model begin, and the end.
        weight_at: where those of each position begin, among those of a model.
        lengths: the length of each sentence.
        start: start weights, (batch, states).
        final: final weights, (batch, states).
        labels: label indices, (batch, longest).
    """

    weights: Floats
    begins: Ints
    weight_at: Ints
    lengths: Ints
    start: Floats
    final: Floats
    labels: Ints


class Decided(NamedTuple):
    """Best hypotheses.

    Attributes:
        labels: label indices, (batch, longest).
        best: where the counter of each ends, (batch,); -1 where no sequence is allowed.
        values: the best value of each end k, or a bound on it that is not above the best,
            (batch, k); -inf where no sequence ends there.
        errors: bounds on their errors, (batch, k).
        tried: how many ends were valued, (batch,).
    """

    labels: Ints
    best: Ints
    values: Floats
    errors: Floats
    tried: Ints


class Scores(NamedTuple):
    """Scores of the steps of sentences of one length; those of other cells are 0.

    Attributes:
        begins: where those of each sentence begin, and the end.
        cell: the cell of each, by sentence and ascending.
        value: one number for each lane, (scores, lanes).
    """

    begins: Ints
    cell: Ints
    value: Floats

    def dense(self, cells: int) -> Floats:
        """Scores of all cells, (batch, cells, lanes)."""
        batch = len(self.begins) - 1
        found = np.zeros((batch, cells, self.value.shape[1]))
        found[np.repeat(np.arange(batch), np.diff(self.begins)), self.cell] = self.value
        return found


def part_of(batch: Batch, rows: slice) -> Batch:
    """Some sentences of a batch; arrays that are filled are views."""
    begins = batch.begins[rows.start : rows.stop + 1]
    return batch._replace(
        begins=begins,
        lengths=batch.lengths[rows],
        start=batch.start[rows],
        final=batch.final[rows],
        labels=batch.labels[rows],
    )


def in_threads(part: Callable[[slice], None], lengths: Ints, jobs: int) -> None:
    """Calls a function with the rows of each of several parts of about equal work."""
    if jobs == 1 or len(lengths) < 2 * jobs:
        part(slice(0, len(lengths)))
        return
    pieces = 4 * jobs  # so that a thread that ends early takes another
    ends = np.searchsorted(np.cumsum(lengths), np.linspace(0, lengths.sum(), pieces + 1)[1:])
    ends = np.unique(np.append(ends[:-1], len(lengths)))
    starts = np.append(0, ends[:-1])
    rows = [slice(int(a), int(b)) for a, b in zip(starts, ends, strict=True) if b > a]
    with ThreadPoolExecutor(jobs) as pool:
        list(pool.map(part, rows))
