"""Branch and bound over the total of the hypothesis's count of a corpus.

For totals k of the hypothesis and r of the reference the value is, with joint counts c_q,

    sum over q of  c_q g_q(k, r)  +  h(k, r).

Losses are taken with the opposite sign, so that greater is better. For hypotheses with a total k,
one more of a joint count in a sentence whose reference counts a is worth the mean of g(k, a + R)
over the sum R of all other references' counts: one backward sweep over that function of a gives the
scores of all steps. One dynamic program then gives the best score of every sentence for each count
of its own, and ``best_sums`` the best sums for every total. Near k the value of other totals is
nearly a multiple of that (``spread``), so that what is known at k bounds the best value of every
total. The total of the greatest bound is tried next, until none exceeds the best value.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from fsmeu.arrays import Bools, Floats, Ints
from fsmeu.decoding.corpus_moments import best_sums
from fsmeu.decoding.moments import best_number
from fsmeu.errors import SizeLimitError, message
from fsmeu.expectation.corpus import Corpus, mass_to_cut, sentence_structure
from fsmeu.expectation.result import check_finite
from fsmeu.fst.layers import ArcWeights
from fsmeu.limits import CORPUS_SCORE_CELLS, WINDOW_CELLS
from fsmeu.losses.algebra.split import Split
from fsmeu.losses.semantics.domains import declared_range
from fsmeu.models import arc_weights_many
from fsmeu.trellis.batches import Scores
from fsmeu.trellis.engine import Structure
from fsmeu.trellis.roundings import relative_error
from fsmeu.trellis.tapes import values_at
from fsmeu.trellis.windows import Window, all_but_one, sum_of_all

CORPUS_WINDOW_CELLS = 1 << 26  # cells of the counts of all sentences but one, for each: 512 MB
CORPUS_VALUES = 1 << 31  # pairs of totals of both sides that are valued, block by block: a minute


def best_of_corpus(
    corpus: Corpus, sign: float, gap: float, stop: Callable[[float, float], bool]
) -> tuple[list[Ints], float, int]:
    """Label indices of the best hypotheses, an upper bound on all, and how many totals were tried.

    The sign is 1 where greater values are better, -1 where smaller ones are; ``best_number`` says
    what a gap is and when to stop.
    """
    search = _search(corpus, sign)
    best, upper = best_number(search, gap=gap, stop=stop)
    return search.best_at(best), upper, len(search.tried)


@dataclass(frozen=True, eq=False)
class _Block:
    """Sentences of one length and structure."""

    rows: list[int]  # their places in the corpus
    n: int
    structure: Structure
    models: Sequence[ArcWeights]
    own: Floats  # the distribution of the reference's count, (batch, counts)


@dataclass(eq=False)
class _Search:
    """The best values by total; what depends on a total is kept for those that were tried."""

    low: int
    high: int
    first: int
    corpus: Corpus
    sign: float  # 1 where greater values are better, -1 where smaller ones are
    blocks: list[_Block]
    others: list[Window]  # for each sentence the sum of all other references' counts
    whole: Window  # that of all references together
    hyp: Bools  # which totals some hypotheses have, (K + 1,)
    ref: Bools  # which totals some references have, (R + 1,)
    greatest: Floats  # bounds on sentences' joint counts without signs, (sentences, counts)
    expected: Floats  # the same of their expectations
    means: Floats  # E[h(k, R)] over the window of R, (K + 1,)
    errors: Floats  # bounds on what they may lack, (K + 1,)
    tried: dict[int, Floats] = field(default_factory=dict)  # the best sums of scores by total
    slopes: dict[int, Floats] = field(default_factory=dict)  # g_q(k, r), (counts, width)
    off: dict[int, float] = field(default_factory=dict)  # bounds on the errors of sums
    counts: dict[int, Callable[[int], Ints]] = field(default_factory=dict)  # for a total

    @property
    def form(self) -> Split:
        """The loss split by tape."""
        assert self.corpus.loss.split is not None
        return self.corpus.loss.split

    @property
    def range(self) -> tuple[float, float]:
        """The declared range of sign times value."""
        ends = declared_range(self.corpus.loss.bound, self.corpus.n)
        low, high = sorted(self.sign * side for side in ends)
        return low, high

    def tables(self, ks: Ints) -> Iterator[tuple[slice, list[Floats], Floats]]:
        """Parts of the totals with g_q(k, r) and h(k, r) for r in the window, (totals, width)."""
        width = len(self.whole.chances)
        ref = np.arange(self.whole.low, self.whole.low + width)
        seen = self.ref[ref] & (self.whole.chances > 0)
        size = max(1, WINDOW_CELLS // width)
        for begin in range(0, len(ks), size):
            some = ks[begin : begin + size, None]
            slopes, offset = values_at(self.form, self.corpus.n, some, ref, self.hyp[some] & seen)
            part = slice(begin, begin + len(some))
            yield part, [self.sign * slope for slope in slopes], self.sign * offset

    def sums(self, k: int) -> Floats:
        """The greatest sums of scores with g(k, .), by total."""
        if k not in self.tried:
            scores, error, at = self._scores(k)
            reach = slice(self.whole.low, self.whole.low + len(self.whole.chances))
            self.slopes[k] = at[:, reach] * (self.whole.chances > 0)
            tables = self._each(
                lambda b, one: b.structure.best(one, np.ones((len(b.rows), 1)), b.n)[0],
                scores,
            )
            for table in tables:
                check_finite("decode_corpus", np.where(np.isneginf(table), 0.0, table))
            sums, self.counts[k], rounding = best_sums(tables)
            self.off[k] = error + rounding
            self.tried[k] = np.where(self.hyp, sums, 0.0)
        return self.tried[k]

    def value(self, k: int) -> float:
        """The best value with a total, roundings aside."""
        return float(self.sums(k)[k] + self.means[k])

    def best_at(self, k: int) -> list[Ints]:
        """The hypotheses of that value."""
        ends = self.counts[k](k)

        def paths(b: _Block, some: Scores) -> Any:
            return b.structure.best(some, np.ones((len(b.rows), 1)), b.n, ends[b.rows])[1]

        return self._each(paths, self._scores(k)[0])

    def bounds(self, ks: Ints, first: int, last: int) -> Floats:
        """Upper bounds on values with totals ks, by those of two that were tried, and by both."""
        found = np.full(len(ks), self.range[1])
        tried = sorted({first, last} & set(self.tried))
        for totals in [[k] for k in tried] + [tried] * (len(tried) > 1):
            sums = np.array([self.sums(k)[ks] + self.off[k] for k in totals])
            factors, away = self.spread(ks, [self.slopes[k] for k in totals])
            values = (factors * sums).sum(axis=0) + self.means[ks] + away + self.errors[ks]
            found = np.minimum(found, values)
        return np.where(self.hyp[ks], found, -np.inf)

    def spread(self, ks: Ints, others: Sequence[Floats]) -> tuple[Floats, Floats]:
        """How g(k, .) is bounded by multiples of g at one or two other totals, (counts, width).

        Multiples of one other are the more exact the nearer it is; those of two, one on each side,
        are so to the second order. All that a bound needs is that no factor is negative.

        Returns:
            Factors, (others, totals), and how far off sums of g_q(k, .) E[c_q] are at most.
        """
        most = self.expected.sum(axis=0) * (1.0 + 1e-9)  # bounds on E|c_q|
        factors, away, chances = (
            np.zeros((len(others), len(ks))),
            np.zeros(len(ks)),
            self.whole.chances,
        )
        if not len(most):
            return factors, away
        heaviest = int((most * (np.abs(others[0]) @ chances)).argmax())
        for part, tables, _ in self.tables(ks):
            factors[:, part] = _factors(chances, tables[heaviest], [g[heaviest] for g in others])
            for q, (table, weight) in enumerate(zip(tables, most.tolist(), strict=True)):
                left = table.copy()
                for factor, other in zip(factors[:, part], others, strict=True):
                    left -= np.multiply.outer(factor, other[q])
                rounding = relative_error(16) * np.abs(table).max(axis=1, initial=0.0)
                away[part] += weight * (np.abs(left).max(axis=1, initial=0.0) + rounding)
        return factors, away

    def _scores(self, k: int) -> tuple[list[Scores], float, Floats]:
        """The scores of steps of each block, a bound on the error of all sums, and g_q(k, r)."""
        ref = np.arange(len(self.ref))
        tables, _ = values_at(self.form, self.corpus.n, k, ref, self.ref)
        at = self.sign * np.array(tables).reshape(self.greatest.shape[1], len(ref))
        check_finite("decode_corpus", at)
        greatest = np.abs(at).max(axis=1, initial=0.0)  # (counts,)
        error = self.whole.lost * float(self.greatest.sum(axis=0) @ greatest)
        found = []
        for block in self.blocks:
            others = [self.others[row] for row in block.rows]
            wanted = _wanted(block, others, at)
            found.append(block.structure.scores(block.models, wanted)[0])
            error += _error(block, others, self.greatest[block.rows], wanted, greatest)
        return found, error, at

    def _each(self, ask: Callable[[_Block, Scores], Any], scores: Sequence[Scores]) -> list[Any]:
        """What a function of the sentences of a block and their scores gives for each sentence."""
        found: dict[int, Any] = {}
        for block, some in zip(self.blocks, scores, strict=True):
            found.update(zip(block.rows, ask(block, some), strict=True))
        return [found[row] for row in range(len(found))]


@np.errstate(over="ignore", invalid="ignore")  # what comes of it is checked
def _search(corpus: Corpus, sign: float) -> _Search:
    """The values by total; an UncountableError where a counter does not grow by whole numbers."""
    form, models = corpus.loss.split, corpus.models
    assert form is not None
    greatest, expected = np.zeros((2, len(models), len(form.joint_counts)))
    own = [Window(0, np.ones((1, 1)))] * len(models)
    groups = [(rows, sentence_structure(corpus, rows[0])) for rows in corpus.alike()]
    hyp, ref, blocks, cells = list[Bools](), list[Bools](), list[_Block](), 0
    for rows, structure in groups:
        structure.guard("decode_corpus", n := models[rows[0]].n)
        cells += len(rows) * len(structure.score_cells(n))
    _guard(cells, CORPUS_SCORE_CELLS, "the scores of steps of a corpus may be")
    for rows, structure in groups:
        n, layered = models[rows[0]].n, arc_weights_many([models[row] for row in rows])
        hyp += [structure.ends(n)] * len(rows)
        ref += [structure.reference_ends(n)] * len(rows)
        greatest[rows] = structure.greatest[:, n]
        expected[rows], masses = _expected(structure, layered)
        for row, mass in zip(rows, masses, strict=True):
            own[row] = Window(0, mass[None], 0.0, int(structure.roundings[n]))
        blocks.append(_Block(rows, n, structure, layered, masses))
    cut = mass_to_cut(corpus)
    whole, possible = sum_of_all(own, cut, 1), _totals(hyp)
    width, size, places = len(whole.chances), len(possible), np.flatnonzero(possible)
    each = "the distributions of the references' counts of all sentences but one may be"
    _guard(len(own) * width, CORPUS_WINDOW_CELLS, each)
    _guard(size * width, CORPUS_VALUES, "the values of the totals of both sides may be")
    mean = float(whole.counts @ whole.chances)
    found = _Search(
        low=int(places[0]) - 1,  # neither this nor the next is tried: all between may be
        high=int(places[-1]) + 1,
        first=int(places[np.abs(places - mean).argmin()]),
        corpus=corpus,
        sign=sign,
        blocks=blocks,
        others=all_but_one(own, cut),
        whole=whole,
        hyp=possible,
        ref=_totals(ref),
        greatest=greatest,
        expected=expected,
        means=np.zeros(size),
        errors=np.zeros(size),
    )
    rounding = relative_error(whole.operations + width + 8)
    for ks, _, offset in found.tables(np.arange(size)):
        found.means[ks] = offset @ whole.chances
        found.errors[ks] = rounding * (np.abs(offset) @ whole.chances)
    if whole.lost:
        found.errors += whole.lost * max(0.0, found.range[1])
    return found


def _expected(structure: Structure, models: Sequence[ArcWeights]) -> tuple[Floats, Floats]:
    """Bounds on E|joint count|, (batch, counts), and P(count of y), (batch, counter)."""
    n, counts = models[0].n, structure.counts
    one = np.ones((len(models), counts, int(structure.r.columns[n])))
    scores, chances = structure.scores(models, one, absolute=True)
    cells, found = structure.score_cells(n), np.zeros((len(models), counts))
    if len(cells):
        term = np.searchsorted(structure.z.first_feature, cells[:, 1], side="right")
        begins = np.flatnonzero(np.diff(cells[:, 0] * (1 + term.max()) + term, prepend=-1))
        dense = scores.dense(len(cells))[..., 0]
        most = np.maximum.reduceat(dense, begins, axis=1)  # (batch, positions and terms)
        np.add.at(found.T, structure.amounts.joint[cells[begins, 1]], most.T)
    return found, chances


def _guard(cells: int, limit: int, what: str) -> None:
    if cells > limit:
        remedy = "Declare a finite range in the file of the loss, decide parts of the corpus, or "
        remedy += "sentence by sentence with decode_many"
        must = f"{what} up to {limit:,} numbers"
        raise SizeLimitError(message("decode_corpus", must, f"{cells:,}", remedy))


def _totals(reachable: Sequence[Bools]) -> Bools:
    """Which totals there are, from the counts that each sentence may have."""
    if all(one.all() for one in reachable):
        return np.ones(1 + sum(len(one) - 1 for one in reachable), bool)
    parts = list(reachable)
    while len(parts) > 1:
        pairs = zip(parts[0::2], parts[1::2], strict=False)
        odd = parts[len(parts) - len(parts) % 2 :]
        parts = [np.convolve(a.astype(float), b.astype(float)) > 0.5 for a, b in pairs] + odd
    return parts[0]


def _wanted(block: _Block, others: Sequence[Window], at: Floats) -> Floats:
    """What joint counts are worth on average by the own count, (batch, counts, own counts)."""
    size = block.own.shape[1]
    found = np.zeros((len(block.rows), len(at), size))
    for row, other in zip(found, others, strict=True):
        reach = slice(other.low, other.low + len(other.chances) + size - 1)
        for q, values in enumerate(at):
            row[q] = np.correlate(values[reach], other.chances, "valid")
    return found


def _error(
    block: _Block, others: Sequence[Window], most: Floats, wanted: Floats, greatest: Floats
) -> float:
    """A bound on the error of the sum of scores of a block: by roundings, and by what others lack.

    ``most`` bounds joint counts, (batch, joint counts), ``greatest`` their slopes, (joint counts,).
    """
    expected = np.einsum("bqc,bc->bq", np.abs(wanted), np.abs(block.own))
    rounding = 2.0 * relative_error(int(block.structure.roundings[block.n]))
    error = rounding * float((most * expected).sum())
    off = [o.lost + relative_error(o.operations + len(o.chances) + 8) for o in others]
    error += float((most @ greatest) @ np.array(off))
    steps = relative_error((len(block.structure.tapes.terms) + 9) * block.n + 64)
    return error + steps * float((most * np.abs(wanted).max(axis=2, initial=0.0)).sum())


def _factors(chances: Floats, table: Floats, others: Sequence[Floats]) -> Floats:
    """The multiples of one other that has the same mean, or of two with the same two values.

    Tables are g(k, r) for some k, (totals, width), and for each of the others, (width,).
    """
    if len(others) == 1:
        mean = float(others[0] @ chances)
        return np.maximum(
            0.0, (table @ chances)[None] / mean if mean else np.zeros((1, len(table)))
        )
    mass = np.cumsum(chances)
    places = np.searchsorted(mass, [0.16 * mass[-1], 0.84 * mass[-1]])
    pair = np.stack([other[places] for other in others], axis=1)  # (places, others)
    if abs(np.linalg.det(pair)) <= 1e-12 * np.abs(pair).max() ** 2:
        return np.zeros((2, len(table)))
    return np.maximum(0.0, np.linalg.solve(pair, table[:, places].T))
