"""Expected values of given hypotheses of independent labels of two kinds (``item_quotients.py``).

Every hypothesis has nodes of its own, and sums over all of its labels: nothing is shared with what
values all numbers of ones (``ranked.py``), so that decisions are looked at again here.
"""

from __future__ import annotations

import numpy as np

from fsmeu.arrays import Floats, Ints
from fsmeu.losses.algebra.value import Value
from fsmeu.trellis.estimate import Estimate
from fsmeu.trellis.item_quotients import (
    LEFT_OUT,
    SMALL,
    Piece,
    degenerate_at,
    degenerate_probabilities,
    pieces_at,
    powers_seen,
    reach_of,
    whole_rule,
)
from fsmeu.trellis.kernels import kernel
from fsmeu.trellis.ranked_kernels import LEAST, LabelsOfRows, fill_sums
from fsmeu.trellis.rules import rule_for

_FEW_ROWS = 4  # that are added up by numpy: compiled loops take a second to load
_BLOCK = 1 << 14  # labels that are added up at once


def expected_values(value: Value, z: Ints, p: Floats) -> Estimate:
    """The expected values of hypotheses, (rows, n), labels being ones with probabilities p.

    An UnfitError where rules do not serve the value.
    """
    chosen = (z == 1).astype(np.float64)
    hits = np.einsum("rn,rn->r", chosen, p)
    mean = p.sum(axis=1)
    reach = reach_of(mean - np.einsum("rn,rn->r", p, p))
    ks, place = np.unique(chosen.sum(axis=1), return_inverse=True)
    ends = degenerate_probabilities(p)
    terms = np.zeros((3, len(p)))
    sizes = np.zeros(len(p))
    if ends.any():
        terms[:2] = ends * degenerate_at(value, ks)[:, place]
        sizes += np.abs(terms).sum(axis=0)
    values = terms.sum(axis=0)
    for piece in pieces_at(value, ks):
        first = int(np.searchsorted(ks, piece.ks[0]))
        some = np.flatnonzero((place >= first) & (place < first + len(piece.ks)))
        part = piece.of_some(place[some] - first)
        items = part.mean_items(hits[some], mean[some])
        if part.is_constant:
            terms = part.top * np.stack([np.ones(len(some)), *items]) * part.shift**-part.power
        else:
            window = part.window(items, reach[some])
            terms = _terms_of_rows(part, window, chosen[some], p[some])
        values[some] += terms.sum(axis=0)
        sizes[some] += np.abs(terms).sum(axis=0)
    return Estimate(values, sizes, np.ones(len(p)))


def _terms_of_rows(
    piece: Piece, window: tuple[Floats, Floats, Floats], chosen: Floats, p: Floats
) -> Floats:
    """The three terms of E[N / D^a], (3, rows), for a piece with a k for each row."""
    mean, low, high = window
    centre = np.clip(mean, low, high)
    rule = whole_rule(piece, 1)
    if rule is not None:
        centre = np.ones(len(p))
    else:
        least = float((low / centre).min())
        greatest = float((high / centre).max())
        rule = rule_for(least, max(greatest, least), 1.0, piece.power, LEFT_OUT)
    q, others = piece.items(p)
    x = rule.nodes / centre[:, None]
    sums = np.empty((3, *x.shape))
    if len(p) > _FEW_ROWS:
        t = np.exp(-x * piece.first), np.exp(-x * piece.second)
        kernel(fill_sums, p.size * len(rule.nodes))(LabelsOfRows(chosen, q, others, *t), sums)
    else:
        first = item_sums(q * chosen, x * piece.first)  # q = 0 adds nothing
        second = item_sums(others * (1.0 - chosen), x * piece.second)
        sums[:] = first[0] * second[0], first[1], second[1]
    masses = rule.weights * sums[0] * np.exp(-x * piece.shift[:, None])
    sums[0] = 1.0
    terms: Floats = np.einsum("rm,crm->cr", masses, sums)
    return terms * piece.top * centre**-piece.power


def item_sums(q: Floats, x: Floats) -> tuple[Floats, Floats]:
    """The products of f and the sums of s over rows of items, (rows, nodes) each, t = exp(-x)."""
    less = -np.expm1(-x)
    t = np.exp(-x)
    masses, shares = np.empty((2, *x.shape))
    u = float((less.max(axis=1) * q.max(axis=1, initial=0.0)).max())
    if u <= SMALL:  # log(1 - u) = - u - u^2 / 2 - ...
        powers = np.arange(1.0, powers_seen(u) + 1)
        terms = moments(q, len(powers)) * less[..., None] ** (powers - 1.0)
        return np.exp(-less * (terms / powers).sum(axis=2)), t * terms.sum(axis=2)
    for m in range(x.shape[1]):
        items = q * t[:, m : m + 1]
        f = 1.0 - q + items + LEAST
        logs = np.log1p(-less[:, m : m + 1] * q) if u < 0.5 else np.log(f)
        masses[:, m] = np.exp(logs.sum(axis=1))
        shares[:, m] = (items / f).sum(axis=1)
    return masses, shares


def moments(q: Floats, size: int) -> Floats:
    """The sums of q, q^2, ... of rows, (rows, 1, size), block by block: each stays in the cache."""
    sums = np.zeros((len(q), 1, size))
    for begin in range(0, q.shape[1], _BLOCK):
        some = q[:, begin : begin + _BLOCK]
        power = some.copy()
        for j in range(size):
            sums[:, 0, j] += power.sum(axis=1)
            power *= some
    return sums
