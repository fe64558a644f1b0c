"""What a step of the hypothesis is worth, when the reference follows a model.

With the loss split by tape, E[value] of a hypothesis whose counter ends at k is a sum over its
steps plus a term for its end:

    sum over positions i and terms t of  W_i(feature of z's step that t sees, k)  +  H(k)

W needs P(feature of y's step at i, y's counter ends at e), which is what flows through the feature
in the composition of y's tape with the model (after Dembczynski et al. 2011). What rounding may
have done to the worth of a path is bounded, for each end.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fsmeu.fst.layers import Layered
from fsmeu.losses.algebra.affine import slope, starts_of
from fsmeu.losses.algebra.split import Split
from fsmeu.losses.language.syntax import Expr
from fsmeu.losses.semantics.evaluator import Scope, number
from fsmeu.trellis.counts import Coefficients, Counts, Roots
from fsmeu.trellis.path_errors import PathErrors, Sizes, path_errors
from fsmeu.trellis.split_trellis import Hypotheses, References, SplitTrellis
from fsmeu.trellis.sweep import forward, runs_of

__all__ = [
    "StepScores",
    "SweptWorths",
    "arc_weights",
    "held_counts",
    "step_scores",
    "swept_worths",
    "value_tables",
    "values_at",
]

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class StepScores:
    """The worth of steps of z for every end k of its counter, for a batch of models.

    Attributes:
        steps: for each position, the worth of score rows and of one more that is 0,
            (batch, rows + 1, k).
        ends: the worth of ending at k, whatever the path, (batch, k).
        errors: bounds on the error of the worth of paths.
    """

    steps: list[Floats]
    ends: Floats
    errors: PathErrors


def value_tables(trellis: SplitTrellis, n: int) -> tuple[list[Floats], Floats]:
    """The slopes g_r(k, e) of each joint count and the offset h(k, e), (z counts, y counts).

    They are 0 for counts that no sequence of length n has.
    """
    key = ("values", n)
    if key not in trellis.memo:
        trellis.memo[key] = _value_tables(trellis, n)
    found: tuple[list[Floats], Floats] = trellis.memo[key]
    return found


def _value_tables(trellis: SplitTrellis, n: int) -> tuple[list[Floats], Floats]:
    z, y = trellis.z.reachable(n), trellis.y.reachable(n)
    hyp, ref = np.arange(len(z))[:, None], np.arange(len(y))[None, :]
    return values_at(trellis.form, n, hyp, ref, z[:, None] & y)


def values_at(
    form: Split, n: int, hyp: Any, ref: Any, possible: NDArray[np.bool_]
) -> tuple[list[Floats], Floats]:
    """The slopes of each joint count and the offset for counts of z and y; 0 where impossible.

    Args:
        form: the split loss.
        n: the length.
        hyp: ends of the counter of z.
        ref: ends of the counter of y; both broadcast to the shape of ``possible``.
        possible: which of them some sequences have.
    """
    current: dict[str, Any] = {"n": float(n)}
    for part, counts in ((form.z, hyp), (form.y, ref)):
        if part.counter is not None:
            current[part.counter] = np.asarray(counts, np.float64)
    registers = [joint_count.register for joint_count in form.joint_counts]
    current |= starts_of(form.bound, registers, n)
    scope = Scope(form.bound, current, current, {})

    def table(expr: Expr) -> Floats:
        return np.where(possible, number(expr, scope, possible), 0.0)

    spec = form.bound.spec
    return [table(slope(spec, register)) for register in registers], table(spec.value)


@np.errstate(over="ignore", invalid="ignore")  # what comes of it is checked
def step_scores(
    trellis: SplitTrellis,
    references: References,
    hypotheses: Hypotheses,
    models: Sequence[Layered],
    roots: bool,
    sign: float = 1.0,
) -> StepScores:
    """The worth of every step that a hypothesis can take, under each of several models.

    Requires that the value looks at no more than one counter of each tape.

    Args:
        trellis: both tapes.
        references: the tape of y composed with the models' structure.
        hypotheses: the tape of z with what is allowed.
        models: models of this structure and of one length.
        roots: whether counts are held at roots of unity, or else as coefficients.
        sign: what values are multiplied by; -1 makes what is least the greatest.
    """
    n = models[0].n
    counts = held_counts(trellis, n, roots)
    slopes, offset = value_tables(trellis, n)
    *worth, ends = _worths(trellis, n, counts)
    swept = swept_worths(trellis, references, hypotheses, models, counts, worth, len(offset), sign)
    errors = path_errors(slopes, offset, swept.ending, counts, swept.sizes, swept.operations)
    return StepScores(swept.steps, sign * (swept.ending @ ends), errors)


def held_counts(trellis: SplitTrellis, n: int, roots: bool) -> Counts:
    """How the counter of y is held: at roots of unity, or as coefficients."""
    size = trellis.y.most(n) + 1
    return Roots(size) if roots and size > 1 else Coefficients(size)


class SweptWorths(NamedTuple):
    """What both sweeps found.

    Attributes:
        steps: for each position, the worth of score rows and of one more that is 0,
            (batch, rows + 1, k).
        ending: the distribution of y's counter, (batch, columns).
        sizes: how much the joint counts can add.
        operations: a bound on the number of roundings behind the worth of a path.
    """

    steps: list[Floats]
    ending: Floats
    sizes: Sizes
    operations: int


def swept_worths(
    trellis: SplitTrellis,
    references: References,
    hypotheses: Hypotheses,
    models: Sequence[Layered],
    counts: Counts,
    worth: Sequence[Floats],
    ends: int,
    sign: float = 1.0,
) -> SweptWorths:
    """The worth of every step that a hypothesis can take, by the worth of y's counter.

    Args:
        trellis: both tapes.
        references: the tape of y composed with the models' structure.
        hypotheses: the tape of z with what is allowed.
        models: models of this structure and of one length.
        counts: how the counter of y is held.
        worth: for each joint count what takes a row of counts to what one more of it is worth,
            (columns, k).
        ends: how many values k has.
        sign: what worths are multiplied by.
    """
    n = models[0].n
    plans, batch = references.plans[:n], len(models)
    shown = [plan.features for plan in hypotheses.plans[:n]]
    added = [trellis.amounts(shown[i], plan, i, n) for i, plan in enumerate(plans)]
    sweeper = trellis.steps(n * batch)
    cells = sweeper.run_cells // (batch * counts.columns)
    runs = runs_of(plans, added, arcs_of(models), lambda plan: cells // max(1, plan.feature_count))
    final = np.stack([model.final for model in models])[:, references.pairs[n].acceptor]
    start = np.stack([model.start for model in models])
    masses, last = forward(runs, start, counts, sweeper)
    value = np.ascontiguousarray(final)[:, :, None] * counts.one()
    steps: list[Floats] = []
    sizes = Sizes(len(worth), batch)
    exact = isinstance(counts, Coefficients)
    weighed = exact and all((table >= 0).all() or (table <= 0).all() for table in worth)
    for run, swept in zip(reversed(runs), reversed(masses), strict=True):
        value, flows = sweeper.backward(run.plan, run.weights, value, swept, counts)
        length = len(run.weights)
        flows = flows.reshape(length * batch, *flows.shape[2:])
        met = _expected(trellis, run.plan.features, flows, worth, ends)
        if weighed:
            sizes.weigh(run.added, met.reshape(length, batch, *met.shape[1:]))
        found, expected = sweeper.worth(run.added, met, counts.total(flows), sign)
        steps += [*found.reshape(length, batch, *found.shape[1:])][::-1]
        sizes.see(run.added, expected.reshape(len(expected), length, batch).swapaxes(1, 2))
    ending = np.einsum("bp,bpc->bc", final, last)
    operations = sum(plan.operations for plan in plans) + final.shape[1] + counts.size
    operations += max((plan.flow_operations for plan in plans), default=0)
    operations += n * (len(trellis.terms) + 1)  # the steps of a path are added up
    return SweptWorths(steps[::-1], ending, sizes, operations)


def _worths(trellis: SplitTrellis, n: int, counts: Counts) -> list[Floats]:
    """What takes a row of counts to the expected slope of each joint count, and to the offset.

    Matrices (columns, k).
    """
    key = ("worths", n, type(counts))
    if key not in trellis.memo:
        slopes, offset = value_tables(trellis, n)
        trellis.memo[key] = [counts.expectation(table.T) for table in (*slopes, offset)]
    found: list[Floats] = trellis.memo[key]
    return found


def arcs_of(models: Sequence[Layered]) -> list[list[Floats]]:
    """The weights of the arcs at each position, (arcs,), of each model."""
    layers = zip(*(model.layers for model in models), strict=True)
    return [[layer.weight for layer in position] for position in layers]


def arc_weights(models: Sequence[Layered]) -> list[Floats]:
    """The weights of the arcs at each position, (models, arcs)."""
    return [np.array(position) for position in arcs_of(models)]


def _expected(
    trellis: SplitTrellis,
    features: Sequence[Any],
    flows: Floats,
    worth: Sequence[Floats],
    ends: int,
) -> Floats:
    """What each feature is worth for every k, (batch, features, k)."""
    if not trellis.terms:
        return np.zeros((len(flows), 0, ends))
    if len({term.count for term in trellis.terms}) == 1:
        table = worth[trellis.terms[0].count]
        return (flows.reshape(-1, len(table)) @ table).reshape(*flows.shape[:2], ends)
    blocks = np.split(flows, np.cumsum([len(one) for one in features])[:-1], axis=1)
    shares = [block @ worth[t.count] for block, t in zip(blocks, trellis.terms, strict=True)]
    return np.concatenate(shares, axis=1)
