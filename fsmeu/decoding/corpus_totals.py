"""Values of the totals of a corpus by windows of counts: where the value is no ratio of totals.

For totals k of the hypothesis and r of the reference the value is the sum over joint counts c_q of
c_q g_q(k, r), and h(k, r); losses with the opposite sign. For hypotheses with a total k, one more
of a joint count in a sentence whose reference counts a is worth the mean of g(k, a + R) over the
sum R of all other references' counts: one backward sweep over that function of a gives the scores
of all steps, one dynamic program the best score of every sentence for each count of its own, and
``best_sums`` the best sums for every total. The search is that of ``totals.py``: near k the value
of other totals is nearly a multiple of that (``spread``), and what a multiple leaves of g is
bounded by its greatest size times E|c_q|.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import reduce
from itertools import pairwise
from operator import or_
from typing import Any, NamedTuple

import numpy as np

from fsmeu import limits
from fsmeu.arrays import Bools, Floats, Ints
from fsmeu.decoding.hulls import best_sums
from fsmeu.decoding.totals import Goal, Search, TotalsDecision
from fsmeu.errors import SizeLimitError
from fsmeu.expectation import corpus as corpora
from fsmeu.expectation.corpus import Corpus, Group, by_sentence
from fsmeu.expectation.result import check_finite
from fsmeu.fst.layers import ArcWeights
from fsmeu.trellis.batches import Scores
from fsmeu.trellis.tapes import value_coefficients
from fsmeu.trellis.windows import Window, all_but_one, sum_of_all


@np.errstate(over="ignore", invalid="ignore")  # what comes of it is checked
def best_by_windows(corpus: Corpus, sign: float, goal: Goal) -> TotalsDecision:
    """The best hypotheses of a corpus; the value that is found has no tails cut off."""
    aim = WindowAim(corpus, sign)
    search = Search(aim, goal)
    mean = aim.window.counts @ aim.window.masses
    totals = np.flatnonzero(aim.hyp)
    search.climb(int(totals[np.abs(totals - mean).argmin()]))
    search.close()
    best = search.best
    tried = len(search.values)
    return TotalsDecision(aim.hypotheses(best), search.values[best], search.upper, tried)


class WindowAim:
    """Values of totals; what depends on a total is cached for those that were tried."""

    def __init__(self, corpus: Corpus, sign: float) -> None:
        assert corpus.loss.split is not None
        self.corpus = corpus
        self.form = corpus.loss.split
        self.sign = sign
        ends = corpus.loss.value_range(corpus.n)
        self.most = max(sign * side for side in ends)  # the greatest that the file declares
        _guard_scores(corpus)
        self.groups = [_swept(group) for group in corpus.groups]
        # Bounds on sums of the expectations of joint counts without signs.
        joint = len(self.form.joint_counts)
        self.expected = sum((swept.expected for swept in self.groups), np.zeros(joint))
        hyp = list[Bools]()
        ref = list[Bools]()
        windows = list[list[Window]]()
        for swept in self.groups:
            rows, n, trellis, _ = swept.group
            met = trellis.counts_met(n)
            hyp += [met[0]] * len(rows)
            ref += [met[1]] * len(rows)
            windows.append([Window(0, mass[None]) for mass in swept.own])
        parts = by_sentence(corpus.groups, windows)
        cut = corpora.mass_to_cut(corpus)
        self.window = sum_of_all(parts, cut, 1)  # all references' counts together
        self.hyp = _sums_of(hyp)  # which totals there are, (K + 1,)
        self.ref = _sums_of(ref)
        width = len(self.window.masses)
        what = "the distributions of the references' counts of all sentences but one may be"
        _guard(len(corpus.models) * width, limits.CORPUS_WINDOW_CELLS, what)
        what = "the values of the totals of both sides may be"
        _guard(len(self.hyp) * width, limits.CORPUS_VALUES, what)
        self.other_windows = all_but_one(parts, cut)  # by sentence: all other references' counts
        self.offset = np.zeros(len(self.hyp))
        for ks, _, h in self.tables(np.arange(len(self.hyp))):
            self.offset[ks] = h @ self.window.masses
        self.caps = np.where(self.hyp, self.most, -np.inf)
        self.served = range(len(self.hyp))
        # For the totals tried g_q(k, r), (counts, width), best sums, and counts of sentences.
        self.slopes = dict[int, Floats]()
        self.sums = dict[int, Floats]()
        self.ends = dict[int, Callable[[int], Ints]]()

    def tables(self, ks: Ints) -> Iterator[tuple[slice, list[Floats], Floats]]:
        """Parts of the totals with g_q(k, r) and h(k, r) for r in the window, (totals, width)."""
        width = len(self.window.masses)
        ref = np.arange(self.window.low, self.window.low + width)
        possible = self.ref[ref] & (self.window.masses > 0)
        size = max(1, limits.WINDOW_CELLS // width)
        for begin in range(0, len(ks), size):
            hyp = ks[begin : begin + size, None]
            slopes, offset = value_coefficients(
                self.form, self.corpus.n, hyp, ref, self.hyp[hyp] & possible
            )
            part = slice(begin, begin + len(hyp))
            yield part, [self.sign * slope for slope in slopes], self.sign * offset

    # -- what the search asks

    def try_total(self, k: int, best: int | None) -> float:
        """Tries a total; its best value, -inf where it is not known."""
        tables = self._best(self.scores(k))
        for table in tables:
            check_finite("decode_corpus", np.where(np.isneginf(table), 0.0, table))
        found = best_sums(tables)
        self.sums[k] = np.where(self.hyp, found.sums, 0.0)
        self.ends[k] = found.ends
        value = float(found.sums[k] + self.offset[k])
        self.caps[k] = min(self.caps[k], value)
        return value if found.is_reached[k] else -np.inf

    def likeliest(self, k: int) -> int:
        """The total that was tried: others are bounded at once."""
        return k

    def bounds(self, ks: Ints, tried: Sequence[int]) -> Floats:
        """Upper bounds on the values of some totals, by one or two that were tried."""
        sums = np.array([self.sums[k][ks] for k in tried])
        factors, away = self._spread(ks, [self.slopes[k] for k in tried])
        values = (factors * sums).sum(axis=0) + self.offset[ks] + away
        return np.where(self.hyp[ks], np.minimum(values, self.most), -np.inf)

    def settle(self, k: int, level: float) -> float | None:
        """The value of hypotheses with another total, where none with this one reach the bound."""
        return None

    def hypotheses(self, k: int) -> list[Ints]:
        """The best hypotheses with a total that was tried."""
        return self._best(self.scores(k), self.ends[k](k))

    # -- scores

    def _spread(self, ks: Ints, slopes: Sequence[Floats]) -> tuple[Floats, Floats]:
        """Factors, (slopes, totals), and bounds on errors of sums of g_q(k, .) E[c_q], (totals,).

        g(k, .) is bounded by multiples of g at one or two other totals, (counts, width). Multiples
        of one are the more exact the nearer it is; those of two, one on each side, are so to the
        second order. All that a bound needs is that no factor is negative.
        """
        most = self.expected
        factors = np.zeros((len(slopes), len(ks)))
        away = np.zeros(len(ks))
        chances = self.window.masses
        if not len(most):
            return factors, away
        heaviest = int((most * (np.abs(slopes[0]) @ chances)).argmax())
        for part, tables, _ in self.tables(ks):
            factors[:, part] = _factors(chances, tables[heaviest], [g[heaviest] for g in slopes])
            for q, (table, weight) in enumerate(zip(tables, most.tolist(), strict=True)):
                left = table.copy()
                for factor, slope in zip(factors[:, part], slopes, strict=True):
                    left -= np.multiply.outer(factor, slope[q])
                away[part] += weight * np.abs(left).max(axis=1, initial=0.0)
        return factors, away

    def scores(self, k: int) -> list[Scores]:
        """The scores of the steps of each group at a total."""
        ref = np.arange(len(self.ref))
        tables, _ = value_coefficients(self.form, self.corpus.n, k, ref, self.ref)
        at = self.sign * np.array(tables).reshape(len(self.expected), len(ref))
        check_finite("decode_corpus", at)
        reach = slice(self.window.low, self.window.low + len(self.window.masses))
        self.slopes[k] = at[:, reach] * (self.window.masses > 0)
        scores = []
        for swept in self.groups:
            rows, _, trellis, _ = swept.group
            own = swept.own
            windows = [self.other_windows[row] for row in rows]
            # The mean of g_q(k, .) by the sentence's own count, (batch, counts, own counts).
            gains = np.zeros((len(rows), len(at), own.shape[1]))
            for row, window in zip(gains, windows, strict=True):
                reach = slice(window.low, window.low + len(window.masses) + own.shape[1] - 1)
                for q, values in enumerate(at):
                    row[q] = np.correlate(values[reach], window.masses, "valid")
            scores.append(trellis.scores(swept.weights, gains)[0])
        return scores

    def _best(self, scores: Sequence[Scores], ends: Ints | None = None) -> list[Any]:
        """The best sums of scores by count of each sentence; or paths, where counts are given."""
        groups = self.corpus.groups
        found = []
        for group, own in zip(groups, scores, strict=True):
            at = None if ends is None else ends[group.rows]
            best = group.trellis.best(own, np.ones((len(group.rows), 1)), group.n, at)
            found.append(best.by_count if at is None else best.labels)
        return by_sentence(groups, found)


class _SweptGroup(NamedTuple):
    """Sentences of a corpus that are swept together, and what one sweep over them tells."""

    group: Group
    weights: ArcWeights
    own: Floats  # P(count of y), (batch, counts)
    expected: Floats  # bounds on the sums of E|joint count|, (joint counts,)


def _swept(group: Group) -> _SweptGroup:
    trellis = group.trellis
    n = group.n
    weights = group.weights
    ones = np.ones((len(group.rows), trellis.counts, int(trellis.y_tables.columns[n])))
    scores, (own, *_) = trellis.scores(weights, ones, absolute=True)
    bounds = np.zeros(trellis.counts)
    dense = scores.dense(n, len(trellis.amounts.joint))[..., 0]
    for begin, end in pairwise(trellis.z.first_feature.tolist()):  # the score rows of a term
        if begin < end:
            most = dense[:, :, begin:end].max(axis=2)  # (batch, n)
            bounds[trellis.amounts.joint[begin]] += most.sum()
    return _SweptGroup(group, weights, own, bounds)


def _guard_scores(corpus: Corpus) -> None:
    """Refuses sentences that are too long, or too many."""
    cells = 0
    for group in corpus.groups:
        group.trellis.guard("decode_corpus", group.n)
        cells += len(group.rows) * int(group.trellis.most_scores[group.n])
    _guard(cells, limits.CORPUS_SCORE_CELLS, "the scores of steps of a corpus may be")


def _guard(cells: int, limit: int, what: str) -> None:
    if cells > limit:
        remedy = "Declare a finite range in the file of the loss, decide parts of the corpus, or "
        remedy += "sentence by sentence with decode_many"
        must = f"{what} up to {limit:,} numbers"
        raise SizeLimitError("decode_corpus", must, given=f"{cells:,}", remedy=remedy)


def _sums_of(reachable: Sequence[Bools]) -> Bools:
    """Which totals there are, from the counts that each sentence may have; sets are bits."""
    bits = 1
    size = 1 + sum(len(counts) - 1 for counts in reachable)
    for counts in reachable:
        bits = reduce(or_, (bits << count for count in np.flatnonzero(counts).tolist()))
    return np.array([bit == "1" for bit in reversed(f"{bits:0{size}b}")], bool)


def _factors(chances: Floats, table: Floats, slopes: Sequence[Floats]) -> Floats:
    """Factors, (slopes, totals): of one slope to the table's mean, of two to two of its values.

    The table is g(k, r) for several k, (totals, width); slopes are g at other totals, (width,).
    """
    if len(slopes) == 1:
        mean = float(slopes[0] @ chances) or np.inf
        return np.maximum(0.0, (table @ chances)[None] / mean)
    mass = np.cumsum(chances)
    places = np.searchsorted(mass, [0.16 * mass[-1], 0.84 * mass[-1]])
    pair = np.stack([slope[places] for slope in slopes], axis=1)  # (places, others)
    if abs(np.linalg.det(pair)) <= 1e-12 * np.abs(pair).max() ** 2:
        return np.zeros((2, len(table)))
    return np.maximum(0.0, np.linalg.solve(pair, table[:, places].T))
