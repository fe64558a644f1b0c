"""The best of a list of sequences, each valued by ``expect_many``, and whether that is certain.

An expectation is a sum of probability times offset, and of expected counts times slopes. Its error
is a part of the sum of these terms without their signs, which may be far greater than the value
where large terms cancel. It is first bounded by the greatest sum that any pair of sequences has;
where that is too much, sequences are valued once more with all counts as states.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

import numpy as np

from fsmeu.arrays import Floats, Ints
from fsmeu.decoding.precision import is_proven
from fsmeu.decoding.problem import Problem
from fsmeu.errors import FsmeuError
from fsmeu.expectation.expect import walked
from fsmeu.expectation.query import query
from fsmeu.fst.compose import guard_size
from fsmeu.fst.distinct import distinct
from fsmeu.limits import BOUNDED_STATES, LARGEST_BLOCK, MOST_WALKS
from fsmeu.losses.machine.view import View
from fsmeu.trellis.roundings import relative_error

__all__ = ["best_listed", "late"]


_PER_STEP = 20


def best_listed(
    problem: Problem, candidates: Sequence[Ints], everything: bool
) -> tuple[Ints, bool, int]:
    """The best of the candidates, whether it is proven to be the best of all, how many were valued.

    When the time is over, it is the best of those that were valued until then, at least the first.

    Args:
        problem: what is decided.
        candidates: label indices of sequences.
        everything: whether they are all that are allowed.
    """
    values = problem.sign * _timed_values(problem, candidates)
    best, done = int(values.argmax()), len(values)
    if not everything or done < len(candidates) or problem.keep is not None:
        return candidates[best], False, done
    width = max(problem.model.layered().widths)
    error = relative_error((_PER_STEP + width + len(problem.loss.alphabet)) * (problem.n + 1))
    with suppress(FsmeuError):  # some pair of sequences has no value, or there are many
        greatest = _greatest(problem.loss.view(problem.n, None, weights=True))
        errors = np.full(len(values), error * greatest * problem.model.total_mass())
        if is_proven(problem, values, errors, best, candidates[best]):
            return candidates[best], True, done
    if len(candidates) > MOST_WALKS or problem.clock.over():
        return candidates[best], False, done
    names = [problem.loss.alphabet.decode(indices) for indices in candidates]
    again = [walked(query(problem.loss, z, problem.model), weights=False) for z in names]
    values = problem.sign * np.concatenate([one.values for one in again])
    errors, best = np.concatenate([one.errors for one in again]), int(values.argmax())
    return candidates[best], is_proven(problem, values, errors, best, candidates[best]), done


def _timed_values(problem: Problem, candidates: Sequence[Ints]) -> Floats:
    """The values of as many candidates as there is time for, at least of the first.

    They are valued in blocks that grow while time allows; the values do not depend on the blocks.
    """
    values = [problem.values(candidates[:1])]
    done = 1
    while done < len(candidates) and not problem.clock.over():
        problem.clock.tell(done / len(candidates))
        left = (problem.clock.seconds - problem.clock.elapsed) / max(problem.clock.elapsed, 1e-9)
        size = max(1, min(done, LARGEST_BLOCK, int(min(left * done, LARGEST_BLOCK))))
        values.append(problem.values(candidates[done : done + size]))
        done = min(done + size, len(candidates))
    return np.concatenate(values)


def late(problem: Problem, valued: int, count: int) -> str:
    """What is to be said when not all candidates were valued."""
    if valued == count:
        return ""
    seconds = f"the {problem.clock.seconds:g} seconds were over"
    return f", of {count}: {seconds} (give it more with seconds=...)"


def _greatest(view: View) -> float:
    """The greatest sum of terms without signs that a pair of sequences has."""
    codes, grown = np.array([view.start], np.int64), np.zeros(view.linear)
    for i in range(1, view.n + 1):
        targets, gains = view.advance(i, codes)
        codes = distinct(targets[targets >= 0])[0]
        guard_size("decode", len(codes), BOUNDED_STATES)
        if gains is not None:
            grown += np.abs(gains).max(axis=(1, 2))
    offset, slopes = view.values(codes)
    terms = (1.0 + 4.0 * grown.sum()) * np.abs(offset) + grown @ np.abs(slopes)
    return float(terms.max(initial=0.0))
