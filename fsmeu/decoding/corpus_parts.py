"""What a decision for a corpus needs of its sentences, computed once.

For each sentence the distribution of its reference's count, that of the sum over all other
sentences, and the worth of its hypotheses' steps for functions of its reference's count
(``trellis/basis_scores.py``).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fsmeu.errors import SizeLimitError, sentence
from fsmeu.expectation.corpus import mass_to_cut
from fsmeu.expectation.corpus_query import Corpus
from fsmeu.expectation.corpus_sums import sentence_sums, tapes_of
from fsmeu.fst.compose import guard_size
from fsmeu.limits import (
    CORPUS_LAYER_CELLS,
    CORPUS_POSITIONS_EXACT,
    CORPUS_SCORE_CELLS,
    CORPUS_WINDOW_CELLS,
    KEPT_CELLS_PER_STATE,
)
from fsmeu.models import layered_many
from fsmeu.trellis.basis_scores import BasisScores, basis_scores
from fsmeu.trellis.best_plan import BestPlan
from fsmeu.trellis.kept import split_trellis
from fsmeu.trellis.split_trellis import Hypotheses, References, SplitTrellis
from fsmeu.trellis.sum_windows import SumWindow, all_but_one, sum_of_all
from fsmeu.trellis.threads import one_thread

__all__ = ["Block", "Parts", "parts_of"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Block:
    """Sentences of one length and structure.

    Attributes:
        rows: their places in the corpus.
        plans: the best paths of hypotheses, position by position.
        scores: the worth of steps for functions of the reference's count.
        fits: for each sentence the matrix (functions, counts) that takes a function of the count to
            its coefficients, (batch, functions, counts).
        own: the distribution of the reference's count, (batch, counts).
    """

    rows: list[int]
    plans: list[BestPlan]
    scores: BasisScores
    fits: Floats
    own: Floats


@dataclass(frozen=True, eq=False)
class Parts:
    """All sentences of a corpus.

    Attributes:
        corpus: the loss and the models.
        trellis: both tapes of the loss, for values of totals.
        blocks: the sentences.
        others: for each sentence the distribution of the sum of all other references' counts.
        whole: that of all references together.
        hyp: which totals some hypotheses have, (K + 1,).
        ref: which totals some references have, (R + 1,).
        greatest: bounds on the absolute value of each sentence's joint counts, (sentences, counts).
        expected: the same of their expectations.
    """

    corpus: Corpus
    trellis: SplitTrellis
    blocks: list[Block]
    others: list[SumWindow]
    whole: SumWindow
    hyp: Bools
    ref: Bools
    greatest: Floats
    expected: Floats


@one_thread()
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
        trellis, references = tapes_of(corpus.losses[rows[0]], corpus, rows)
        n = models[rows[0]].n
        hypotheses = trellis.hypotheses(n)
        hyp += [trellis.z.reachable(n)] * len(rows)
        ref += [trellis.y.reachable(n)] * len(rows)
        size = _at_once(trellis, references, hypotheses, n, functions)
        for begin in range(0, len(rows), size):
            some = rows[begin : begin + size]
            layered = layered_many([models[row] for row in some])
            roots = corpus.n > CORPUS_POSITIONS_EXACT
            scores = basis_scores(trellis, references, hypotheses, layered, functions, roots)
            masses = np.stack([own[row].tables[0] for row in some])
            greatest[some], expected[some] = scores.greatest, scores.expected.T
            fits = _fits(scores.basis, masses)
            blocks.append(Block(some, hypotheses.plans[:n], scores, fits, masses))
    longest = max((model.n for model in models), default=0)
    trellis = split_trellis(corpus.loss, form, longest)
    return Parts(
        corpus=corpus,
        trellis=trellis,
        blocks=blocks,
        others=all_but_one(own, cut),
        whole=whole,
        hyp=_totals(hyp),
        ref=_totals(ref),
        greatest=greatest,
        expected=expected,
    )


def _functions(corpus: Corpus) -> int:
    """How many functions of a count worths are kept for: as many as there is room for.

    Raises:
        SizeLimitError: there is no room for three.
    """
    rows = 0
    for alike in corpus.alike():
        loss, n = corpus.losses[alike[0]], corpus.models[alike[0]].n
        assert loss.split is not None
        plans = split_trellis(loss, loss.split, n).hypotheses(n).plans[:n]
        rows += len(alike) * sum(1 + sum(map(len, plan.features)) for plan in plans)
    functions = CORPUS_SCORE_CELLS // max(1, rows)
    if functions < 3:
        must = f"the worths of steps of a corpus may be up to {CORPUS_SCORE_CELLS // 3:,}"
        remedy = "Decide parts of the corpus, or sentence by sentence with decode_many"
        raise SizeLimitError(sentence("decode_corpus", must, f"{rows:,}", remedy))
    return functions


def _guard_windows(cells: int) -> None:
    if cells > CORPUS_WINDOW_CELLS:
        must = "the distributions of the references' counts of all sentences but one may have up to"
        must = f"{must} {CORPUS_WINDOW_CELLS:,} cells together"
        remedy = "Declare a finite range in the file of the loss, or decide parts of the corpus"
        raise SizeLimitError(sentence("decode_corpus", must, f"{cells:,}", remedy))


def _at_once(
    trellis: SplitTrellis, references: References, hypotheses: Hypotheses, n: int, functions: int
) -> int:
    """How many sentences of a length are swept at once, and are decided at once."""
    size, most = trellis.y.most(n) + 1, trellis.z.most(n) + 1
    pairs = sum(len(pairs) for pairs in references.pairs[: n + 1])
    rows = sum(sum(map(len, plan.features)) for plan in hypotheses.plans[:n])
    cells = 4 * size * pairs + rows * min(functions, size)
    cells += sum(plan.arcs_to_targets.entries for plan in references.plans[:n])
    layers = sum(plan.bases * most + len(plan.base) for plan in hypotheses.plans[:n])
    guard_size("decode_corpus", (cells + layers) // KEPT_CELLS_PER_STATE)
    held = trellis.steps(0).sweep_cells // max(1, cells)
    return max(1, min(held, CORPUS_LAYER_CELLS // max(1, layers)))


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
