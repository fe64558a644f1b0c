"""The loops of the sums over a position, compiled by numba: one call serves all sequences.

Arrays are those of ``Plan`` and ``Amounts``; a sparse matrix is given as where its rows begin and
the column of each entry. Rows of counts are generating functions at roots of unity where ``turns``
has a factor for every column, else coefficients (``trellis/counts.py``). Rows are not taken out of
their arrays: each view that is made costs more than what is done with it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

__all__ = ["backward_run", "compiled", "forward_run", "means", "worth"]

# Arithmetic as in numpy: no exception for a division by 0, no sum in another order.
compiled: Any = njit(cache=True, error_model="numpy")


@compiled
def _add_counted(into, first, from_rows, begin, rows, s, amount, turns, place):
    """Adds rows begin, ... of a count to rows first, ... of one that is greater by an amount."""
    columns = into.shape[2]
    if turns.shape[1] == 0:
        for r in range(rows):
            for c in range(columns - amount):
                into[s, first + r, c + amount] += from_rows[s, begin + r, c]
    elif amount == 0:
        for r in range(rows):
            for c in range(columns):
                into[s, first + r, c] += from_rows[s, begin + r, c]
    else:
        half = columns // 2
        source = from_rows.reshape(from_rows.shape[0], from_rows.shape[1], 2, half)
        goal = into.reshape(into.shape[0], into.shape[1], 2, half)
        turn = turns.reshape(turns.shape[0], 2, half)
        for r in range(rows):
            for c in range(half):
                real, imaginary = source[s, begin + r, 0, c], source[s, begin + r, 1, c]
                x, y = turn[place, 0, c], turn[place, 1, c]
                goal[s, first + r, 0, c] += real * x - imaginary * y
                goal[s, first + r, 1, c] += real * y + imaginary * x


@compiled
def forward(mass, gather, members, arcs, goals, index, amounts, weights, turns, moved, after):
    """Fills ``moved`` (batch, counted targets, columns) and ``after`` (batch, pairs, columns)."""
    moved[:] = 0.0
    after[:] = 0.0
    batch, _, columns = mass.shape
    pairs = after.shape[1]
    row = np.empty(columns)
    for s in range(batch):
        for g in range(gather.shape[0] - 1):
            if columns == 1:  # a loop over one column costs more than its sum
                number = 0.0
                for e in range(gather[g], gather[g + 1]):
                    number += mass[s, members[e], 0]
                for e in range(arcs[g], arcs[g + 1]):
                    moved[s, goals[e], 0] += weights[s, index[e]] * number
                continue
            first, arc = gather[g], arcs[g]
            if gather[g + 1] - first == 1 and arcs[g + 1] - arc == 1:  # no row to share
                member, goal, weight = members[first], goals[arc], weights[s, index[arc]]
                for c in range(columns):
                    moved[s, goal, c] += weight * mass[s, member, c]
                continue
            row[:] = 0.0
            for e in range(gather[g], gather[g + 1]):
                member = members[e]
                for c in range(columns):
                    row[c] += mass[s, member, c]
            for e in range(arcs[g], arcs[g + 1]):
                goal, weight = goals[e], weights[s, index[e]]
                for c in range(columns):
                    moved[s, goal, c] += weight * row[c]
        for place in range(amounts.shape[0]):
            begin = place * pairs
            _add_counted(after, 0, moved, begin, pairs, s, amounts[place], turns, place)


@compiled
def backward(
    value, gather, members, arcs, goals, index, amounts, weights, turns, ahead, sums, before
):  # fmt: skip
    """Fills ``ahead`` (batch, counted targets, columns), ``before`` (batch, pairs, columns).

    And the first rows of ``sums`` (batch, rows, columns): what the arcs of each set lead to.
    """
    ahead[:] = 0.0
    before[:] = 0.0
    sums[:] = 0.0
    batch, pairs, columns = value.shape
    for s in range(batch):
        for place in range(amounts.shape[0]):
            begin = place * pairs
            _add_counted(ahead, begin, value, 0, pairs, s, amounts[place], turns, place)
        for g in range(gather.shape[0] - 1):
            if columns == 1:
                number = 0.0
                for e in range(arcs[g], arcs[g + 1]):
                    number += weights[s, index[e]] * ahead[s, goals[e], 0]
                sums[s, g, 0] = number
                for e in range(gather[g], gather[g + 1]):
                    before[s, members[e], 0] += number
                continue
            for e in range(arcs[g], arcs[g + 1]):
                goal, weight = goals[e], weights[s, index[e]]
                for c in range(columns):
                    sums[s, g, c] += weight * ahead[s, goal, c]
            for e in range(gather[g], gather[g + 1]):
                member = members[e]
                for c in range(columns):
                    before[s, member, c] += sums[s, g, c]


@compiled
def _add_products(into, s, begins, left, left_rows, right, right_rows, roots):
    """Adds to each row of sequence s the rows of sums of two independent counts.

    Those of row f are begins[f], ..., begins[f + 1] - 1; each is a row of ``left`` and of ``right``
    (rows, columns).
    """
    columns = into.shape[2]
    if roots:
        half = columns // 2
        one = left.reshape(left.shape[0], 2, half)
        other = right.reshape(right.shape[0], 2, half)
        goal = into.reshape(into.shape[0], into.shape[1], 2, half)
        for f in range(begins.shape[0] - 1):
            for e in range(begins[f], begins[f + 1]):
                i, j = left_rows[e], right_rows[e]
                for c in range(half):
                    real, imaginary = one[i, 0, c], one[i, 1, c]
                    x, y = other[j, 0, c], other[j, 1, c]
                    goal[s, f, 0, c] += real * x - imaginary * y
                    goal[s, f, 1, c] += real * y + imaginary * x
        return
    for f in range(begins.shape[0] - 1):
        for e in range(begins[f], begins[f + 1]):
            i, j = left_rows[e], right_rows[e]
            for count in range(columns):
                factor = left[i, count]
                if factor != 0.0:
                    for c in range(columns - count):
                        into[s, f, count + c] += factor * right[j, c]


@compiled
def flows(
    mass, moved, ahead, weights, roots, known, targets, holders, held, bundles, goals, index,
    collect, entry_holder, entry_sum, sums, found,
):  # fmt: skip
    """Fills ``found`` (batch, features, columns) with what flows through each feature.

    The matrix (known, targets) is ``by_target``, (holders, held) ``others.holders``; (bundles,
    goals, with weights by index) are the bundles whose sums are the last of ``sums`` (batch, rows,
    columns), which are filled here; the rest are the uses of each feature.
    """
    batch, _, columns = mass.shape
    found[:] = 0.0
    masses = np.empty((holders.shape[0] - 1, columns))
    filled = sums.shape[1] - (bundles.shape[0] - 1)
    for s in range(batch):
        _add_products(found, s, known, moved[s], targets, ahead[s], targets, roots)
        masses[:] = 0.0
        for h in range(masses.shape[0]):
            for e in range(holders[h], holders[h + 1]):
                member = held[e]
                for c in range(columns):
                    masses[h, c] += mass[s, member, c]
        for b in range(bundles.shape[0] - 1):
            for e in range(bundles[b], bundles[b + 1]):
                goal, weight = goals[e], weights[s, index[e]]
                for c in range(columns):
                    sums[s, filled + b, c] += weight * ahead[s, goal, c]
        _add_products(found, s, collect, masses, entry_holder, sums[s], entry_sum, roots)


@compiled
def forward_run(mass, gather, members, arcs, goals, index, amounts, weights, turns, moved, after):
    """Fills ``moved`` and ``after`` for all positions of a run, their first axis."""
    for i in range(weights.shape[0]):
        forward(
            mass, gather, members, arcs, goals, index, amounts, weights[i], turns, moved[i],
            after[i],
        )  # fmt: skip
        mass = after[i]


@compiled
def backward_run(
    value, gather, members, arcs, goals, index, amounts, weights, turns, mass, after, moved, known,
    targets, holders, held, bundles, bundle_goals, bundle_index, collect, entry_holder,
    entry_sum, before, found,
):  # fmt: skip
    """Fills ``before`` (batch, pairs, columns), and ``found`` for all positions of a run."""
    batch, _, columns = value.shape
    ahead = np.empty((batch, moved.shape[2], columns))
    sums = np.empty((batch, gather.shape[0] - 1 + bundles.shape[0] - 1, columns))
    ahead_of, spare = value, np.empty(before.shape)
    roots = turns.shape[1] > 0
    for i in range(weights.shape[0] - 1, -1, -1):
        into = before if i % 2 == 0 else spare
        backward(
            ahead_of, gather, members, arcs, goals, index, amounts, weights[i], turns, ahead, sums,
            into,
        )  # fmt: skip
        flows(
            after[i - 1] if i else mass, moved[i], ahead, weights[i], roots, known, targets,
            holders, held, bundles, bundle_goals, bundle_index, collect, entry_holder, entry_sum,
            sums, found[i],
        )  # fmt: skip
        ahead_of = into


@compiled
def worth(begins, features, amounts, met, chances, sign, count, steps, expected):
    """Fills ``steps`` (batch, rows + 1, k) with the worth of score rows, and a row of 0.

    And ``expected`` (counts, batch) with the greatest expected absolute amount of a score row.
    """
    steps[:] = 0.0
    expected[:] = 0.0
    for s in range(met.shape[0]):
        for r in range(begins.shape[0] - 1):
            size = number = 0.0
            for e in range(begins[r], begins[r + 1]):
                feature, amount = features[e], amounts[e]
                size += abs(amount) * abs(chances[s, feature])
                if met.shape[2] == 1:
                    number += sign * amount * met[s, feature, 0]
                else:
                    for k in range(met.shape[2]):
                        steps[s, r, k] += sign * amount * met[s, feature, k]
            if met.shape[2] == 1:
                steps[s, r, 0] = number
            expected[count[r], s] = max(expected[count[r], s], size)


@compiled
def _move_rows(
    s, mass, gather, members, arcs, pair, place, index, amounts, weights, gains, gaining, after
):  # fmt: skip
    """Adds what the arcs of the acceptor move to ``after``; arguments as for ``means``."""
    batch, pairs, quantities, size = mass.shape
    numbers = quantities * size
    before = mass.reshape(batch, pairs, numbers)
    into = after.reshape(batch, after.shape[1], numbers)
    # What is moved after an amount is counted, and as it is: in the row of amount 0, or past all.
    rows = np.zeros((amounts.shape[0] + 1, numbers))
    plain = amounts.shape[0]
    for a in range(amounts.shape[0]):
        plain = a if amounts[a] == 0 else plain
    for g in range(gather.shape[0] - 1):
        first, arc = gather[g], arcs[g]
        # One pair with one arc has no row to share.
        alone = gather[g + 1] - first == 1 and arcs[g + 1] - arc == 1
        if alone and gaining.shape[0] == 0 and amounts[place[arc]] == 0:
            member, to, weight = members[first], pair[arc], weights[s, index[arc]]
            for c in range(numbers):
                into[s, to, c] += weight * before[s, member, c]
            continue
        rows[plain, :] = 0.0
        for e in range(gather[g], gather[g + 1]):
            member = members[e]
            for c in range(numbers):
                rows[plain, c] += before[s, member, c]
        for a in range(amounts.shape[0]):
            by = amounts[a]
            for q in range(quantities if a != plain else 0):
                for c in range(q * size, (q + 1) * size - by):
                    rows[a, c + by] = rows[plain, c]
        for e in range(arcs[g], arcs[g + 1]):
            to, a, weight = pair[e], place[e], weights[s, index[e]]
            for c in range(numbers):
                into[s, to, c] += weight * rows[a, c]
            for q in range(gaining.shape[0]):
                factor, count = weight * gains[q, s, e], 1 + gaining[q]
                for c in range(size):
                    after[s, to, count, c] += factor * rows[a, c]


@compiled
def _move_numbers(s, mass, gather, members, arcs, pair, index, weights, gains, gaining, after):
    """The same where nothing is counted: loops over rows of one number cost more than the sums."""
    quantities = mass.shape[2]
    row = np.empty(quantities)
    for g in range(gather.shape[0] - 1):
        row[:] = 0.0
        for e in range(gather[g], gather[g + 1]):
            for q in range(quantities):
                row[q] += mass[s, members[e], q, 0]
        for e in range(arcs[g], arcs[g + 1]):
            to, weight = pair[e], weights[s, index[e]]
            for q in range(quantities):
                after[s, to, q, 0] += weight * row[q]
            for q in range(gaining.shape[0]):
                after[s, to, 1 + gaining[q], 0] += weight * gains[q, s, e] * row[0]


@compiled
def means(
    mass, gather, members, arcs, pair, place, index, amounts, weights, gains, gaining, count,
    rows, begins, features, added, by_feature, holder, goal, arc, holders, held, after,
):  # fmt: skip
    """Fills ``after`` (batch, pairs, quantities, c): mass and expectations after a position.

    Quantity 0 is mass, the others are joint counts. Entries of the matrix of arcs lead to a pair
    and count the amount at a place; those counts that are gaining gain by them (counts, batch,
    entries). For all other terms, the matrix (begins, features, entries added) is what terms add;
    (by_feature, holder, goal, arc) are the uses of each feature.
    """
    batch, _, _, size = mass.shape
    pairs = after.shape[1]
    after[:] = 0.0
    for s in range(batch):
        if size == 1:
            _move_numbers(
                s, mass, gather, members, arcs, pair, index, weights, gains, gaining, after
            )
        else:
            _move_rows(
                s, mass, gather, members, arcs, pair, place, index, amounts, weights, gains,
                gaining, after,
            )  # fmt: skip
        for term in range(rows.shape[0]):
            q, r = 1 + count[term], rows[term, s]
            for e in range(begins[r], begins[r + 1]):
                for u in range(by_feature[features[e]], by_feature[features[e] + 1]):
                    to, by = goal[u] % pairs, amounts[goal[u] // pairs]
                    factor = added[e] * weights[s, arc[u]]
                    for m in range(holders[holder[u]], holders[holder[u] + 1]):
                        member = held[m]
                        if by == 0:
                            for c in range(size):
                                after[s, to, q, c] += factor * mass[s, member, 0, c]
                        else:
                            for c in range(size - by):
                                after[s, to, q, c + by] += factor * mass[s, member, 0, c]
