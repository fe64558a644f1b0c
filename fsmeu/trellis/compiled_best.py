"""The loops of the maxima over a position, compiled by numba; arrays are those of ``BestPlan``."""

from __future__ import annotations

import numpy as np

from fsmeu.trellis.compiled_loops import compiled

__all__ = ["arc_back", "best"]


@compiled
def _runs(offsets, scores, source, early, runs, found):
    """Fills ``found`` (runs + 1, k) with the best worth of a cell of each run, and a row of 0."""
    size = scores.shape[1]
    total = np.empty(size)
    found[:] = -np.inf
    found[-1] = 0.0
    for r in range(runs.shape[0]):
        end = runs[r + 1] if r + 1 < runs.shape[0] else source.shape[0]
        for cell in range(runs[r], end):
            pair = source[cell]
            for k in range(size):
                total[k] = offsets[pair, k]
            for term in range(early.shape[0]):
                row = early[term, cell]
                for k in range(size):
                    total[k] += scores[row, k]
            for k in range(size):
                found[r, k] = total[k] if total[k] > found[r, k] else found[r, k]


@compiled
def _sets(bases, runs, run_base, several, found):
    """Fills ``found`` (sets, counts so far, counts to come) with the best over the runs of a set.

    Rows of ``several`` are the first run of a set and the one after its last.
    """
    _, so_far, to_come = bases.shape
    found[:] = -np.inf
    for place in range(several.shape[0]):
        for r in range(several[place, 0], several[place, 1]):
            base = run_base[r]
            for c in range(so_far):
                for d in range(to_come):
                    value = bases[base, c, d] + runs[r, c + d]
                    known = found[place, c, d]
                    found[place, c, d] = value if value > known else known


@compiled
def _moved(bases, moves, after):
    """Copies bases to ``after`` with an amount counted; rows of moves are amount, old and new."""
    for m in range(moves.shape[0]):
        amount, old, new = moves[m, 0], moves[m, 1], moves[m, 2]
        for c in range(bases.shape[1]):
            for d in range(after.shape[2]):
                after[new, c + amount, d] = bases[old, c, d + amount]


@compiled
def _ways(bases, sets, runs, run_base, scores, ways, late, after):
    """Raises bases ``after`` in which several ways to one pair meet.

    Rows of ``ways`` are base, amount, run, and place among the sets of several runs or -1.
    """
    total = np.empty(scores.shape[1])
    for w in range(ways.shape[0]):
        base, amount, run, place = ways[w, 0], ways[w, 1], ways[w, 2], ways[w, 3]
        total[:] = 0.0
        if place < 0:
            total[:] = runs[run]
        for term in range(late.shape[0]):
            total += scores[late[term, w]]
        table = bases[run_base[run]] if place < 0 else sets[place]
        for c in range(bases.shape[1]):
            for d in range(after.shape[2]):
                value = table[c, d + amount] + total[c + d + amount]
                known = after[base, c + amount, d]
                after[base, c + amount, d] = value if value > known else known


@compiled
def _offsets(runs, scores, run, late, found):
    """Fills ``found`` (pairs, k): the worth of the run that a pair takes over, and its scores."""
    for pair in range(run.shape[0]):
        taken = run[pair]
        for k in range(scores.shape[1]):
            found[pair, k] = runs[taken, k]
        for term in range(late.shape[0]):
            row = late[term, pair]
            for k in range(scores.shape[1]):
                found[pair, k] += scores[row, k]


@compiled
def best(
    bases, offsets, scores, source, early, runs, run_base, several, kept, made, ways, ways_late,
    run, late, after, offsets_after,
):  # fmt: skip
    """Fills ``after`` and ``offsets_after``, the best worth of reaching each pair."""
    of_runs = np.empty((runs.shape[0] + 1, scores.shape[1]))
    _runs(offsets, scores, source, early, runs, of_runs)
    sets = np.empty((several.shape[0], bases.shape[1], bases.shape[2]))
    _sets(bases, of_runs, run_base, several, sets)
    after[:] = -np.inf
    _moved(bases, kept, after)
    _moved(sets, made, after)
    _ways(bases, sets, of_runs, run_base, scores, ways, ways_late, after)
    _offsets(of_runs, scores, run, late, offsets_after)


@compiled
def arc_back(bases, base, offsets, scores, arcs, source, adds, rows, count, k):
    """The arc among some by which the worth of a path that ends at k is greatest."""
    best_arc, greatest = -1, -np.inf
    for place in range(arcs.shape[0]):
        arc = arcs[place]
        before, had = source[arc], count - adds[arc]
        if had < 0 or had >= bases.shape[1] or k - had >= bases.shape[2]:
            continue
        total = 0.0
        for term in range(rows.shape[0]):
            total += scores[rows[term, arc], k]
        total = bases[base[before], had, k - had] + offsets[before, k] + total
        if best_arc < 0 or total > greatest:
            best_arc, greatest = arc, total
    return best_arc
