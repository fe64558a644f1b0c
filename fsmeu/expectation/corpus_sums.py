"""What sentences add to the counts of a corpus, where the loss splits by tape.

The value is linear in joint counts and otherwise looks at one count of each tape. With the
hypothesis given, all that the corpus needs of a sentence is the distribution of its reference's
count and, for each value of it, the expectation of the joint counts (``trellis/sum_windows.py``).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fsmeu.expectation.corpus_query import Corpus
from fsmeu.fst.compose import guard_size, guard_work
from fsmeu.limits import CELLS_PER_STATE
from fsmeu.losses.loss import SpecLoss
from fsmeu.models import layered_many
from fsmeu.trellis.kept import announce, split_trellis
from fsmeu.trellis.means import hypothesis_sums
from fsmeu.trellis.split_trellis import References, SplitTrellis
from fsmeu.trellis.sum_windows import SumWindow
from fsmeu.trellis.threads import one_thread

__all__ = ["SentenceSums", "sentence_sums", "tapes_of"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class SentenceSums:
    """What each sentence adds, its hypothesis given.

    Attributes:
        windows: masses and expectations of joint counts, by the count of the reference.
        hyp: the count of the hypothesis, (sentences,).
        cancelled: bounds on what joint counts gain, signs aside, (sentences, joint counts); 0 for
            those that nothing is taken from, whose expectations say so themselves.
    """

    windows: list[SumWindow]
    hyp: Ints
    cancelled: Floats


@one_thread()
@np.errstate(over="ignore", invalid="ignore")  # what comes of it is checked
def sentence_sums(corpus: Corpus, zs: Sequence[Ints]) -> SentenceSums:
    """What each sentence of a corpus adds.

    Requires a loss that splits by tape, its value looking at one counter of each at most.

    Args:
        corpus: the loss and the models.
        zs: label indices of the hypotheses.

    Raises:
        UncountableError: a counter does not grow by whole numbers.
        SizeLimitError: the sweeps would take too much room.
    """
    form = corpus.loss.split
    assert form is not None
    quantities = 1 + len(form.joint_counts)
    windows: list[SumWindow] = [SumWindow(0, np.zeros((quantities, 1)))] * len(zs)
    hyp = np.zeros(len(zs), np.int64)
    cancelled = np.zeros((len(zs), quantities - 1))
    for loss in {id(loss): loss for loss in corpus.losses}.values():
        announce(loss, corpus.n)
    for rows in corpus.alike():
        loss, n = corpus.losses[rows[0]], corpus.models[rows[0]].n
        trellis, references = tapes_of(loss, corpus, rows)
        operations = sum(plan.operations for plan in references.plans[:n]) + 8
        cells = quantities * (trellis.y.most(n) + 1) * max(map(len, references.pairs[: n + 1]))
        guard_size("expect_corpus", cells // CELLS_PER_STATE)
        guard_work("expect_corpus", n * cells)
        size = max(1, trellis.steps(0).layer_cells // max(1, cells))
        layered = layered_many([corpus.models[row] for row in rows])
        z = np.stack([zs[row] for row in rows]).reshape(len(rows), n)
        ending, hyp[rows] = hypothesis_sums(trellis, references, z, layered, size)
        cancelled[rows] = _cancelled(trellis, references, n)
        for row, tables in zip(rows, ending, strict=True):
            windows[row] = SumWindow(0, tables, 0.0, operations)
    return SentenceSums(windows, hyp, cancelled)


def tapes_of(
    loss: SpecLoss, corpus: Corpus, rows: Sequence[int]
) -> tuple[SplitTrellis, References]:
    """Both tapes, and that of y composed with the structure of the models of some sentences."""
    form, model = loss.split, corpus.models[rows[0]]
    assert form is not None
    trellis = split_trellis(loss, form, model.n)
    return trellis, trellis.references(model.layered(), model.structure)


def _cancelled(trellis: SplitTrellis, references: References, n: int) -> Floats:
    """What joint counts gain by n positions at most, signs aside; 0 where nothing is taken."""
    places = [trellis.z.layer(i).shown for i in range(n)]
    added = [trellis.amounts(z, references.plans[i], i, n) for i, z in enumerate(places)]
    counts = len(trellis.form.joint_counts)
    taken = np.any([one.signs[0] for one in added] or np.zeros((1, counts), bool), axis=0)
    return np.where(taken, sum((one.greatest for one in added), np.zeros(counts)), 0.0)
