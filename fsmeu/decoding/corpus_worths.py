"""What steps of hypotheses are worth for a total of the corpus, and the best paths with it.

For hypotheses with a total k, one more of a joint count in a sentence whose reference counts a is
worth the mean of g(k, a + R) over the sum R of all other references' counts. As a function of a it
is written in the basis that worths of steps are kept for; what this leaves over is bounded.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fsmeu.decoding.corpus_parts import Block, Parts
from fsmeu.expectation.result import check_finite
from fsmeu.trellis.roundings import relative_error

__all__ = ["Worths", "paths_of", "tables_of", "worths_at"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Worths:
    """Worths of steps at a total: what the functions of a count are multiplied by.

    Attributes:
        coefficients: for each block, (joint counts, batch, functions).
        error: a bound on the error of the sum of worths of all sentences.
    """

    coefficients: list[Floats]
    error: float


def worths_at(parts: Parts, at: Floats) -> Worths:
    """What functions of a sentence's count are multiplied by, for a total k.

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
        coefficients = np.einsum("bjc,qbc->qbj", block.fits, wanted)
        found.append(coefficients)
        error += _error(parts, block, wanted, coefficients, greatest)
    return Worths(found, error)


def _wanted(parts: Parts, block: Block, at: Floats) -> Floats:
    """What joint counts are worth by the count of a sentence's own reference.

    The mean over the sum of all other references' counts, (joint counts, batch, own counts).
    """
    size = block.own.shape[1]
    found = np.zeros((len(at), len(block.rows), size))
    for b, row in enumerate(block.rows):
        other = parts.others[row]
        reach = slice(other.low, other.low + other.tables.shape[1] + size - 1)
        for q, values in enumerate(at):
            found[q, b] = np.correlate(values[reach], other.tables[0], "valid")
    return found


def _error(
    parts: Parts, block: Block, wanted: Floats, coefficients: Floats, greatest: Floats
) -> float:
    """A bound on the error of the sum of worths of the sentences of a block.

    It has what the basis leaves over, the error of worths of steps, what the distributions of the
    other sentences lack and are off by, and the roundings of the best paths.

    Args:
        parts: the sentences.
        block: those of the block.
        wanted: the functions of a count that worths are for, (joint counts, batch, counts).
        coefficients: the same in the basis, (joint counts, batch, functions).
        greatest: the greatest slope of each joint count, (joint counts,).
    """
    most = parts.greatest[block.rows].T  # (joint counts, batch)
    left = np.abs(wanted - coefficients @ block.basis.T)
    own = np.abs(block.own) * (1.0 + 1e-9)
    error = float((most * (left * own).sum(axis=2)).sum())
    error += float((np.abs(coefficients) * block.errors).sum())
    others = [parts.others[row] for row in block.rows]
    off = [o.lost + relative_error(o.operations + o.tables.shape[1] + 8) for o in others]
    error += float((greatest @ most) @ np.array(off))
    terms = len(block.structure.tapes.terms) + block.basis.shape[1] + 8
    size = (np.abs(coefficients) @ np.abs(block.basis.T)).max(axis=2, initial=0.0)
    error += relative_error(terms * block.n + 64) * float((most * size).sum())
    return error


def _scores(block: Block, coefficients: Floats) -> Floats:
    """The scores of steps, (batch, cells)."""
    if len(coefficients) == 1:
        found: Floats = np.matmul(coefficients[0][:, None], block.scores)[:, 0]
    elif not len(coefficients):
        found = np.zeros((len(block.rows), block.scores.shape[2]))
    else:
        found = np.einsum("bjc,cbj->bc", block.scores, coefficients[block.count])
    return found


def tables_of(parts: Parts, worths: Worths) -> list[Floats]:
    """For each sentence the best worth of each count of its own."""
    found: list[Floats] = [np.zeros(1)] * len(parts.others)
    for block, coefficients in zip(parts.blocks, worths.coefficients, strict=True):
        tables = block.structure.best_by_count(_scores(block, coefficients), block.n)
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
    for block, coefficients in zip(parts.blocks, worths.coefficients, strict=True):
        scores = _scores(block, coefficients)
        paths = block.structure.best_paths(scores, block.n, ends[block.rows])
        for row, path in zip(block.rows, paths, strict=True):
            found[row] = path
    return found
