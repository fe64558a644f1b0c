"""Batches of sentences as arrays, and what kernels fill for them: records that numba knows."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fsmeu.arrays import Bools, Floats, Ints, Places


class Batch(NamedTuple):
    """Sentences of length n, as arrays."""

    n: int
    weights: Floats  # the weights of all arcs of the models, (batch, arcs)
    weight_at: Ints  # where those of each position begin
    start: Floats  # start weights, (batch, states)
    final: Floats  # final weights, (batch, states)
    labels: Ints  # label indices, (batch, n)


class Sentence(NamedTuple):
    """One sentence of a batch."""

    n: int
    weights: Floats  # the weights of all arcs of the model, (arcs,)
    weight_at: Ints  # where those of each position begin
    start: Floats  # start weights, (states,)
    final: Floats  # final weights, (states,)
    labels: Ints  # label indices, (n,)


class ForwardLayers(NamedTuple):
    """Masses of the pairs of all layers, or of two of them, as rows.

    The mass of pair p of a layer is ``scale`` times a row of ``mass``, which begins at
    ``place[..., 0]``, has the length ``place[..., 2]`` and stands for ``place[..., 1]`` items less
    than are counted. It is looked at only where ``total``, its plain sum, is above 0.
    """

    mass: Floats  # rows of masses, one after the other
    place: Places  # where the row of a pair begins, what it has not counted, length, (layers, p, 3)
    scale: Floats  # what that row is multiplied by, (layers, pairs)
    total: Floats  # the probability of each pair, (layers, pairs)
    top: Ints  # where the next row begins, (1,)
    recycles: Bools  # whether rows of a layer may be where those before the last were, (1,)
    class_row: Floats  # rows of classes before a position, for even and for odd ones, (2, cells)
    class_total: Floats  # their probabilities, (2, rows)
    part: Floats  # a row to work in
    escaped: Floats  # the probability that an age of y reaches its cap, or more, (1,)


def totals_of(f: ForwardLayers) -> ForwardLayers:
    """Views of the probabilities as rows of one number."""
    size = f.total.size
    place = np.zeros((size, 3), np.uint32)
    place[:, 0] = np.arange(size)
    place[:, 2] = 1
    return f._replace(
        mass=f.total.ravel(), place=place.reshape(f.place.shape), scale=np.ones_like(f.total)
    )


class BackwardRows(NamedTuple):
    """Arrays for backward values, as rows one after the other."""

    layers: Floats  # of classes, for even and for odd layers, (2, cells)
    sets: Floats  # of arc sets


class Flow(NamedTuple):
    """What flows through pairs of y: E[amount f(y's count)] of the joint counts of a group."""

    f: ForwardLayers
    back: BackwardRows
    group: Ints  # for each joint count the first that is asked for together with it
    q: int  # the group
    ends: Floats  # f as a row
    prune_below: float  # pairs of a smaller probability are left out


class BestLayers(NamedTuple):
    """Best scores of paths to the pairs of layers, by the value of z's counter."""

    value: Floats  # rows of scores, one after the other
    place: Ints  # where the row of a pair begins, its first count and length, (n + 1, pairs, 3)
    offset: Floats  # what is added to that row, (n + 1, pairs)
    least: Ints  # the least count that is looked at after each position, (n + 1,)
    most: Ints  # the greatest, (n + 1,)
    top: Ints  # where the next row begins, (1,)


class PathBuffers(NamedTuple):
    """Arrays in which best paths are found."""

    score: Floats  # scores of score rows, (n, score rows)
    layers: BestLayers


class Values(NamedTuple):
    """The values of a length: value = sum of joint counts q times slope + offset."""

    slope: Floats  # g_q(k, s), (joint counts, k, s)
    group: Ints  # for each joint count the first with the same slopes, (joint counts,)
    offset: Floats  # h(k, s), (k, s)
    cap: Floats  # bounds on the joint count of a hypothesis by its own count, (k,)
    prune_below: float  # pairs of a smaller probability are left out
    prunes: bool  # whether one end bounds the others


class DecisionBuffers(NamedTuple):
    """Arrays in which a sentence is decided."""

    f: ForwardLayers
    uncounted: ForwardLayers  # the probabilities of f as rows of one number
    back: BackwardRows
    score: Floats  # scores of the steps of z, (n, score rows)
    best: BestLayers
    count_probability: Floats  # P(y's counter ends at s)
    offset: Floats  # expected offsets by end of z's counter, (k,)
    reached: Floats  # best scores by end, (k,)
    is_open: Bools  # ends that may still be best, (k,)


class ScoreBuffers(NamedTuple):
    """Arrays in which scores of steps are computed."""

    f: ForwardLayers
    back: BackwardRows
    score: Floats  # zeros, left as they are, (score rows * lanes,)
    group: Ints  # each joint count by itself, (counts,)


class Scores(NamedTuple):
    """Scores of the steps of sentences of one length; others are 0."""

    begins: Ints  # where those of each sentence begin, and the end
    cell: Places  # position and score row of each, (scores, 2)
    value: Floats  # one number for each lane, (scores, lanes)

    def dense(self, n: int, score_rows: int) -> Floats:
        """Scores of all positions and score rows, (batch, n, score rows, lanes)."""
        batch = len(self.begins) - 1
        scores = np.zeros((batch, n, score_rows, self.value.shape[1]))
        sentence = np.repeat(np.arange(batch), np.diff(self.begins))
        scores[sentence, self.cell[:, 0], self.cell[:, 1]] = self.value
        return scores


class FoundScores(NamedTuple):
    """What is found of the scores of the steps of sentences."""

    least: Floats  # scores that exceed this in no lane are left out, (lanes,)
    prune_below: float  # pairs of y of a smaller mass are left out
    begins: Ints  # where the scores of each sentence begin, and the end, (batch + 1,)
    cell: Places  # position and score row of each score, (room for all, 2)
    value: Floats  # the scores, (room for all, lanes)
    count_probability: Floats  # the masses at the end by count or lane, (batch, row)
    escaped: Floats  # bounds on the probability that an age of y reaches its cap, (batch,)


class FoundMeans(NamedTuple):
    """What is found of the joint counts of hypotheses."""

    totals: Floats  # masses and expectations of joint counts as rows, (batch, 1 + counts, row)
    ended: Ints  # where the counter of z ends, (batch,)
    escaped: Floats  # bounds on the probability that an age of y reaches its cap, (batch,)


class FoundPaths(NamedTuple):
    """What is found of the best paths of z."""

    factors: Floats  # what the lanes of scores are multiplied by, (batch, lanes)
    by_count: Floats  # the best score of a path by its count at the end, (batch, k)
    ends: Ints  # the counts that labels end with, (batch,)
    labels: Ints  # labels of such a best path, (batch, n), or none, (0, n)


class MeanBuffers(NamedTuple):
    """Arrays in which expectations of joint counts are computed."""

    f: ForwardLayers
    mean: Floats  # rows of classes for even and for odd layers, (2, joint counts, cells)
    gain: Floats  # what joint counts gain beside each feature of y, (counts, features + 1)


class MeanStep(NamedTuple):
    """The expectations of a joint count before and after a position, as rows of classes."""

    before: Floats
    after: Floats
    gain: Floats  # what the joint count gains beside each feature of y, (features + 1,)


class AdjointBuffers(NamedTuple):
    """Arrays in which derivatives are computed."""

    f: ForwardLayers
    mean: Floats  # expectations by joint count, class and position, rows one after the other
    mean_at: Ints  # where those of each position begin, (n + 2,)
    gain: Floats  # what joint counts gain beside each feature of y, (counts, features + 1)
    states: Ints  # the pair of z before each position, (n,)
    back: Floats  # what a unit of an expectation adds, rows of classes, (2, joint counts, cells)
    mass_back: Floats  # what a unit of mass adds, rows of pairs, (2, cells)
    class_back: Floats  # rows of classes
    sets: Floats  # rows of arc sets
    count_probability: Floats  # where y's counter ends


def first_alike(rows: Floats) -> Ints:
    """For each row the number of the first that equals it, (rows,)."""
    first: dict[bytes, int] = {}
    return np.array([first.setdefault(row.tobytes(), k) for k, row in enumerate(rows)], np.int64)


class BestHypotheses(NamedTuple):
    """Best hypotheses."""

    labels: Ints  # label indices, (batch, n)
    best: Ints  # where the counter of each ends, (batch,); -1 where no sequence is allowed
    values: Floats  # by end k, (batch, k): the best value, or a bound where it was not tried
    tried: Ints  # how many ends were valued, (batch,)


class LaneSums(NamedTuple):
    """Masses of models by lane, E[t^(y's count)]."""

    masses: Floats  # at the end, (batch, lanes)
    escaped: Floats  # bounds on the probability that an age of y reaches its cap, (batch,)
