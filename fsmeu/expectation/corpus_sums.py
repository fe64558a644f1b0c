"""What sentences add to the counts of a corpus, where the loss splits by tape.

The value is linear in joint counts and otherwise looks at one count of each tape. With the
hypothesis given, all that the corpus needs of a sentence is the distribution of its reference's
count and, for each value of it, the expectation of the joint counts (``trellis/sum_windows.py``).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fsmeu.arrays import Floats, Ints
from fsmeu.errors import InputError, message
from fsmeu.expectation.corpus_query import Corpus
from fsmeu.fst.compose import guard_size, guard_work
from fsmeu.fst.constraint import walk
from fsmeu.limits import CELLS_PER_STATE
from fsmeu.models import arc_weights_many
from fsmeu.trellis.engine import Structure
from fsmeu.trellis.kept import structure_of
from fsmeu.trellis.sum_windows import SumWindow

__all__ = ["SentenceSums", "sentence_structure", "sentence_sums"]


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
    for rows in sorted(corpus.alike(), key=lambda rows: -corpus.models[rows[0]].n):
        structure, n = sentence_structure(corpus, rows[0]), corpus.models[rows[0]].n
        cells = quantities * int(structure.r.columns[n] * structure.r.width[n])
        guard_size("expect_corpus", cells // CELLS_PER_STATE)
        guard_work("expect_corpus", n * cells)
        layered = arc_weights_many([corpus.models[row] for row in rows])
        ending, hyp[rows] = structure.sums(layered, [zs[row] for row in rows])
        takes = structure.amounts.signs(quantities - 1)[0]
        cancelled[rows] = np.where(takes, structure.greatest(n), 0.0)
        for row, tables in zip(rows, ending, strict=True):
            windows[row] = SumWindow(0, tables, 0.0, structure.roundings(n))
    return SentenceSums(windows, hyp, cancelled)


def sentence_structure(corpus: Corpus, row: int) -> Structure:
    """The structure of both tapes and the model of a sentence, and of what is allowed.

    Raises:
        InputError: no sequence satisfies the constraint.
    """
    loss, model, constraint = corpus.losses[row], corpus.models[row], corpus.constraint_at(row)
    if constraint is None:
        return structure_of(loss, model)
    allowed = walk(constraint, len(loss.alphabet), model.n)
    if not len(allowed.ends):
        must = f"a sequence of length {model.n} must satisfy the constraint"
        raise InputError(message(f"decode_corpus, models[{row}]", must))
    return structure_of(loss, model, allowed.layers())
