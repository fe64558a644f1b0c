"""Batches of sentences as arrays, and what kernels fill for them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fsmeu.arrays import Bools, Floats, Ints, Places


class ForwardLayers(NamedTuple):
    """Masses of the pairs of layers, or of two of them, by the value of y's counter."""

    mass: Floats  # rows of masses, one after the other
    place: Places  # where the row of a pair begins, its first count and length, (layers, pairs, 3)
    scale: Floats  # what that row is multiplied by, (layers, pairs)
    total: Floats  # the sums of masses, (layers, pairs)
    keeps: Bools  # whether pairs may have rows of earlier layers, (1,)


def totals_of(f: ForwardLayers) -> ForwardLayers:
    """Views of the sums of masses as rows of one number."""
    place = np.stack([np.arange(f.total.size), *np.broadcast_to([[0], [1]], (2, f.total.size))], 1)
    place = place.reshape(f.place.shape).astype(np.uint32)
    return f._replace(mass=f.total.ravel(), place=place, scale=np.ones_like(f.total))


class BestLayers(NamedTuple):
    """Best scores of paths to the pairs of layers, by the value of z's counter."""

    value: Floats  # rows of scores, one after the other
    place: Ints  # where the row of a pair begins, its first count and length, (layers, pairs, 3)
    offset: Floats  # what is added to that row, (layers, pairs)


class Values(NamedTuple):
    """The values of a length: value = sum of joint counts q times slope + offset."""

    slope: Floats  # g_q(k, s), (joint counts, cells)
    group: Ints  # for each joint count the first with the same slopes, (joint counts,)
    offset: Floats  # h(k, s), (cells,)
    greatest: Floats  # bounds on joint counts, signs aside, (joint counts,)
    cap: Floats  # bounds on the joint count of a hypothesis by its own count, (k,)
    rounding: float  # a bound on relative errors of sums without signs
    underflow: float  # what is lost where numbers are too small for doubles
    negligible: float  # a mass up to which it is not moved on, as long as that bounds errors well
    lost: float  # a bound on the mass that is then not moved on
    prunes: bool  # whether one end bounds the others
    one_sign: bool  # whether nothing that is added up is below 0, or nothing above


def have_one_sign(tables: Floats, signs: Bools) -> bool:
    """Whether nothing that is added up is below 0, or nothing above.

    ``tables`` has slopes of joint counts, and the offset, (joint counts + 1, cells), ``signs``
    whether some amounts of joint counts are below 0, and above, (2, joint counts).
    """
    below, above = (tables < 0).any(axis=1), (tables > 0).any(axis=1)
    less, more = np.append(signs[0], False), np.append(signs[1], True)
    return not (((below & more) | (above & less)).any() and ((above & more) | (below & less)).any())


def first_alike(rows: Floats) -> Ints:
    """For each row the number of the first that equals it, (rows,)."""
    first: dict[bytes, int] = {}
    return np.array([first.setdefault(row.tobytes(), k) for k, row in enumerate(rows)], np.int64)


class Batch(NamedTuple):
    """Sentences of length n, as arrays."""

    n: int
    weights: Floats  # the weights of all arcs of the models, (batch, arcs)
    weight_at: Ints  # where those of each position begin
    start: Floats  # start weights, (batch, states)
    final: Floats  # final weights, (batch, states)
    labels: Ints  # label indices, (batch, n)


class Decided(NamedTuple):
    """Best hypotheses."""

    labels: Ints  # label indices, (batch, n)
    best: Ints  # where the counter of each ends, (batch,); -1 where no sequence is allowed
    values: Floats  # by end k, (batch, k): the best value or a bound not above the best; or -inf
    errors: Floats  # bounds on their errors, (batch, k)
    tried: Ints  # how many ends were valued, (batch,)


class Scores(NamedTuple):
    """Scores of the steps of sentences of one length; those of other cells are 0."""

    begins: Ints  # where those of each sentence begin, and the end
    cell: Ints  # the cell of each, by sentence and ascending
    value: Floats  # one number for each lane, (scores, lanes)

    def dense(self, cells: int) -> Floats:
        """Scores of all cells, (batch, cells, lanes)."""
        batch = len(self.begins) - 1
        scores = np.zeros((batch, cells, self.value.shape[1]))
        scores[np.repeat(np.arange(batch), np.diff(self.begins)), self.cell] = self.value
        return scores
