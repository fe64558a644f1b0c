"""The best hypotheses for a large corpus, by central moments of its counts.

The value is b T / D^a of totals: T is the joint count, D affine in the reference's count S, both
summed over independent sentences; k is the hypotheses' count. As in ``decoding/moments.py``, with
x = S - E[S], D = d (1 + u x), hypotheses z with the total k have the value

    b d^-a E[T (1 + u x)^-a]  =  b d^-a  sum over steps of z of  sum over j of  c_j u^j E[f x^j],

f being what a step adds to T. Of x, a sentence holds its own part, and the others a part whose
moments follow from the cumulants of all less its own: so E[f x^j] needs the scores of its steps for
powers of its own count alone, which one sweep over moments gives (``trellis/jet_kernels.py``). For
any k, one dynamic program gives the best sums of a sentence by its count, and their concave hulls
the best sums by total. T >= 0 makes E[T (1 + u x)^-a] convex in u, and the chord
bound excludes totals.

The series leaves out at most B E[(u x)^J] of a value, B being the greatest absolute value that the
file declares: T / D^a is the value up to b. At another total k' than that of u_k it is multiplied
by the greatest D(k') / D(k) there is, d(k) / d(k') and the power.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from fsmeu.arrays import Floats, Ints
from fsmeu.decoding.moments import CountSearch, branch_and_bound, chords
from fsmeu.expectation.corpus import Corpus, Group, by_sentence
from fsmeu.limits import CORPUS_SCORE_CELLS
from fsmeu.losses.algebra.ratios import Ratio, ratio_of_totals
from fsmeu.models import arc_weights_many
from fsmeu.trellis import moments as tm
from fsmeu.trellis.batches import Scores
from fsmeu.trellis.compiled import kernels
from fsmeu.trellis.roundings import relative_error
from fsmeu.trellis.tapes import value_coefficients
from fsmeu.twofold import UNIT

EXACT_SUMS = 1 << 26  # sums of scores up to which those of all totals are exact: .1 s
FEW_COUNTED = 256  # the greatest count below which moments are not tried: it spreads widely
SCORES_AT_ONCE = 1 << 20  # scores of steps computed at once: 8 MB for each power of a count

_MOST_ORDER = 8  # scores are kept for as many powers
_NEGLIGIBLE = 1e-14  # a score that is left out, and in proportion those for powers of a count
_ENOUGH = 2e-11  # the part of a value that the remainder of the series is meant to be
_FACTORIALS = np.array([float(math.factorial(j)) for j in range(_MOST_ORDER + 1)])


class _Block(NamedTuple):
    """Scores and moments of sentences that are swept together."""

    group: Group
    scores: Scores  # those that are not negligible; J + 1 lanes for powers of the own count, by j!
    chances: Floats  # E[own count^j] / j!, (batch, J + 1)
    roundings: int  # those behind the weights of the models


def best_by_moments(
    corpus: Corpus, sign: float, jobs: int = 1
) -> tuple[list[Ints], float, int, tuple[float, float] | None] | None:
    """Label indices of the best hypotheses of a corpus, or None where moments do not serve it.

    With an upper bound on sign times value of all hypotheses, how many totals were tried, and the
    value and a bound on its error, where the scores are those of their own total.

    Requires a value b T / D^a as the head of this module has it (derived from the text), in a
    finite declared range, T proven to be at least 0, and counts that are concentrated.
    """
    form, loss = corpus.loss.split, corpus.loss
    bounds = loss.value_range(corpus.n)
    if form is None or not corpus.models or not all(map(math.isfinite, bounds)):
        return None
    high = most = 0
    served = True  # the joint count is at least 0, and 0 for hypotheses that count nothing
    for rows, n, structure, _ in corpus.groups:
        high += len(rows) * (int(structure.h.columns[n]) - 1)
        most += len(rows) * (int(structure.r.columns[n]) - 1)
        served = served and structure.is_nonnegative and not structure.caps(n)[n, 0]
    if most < FEW_COUNTED or not served:
        return None
    totals = np.maximum(np.arange(high + 1.0), 1.0)  # that of none stands apart
    ratio = ratio_of_totals(form, corpus.n, totals, float(most))
    if high < 3 or ratio is None or (sign * ratio.top[1] <= 0).any():
        return None
    largest = max(map(abs, bounds)) * (1 + 1e-12)
    order, needed = 2, 4
    with ThreadPoolExecutor(jobs) as pool:  # kernels work side by side
        while order < needed:
            order = needed
            if order > _MOST_ORDER:
                return None
            blocks = list(pool.map(partial(_block, order), _parts(corpus.groups)))
            if sum(block.scores.value.size for block in blocks) > CORPUS_SCORE_CELLS:
                return None
            chances = np.zeros((len(corpus.models), order + 1))
            greatest = np.zeros(len(corpus.models))
            for block in blocks:
                chances[block.group.rows] = block.chances
                greatest[block.group.rows] = block.group.structure.r.columns[block.group.n] - 1
            counts = Counts(chances, greatest)
            below, _, steep = ratio.below[:, int(counts.mean)]
            deviation = math.sqrt(max(0.0, math.fsum(counts.cumulants[2])))
            spread = deviation * abs(float(steep / (below + steep * counts.mean)))
            needed = tm.jet_order(tm.needed_order(spread, _ENOUGH, 4))
        search = _search(blocks, counts, ratio, sign, largest, pool)
        best, upper = branch_and_bound(search)
        zs, total, score = search.best_at(best)
    value = float(search.gain[best] * score)
    error = float(search.bounds_at(search, np.array([best]), best, best)[0]) - value
    ref = np.arange(min(1, most), most + 1)  # hypotheses that count nothing have T = 0
    _, offset = value_coefficients(form, corpus.n, 0, ref, np.ones(len(ref), bool))
    chance = float(counts.moments[-1]) / counts.mean**order
    if (sign * offset).max(initial=-np.inf) + 2 * largest * chance > search.value(best):
        return None
    return zs, upper, len(search.tried), (sign * value, error) if total == best else None


def _parts(groups: Iterable[Group]) -> Iterator[Group]:
    """The groups, divided so that all scores of a part are few."""
    for rows, n, structure, models in groups:
        size = max(1, SCORES_AT_ONCE // max(1, len(structure.score_cells(n))))
        for part in (slice(begin, begin + size) for begin in range(0, len(rows), size)):
            yield Group(rows[part], n, structure, models[part])


def _block(order: int, group: Group) -> _Block:
    """The scores and moments of the sentences of a group, up to an order."""
    ends = np.zeros((len(group.rows), 1, order + 1))
    ends[:, 0, 0] = 1.0
    powers = float(group.structure.r.columns[group.n]) ** np.arange(order + 1)
    least = _NEGLIGIBLE * powers / _FACTORIALS[: order + 1]
    weights = arc_weights_many(group.models)
    scores, chances = group.structure.moments(order + 1).scores(weights, ends, least=least)
    return _Block(group, scores, chances, weights.roundings)


def _search(
    blocks: list[_Block],
    counts: Counts,
    ratio: Ratio,
    sign: float,
    largest: float,
    pool: ThreadPoolExecutor,
) -> CountSearch:
    """The values by total, 1 or more, if the ratio is greater than ``largest`` nowhere."""
    _, slope, _ = sign * ratio.top
    below, _, steep = ratio.below
    d, high = below + steep * counts.mean, len(slope) - 1
    u, order, zero = steep / d, len(counts.cumulants) - 1, np.zeros(high + 1)
    gain, series = slope * d**-ratio.power, tm.series_of(ratio.power, 1.0, order)
    hulls_at: dict[int, Hulls] = {}
    sides = [below + steep * s for s in (0.0, counts.most.sum())]
    groups, roundings = [block.group for block in blocks], np.zeros(len(counts.means))
    other_moments = [counts.of_others(group.rows) for group in groups]
    for (rows, n, structure, _), _, chances, behind in blocks:
        # A step multiplies by exp(t) once more than it does where counts are kept; steps whose
        # scores are not kept add to the errors of joint counts as well.
        operations = int(structure.roundings[n]) + (n + 16) * (chances.shape[1] + 7)
        part = relative_error(operations + behind)
        steps = 2 * len(structure.tapes.terms) * n
        roundings[rows] = part * float(structure.greatest[0, n]) + _NEGLIGIBLE * steps

    def best(k: int, ends: Ints | None = None) -> list[Any]:
        weights = series * u[k] ** np.arange(order)

        def best_in(block: _Block, moments: Floats) -> Any:
            lanes = np.zeros((len(block.chances), order))  # of the sum over j of weights[j] x^j
            for j in range(order):
                for a in range(j + 1):
                    lanes[:, a] += weights[j] * tm.BINOMIAL[j, a] * moments[j - a]
            return best_of(block.group, block.scores, lanes * _FACTORIALS[:order], ends)

        return by_sentence(groups, pool.map(best_in, blocks, other_moments))

    def sums_at(k: int) -> Floats:
        hulls_at[k] = hulls = Hulls(best(k))
        bounds = np.interp(np.arange(high + 1), hulls.knots, hulls.values)
        bounds += 4 * len(hulls.knots) * UNIT * hulls.size
        bounds[: hulls.knots[0]] = bounds[hulls.knots[-1] + 1 :] = -np.inf
        return bounds

    def over_at(k: int, ks: Ints) -> Floats:
        apart = np.maximum(*(side[ks] / side[k] for side in sides)) * d[k] / d[ks]
        remainder = largest * counts.moments[-1] * u[k] ** order * apart**ratio.power / gain[ks]
        slack: Floats = remainder + float(roundings @ counts.sizes(series, u[k]))
        return slack

    def best_at(k: int) -> tuple[list[Ints], int, float]:
        """The hypotheses, their total, and the sum of their scores."""
        hulls = hulls_at[k]
        place = int((gain[np.clip(hulls.knots, 1, high)] * hulls.values).argmax())
        total = int(hulls.knots[place])
        return best(k, hulls.ends(total)), total, float(hulls.values[place])

    first = high  # scores hardly depend on the total, and the ends are tried anyway
    bounds_at = chords(u, over_at)
    search = CountSearch(1, high, first, gain, zero, zero, sums_at, bounds_at, best_at)
    for _ in range(6):  # the best total at the best total before
        total = 1 + int((gain * search.sums(first))[1:].argmax())
        if total in search.tried:
            break
        search.first = first = total
    return search


def best_of(group: Group, scores: Scores, factors: Floats, ends: Ints | None) -> Any:
    """The best sums of scores by count of each sentence; or paths, where counts are given."""
    at = None if ends is None else ends[group.rows]
    return group.structure.best(scores, factors, group.n, at)[0 if at is None else 1]


# -- moments of counts -----------------------------------------------------------------------------


class Counts:
    """Moments of the counts of the references of all sentences.

    They follow from E[count^j] / j! times the mass, (sentences, order + 1), and from the greatest
    count of each sentence.
    """

    def __init__(self, chances: Floats, most: Floats) -> None:
        raw = (chances / chances[:, :1] * _FACTORIALS[: chances.shape[1]]).T
        self.means, self.most = raw[1], most  # the expectation of each sentence's count
        self.cumulants = tm.cumulants_of(_shifted(raw, -raw[1]))  # (order + 1, sentences)
        self.mean = math.fsum(self.means)  # of the total, as are central moments, (order + 1,)
        self.moments = tm.central_moments(self.cumulants.sum(axis=1))

    def of_others(self, rows: Sequence[int] | slice) -> Floats:
        """Moments of all counts but one's own, centred, less one's own mean, (order + 1, rows)."""
        cumulants = self.cumulants
        moments = tm.central_moments(cumulants.sum(axis=1, keepdims=True) - cumulants[:, rows])
        return _shifted(moments, -self.means[rows])

    def sizes(self, series: Floats, u: float) -> Floats:
        """Bounds on the absolute terms that moments are sums of, (sentences,).

        The sum over j of |series[j] u^j| times a bound on E|x|^j in which all that is added up and
        taken away counts: raw moments of a sentence are at most ``most`` to their power, and the
        cumulant of order r is a sum of at most r! products of them, about the mean.
        """
        reach, order = 2.0 * self.most, len(series)
        worst = [math.factorial(r) * float((reach**r).sum()) for r in range(order)]
        moments = tm.central_moments(np.abs(self.cumulants.sum(axis=1)[:order]) + worst)
        moments[1] = math.sqrt(moments[2])
        sizes = np.zeros(len(reach))
        for j in range(order):
            terms = (tm.BINOMIAL[j, a] * reach**a * moments[j - a] for a in range(j + 1))
            sizes += abs(series[j] * u**j) * sum(terms)
        return sizes


def _shifted(moments: Floats, by: Floats) -> Floats:
    """Moments of sums and a number, from those of the sums, (order + 1, ...)."""
    shifted = np.zeros_like(moments)
    for j in range(len(moments)):
        for i in range(j + 1):
            shifted[j] += tm.BINOMIAL[j, i] * by ** (j - i) * moments[i]
    return shifted


# -- the best sums by total ------------------------------------------------------------------------


class Hulls:
    """The sum of the concave hulls of the sentences' best scores by count: Lagrangian relaxation.

    The tables hold the best score of each count of a sentence, -inf where there is none.

    For a price p of an item, the sum over sentences s of max over j of (U_s(j) - p j), and p k, is
    at least the best sum of scores of hypotheses that count k together. The least such bound over
    all prices is the sum of the concave hulls of U_s, whose pieces are taken in the order of their
    slopes. Where a total falls between two pieces, hypotheses with this total reach the bound.
    """

    def __init__(self, tables: Sequence[Floats]) -> None:
        widest = max(map(len, tables), default=0)
        scores = np.full((len(tables), widest), -np.inf)
        for row, table in zip(scores, tables, strict=True):
            row[: len(table)] = table
        slopes = np.empty(scores.shape)
        kernels("best_kernels", scores.size).corners(scores, slopes, np.zeros(widest, np.int64))
        sentence, end = np.nonzero(~np.isnan(slopes))  # all corners, by sentence and count
        opens = np.diff(sentence, prepend=-1) != 0
        corners = scores[sentence, end]
        gains = np.diff(corners, prepend=0.0)[~opens]
        lengths = np.diff(end, prepend=0)[~opens]
        self.first = end[opens]  # the least count of each sentence
        sentence, end = sentence[~opens], end[~opens]
        order = np.argsort(-slopes[sentence, end], kind="stable")  # by sentence in their order
        # The totals between pieces, ascending, and the bound there, (pieces + 1,).
        self.knots: Ints = int(self.first.sum()) + np.append(0, np.cumsum(lengths[order]))
        self.values: Floats = corners[opens].sum() + np.append(0.0, np.cumsum(gains[order]))
        # The sentence of each piece, its count after that, the sum of all added, signs aside.
        self.sentence, self.end = sentence[order], end[order]
        self.size = float(np.abs(corners[opens]).sum() + np.abs(gains).sum())

    def ends(self, total: int) -> Ints:
        """The counts of the sentences when all pieces up to a total are taken, (sentences,)."""
        counts: Ints = self.first.copy()
        pieces = int(np.searchsorted(self.knots, total, side="right")) - 1
        np.maximum.at(counts, self.sentence[:pieces], self.end[:pieces])
        return counts


def best_sums(tables: Sequence[Floats]) -> tuple[Floats, Callable[[int], Ints], float]:
    """The best sum of scores for each total, counts of the sentences, and a bound on roundings.

    Where there are many, sums are bounds from above, and the counts that a function gives for a
    total have the total of the knot below it.
    """
    size = 1 + sum(len(table) - 1 for table in tables)
    if size * sum(map(len, tables)) > EXACT_SUMS:
        hulls = Hulls(tables)
        error = relative_error(2 * len(hulls.knots) + 8) * hulls.size
        return np.interp(np.arange(size), hulls.knots, hulls.values), hulls.ends, error
    sums, greatest = [np.zeros(1)], 0.0
    for table in tables:
        before, after = sums[-1], np.full(len(sums[-1]) + len(table) - 1, -np.inf)
        for j, score in enumerate(table):
            part = after[j : j + len(before)]
            np.maximum(part, before + score, out=part)
        sums.append(after)
        greatest += float(np.abs(table[np.isfinite(table)]).max())

    def ends(total: int) -> Ints:
        counts = np.zeros(len(tables), np.int64)
        for s in range(len(tables) - 1, -1, -1):
            j = np.arange(max(0, total - len(sums[s]) + 1), min(total, len(tables[s]) - 1) + 1)
            counts[s] = j[(sums[s][total - j] + tables[s][j]).argmax()]
            total -= int(counts[s])
        return counts

    return sums[-1], ends, relative_error(len(tables) + 8) * greatest
