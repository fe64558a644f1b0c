"""The best sequence of a loss that splits by tape, and whether rounding leaves it the best.

The worth of steps comes from the joint distribution of steps of y and the end of its counter: first
by roots of unity, which is fast. Where the values that this is multiplied by are so unequal that
its errors could change the decision, it is computed by convolutions, whose errors are relative.
What then still could is cancellation between values of both signs, and nothing is claimed.

Two things are only seen while computing, and are results: that a counter does not grow by whole
numbers, once its steps are known, and that what a step is worth is more than doubles can hold.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fsmeu.decoding.precision import is_proven
from fsmeu.decoding.problem import Problem
from fsmeu.errors import InputError, SizeLimitError, sentence
from fsmeu.fst.compose import guard_size
from fsmeu.fst.constraint import walk
from fsmeu.limits import CELLS_PER_STATE, KEPT_CELLS_PER_STATE
from fsmeu.losses.loss import SpecLoss
from fsmeu.models import layered_many, marginals_many
from fsmeu.models.base import marginal_roundings
from fsmeu.trellis.best import best_values, is_stateless, select, trace
from fsmeu.trellis.kept import split_trellis
from fsmeu.trellis.label_marginals import reads_marginals, scores_by_marginals
from fsmeu.trellis.scores import StepScores, step_scores
from fsmeu.trellis.split_trellis import Hypotheses, References, SplitTrellis
from fsmeu.trellis.tape import UncountableError
from fsmeu.trellis.threads import one_thread

__all__ = ["Found", "best_by_tape"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Found:
    """A best sequence.

    Attributes:
        indices: its label indices.
        ends: how many ends of the counter were compared.
        value: its expected value.
        error: a bound on the error of that.
        proven: whether no sequence is better beyond rounding.
    """

    indices: Ints
    ends: int
    value: float
    error: float
    proven: bool


@one_thread()
def best_by_tape(problems: Sequence[Problem]) -> list[Found | str]:
    """The best sequence for each of several problems that differ in the numbers of the model only.

    Requires a loss that splits by tape, its value looking at no more than one counter of each.

    Returns:
        What was found, or what must hold and does not: a counter does not grow by whole numbers, or
        the worth of a step is no number that doubles can hold.
    """
    first, form = problems[0], problems[0].split
    assert isinstance(first.loss, SpecLoss)
    assert form is not None
    try:
        trellis = split_trellis(first.loss, form, first.n)
        references = trellis.references(first.model.layered(), first.model.structure)
        hypotheses = _hypotheses(trellis, first)
        size = _block(trellis, references, hypotheses, first.n)
        found: list[Found | str] = []
        last = not trellis.y.most(first.n)
        for begin in range(0, len(problems), size):
            part = problems[begin : begin + size]
            found += _best(part, trellis, references, hypotheses, roots=True, last=last)
        doubtful = [k for k, one in enumerate(found) if isinstance(one, Found) and not one.proven]
        for k in () if last else doubtful:
            one = [problems[k]]
            try:
                found[k] = _best(one, trellis, references, hypotheses, roots=False, last=True)[0]
            except SizeLimitError:
                found[k] = _best(one, trellis, references, hypotheses, roots=True, last=True)[0]
    except UncountableError as error:
        return [str(error)] * len(problems)
    return found


def _hypotheses(trellis: SplitTrellis, problem: Problem) -> Hypotheses:
    """The tape of z with the sequences that are allowed."""
    if problem.constraint is None:
        return trellis.hypotheses(problem.n)
    allowed = walk(problem.constraint, len(problem.loss.alphabet), problem.n)
    if not len(allowed.ends):
        raise InputError(sentence("decode", "a sequence must satisfy the constraint"))
    return trellis.hypotheses(problem.n, allowed.layers())


def _best(
    problems: Sequence[Problem],
    trellis: SplitTrellis,
    references: References,
    hypotheses: Hypotheses,
    *,
    roots: bool,
    last: bool,
) -> list[Found | str]:
    """The best sequences of a block, counts at roots of unity or as coefficients.

    The last try looks for a proof wherever there may be one, others where that is quick.
    """
    n, sign, models = problems[0].n, problems[0].sign, [problem.model for problem in problems]
    _guard(trellis, references, hypotheses, n, roots)
    roundings = marginal_roundings(models[0])
    if roundings is not None and reads_marginals(trellis, n):
        known = marginals_many(models)
        scores = scores_by_marginals(trellis, hypotheses, known, roundings, sign)
    else:
        layered = layered_many(models)
        scores = step_scores(trellis, references, hypotheses, layered, roots, sign)
    paths: Iterable[tuple[Ints, Floats]]
    if problems[0].constraint is None and is_stateless(hypotheses.plans[:n]):
        paths = zip(*select(hypotheses.plans[:n], scores.steps, scores.ends), strict=True)
    else:
        paths = (_best_path(trellis, hypotheses, scores, row) for row in range(len(problems)))
    held, why = _are_finite(scores), "the worth of a step must be a number that doubles can hold"
    return [
        _found(problem, scores.errors.of_best(row, path[1]), *path, last) if held[row] else why
        for row, (problem, path) in enumerate(zip(problems, paths, strict=True))
    ]


def _are_finite(scores: StepScores) -> NDArray[np.bool_]:
    """Whether all worths are numbers that doubles can hold, (batch,).

    Sums of squares are finite where all numbers are, but for very large ones: quick to rule out.
    """
    found: NDArray[np.bool_] = np.logical_and.reduce(np.isfinite(scores.ends), axis=1)
    with np.errstate(over="ignore"):
        if np.isfinite(sum(np.vdot(worth, worth) for worth in scores.steps)):
            return found
    for worth in scores.steps:
        found &= np.logical_and.reduce(np.isfinite(worth), axis=(1, 2))
    return found


def _block(trellis: SplitTrellis, references: References, hypotheses: Hypotheses, n: int) -> int:
    """How many problems are decided at once."""
    size = trellis.y.most(n) + 1
    pairs = sum(len(pairs) for pairs in references.pairs[: n + 1])
    rows = sum(sum(map(len, plan.features)) for plan in hypotheses.plans[:n])
    cells = 4 * size * pairs + rows * (trellis.z.most(n) + 1)
    if not reads_marginals(trellis, n):
        cells += sum(plan.arcs_to_targets.entries for plan in references.plans[:n])
    return max(1, trellis.steps(0).sweep_cells // max(1, cells))


def _guard(
    trellis: SplitTrellis, references: References, hypotheses: Hypotheses, n: int, roots: bool
) -> None:
    """Refuses sweeps that would take too much room, or too many products of polynomials."""
    y_size, z_size = trellis.y.most(n) + 1, trellis.z.most(n) + 1
    pairs = sum(len(pairs) for pairs in references.pairs[: n + 1])
    guard_size("decode", pairs * y_size // CELLS_PER_STATE)
    guard_size("decode", z_size * y_size // CELLS_PER_STATE)
    rows = sum(sum(map(len, plan.features)) for plan in hypotheses.plans[:n])
    guard_size("decode", rows * z_size // KEPT_CELLS_PER_STATE)
    if not roots:
        guard_size("decode", y_size * y_size // CELLS_PER_STATE)


def _best_path(
    trellis: SplitTrellis, hypotheses: Hypotheses, scores: StepScores, row: int
) -> tuple[Ints, Floats]:
    """Label indices of a best path under one model, and the best worth of each end, (k,)."""
    steps, ends = [worth[row] for worth in scores.steps], scores.ends[row]
    plans = hypotheses.plans[: len(steps)]
    steps_of = trellis.steps(len(steps))
    totals, layers = best_values(plans, steps, ends, steps_of)
    end = int(totals.argmax())
    if not np.isfinite(totals[end]):
        raise InputError(sentence("decode", "a sequence must satisfy the constraint"))
    return trace(plans, steps, layers, end, steps_of), totals


def _found(problem: Problem, errors: Floats, path: Ints, totals: Floats, last: bool) -> Found:
    """A best path with its value, and whether it is proven.

    Args:
        problem: what is decided.
        errors: bounds on the error of the worth of paths, by their end, (k,).
        path: label indices.
        totals: the best worth of each end, (k,).
        last: whether a proof that takes long is looked for.
    """
    end = int(totals.argmax())
    proven = is_proven(problem, totals, errors, end, path, thorough=last)
    value, error = problem.sign * float(totals[end]), float(errors[end])
    return Found(path, len(totals), value, error, proven)
