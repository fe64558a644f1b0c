"""The k best decisions: after the best one, the best of all other sequences, and so on.

The sequences that were not decided on before are a constraint, so that any method that decides
under a constraint has the next best one, with its proof. Whatever j - 1 sequences are left out, one
of the j best is still there: a bound of the best value of the rest is one of the j-th best value.
On the other side, j sequences that were found are worth no more than the j best.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from fsmeu.arrays import Ints
from fsmeu.decoding.choice import Options, decide
from fsmeu.decoding.decision import Decision
from fsmeu.decoding.problem import Problem
from fsmeu.fst.constraint import all_but, constraint_layers, intersection


def best_few(problem: Problem, options: Options) -> list[Decision]:
    """The ``options.k`` best decisions, best first; fewer where fewer sequences are allowed.

    Bounds are those of the value of the j-th best of all that is allowed, and a decision is exact
    where it is proven to be that, beyond rounding.
    """
    assert options.k is not None
    size = len(problem.loss.alphabet)
    taken = list[Ints]()
    found = list[Decision]()
    allowed = problem.constraint
    while len(found) < options.k and len(constraint_layers(allowed, size, problem.n).ends):
        others = replace(problem, constraint=allowed, clock=problem.clock.again())
        [decision] = decide([others], options)
        found.append(decision)
        taken.append(problem.model.alphabet.encode(decision.labels))
        allowed = all_but(taken, size)
        if problem.constraint is not None:
            allowed = intersection(problem.constraint, allowed)
    return _in_order(problem, found)


def _in_order(problem: Problem, found: Sequence[Decision]) -> list[Decision]:
    """Decisions by value, with bounds of the best, the second best, ... and what is proven."""
    sign = problem.sign
    ranked = sorted(found, key=lambda decision: -sign * decision.value)
    results = []
    lower, upper = problem.loss.value_range(problem.n)
    exact = True
    for row, (decision, own) in enumerate(zip(found, ranked, strict=True)):
        exact = exact and decision.exact
        if problem.keep is None:
            if sign > 0:
                lower = own.lower
                upper = max(lower, min(upper, decision.upper))
            else:
                upper = own.upper
                lower = min(upper, max(lower, decision.lower))
        why = own.why if row == 0 else f"the best of all but {row}: {own.why}"
        results.append(replace(own, lower=lower, upper=upper, exact=exact, why=why))
    return results
