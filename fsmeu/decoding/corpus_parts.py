"""What a decision for a corpus needs of its sentences, and what steps are worth for a total.

For each sentence the distribution of its reference's count, and that of the sum over all other
sentences. For hypotheses with a total k, one more of a joint count in a sentence whose reference
counts a is worth the mean of g(k, a + R) over the sum R of all other references' counts: one
backward sweep over that function of a gives the scores of all steps.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fsmeu.arrays import Bools, Floats, Ints
from fsmeu.errors import SizeLimitError, message
from fsmeu.expectation.corpus import mass_to_cut
from fsmeu.expectation.corpus_query import Corpus, sentence_structure
from fsmeu.expectation.result import check_finite
from fsmeu.fst.layers import ArcWeights
from fsmeu.limits import CORPUS_SCORE_CELLS
from fsmeu.losses.algebra.split import Split
from fsmeu.models import arc_weights_many
from fsmeu.trellis.batches import Scores
from fsmeu.trellis.engine import Structure
from fsmeu.trellis.roundings import relative_error
from fsmeu.trellis.windows import Window, all_but_one, sum_of_all

__all__ = ["Block", "Parts", "Worths", "parts_of", "paths_of", "tables_of", "worths_at"]

CORPUS_WINDOW_CELLS = 1 << 26  # cells of the counts of all sentences but one, for each: 512 MB


@dataclass(frozen=True, eq=False)
class Block:
    """Sentences of one length and structure.

    Attributes:
        rows: their places in the corpus.
        n: their length.
        structure: the structure of both tapes and the models.
        models: the weights of the models.
        own: the distribution of the reference's count, (batch, counts).
    """

    rows: list[int]
    n: int
    structure: Structure
    models: Sequence[ArcWeights]
    own: Floats


@dataclass(frozen=True, eq=False)
class Parts:
    """All sentences of a corpus.

    Attributes:
        corpus: the loss and the models.
        blocks: the sentences.
        others: for each sentence the distribution of the sum of all other references' counts.
        whole: that of all references together.
        hyp: which totals some hypotheses have, (K + 1,).
        ref: which totals some references have, (R + 1,).
        greatest: bounds on the absolute value of each sentence's joint counts, (sentences, counts).
        expected: the same of their expectations.
    """

    corpus: Corpus
    blocks: list[Block]
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


@np.errstate(over="ignore", invalid="ignore")  # what comes of it is checked
def parts_of(corpus: Corpus) -> Parts:
    """What a decision needs of the sentences of a corpus.

    Requires a loss that splits by tape, its value looking at one counter of each at most.

    Raises:
        UncountableError: a counter does not grow by whole numbers.
        SizeLimitError: that would take too much room.
    """
    form, models = corpus.loss.split, corpus.models
    assert form is not None
    joint = len(form.joint_counts)
    greatest, expected = np.zeros((2, len(models), joint))
    own: list[Window] = [Window(0, np.ones((1, 1)))] * len(models)
    hyp: list[Bools] = []
    ref: list[Bools] = []
    blocks: list[Block] = []
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
        blocks.append(Block(rows, n, structure, layered, masses))
    cut = mass_to_cut(corpus)
    whole = sum_of_all(own, cut, 1)
    each = "the distributions of the references' counts of all sentences but one"
    _guard(len(own) * whole.tables.shape[1], CORPUS_WINDOW_CELLS, each)
    return Parts(
        corpus=corpus,
        blocks=blocks,
        others=all_but_one(own, cut),
        whole=whole,
        hyp=_totals(hyp),
        ref=_totals(ref),
        greatest=greatest,
        expected=expected,
    )


def _expected(structure: Structure, models: Sequence[ArcWeights]) -> tuple[Floats, Floats]:
    """Bounds on E|joint count|, (batch, counts), and P(count of y), (batch, counter).

    At each position, the greatest of all steps for each term.
    """
    n, counts = models[0].n, structure.counts
    one = np.ones((len(models), counts, int(structure.r.columns[n])))
    scores, chances = structure.scores(models, one, absolute=True)
    cells, found = structure.score_cells(n), np.zeros((len(models), counts))
    if len(cells):
        term = np.searchsorted(structure.z.first_feature, cells[:, 1], side="right")
        begins = np.flatnonzero(np.diff(cells[:, 0] * (1 + term.max()) + term, prepend=-1))
        most = np.maximum.reduceat(
            scores.dense(len(cells))[..., 0], begins, axis=1
        )  # (batch, positions and terms)
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


@dataclass(frozen=True, eq=False)
class Worths:
    """What steps are worth at a total.

    Attributes:
        scores: those of each block.
        error: a bound on the error of the sum of worths of all sentences.
    """

    scores: list[Scores]
    error: float


def worths_at(parts: Parts, at: Floats) -> Worths:
    """What steps are worth for a total k.

    Args:
        parts: the sentences.
        at: g_q(k, r) for every total r of the reference, (counts, R + 1).
    """
    check_finite("decode_corpus", at)
    greatest = np.abs(at).max(axis=1, initial=0.0)  # (counts,)
    error = parts.whole.lost * float(parts.greatest.sum(axis=0) @ greatest)
    found = []
    for block in parts.blocks:
        wanted = _wanted(parts, block, at)
        found.append(block.structure.scores(block.models, wanted)[0])
        error += _error(parts, block, wanted, greatest)
    return Worths(found, error)


def _wanted(parts: Parts, block: Block, at: Floats) -> Floats:
    """What joint counts are worth by the count of a sentence's own reference.

    The mean over the sum of all other references' counts, (batch, joint counts, own counts).
    """
    size = block.own.shape[1]
    found = np.zeros((len(block.rows), len(at), size))
    for b, row in enumerate(block.rows):
        other = parts.others[row]
        reach = slice(other.low, other.low + other.tables.shape[1] + size - 1)
        for q, values in enumerate(at):
            found[b, q] = np.correlate(values[reach], other.tables[0], "valid")
    return found


def _error(parts: Parts, block: Block, wanted: Floats, greatest: Floats) -> float:
    """A bound on the error of the sum of worths of the sentences of a block.

    It has the roundings of scores and of best paths, and what the distributions of the other
    sentences lack and are off by.

    Args:
        parts: the sentences.
        block: those of the block.
        wanted: what joint counts are worth, (batch, joint counts, counts).
        greatest: the greatest slope of each joint count, (joint counts,).
    """
    most = parts.greatest[block.rows]  # (batch, joint counts)
    expected = np.einsum("bqc,bc->bq", np.abs(wanted), np.abs(block.own))
    rounding = 2.0 * relative_error(block.structure.roundings(block.n))
    error = rounding * float((most * expected).sum())
    others = [parts.others[row] for row in block.rows]
    off = [o.lost + relative_error(o.operations + o.tables.shape[1] + 8) for o in others]
    error += float((most @ greatest) @ np.array(off))
    steps = relative_error((len(block.structure.tapes.terms) + 9) * block.n + 64)
    return error + steps * float((most * np.abs(wanted).max(axis=2, initial=0.0)).sum())


def tables_of(parts: Parts, worths: Worths) -> list[Floats]:
    """For each sentence the best worth of each count of its own."""
    found: list[Floats] = [np.zeros(1)] * len(parts.others)
    for block, scores in zip(parts.blocks, worths.scores, strict=True):
        tables = block.structure.best_by_count(scores, np.ones((len(block.rows), 1)), block.n)
        check_finite("decode_corpus", np.where(np.isneginf(tables), 0.0, tables))
        for row, table in zip(block.rows, tables, strict=True):
            found[row] = table
    return found


def paths_of(parts: Parts, worths: Worths, ends: Ints) -> list[Ints]:
    """Label indices of the best hypotheses of the sentences, each with a count of its own.

    Args:
        parts: the sentences.
        worths: the worths of steps.
        ends: the count of each sentence, (sentences,).
    """
    found: list[Ints] = [np.zeros(0, np.int64)] * len(parts.others)
    for block, scores in zip(parts.blocks, worths.scores, strict=True):
        one = np.ones((len(block.rows), 1))
        paths = block.structure.best_paths(scores, one, block.n, ends[block.rows])
        for row, path in zip(block.rows, paths, strict=True):
            found[row] = path
    return found
