"""Losses whose reference tape has no state: all that matters of a model are its label marginals.

A step of y then shows what its label shows, whatever came before. What a step of z is worth is a
sum over labels of P(y_i = label) times what both add: no composition with the model is needed, and
the marginals of many models are computed together.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import groupby

import numpy as np
from numpy.typing import NDArray

from fsmeu.limits import LABEL_TABLE_CELLS
from fsmeu.trellis.counts import Coefficients
from fsmeu.trellis.means import score_rows
from fsmeu.trellis.path_errors import Sizes, path_errors
from fsmeu.trellis.roundings import Sums
from fsmeu.trellis.scores import StepScores, value_tables
from fsmeu.trellis.split_trellis import Hypotheses, SplitTrellis
from fsmeu.trellis.tape import TapeLayer
from fsmeu.trellis.terms import Amounts

__all__ = ["label_gains", "reads_marginals", "scores_by_marginals", "values_by_marginals"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(eq=False)
class _Shown:
    """What the labels of y show at positions with the same steps; in the place of a plan.

    Attributes:
        features: for each term, the numbers of its rows of feature values that occur.
        met: kept by ``SplitTrellis.amounts``.
        tables: what terms add, by label, for amounts that were asked for.
    """

    features: tuple[Ints, ...]
    met: dict[int, tuple[tuple[Ints, ...], int, Amounts]] = field(default_factory=dict)
    tables: dict[int, tuple[Amounts, Floats]] = field(default_factory=dict)


def reads_marginals(trellis: SplitTrellis, n: int) -> bool:
    """True when the tape of y has one state before each position, all labels go on, none counts.

    And when tables of what labels of both tapes add are small.
    """
    key = ("reads marginals", n)
    if key not in trellis.memo:
        trellis.memo[key] = trellis.y.most(n) == 0 and all(
            _is_stateless(trellis.y.layer(i)) and _is_small(trellis, i) for i in range(n)
        )
    found: bool = trellis.memo[key]
    return found


def _is_stateless(layer: TapeLayer) -> bool:
    return len(layer.targets) == 1 and bool((layer.targets == 0).all())


def _is_small(trellis: SplitTrellis, i: int) -> bool:
    rows = sum(map(len, trellis.z.layer(i).shown))
    return rows * trellis.y.layer(i).targets.size <= LABEL_TABLE_CELLS


@np.errstate(over="ignore", invalid="ignore")  # what comes of it is checked
def scores_by_marginals(
    trellis: SplitTrellis,
    hypotheses: Hypotheses,
    marginals: Floats,
    roundings: int,
    sign: float,
) -> StepScores:
    """The worth of every step that a hypothesis can take, as ``step_scores`` finds it.

    Requires that ``reads_marginals``.

    Args:
        trellis: both tapes.
        hypotheses: the tape of z with what is allowed.
        marginals: P(y_i = label), (batch, n, labels).
        roundings: a bound on the number of roundings behind each of these.
        sign: what values are multiplied by; -1 makes what is least the greatest.
    """
    batch, n, labels = marginals.shape
    slopes, offset = value_tables(trellis, n)
    steps: list[Floats] = []
    sizes = Sizes(len(slopes), batch)
    shown = [plan.features for plan in hypotheses.plans[:n]]
    for added, table, places in _alike(trellis, shown, n):
        known = marginals[:, places].reshape(-1, labels)  # (batch * positions, labels)
        met = (known @ table.T)[:, :, None]  # (batch * positions, score rows, 1)
        slope = np.array([slopes[count][:, 0] for count in added.count.tolist()])  # (rows, k)
        worth = np.zeros((batch, len(places), len(table) + 1, len(offset)))
        if len(table):
            worth[:, :, :-1] = (sign * met * slope).reshape(batch, len(places), *slope.shape)
        steps += [worth[:, k] for k in range(len(places))]
        expected = _expected(added, table, known)
        sizes.see(added, expected.reshape(len(slopes), batch, len(places)))
    ending, operations = np.ones((batch, 1)), roundings + labels + 8
    operations += n * (len(trellis.terms) + 1)  # the steps of a path are added up
    errors = path_errors(slopes, offset, ending, Coefficients(1), sizes, operations)
    return StepScores(steps, sign * np.tile(offset[:, 0], (batch, 1)), errors)


def values_by_marginals(trellis: SplitTrellis, z: Ints, marginals: Floats, roundings: int) -> Sums:
    """The expected value of each hypothesis under its model, with what bounds its error.

    Requires that ``reads_marginals``.

    Args:
        trellis: both tapes.
        z: label indices of the hypotheses, (batch, n).
        marginals: P(y_i = label), (batch, n, labels).
        roundings: a bound on the number of roundings behind each of these.
    """
    n = z.shape[1]
    slopes, offset = value_tables(trellis, n)
    rows, ended = score_rows(trellis, z)
    values, sizes = offset[ended, 0], np.abs(offset[ended, 0])
    shown = [trellis.z.layer(i).shown for i in range(n)]
    for added, table, places in _alike(trellis, shown, n):
        for i in places:
            for term, count in enumerate(added.term_count.tolist()):
                slope, amounts = slopes[count][ended, 0], table[rows[i][term]]
                values += slope * np.einsum("bl,bl->b", amounts, marginals[:, i])
                sizes += np.abs(slope) * np.einsum("bl,bl->b", np.abs(amounts), marginals[:, i])
    roundings += marginals.shape[2] + 8 + n * len(trellis.terms)
    return Sums(values, np.ones(len(z)), sizes, roundings)


def label_gains(trellis: SplitTrellis, z: Ints) -> tuple[Ints, Floats, int] | None:
    """What labels of y count, what they add to joint counts where z is given, and z's own count.

    Args:
        trellis: both tapes.
        z: label indices of the hypothesis, (n,).

    Returns:
        Arrays (labels,) and (joint counts, n, labels), and a number; None where the tape of y has a
        state, or counts otherwise at another position.
    """
    n = len(z)
    layers = [trellis.y.layer(i) for i in range(n)]
    distinct = list({id(layer): layer for layer in layers}.values())
    counted = distinct[0].counted[0]
    if trellis.reads_clock or not all(map(_is_stateless, distinct)):
        return None
    if not all(np.array_equal(layer.counted[0], counted) for layer in distinct):
        return None
    rows, ended = score_rows(trellis, z[None])
    found = np.zeros((len(trellis.form.joint_counts), n, len(counted)))
    alike: dict[tuple[int, int], list[int]] = {}
    for i, layer in enumerate(layers):
        alike.setdefault((id(layer), id(trellis.z.layer(i))), []).append(i)
    for places in alike.values():
        added, table = _label_amounts(trellis, trellis.z.layer(places[0]).shown, places[0], n)
        shown = np.array([rows[i][:, 0] for i in places])  # (places, terms)
        for term, count in enumerate(added.term_count.tolist()):
            found[count, places] += table[shown[:, term]]
    return counted, found, int(ended[0])


def _alike(
    trellis: SplitTrellis, shown: Sequence[tuple[Ints, ...]], n: int
) -> list[tuple[Amounts, Floats, list[int]]]:
    """Positions in a row where terms add the same: the amounts, these by label, and positions.

    Args:
        trellis: both tapes.
        shown: for each position and term, the numbers of the rows of feature values of z.
        n: the length.
    """
    found = [_label_amounts(trellis, shown[i], i, n) for i in range(n)]
    runs = groupby(range(n), key=lambda i: id(found[i][0]))
    return [(*found[places[0]], places) for places in (list(run) for _, run in runs)]


def _label_amounts(
    trellis: SplitTrellis, above: tuple[Ints, ...], i: int, n: int
) -> tuple[Amounts, Floats]:
    """What terms add at a position, and the same by score row of z and label of y."""
    layer = trellis.y.layer(i)
    below: _Shown = trellis.memo.setdefault(("shown by labels", id(layer)), _Shown(layer.shown))
    added = trellis.amounts(above, below, i, n)
    if id(added) not in below.tables:
        sizes = np.array([len(one) for one in above], np.int64)
        terms = np.repeat(np.arange(len(above)), sizes)  # of each score row
        columns = layer.score_rows[terms, 0]  # (score rows, labels)
        table = added.matrix.toarray()[np.arange(len(terms))[:, None], columns]
        below.tables.clear()
        below.tables[id(added)] = (added, table)
    return below.tables[id(added)]


def _expected(added: Amounts, table: Floats, marginals: Floats) -> Floats:
    """The greatest expected absolute amount of a score row, (joint counts, rows of marginals)."""
    sizes = np.abs(table) @ marginals.T
    found = np.zeros((added.counts, len(marginals)))
    np.maximum.at(found, added.count, sizes)
    return found
