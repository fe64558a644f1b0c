"""Methods that need no algebra: the most probable sequence or labels, lists, all sequences."""

from __future__ import annotations

import itertools

import numpy as np

from fsmeu.decoding.listed import best_listed, late
from fsmeu.decoding.method import Method, always
from fsmeu.decoding.problem import Answer, Problem
from fsmeu.errors import FsmeuError
from fsmeu.fst.compose import max_states
from fsmeu.limits import LIST_LENGTH, ZERO_ONE_STATES, ZERO_ONE_TRIAL
from fsmeu.losses.protocol import Loss

__all__ = ["EXHAUSTIVE", "MARGINAL", "NBEST", "VITERBI"]


def _equality_alone(problem: Problem) -> str | None:
    """What must hold of the problem and does not; None where the most probable sequence is best."""
    what = ("zero_one", max_states())  # past the limit on states it is not known
    values = problem.kept(what, lambda: zero_one_values(problem.loss, problem.n))
    if values is None or problem.sign * (values[0] - values[1]) < 0:
        return "the value must only tell whether the sequences are equal, equal being better"
    return None if problem.feasible else "a sequence must satisfy the constraint"


def _viterbi(problem: Problem) -> Answer:
    """The most probable sequence; the best one when the value only asks whether z equals y.

    Requires that all equal pairs have one value and all others one value that is no better.

    Proven: the machine of this length is walked through all pairs, and its final states are looked
    at; E[value] is then v1 + (v0 - v1) P(z). Probabilities are products of n factors, so that the
    decision is off by n units of rounding of (v0 - v1) P(z) at most.
    """
    why = "the value only tells whether the sequences are equal, so the most probable one is best"
    return Answer(problem.some_sequence(), True, why, 1)


def _marginal(problem: Problem) -> Answer | str:
    """The most probable label at each position; not proven best for any loss in general.

    Whether the constraint allows these labels is seen once the marginals are known.
    """
    indices = problem.model.marginals().argmax(axis=1)
    if not problem.allows(indices):
        return "the most probable labels must satisfy the constraint"
    why = "the most probable label at each position; the loss was not asked"
    return Answer(indices.astype(np.int64), False, why, 1)


def _nbest(problem: Problem) -> Answer | str:
    """The best of the most probable sequences (minimum risk over an n-best list).

    Whether the constraint allows a sequence of positive probability is seen by listing them.
    Proven where the list holds every sequence, as ``exhaustive`` is.
    """
    candidates = problem.most_probable(min(LIST_LENGTH, problem.budget))
    if not candidates:
        return "a sequence of positive probability must satisfy the constraint"
    everything = len(candidates) == len(problem.model.labels) ** problem.n
    best, proven, valued = best_listed(problem, candidates, everything)
    why = f"the best of the {valued} most probable sequences"
    return Answer(best, proven, why + late(problem, valued, len(candidates)), valued)


def _few_sequences(problem: Problem) -> str | None:
    """What must hold of the problem and does not; None where all sequences may be compared."""
    labels = len(problem.model.labels)
    if problem.n * np.log(max(labels, 2)) > np.log(problem.budget) + 1e-9 and labels > 1:
        must = f"there may be at most {problem.budget:,} sequences, not {labels}^{problem.n}"
        return must + " (raise it with budget=...)"
    return None if problem.feasible else "a sequence must satisfy the constraint"


def _exhaustive(problem: Problem) -> Answer:
    """The best of all sequences, where there are no more than the budget.

    When the time is over, it is the best of those that were compared until then; not proven.

    Proven: each is valued by ``expect_many``. The errors of that are bounded by the greatest of the
    terms that it sums, and the best is claimed if no other reaches it by more than ``PRECISION``.
    """
    everything = itertools.product(range(len(problem.model.labels)), repeat=problem.n)
    candidates = [np.array(z, np.int64) for z in everything]
    candidates = [z for z in candidates if problem.allows(z)]
    best, proven, valued = best_listed(problem, candidates, everything=True)
    every = valued == len(candidates)
    why = f"all {valued} sequences were compared" if every else f"the best of {valued} sequences"
    return Answer(best, proven, why + late(problem, valued, len(candidates)), valued)


VITERBI = Method("viterbi", _equality_alone, _viterbi)
MARGINAL = Method("marginal", always, _marginal)
NBEST = Method("nbest", always, _nbest)
EXHAUSTIVE = Method("exhaustive", _few_sequences, _exhaustive)


def zero_one_values(loss: Loss, n: int) -> tuple[float, float] | None:
    """The value of equal and of different pairs of length n, or None when there are more values.

    Walks the compiled machine with one bit that remembers whether the labels have differed; a short
    length is tried first, because most losses fail there already.

    Proven: every pair of length n ends in one of the states that are looked at, and values are
    equal to the last digit. None also where the machine would be too large, or a pair has no value.
    """
    for length in sorted({min(n, ZERO_ONE_TRIAL), n}):
        try:
            machine = loss.compile(length, max_states=ZERO_ONE_STATES)
        except FsmeuError:
            return None
        size = len(loss.alphabet)
        same = np.eye(size, dtype=bool)
        reached = np.zeros((machine.states, 2), bool)
        reached[0, 0] = True
        for _ in range(length):
            after = np.zeros_like(reached)
            equal = machine.next[reached[:, 0]][:, same]
            after[equal[equal >= 0], 0] = True
            for states in (machine.next[reached[:, 0]][:, ~same], machine.next[reached[:, 1]]):
                after[states[states >= 0], 1] = True
            reached = after
        values = [np.unique(machine.values[reached[:, k]]) for k in (0, 1)]
        if any(len(v) > 1 for v in values) or not len(values[0]):
            return None
    different = float(values[1][0]) if len(values[1]) else float(values[0][0])
    return float(values[0][0]), different
