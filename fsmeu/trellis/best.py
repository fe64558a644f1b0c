"""Best paths through a trellis: the max-plus sweep, with a counter as an axis.

What a step is worth is a sum over terms. Where all arcs that lead to a pair show a term the same
feature, its share is added after the maximum over the sources is taken; else it is added to the
source first. Sets of sources that occur for several targets have their maximum taken once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from fsmeu.fst.compose import guard_size
from fsmeu.trellis.product import ProductLayer
from fsmeu.trellis.sparse import distinct_sets
from fsmeu.trellis.tape import TapeLayer

__all__ = ["BestPlan", "best_values", "is_stateless", "plan_best", "select", "trace"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class BestPlan:
    """The maxima of one position.

    Score rows are features of all terms, one term after the other; one more row past them is 0.
    A cell is a pair before with the scores that are added to it before the maximum is taken.

    Attributes:
        features: for each term, the numbers of its rows of feature values that occur.
        width: the number of pairs after.
        most: the greatest amount that a step of the tape counts, allowed or not.
        source: for each cell, the pair before; cells of one set stand together.
        early: for each cell, the score rows that are added to it, (terms, cells).
        ends: for each set of several cells, where it ends; the cells after these are sets of one.
        arcs: the arcs from sets to pairs, by what they count.
        product: the arcs from pair to pair, for tracing.
        rows: for each of these, its score rows, (terms, arcs).
        adds: for each of these, what it counts.
    """

    features: tuple[Ints, ...]
    width: int
    most: int
    source: Ints
    early: Ints
    ends: tuple[int, ...]
    arcs: tuple[SetArcs, ...]
    product: ProductLayer
    rows: Ints
    adds: Ints


@dataclass(frozen=True, eq=False)
class SetArcs:
    """The arcs from sets of cells that count the same amount; their targets are distinct.

    Attributes:
        amount: what they count.
        set: the set of cells of each.
        target: the pair after.
        late: the score rows that are added to each, (terms, arcs).
    """

    amount: int
    set: Ints
    target: Ints
    late: Ints


def plan_best(product: ProductLayer, tape: TapeLayer) -> BestPlan:
    """The plan of a position.

    Args:
        product: the arcs between pairs of tape states and states of what is allowed.
        tape: the steps of the tape at the position.
    """
    state = product.before.tape[product.source]
    counted = tape.counted[state, product.label]
    features, rows, known = _score_rows(tape, state, product.label)
    kinds = int(counted.max(initial=0)) + 1
    groups, first, group = np.unique(
        product.target * kinds + counted, return_index=True, return_inverse=True
    )
    late = rows[:, first]
    differs = [
        np.bincount(group[row != at[group]], minlength=len(groups)) > 0
        for row, at in zip(rows, late, strict=True)
    ]
    apart = np.array(differs, bool).reshape(late.shape)
    early = np.where(apart[:, group], rows, known)
    cells, cell = np.unique(np.stack([product.source, *early]), axis=1, return_inverse=True)
    owner, member = np.unique(np.stack([group, cell.reshape(-1)]), axis=1)
    number, sets, members = distinct_sets(owner, member, len(groups))
    place, ends, order = _large_first(sets, int(number.max(initial=-1)) + 1)
    members = members[order]
    arcs = []
    for amount in np.unique(counted[first]).tolist():
        these = np.flatnonzero(counted[first] == amount)
        row = np.where(apart, known, late)[:, these]
        arcs.append(SetArcs(amount, place[number[these]], product.target[first[these]], row))
    return BestPlan(
        features=features,
        width=len(product.after),
        most=int(tape.counted.max(initial=0)),
        source=cells[0, members],
        early=cells[1:, members],
        ends=ends,
        arcs=tuple(arcs),
        product=product,
        rows=rows,
        adds=counted,
    )


def _score_rows(tape: TapeLayer, state: Ints, label: Ints) -> tuple[tuple[Ints, ...], Ints, int]:
    """The features that occur, the score rows (terms, arcs) of each arc, and the number of rows."""
    features, rows, known = [], [], 0
    for ids in tape.features:
        found, place = np.unique(ids[state, label], return_inverse=True)
        features.append(found)
        rows.append(place + known)
        known += len(found)
    table = np.array(rows, np.int64).reshape(len(rows), len(state))
    return tuple(features), table, known


def _large_first(sets: Ints, count: int) -> tuple[Ints, tuple[int, ...], Ints]:
    """New numbers for sets, those of several members first; their ends; the order of members."""
    sizes = np.bincount(sets, minlength=count)
    ranked = np.argsort(sizes == 1, kind="stable")
    place = np.empty_like(ranked)
    place[ranked] = np.arange(count)
    several = sizes[ranked][sizes[ranked] > 1]
    return place, tuple(np.cumsum(several).tolist()), np.argsort(place[sets], kind="stable")


def _added(scores: Floats, rows: Ints) -> Floats:
    """The sums over terms of score rows, (cells, k)."""
    total: Floats = scores[rows[0]]
    for row in rows[1:]:
        total += scores[row]
    return total


def _step(plan: BestPlan, value: Floats, scores: Floats) -> Floats:
    """The best worth of reaching each pair after, (pairs, counts so far, counts to come).

    Args:
        plan: the plan of the position.
        value: the best worth of reaching each pair before, (pairs, counts so far, counts to come);
            the count k at the end is the sum of both.
        scores: what score rows are worth, (rows, k).
    """
    _, so_far, to_come = value.shape
    most = plan.most
    scores = np.concatenate([scores, np.zeros((1, scores.shape[1]))])
    cells = value[plan.source]
    if len(plan.early):
        cells += sliding_window_view(_added(scores, plan.early), to_come, axis=1)
    begin, best = 0, []
    for end in plan.ends:
        best.append(cells[begin:end].max(axis=0, keepdims=True))
        begin = end
    best_of_set = np.concatenate([*best, cells[begin:]]) if best else cells
    reached = np.full((plan.width, so_far + most, to_come - most), -np.inf)
    for arcs in plan.arcs:
        left = slice(arcs.amount, arcs.amount + to_come - most)
        block = best_of_set[:, :, left][arcs.set]
        if len(plan.early):
            windows = sliding_window_view(_added(scores, arcs.late), to_come, axis=1)
            block += windows[:, :, left]
        count = slice(arcs.amount, arcs.amount + so_far)
        np.maximum(block, reached[arcs.target, count], out=block)
        reached[arcs.target, count] = block
    return reached


def is_stateless(plans: Sequence[BestPlan]) -> bool:
    """True when no layer has more than one pair, and no step counts more than 1."""
    return all(
        plan.width == 1 and len(plan.product.before) == 1 and plan.adds.max(initial=0) <= 1
        for plan in plans
    )


def select(
    plans: Sequence[BestPlan], scores: Sequence[Floats], ends: Floats
) -> tuple[Ints, Floats]:
    """Label indices of the best path without states, and the best worth for every end k.

    At each end k, the k positions that gain most by counting are counted.

    Args:
        plans: the plan of each position; stateless.
        scores: what score rows are worth, (rows, k) for each position.
        ends: the worth of ending at k.
    """
    n, size = len(plans), len(ends)
    without, with_one = np.full((2, n, size), -np.inf)
    labels = np.zeros((2, n, size), np.int64)
    for plan, places in _alike(plans):
        worth = np.stack([scores[i] for i in places])
        arcs = np.zeros((len(places), len(plan.adds), size))
        for rows in plan.rows:
            arcs += worth[:, rows]
        for counted, table in ((0, without), (1, with_one)):
            among = np.flatnonzero(plan.adds == counted)
            if len(among):
                best = arcs[:, among].argmax(axis=1)
                labels[counted, places] = plan.product.label[among[best]]
                table[places] = np.take_along_axis(arcs[:, among], best[:, None], axis=1)[:, 0]
    order = np.argsort(-_gain(with_one, without), axis=0, kind="stable")
    totals = np.full(size, -np.inf)
    for k in range(size):
        chosen, others = order[:k, k], order[k:, k]
        totals[k] = with_one[chosen, k].sum() + without[others, k].sum() + ends[k]
    k = int(totals.argmax())
    path = labels[0, :, k].copy()
    path[order[:k, k]] = labels[1, order[:k, k], k]
    return path, totals


def _alike(plans: Sequence[BestPlan]) -> list[tuple[BestPlan, list[int]]]:
    """The distinct plans, each with its positions."""
    found: dict[int, tuple[BestPlan, list[int]]] = {}
    for i, plan in enumerate(plans):
        found.setdefault(id(plan), (plan, []))[1].append(i)
    return list(found.values())


def _gain(with_one: Floats, without: Floats) -> Floats:
    """What counting gains; impossible choices come last, forced ones first."""
    gain = np.zeros(with_one.shape)
    both = np.isfinite(with_one) & np.isfinite(without)
    gain[both] = with_one[both] - without[both]
    gain[np.isneginf(with_one)] = -np.inf
    gain[np.isneginf(without) & np.isfinite(with_one)] = np.inf
    return gain


def best_values(
    plans: Sequence[BestPlan], scores: Sequence[Floats], final: Ints
) -> tuple[Floats, list[Floats]]:
    """The best worth of a path whose counter ends at k, for every k; and the layers behind it.

    Args:
        plans: the plan of each position; layer 0 has one pair.
        scores: what score rows are worth, (rows, k) for each position and each count k at the end.
        final: the pairs of layer n to end in.

    Returns:
        The best worths, (k,); and for layers 0, ..., n the best worth of reaching each pair, arrays
        (pairs, counts so far, counts to come).
    """
    most = sum(plan.most for plan in plans)
    value = np.zeros((1, 1, most + 1))
    layers = [value]
    for plan, worth in zip(plans, scores, strict=True):
        _, so_far, to_come = value.shape
        ends = (so_far + plan.most) * (to_come - plan.most)
        guard_size("decode", max(len(plan.source) * so_far * to_come, plan.width * ends) // 8)
        value = _step(plan, value, worth)
        layers.append(value)
        guard_size("decode", sum(layer.size for layer in layers) // 8)
    best: Floats = value[final, :, 0].max(axis=0, initial=-np.inf)
    return best, layers


def trace(
    plans: Sequence[BestPlan],
    scores: Sequence[Floats],
    layers: Sequence[Floats],
    final: Ints,
    k: int,
) -> Ints:
    """Label indices of a best path whose counter ends at k.

    Args:
        plans: the plan of each position.
        scores: what score rows are worth, (rows, k) for each position.
        layers: the best worth of reaching each pair of layers 0, ..., n.
        final: the pairs of layer n to end in.
        k: the count at the end.
    """
    count, pair = k, int(final[layers[-1][final, k, 0].argmax()])
    path = np.empty(len(plans), np.int64)
    for i in range(len(plans) - 1, -1, -1):
        plan, before = plans[i], layers[i]
        arcs = np.flatnonzero(plan.product.target == pair)
        had = count - plan.adds[arcs]
        inside = (had >= 0) & (had < before.shape[1]) & (k - had < before.shape[2])
        arcs, had = arcs[inside], had[inside]
        reach = before[plan.product.source[arcs], had, k - had]
        reach = reach + scores[i][plan.rows[:, arcs], k].sum(axis=0)
        arc = arcs[reach.argmax()]
        path[i] = plan.product.label[arc]
        pair, count = int(plan.product.source[arc]), count - int(plan.adds[arc])
    return path
