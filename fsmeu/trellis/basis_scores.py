"""The worth of steps of z for every function of y's count in a basis.

In a corpus, what a joint count is worth depends on the count of the sentence through the totals,
and on much else that is not known yet. Kept are the worths for a few functions b_j(count): those
for any other function are sums of them, up to what the basis cannot express. All functions of a
count of few values are a basis; for a count of many values polynomials of low degree are, because
the total of a corpus hardly feels one sentence.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.polynomial import chebyshev
from numpy.typing import NDArray

from fsmeu.fst.layers import Layered
from fsmeu.trellis.path_errors import path_errors
from fsmeu.trellis.scores import held_counts, swept_worths
from fsmeu.trellis.split_trellis import Hypotheses, References, SplitTrellis

__all__ = ["BasisScores", "basis_of", "basis_scores"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_MOST_DEGREE = 7
"""Chebyshev polynomials at equidistant places tell each other apart well up to some degree."""


@dataclass(frozen=True, eq=False)
class BasisScores:
    """Worths of steps of z, for a batch of models.

    Attributes:
        basis: the functions, (counts, functions).
        steps: for each position, the worth of score rows and of one more that is 0,
            (batch, rows + 1, functions).
        counts: for each position, the joint count of each score row and of one more, (rows + 1,).
        errors: bounds on the error of the worth of every path, for each joint count and function,
            (joint counts, batch, functions).
        greatest: bounds on the absolute value of the joint counts, (joint counts,).
        expected: bounds on the expectation of their absolute value, (joint counts, batch).
    """

    basis: Floats
    steps: list[Floats]
    counts: list[Ints]
    errors: Floats
    greatest: Floats
    expected: Floats


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


@np.errstate(over="ignore", invalid="ignore")  # what comes of it is checked
def basis_scores(
    trellis: SplitTrellis,
    references: References,
    hypotheses: Hypotheses,
    models: Sequence[Layered],
    functions: int,
    roots: bool,
) -> BasisScores:
    """The worths of all steps, for the functions of a basis.

    Args:
        trellis: both tapes.
        references: the tape of y composed with the models' structure.
        hypotheses: the tape of z with what is allowed.
        models: models of this structure and of one length.
        functions: how many functions the basis may have.
        roots: whether counts are held at roots of unity, or else as coefficients.
    """
    n, joint = models[0].n, len(trellis.form.joint_counts)
    counts = held_counts(trellis, n, roots)
    basis = basis_of(counts.size, functions)
    worth = [counts.expectation(basis)] * joint
    swept = swept_worths(trellis, references, hypotheses, models, counts, worth, basis.shape[1])
    none = np.zeros_like(basis.T)
    errors = np.zeros((joint, len(models), basis.shape[1]))
    for q in range(joint):
        slopes = [basis.T if k == q else none for k in range(joint)]
        known = path_errors(slopes, none, swept.ending, counts, swept.sizes, swept.operations)
        errors[q] = known.absolute
    owners = []
    for i, plan in enumerate(hypotheses.plans[:n]):
        added = trellis.amounts(plan.features, references.plans[i], i, n)
        owners.append(np.append(added.count, 0))
    sizes = swept.sizes
    terms = np.bincount([term.count for term in trellis.terms], minlength=joint)[:joint]
    expected = sizes.expected * terms[:, None]  # each term adds at most the greatest of all
    return BasisScores(basis, swept.steps, owners, errors, sizes.greatest, expected)
