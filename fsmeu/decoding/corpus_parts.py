"""What a decision for a corpus needs of its sentences, computed once.

For each sentence the distribution of its reference's count, that of the sum over all other
sentences, and the scores of its hypotheses' steps for functions of its reference's count.

What a joint count is worth depends on the count of the sentence through the totals, and on much
else that is not known yet. Kept are the scores for a few functions b_j(count): those for any other
function are sums of them, up to what the basis cannot express. All functions of a count of few
values are a basis; for a count of many values polynomials of low degree are, because the total of a
corpus hardly feels one sentence.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.polynomial import chebyshev

from fsmeu.arrays import Bools, Floats, Ints
from fsmeu.errors import SizeLimitError, message
from fsmeu.expectation.corpus import mass_to_cut
from fsmeu.expectation.corpus_query import Corpus
from fsmeu.expectation.corpus_sums import sentence_structure, sentence_sums
from fsmeu.limits import (
    CORPUS_SCORE_CELLS,
    CORPUS_WINDOW_CELLS,
)
from fsmeu.losses.algebra.split import Split
from fsmeu.models import Model, arc_weights_many
from fsmeu.trellis.engine import Structure
from fsmeu.trellis.roundings import relative_error
from fsmeu.trellis.sum_windows import SumWindow, all_but_one, sum_of_all

__all__ = ["Block", "Parts", "parts_of"]

_MOST_DEGREE = 7
"""Chebyshev polynomials at equidistant places tell each other apart well up to some degree."""


@dataclass(frozen=True, eq=False)
class Block:
    """Sentences of one length and structure.

    Attributes:
        rows: their places in the corpus.
        n: their length.
        structure: the structure of both tapes and the models.
        basis: functions of the reference's count, (counts, functions).
        scores: scores of steps for each function, (batch, functions, cells).
        count: the joint count of each cell, (cells,).
        errors: bounds on the error of the score of every path, for each joint count and function,
            (joint counts, batch, functions).
        fits: for each sentence the matrix (functions, counts) that takes a function of the count to
            its coefficients, (batch, functions, counts).
        own: the distribution of the reference's count, (batch, counts).
    """

    rows: list[int]
    n: int
    structure: Structure
    basis: Floats
    scores: Floats
    count: Ints
    errors: Floats
    fits: Floats
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
    others: list[SumWindow]
    whole: SumWindow
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
    sums = sentence_sums(corpus, [np.zeros(model.n, np.int64) for model in models])
    cut = mass_to_cut(corpus)
    own = [window.masses for window in sums.windows]
    whole = sum_of_all(own, cut, 1)
    _guard_windows(len(own) * whole.tables.shape[1])
    greatest, expected = np.zeros((2, len(models), joint))
    hyp: list[Bools] = []
    ref: list[Bools] = []
    blocks: list[Block] = []
    functions = _functions(corpus)
    for rows in corpus.alike():
        structure, n = sentence_structure(corpus, rows[0]), models[rows[0]].n
        structure.guard("decode_corpus", n)
        hyp += [structure.tapes.z.reachable(n)] * len(rows)
        ref += [structure.tapes.y.reachable(n)] * len(rows)
        masses = np.stack([own[row].tables[0] for row in rows])
        greatest[rows] = structure.greatest(n)
        some = [models[row] for row in rows]
        blocks.append(_block(rows, structure, some, masses, functions))
        expected[rows] = _expected(structure, some, joint)
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


def basis_of(size: int, functions: int) -> Floats:
    """Functions of a count 0, ..., size - 1, (size, functions): all of them, or polynomials.

    Args:
        size: how many values the count has.
        functions: how many functions there may be.
    """
    if functions >= size:
        return np.eye(size)
    degree = min(functions - 1, _MOST_DEGREE)
    return chebyshev.chebvander(np.linspace(-1.0, 1.0, size), degree).astype(np.float64)


def _block(
    rows: list[int], structure: Structure, models: list[Model], own: Floats, functions: int
) -> Block:
    """The sentences of one length and structure."""
    n = models[0].n
    basis = basis_of(own.shape[1], functions)
    scores = structure.scores(arc_weights_many(models), np.ascontiguousarray(basis.T))
    chances = own @ np.abs(basis)  # (batch, functions)
    rounding = 2.0 * relative_error(structure.roundings(n))
    errors = rounding * structure.greatest(n)[:, None, None] * chances
    count = structure.amounts.joint[structure.score_cells(n)[:, 1]]
    fits = _fits(basis, own)
    return Block(rows, n, structure, basis, scores, count, errors, fits, own)


def _expected(structure: Structure, models: list[Model], counts: int) -> Floats:
    """Bounds on the expectation of the absolute value of joint counts, (batch, counts).

    At each position, the greatest of all steps for each term.
    """
    n = models[0].n
    cells, found = structure.score_cells(n), np.zeros((len(models), counts))
    if not len(cells):
        return found
    one = np.ones((1, int(structure.r.columns[n])))
    scores = structure.scores(arc_weights_many(models), one, absolute=True)[:, 0]
    term = np.searchsorted(structure.z.first_feature, cells[:, 1], side="right")
    begins = np.flatnonzero(np.diff(cells[:, 0] * (1 + term.max()) + term, prepend=-1))
    most = np.maximum.reduceat(scores, begins, axis=1)  # (batch, positions and terms)
    count = structure.amounts.joint[cells[begins, 1]]
    np.add.at(found.T, count, most.T)
    return found


def _functions(corpus: Corpus) -> int:
    """How many functions of a count scores are kept for: as many as there is room for.

    Raises:
        SizeLimitError: there is no room for three.
    """
    cells = 0
    for alike in corpus.alike():
        structure, n = sentence_structure(corpus, alike[0]), corpus.models[alike[0]].n
        cells += len(alike) * len(structure.score_cells(n))
    functions = CORPUS_SCORE_CELLS // max(1, cells)
    if functions < 3:
        must = f"the scores of steps of a corpus may be up to {CORPUS_SCORE_CELLS // 3:,}"
        remedy = "Decide parts of the corpus, or sentence by sentence with decode_many"
        raise SizeLimitError(message("decode_corpus", must, f"{cells:,}", remedy))
    return functions


def _guard_windows(cells: int) -> None:
    if cells > CORPUS_WINDOW_CELLS:
        must = "the distributions of the references' counts of all sentences but one may have up to"
        must = f"{must} {CORPUS_WINDOW_CELLS:,} cells together"
        remedy = "Declare a finite range in the file of the loss, or decide parts of the corpus"
        raise SizeLimitError(message("decode_corpus", must, f"{cells:,}", remedy))


def _fits(basis: Floats, own: Floats) -> Floats:
    """Least squares by the distribution of the count: (batch, functions, counts).

    Any coefficients give true bounds, because what they leave over is looked at; these leave little
    where the mass is.
    """
    size, functions = basis.shape
    if size == functions:
        return np.broadcast_to(np.eye(size), (len(own), size, size))
    weights = np.sqrt(np.maximum(own, 1e-12))[:, :, None]
    found: Floats = np.linalg.pinv(weights * basis) * weights.transpose(0, 2, 1)
    return found


def _totals(reachable: Sequence[Bools]) -> Bools:
    """Which totals there are, from the counts that each sentence may have."""
    if all(one.all() for one in reachable):
        return np.ones(1 + sum(len(one) - 1 for one in reachable), bool)
    parts = [one.astype(np.float64) for one in reachable]
    while len(parts) > 1:
        pairs = [np.convolve(a, b) > 0.5 for a, b in zip(parts[0::2], parts[1::2], strict=False)]
        parts = [one.astype(np.float64) for one in pairs] + parts[len(parts) - len(parts) % 2 :]
    return parts[0] > 0.5
