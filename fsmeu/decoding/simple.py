"""Methods that need no algebra: the most probable sequence or labels, lists, all sequences.

The best of a list of sequences, each valued by ``expect_many``, and whether that is certain.

An expectation is a sum of probability times offset, and of expected counts times slopes. Its error
is a part of the sum of these terms without their signs, which may be far greater than the value
where large terms cancel. It is first bounded by the greatest sum that any pair of sequences has;
where that is too much, sequences are valued once more with all counts as states.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from contextlib import suppress

import numpy as np

from fsmeu.arrays import Floats, Ints
from fsmeu.decoding.method import Method, always
from fsmeu.decoding.precision import is_proven
from fsmeu.decoding.problem import Answer, Problem
from fsmeu.errors import FsmeuError
from fsmeu.expectation.expect import walked
from fsmeu.expectation.query import query
from fsmeu.fst.compose import guard_size, max_states
from fsmeu.fst.distinct import distinct
from fsmeu.losses.machine.view import View
from fsmeu.losses.protocol import Loss
from fsmeu.trellis.roundings import relative_error

__all__ = ["EXHAUSTIVE", "MARGINAL", "NBEST", "VITERBI", "best_listed", "late"]

ZERO_ONE_STATES = 20_000  # states walked to see whether only equality counts: such losses have few
ZERO_ONE_TRIAL = 3  # the length walked first: most losses show another value there already
BOUNDED_STATES = 200_000  # states of a layer up to which the greatest value of all pairs is sought
MOST_WALKS = 4096  # sequences valued once more with counts as states, if that bound is too wide
LARGEST_BLOCK = 1024  # sequences that are valued between two looks at the clock
LIST_LENGTH = 100  # sequences of an n-best list

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
