"""Branch and bound over the total of the hypothesis's count of a corpus.

For totals k of the hypothesis and r of the reference the value is, with joint counts c_q,

    sum over q of  c_q g_q(k, r)  +  h(k, r).

Losses are taken with the opposite sign, so that greater is better. For hypotheses with a total k,
one more of a joint count in a sentence whose reference counts a is worth the mean of g(k, a + R)
over the sum R of all other references' counts: one backward sweep over that function of a gives the
scores of all steps. One dynamic program then gives the best score of every sentence for each count
of its own, Lagrangian relaxation (``corpus_hulls``) the best sums for every total. Near k the value
of other totals is nearly a multiple of that (``_spread``), so that one such *cut* at k bounds the
best value of every total from above, and that of many from below. The total of the greatest upper
bound is cut next, until no bound exceeds the best value that is known.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from fsmeu.arrays import Bools, Floats, Ints
from fsmeu.decoding.corpus_hulls import best_sums
from fsmeu.decoding.moments import ByNumber, best_number
from fsmeu.decoding.problem import Clock
from fsmeu.errors import SizeLimitError, message
from fsmeu.expectation.corpus import mass_to_cut
from fsmeu.expectation.corpus_query import Corpus, sentence_structure
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


# -- the sentences ---------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Block:
    """Sentences of one length and structure.

    Attributes:
        rows: their places in the corpus.
        own: the distribution of the reference's count, (batch, counts).
    """

    rows: list[int]
    n: int
    structure: Structure
    models: Sequence[ArcWeights]
    own: Floats


@dataclass(frozen=True, eq=False)
class _Sentences:
    """All sentences of a corpus.

    Attributes:
        corpus: the loss and the models.
        sign: 1 where greater values are better, -1 where smaller ones are.
        blocks: the sentences.
        others: for each sentence the distribution of the sum of all other references' counts.
        whole: that of all references together.
        hyp: which totals some hypotheses have, (K + 1,).
        ref: which totals some references have, (R + 1,).
        greatest: bounds on the absolute value of each sentence's joint counts, (sentences, counts).
        expected: the same of their expectations.
    """

    corpus: Corpus
    sign: float
    blocks: list[_Block]
    others: list[Window]
    whole: Window
    hyp: Bools
    ref: Bools
    greatest: Floats
    expected: Floats

    @property
    def form(self) -> Split:
        """The loss split by tape."""
        assert self.corpus.loss.split is not None
        return self.corpus.loss.split

    @property
    def range(self) -> tuple[float, float]:
        """The declared range of sign times value."""
        low, high = sorted(
            self.sign * side for side in declared_range(self.corpus.loss.bound, self.corpus.n)
        )
        return low, high

    def slopes(self, k: int) -> Floats:
        """g_q(k, r) for every total r of the reference, (counts, R + 1)."""
        ref = np.arange(len(self.ref))
        tables, _ = values_at(self.form, self.corpus.n, k, ref, self.ref)
        return self.sign * np.array(tables).reshape(self.greatest.shape[1], len(ref))

    def tables(self, ks: Ints) -> Iterator[tuple[Ints, list[Floats], Floats]]:
        """Blocks of totals with g_q(k, r) and h(k, r) for r in the window, (totals, width) each."""
        width = len(self.whole.chances)
        ref = np.arange(self.whole.low, self.whole.low + width)
        seen = self.ref[ref] & (self.whole.chances > 0)
        size = max(1, WINDOW_CELLS // width)
        for begin in range(0, len(ks), size):
            some = ks[begin : begin + size]
            possible = self.hyp[some][:, None] & seen
            slopes, offset = values_at(self.form, self.corpus.n, some[:, None], ref, possible)
            yield some, [self.sign * slope for slope in slopes], self.sign * offset


@np.errstate(over="ignore", invalid="ignore")  # what comes of it is checked
def _sentences(corpus: Corpus, sign: float) -> _Sentences:
    """What a decision needs of the sentences of a corpus.

    Requires a loss that splits by tape, its value looking at one counter of each at most.

    Raises:
        UncountableError: a counter does not grow by whole numbers.
        SizeLimitError: that would take too much room.
    """
    form, models = corpus.loss.split, corpus.models
    assert form is not None
    greatest, expected = np.zeros((2, len(models), len(form.joint_counts)))
    own: list[Window] = [Window(0, np.ones((1, 1)))] * len(models)
    hyp: list[Bools] = []
    ref: list[Bools] = []
    blocks: list[_Block] = []
    groups, cells = corpus.alike(), 0
    for rows in groups:
        structure, n = sentence_structure(corpus, rows[0]), models[rows[0]].n
        structure.guard("decode_corpus", n)
        cells += len(rows) * len(structure.score_cells(n))
    _guard(cells, CORPUS_SCORE_CELLS, "the scores of steps of a corpus")
    for rows in groups:
        structure, n = sentence_structure(corpus, rows[0]), models[rows[0]].n
        hyp += [structure.ends(n)] * len(rows)
        ref += [structure.y.reachable(n)] * len(rows)
        greatest[rows] = structure.greatest(n)
        layered = arc_weights_many([models[row] for row in rows])
        expected[rows], masses = _expected(structure, layered)
        for row, mass in zip(rows, masses, strict=True):
            own[row] = Window(0, mass[None], 0.0, structure.roundings(n))
        blocks.append(_Block(rows, n, structure, layered, masses))
    cut = mass_to_cut(corpus)
    whole = sum_of_all(own, cut, 1)
    each = "the distributions of the references' counts of all sentences but one"
    _guard(len(own) * len(whole.chances), CORPUS_WINDOW_CELLS, each)
    others, totals = all_but_one(own, cut), (_totals(hyp), _totals(ref))
    return _Sentences(corpus, sign, blocks, others, whole, *totals, greatest, expected)


def _expected(structure: Structure, models: Sequence[ArcWeights]) -> tuple[Floats, Floats]:
    """_Bounds on E|joint count|, (batch, counts), and P(count of y), (batch, counter).

    At each position, the greatest of all steps for each term.
    """
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
        must = f"{what} may be up to {limit:,} numbers"
        raise SizeLimitError(message("decode_corpus", must, f"{cells:,}", remedy))


def _totals(reachable: Sequence[Bools]) -> Bools:
    """Which totals there are, from the counts that each sentence may have."""
    if all(one.all() for one in reachable):
        return np.ones(1 + sum(len(one) - 1 for one in reachable), bool)
    parts = [one.astype(np.float64) for one in reachable]
    while len(parts) > 1:
        pairs = [np.convolve(a, b) > 0.5 for a, b in zip(parts[0::2], parts[1::2], strict=False)]
        parts = [one.astype(np.float64) for one in pairs] + parts[len(parts) - len(parts) % 2 :]
    return parts[0] > 0.5


def _scores_at(sentences: _Sentences, at: Floats) -> tuple[list[Scores], float]:
    """The scores of steps of each block for g_q(k, r), and a bound on the error of all sums."""
    check_finite("decode_corpus", at)
    greatest = np.abs(at).max(axis=1, initial=0.0)  # (counts,)
    error = sentences.whole.lost * float(sentences.greatest.sum(axis=0) @ greatest)
    found = []
    for block in sentences.blocks:
        others = [sentences.others[row] for row in block.rows]
        wanted = _wanted(block, others, at)
        found.append(block.structure.scores(block.models, wanted)[0])
        error += _error(block, others, sentences.greatest[block.rows], wanted, greatest)
    return found, error


def _wanted(block: _Block, others: Sequence[Window], at: Floats) -> Floats:
    """What joint counts are worth by the count of a sentence's own reference.

    The mean over the sum of all other references' counts, (batch, joint counts, own counts).
    """
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
    """A bound on the error of the sum of scores of the sentences of a block.

    It has the roundings of scores and of best paths, and what the distributions of the other
    sentences lack and are off by. ``most`` bounds joint counts, (batch, joint counts), ``greatest``
    their slopes, (joint counts,).
    """
    expected = np.einsum("bqc,bc->bq", np.abs(wanted), np.abs(block.own))
    rounding = 2.0 * relative_error(block.structure.roundings(block.n))
    error = rounding * float((most * expected).sum())
    off = [o.lost + relative_error(o.operations + len(o.chances) + 8) for o in others]
    error += float((most @ greatest) @ np.array(off))
    steps = relative_error((len(block.structure.tapes.terms) + 9) * block.n + 64)
    return error + steps * float((most * np.abs(wanted).max(axis=2, initial=0.0)).sum())


def _each(
    sentences: _Sentences, scores: Sequence[Scores], ask: Callable[[_Block, Scores], Iterable[Any]]
) -> list[Any]:
    """What a function of the sentences of a block and their scores gives for each sentence."""
    found: dict[int, Any] = {}
    for block, some in zip(sentences.blocks, scores, strict=True):
        found.update(zip(block.rows, ask(block, some), strict=True))
    return [found[row] for row in range(len(found))]


def _best_by_count(block: _Block, scores: Scores) -> Floats:
    """The best sum of scores for each count of a sentence's own, (batch, counts)."""
    tables = block.structure.best_by_count(scores, np.ones((len(block.rows), 1)), block.n)
    check_finite("decode_corpus", np.where(np.isneginf(tables), 0.0, tables))
    return tables


# -- the bounds ------------------------------------------------------------------------------------


def best_of_corpus(
    corpus: Corpus, sign: float, gap: float, clock: Clock, tell: Callable[[float, float], None]
) -> tuple[list[Ints], float, int]:
    """Label indices of the best hypotheses, an upper bound on all, and how many totals were tried.

    Args:
        corpus: the loss and the models.
        sign: 1 where greater values are better, -1 where smaller ones are.
        gap: how far apart both bounds may stay.
        clock: the time that there is.
        tell: called with both bounds before a further total is tried.
    """
    clock.over()  # begins here
    search = _search(_sentences(corpus, sign))

    def stop(lower: float, upper: float) -> bool:
        tell(lower, upper)
        return clock.over()

    best, upper = best_number(search, gap=gap, stop=stop)
    return search.best_at(best), upper, len(search.tried)


@dataclass(eq=False)
class _Search(ByNumber):
    """The values by total, whose bounds are by multiples of g at one or two totals.

    ``slopes`` has g_q(k, r) for r in the window by the k that was tried, (counts, width).
    """

    sentences: _Sentences | None = None
    slopes: dict[int, Floats] = field(default_factory=dict)

    def bounds(self, ks: Ints, first: int, last: int) -> Floats:
        """Upper bounds on values with totals ks, by those of two that were tried, and by both."""
        assert self.sentences is not None
        found = np.full(len(ks), self.sentences.range[1])
        tried = sorted({first, last} & set(self.tried))
        for totals in [[k] for k in tried] + [tried] * (len(tried) > 1):
            sums = [self.sums(k)[ks] + self.over_at(k, ks) for k in totals]
            factors, away = _spread(self.sentences, ks, [self.slopes[k] for k in totals])
            values = (factors * sums).sum(axis=0) + self.rest[ks] + away + self.errors[ks]
            found = np.minimum(found, values)
        return np.where(self.sentences.hyp[ks], found, -np.inf)


def _search(sentences: _Sentences) -> _Search:
    """The values by total; a SizeLimitError where there are very many totals."""
    size, whole = len(sentences.hyp), sentences.whole
    if size * len(whole.chances) > CORPUS_VALUES:
        must = f"the totals of both sides may make up to {CORPUS_VALUES:,} pairs"
        got = f"{size * len(whole.chances):,}"
        raise SizeLimitError(message("decode_corpus", must, got, "Decide parts of the corpus"))
    means, errors = np.zeros((2, size))  # E[h(k, R)] over the window of R
    rounding = relative_error(whole.operations + len(whole.chances) + 8)
    for ks, _, offset in sentences.tables(np.arange(size)):
        means[ks], errors[ks] = offset @ whole.chances, rounding * np.abs(offset) @ whole.chances
    if whole.lost:
        errors += whole.lost * max(0.0, sentences.range[1])
    window = slice(whole.low, whole.low + len(whole.chances))
    slopes, off, counts = (
        dict[int, Floats](),
        dict[int, float](),
        dict[int, Callable[[int], Ints]](),
    )

    def sums_at(k: int) -> Floats:
        at = sentences.slopes(k)
        scores, error = _scores_at(sentences, at)
        slopes[k] = at[:, window] * (whole.chances > 0)
        sums, counts[k], rounding = best_sums(_each(sentences, scores, _best_by_count))
        off[k] = error + rounding
        return np.where(sentences.hyp, sums, 0.0)

    def best_at(k: int) -> list[Ints]:
        ends, (scores, _) = counts[k](k), _scores_at(sentences, sentences.slopes(k))

        def paths(block: _Block, some: Scores) -> Iterable[Ints]:
            one = np.ones((len(block.rows), 1))
            return block.structure.best_paths(some, one, block.n, ends[block.rows])

        return _each(sentences, scores, paths)

    possible = np.flatnonzero(sentences.hyp)
    mean = float(whole.counts @ whole.chances)
    return _Search(
        low=int(possible[0]) - 1,  # neither this nor the next is tried: all others may be
        high=int(possible[-1]) + 1,
        first=int(possible[np.abs(possible - mean).argmin()]),
        u=np.zeros(0),  # bounds are no chords
        gain=np.ones(size),
        rest=means,
        errors=errors,
        sums_at=sums_at,
        over_at=lambda k, ks: np.full(len(ks), off[k]),
        best_at=best_at,
        sentences=sentences,
        slopes=slopes,
    )


def _spread(sentences: _Sentences, ks: Ints, others: Sequence[Floats]) -> tuple[Floats, Floats]:
    """How g(k, .) is bounded by multiples of g at one or two other totals.

    Multiples of one other are the more exact the nearer it is; those of two, one on each side, are
    so to the second order. All that a bound needs is that no factor is negative.

    Args:
        sentences: the sentences.
        ks: the totals.
        others: g_q(k', r) for each of the others and r in the window, (counts, width).

    Returns:
        Factors, (others, totals), and how far off sums of g_q(k, .) E[c_q] are at most, (totals,).
    """
    most = sentences.expected.sum(axis=0) * (1.0 + 1e-9)  # bounds on E|c_q|
    factors, away = np.zeros((len(others), len(ks))), np.zeros(len(ks))
    if not len(most):
        return factors, away
    chances, begin = sentences.whole.chances, 0
    heaviest = int((most * (np.abs(others[0]) @ chances)).argmax())
    for some, tables, _ in sentences.tables(ks):
        part = slice(begin, begin + len(some))
        begin += len(some)
        factors[:, part] = _factors(chances, tables[heaviest], [one[heaviest] for one in others])
        for q, (table, weight) in enumerate(zip(tables, most.tolist(), strict=True)):
            left = table.copy()
            for factor, other in zip(factors[:, part], others, strict=True):
                left -= np.multiply.outer(factor, other[q])
            rounding = relative_error(16) * np.abs(table).max(axis=1, initial=0.0)
            away[part] += weight * (np.abs(left).max(axis=1, initial=0.0) + rounding)
    return factors, away


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
