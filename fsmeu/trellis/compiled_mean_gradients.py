"""The loop of the adjoint of ``compiled_loops.means``, compiled by numba."""

from __future__ import annotations

import numpy as np

from fsmeu.trellis.compiled_loops import compiled

__all__ = ["means_back"]


@compiled
def means_back(
    mass, gather, members, arcs, pair, place, index, amounts, weights, count, rows, begins,
    features, added, by_feature, holder, goal, arc, holders, held, worth, before, slopes,
):  # fmt: skip
    """Fills ``before`` (as ``mass``) and ``slopes`` (batch, arcs); arguments as for ``means``.

    What a number before adds is the sum, over the products that ``means`` makes of it, of the
    other factors times what the number after adds (``worth``, as what ``means`` fills).
    """
    batch, _, quantities, size = mass.shape
    pairs = worth.shape[1]
    before[:] = 0.0
    slopes[:] = 0.0
    row = np.empty((quantities, size))
    back = np.empty((quantities, size))
    for s in range(batch):
        for g in range(gather.shape[0] - 1):
            row[:] = 0.0
            back[:] = 0.0
            for e in range(gather[g], gather[g + 1]):
                member = members[e]
                for q in range(quantities):
                    for c in range(size):
                        row[q, c] += mass[s, member, q, c]
            for e in range(arcs[g], arcs[g + 1]):
                to, by, weight = pair[e], amounts[place[e]], weights[s, index[e]]
                slope = 0.0
                for q in range(quantities):
                    for c in range(size - by):
                        slope += row[q, c] * worth[s, to, q, c + by]
                        back[q, c] += weight * worth[s, to, q, c + by]
                slopes[s, index[e]] += slope
            for e in range(gather[g], gather[g + 1]):
                member = members[e]
                for q in range(quantities):
                    for c in range(size):
                        before[s, member, q, c] += back[q, c]
        for term in range(rows.shape[0]):
            q, r = 1 + count[term], rows[term, s]
            for e in range(begins[r], begins[r + 1]):
                for u in range(by_feature[features[e]], by_feature[features[e] + 1]):
                    to, by = goal[u] % pairs, amounts[goal[u] // pairs]
                    factor, slope = added[e] * weights[s, arc[u]], 0.0
                    for m in range(holders[holder[u]], holders[holder[u] + 1]):
                        member = held[m]
                        for c in range(size - by):
                            slope += mass[s, member, 0, c] * worth[s, to, q, c + by]
                            before[s, member, 0, c] += factor * worth[s, to, q, c + by]
                    slopes[s, arc[u]] += added[e] * slope
