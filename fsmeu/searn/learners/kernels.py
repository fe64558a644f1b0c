"""One pass over examples, compiled by numba."""

from __future__ import annotations

import math
from functools import partial

import numpy as np

from fsmeu.jit import jit_entry, jit_helper

jit_fast_helper = partial(jit_helper, fastmath={"reassoc", "contract"})


@jit_helper
def _mixed(first, second):
    """As ``features.mixed``, of two numbers."""
    x = first * np.uint64(0x9E3779B97F4A7C15) + second + np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


@jit_helper
def _kept(seed, k, dropout):
    """Whether dropout leaves entry k in."""
    number = _mixed(seed, np.uint64(k))
    return np.float64(number >> np.uint64(11)) * 2.0**-53 >= dropout


@jit_fast_helper
def _add_scores(scores, weights, column, value):
    """Adds a feature's weights times its value to the scores of actions, (A,)."""
    row = weights[column]
    for a in range(len(scores)):
        scores[a] += row[a] * value


@jit_fast_helper
def _ada_step(row, sums, slopes, value, rate):
    """Changes a feature's weights by a step of AdaGrad, and its sums of squared slopes."""
    for a in range(len(slopes)):
        move = slopes[a] * value
        total = sums[a] + move * move
        sums[a] = total
        row[a] -= rate * move / np.sqrt(total)


@jit_helper
def _slopes(scores, costs, targets, by_cost, slopes):
    """Fills the slopes of an example, all (rows, A); returns -log of the targets' probability.

    They are those of what is returned; with ``by_cost``, the slope of an action that is no target
    is multiplied by what it costs more than the cheapest target, and those of the targets balance
    these, in proportion to their probabilities.
    """
    rows, actions = scores.shape
    top = -np.inf
    best = -np.inf
    aim_cost = np.inf
    for r in range(rows):
        for a in range(actions):
            if math.isinf(costs[r, a]):
                continue
            top = max(top, scores[r, a])
            if targets[r, a]:
                best = max(best, scores[r, a])
                aim_cost = min(aim_cost, costs[r, a])
    total = 0.0
    target_mass = 0.0
    for r in range(rows):
        for a in range(actions):
            if math.isinf(costs[r, a]):
                slopes[r, a] = 0
                continue
            mass = math.exp(scores[r, a] - top)
            slopes[r, a] = mass
            total += mass
            if targets[r, a]:
                target_mass += math.exp(scores[r, a] - best)
    pushed = 0.0
    for r in range(rows):
        for a in range(actions):
            slopes[r, a] /= total
            if by_cost and not math.isinf(costs[r, a]):
                slopes[r, a] *= 0.0 if targets[r, a] else max(0.0, costs[r, a] - aim_cost)
                pushed += slopes[r, a]
    for r in range(rows):
        for a in range(actions):
            if targets[r, a]:
                share = math.exp(scores[r, a] - best) / target_mass
                slopes[r, a] -= pushed * share if by_cost else share
    return (top + math.log(total)) - (best + math.log(target_mass))


@jit_helper
def _most(entries):
    """The greatest number of rows of an example, and of its entries, 1 at least."""
    most_rows = 1
    most = 1
    begins = entries.begins
    for i in range(len(begins) - 1):
        most_rows = max(most_rows, begins[i + 1] - begins[i])
        most = max(most, entries.ends[begins[i + 1]] - entries.ends[begins[i]])
    return most_rows, most


@jit_entry
def logistic_pass(entries, order, weights, squares, settings):
    """The sum of the examples' losses before their steps; changes weights and squares, (U + 1, A).

    The loss of an example is -log of the probability that softmax gives to its targets; with
    ``by_cost``, its slopes are weighed by costs (``_slopes``), which the sum is not. A step is
    that of AdaGrad (Duchi, Hazan and Singer 2011): ``rate`` times the slope over the root of the
    sum of squared slopes so far, ``squares``, which begin above 0. Examples are visited in
    ``order``. ``entries`` are ``linear.Entries``, ``settings`` ``linear.LogisticSettings``. The
    last row of the weights stays 0.
    """
    ends, columns, values, begins, costs, targets, importance = entries
    rate, dropout, least, seed, by_cost = settings
    last = len(weights) - 1
    actions = weights.shape[1]
    most_rows, most = _most(entries)
    scores = np.zeros((most_rows, actions), weights.dtype)
    slopes = np.zeros((most_rows, actions), weights.dtype)
    used_entries = np.empty(most, np.int64)
    row_ends = np.empty(most_rows + 1, np.int64)
    kind = weights.dtype.type
    scale = kind(1.0 / (1.0 - dropout))
    step = kind(rate)
    total = 0.0
    for i in order:
        if importance[i] == 0:
            continue
        first = begins[i]
        count = begins[i + 1] - begins[i]
        used = 0
        row_ends[0] = 0
        for r in range(count):
            scores[r] = 0
            for k in range(ends[first + r], ends[first + r + 1]):
                if columns[k] == last or (dropout > 0 and not _kept(seed, k, dropout)):
                    continue
                used_entries[used] = k
                used += 1
                _add_scores(scores[r], weights, columns[k], values[k] * scale)
            row_ends[r + 1] = used
        rows = slice(first, first + count)
        loss = _slopes(scores[:count], costs[rows], targets[rows], by_cost, slopes[:count])
        total += importance[i] * loss
        for r in range(count):
            slopes[r] *= importance[i]
            if np.abs(slopes[r]).max() < least:
                continue
            for j in range(row_ends[r], row_ends[r + 1]):
                k = used_entries[j]
                at = columns[k]
                _ada_step(weights[at], squares[at], slopes[r], values[k] * scale, step)
    return total


@jit_helper
def _best_cells(entries, i, weights, scores):
    """The cells (row, action) of greatest score of an example: of all, and of its targets."""
    top = -np.inf
    best = -np.inf
    chosen = (0, 0)
    aim = (0, 0)
    for r in range(entries.begins[i], entries.begins[i + 1]):
        scores[:] = 0
        for k in range(entries.ends[r], entries.ends[r + 1]):
            _add_scores(scores, weights, entries.columns[k], entries.values[k])
        for a in range(len(scores)):
            if math.isinf(entries.costs[r, a]):
                continue
            if scores[a] > top:
                top = scores[a]
                chosen = (r, a)
            if entries.targets[r, a] and scores[a] > best:
                best = scores[a]
                aim = (r, a)
    return chosen, aim


@jit_entry
def perceptron_pass(entries, order, weights, delays, seen, by_cost):
    """The number of wrong decisions; changes weights and delays, (U + 1, A).

    Where the best action is no target, a row is added to the weights of the best target and taken
    from those of the best action; with ``by_cost`` as often as both costs differ. ``delays`` are
    steps times the number of examples before them, ``seen`` of them before this pass: the mean of
    the weights after t examples is ``weights - delays / t``. The last row of both stays 0.
    ``entries`` are ``linear.Entries``.
    """
    last = len(weights) - 1
    scores = np.zeros(weights.shape[1], weights.dtype)
    wrong = 0
    before = seen
    for i in order:
        chosen, aim = _best_cells(entries, i, weights, scores)
        if not entries.targets[chosen]:
            wrong += 1
            step = entries.importance[i]
            if by_cost:
                step *= entries.costs[chosen] - entries.costs[aim]
            for cell, sign in ((aim, 1.0), (chosen, -1.0)):
                r, a = cell
                for k in range(entries.ends[r], entries.ends[r + 1]):
                    column = entries.columns[k]
                    if column != last:
                        weights[column, a] += sign * step * entries.values[k]
                        delays[column, a] += sign * step * before * entries.values[k]
        before += 1
    return wrong
