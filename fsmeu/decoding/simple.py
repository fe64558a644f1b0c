"""Methods that need no algebra: the most probable sequence or labels, lists, all sequences."""

from __future__ import annotations

import itertools

import numpy as np
from numpy.typing import NDArray

from fsmeu.decoding.listed import best_listed, late
from fsmeu.decoding.problem import Answer, Problem, refuse
from fsmeu.decoding.zero_one import zero_one_values

__all__ = ["exhaustive", "marginal", "nbest", "viterbi"]

Ints = NDArray[np.int64]

_DEFAULT_LIST = 100


def viterbi(problem: Problem) -> Answer:
    """The most probable sequence; the best one when the value only asks whether z equals y.

    Requires that all equal pairs have one value and all others one value that is no better.

    Proven: the machine of this length is walked through all pairs, and its final states are looked
    at; E[value] is then v1 + (v0 - v1) P(z). Probabilities are products of n factors, so that the
    decision is off by n units of rounding of (v0 - v1) P(z) at most.
    """
    values = zero_one_values(problem.loss, problem.n)
    if values is None or problem.sign * (values[0] - values[1]) < 0:
        must = "the value must only tell whether the sequences are equal, equal being better"
        refuse("viterbi", must)
    why = "the value only tells whether the sequences are equal, so the most probable one is best"
    best = problem.some_sequence()
    if best is None:
        refuse("viterbi", "a sequence must satisfy the constraint")
    return Answer(best, True, why, 1)


def marginal(problem: Problem) -> Answer:
    """The most probable label at each position; not proven best for any loss in general."""
    indices = problem.model.marginals().argmax(axis=1)
    if not problem.allows(indices):
        refuse("marginal", "the most probable labels must satisfy the constraint")
    why = "the most probable label at each position; the loss was not asked"
    return Answer(indices.astype(np.int64), False, why, 1)


def nbest(problem: Problem) -> Answer:
    """The best of the most probable sequences (minimum risk over an n-best list).

    Proven where the list holds every sequence, as ``exhaustive`` is.
    """
    candidates = problem.most_probable(min(_DEFAULT_LIST, problem.budget))
    if not candidates:
        refuse("nbest", "a sequence of positive probability must satisfy the constraint")
    everything = len(candidates) == len(problem.model.labels) ** problem.n
    best, proven, valued = best_listed(problem, candidates, everything)
    why = f"the best of the {valued} most probable sequences"
    return Answer(best, proven, why + late(problem, valued, len(candidates)), valued)


def exhaustive(problem: Problem) -> Answer:
    """The best of all sequences, where there are no more than the budget.

    When the time is over, it is the best of those that were compared until then; not proven.

    Proven: each is valued by ``expect_many``. The errors of that are bounded by the greatest of the
    terms that it sums, and the best is claimed if no other reaches it by more than ``PRECISION``.
    """
    labels = len(problem.model.labels)
    if problem.n * np.log(max(labels, 2)) > np.log(problem.budget) + 1e-9 and labels > 1:
        must = f"there may be at most {problem.budget:,} sequences, not {labels}^{problem.n}"
        refuse("exhaustive", must + " (raise it with budget=...)")
    everything = itertools.product(range(labels), repeat=problem.n)
    candidates = [np.array(z, np.int64) for z in everything]
    candidates = [z for z in candidates if problem.allows(z)]
    if not candidates:
        refuse("exhaustive", "a sequence must satisfy the constraint")
    best, proven, valued = best_listed(problem, candidates, everything=True)
    every = valued == len(candidates)
    why = f"all {valued} sequences were compared" if every else f"the best of {valued} sequences"
    return Answer(best, proven, why + late(problem, valued, len(candidates)), valued)
