"""Search for a good sequence when no algebra helps: a beam, then coordinate ascent. Not proven.

A climb takes the best single-label change of a sequence (``fsmeu.decoding.changes``) while there is
one that improves. When the time is over, the best sequence so far is the answer.
"""

from __future__ import annotations

import numpy as np

from fsmeu.arrays import Floats, Ints
from fsmeu.decoding.method import Method
from fsmeu.decoding.precision import NO_BETTER, Changes, is_best_of_all
from fsmeu.decoding.problem import Answer, OutOfTimeError, Problem
from fsmeu.limits import MAX_DENSE_ENTRIES

__all__ = ["SEARCH"]

SEARCH_STARTS = 4  # most probable sequences that a search climbs from, beside other starts
CLIMB_STEPS = 100  # changes of one label in a climb, so that tiny gains come to an end
BEAM_WIDTH = 4  # prefixes that a beam keeps: it only has to find starts
BEAM_STATES = 1024  # states of a loss up to which there is a beam, of many candidates at once
BEAM_BLOCK = 256  # candidates of a beam that are valued between two looks at the clock


def _condition(problem: Problem) -> str | None:
    """What must hold of the problem and does not; None where there is a sequence to start from."""
    return None if problem.feasible else "a sequence must satisfy the constraint"


def _search(problem: Problem) -> Answer:
    """The best of several local optima under single-label changes.

    Starts from a beam over prefixes, the most probable sequences, the most probable labels, and
    ranked sequences. Not proven, unless no pair of sequences has a better value.
    """
    some = problem.some_sequence()
    if is_best_of_all(problem, some):
        return Answer(some, True, NO_BETTER, 1)
    best = _Best(some)
    try:
        starts = _starts(problem, some)
        changes = Changes(problem)
        for k, indices in enumerate(starts):
            _climb(problem, changes, indices, best)
            problem.clock.tell((k + 1) / len(starts))
    except OutOfTimeError:
        return Answer(best.indices, False, _late(problem, best), best.tried)
    why = f"a local optimum: no single label change improves it, from {len(starts)} starts"
    return Answer(best.indices, False, why, best.tried)


def _late(problem: Problem, best: _Best) -> str:
    limit = f"the {problem.clock.seconds:g} seconds were over (give it more with seconds=...)"
    if not best.tried:
        return f"the most probable allowed sequence: {limit} before any other was compared with it"
    return f"the best so far: {limit} before no single label change improved it"


class _Best:
    """The best sequence so far, and the sequences from which a climb need not be repeated."""

    def __init__(self, indices: Ints) -> None:
        self.indices = indices
        self.value = -np.inf
        self.tried = 0
        self.seen: set[bytes] = set()

    def take(self, indices: Ints, value: float) -> None:
        """Keeps a sequence if it is better."""
        if value > self.value:
            self.indices, self.value = indices, value


def _starts(problem: Problem, some: Ints) -> list[Ints]:
    """Distinct allowed sequences to climb from, the given one first."""
    alphabet, n = problem.loss.alphabet, problem.n
    marginals = problem.model.marginals()
    candidates = [some, *problem.most_probable(SEARCH_STARTS), marginals.argmax(axis=1)]
    candidates += _beam(problem, some)
    for share in (0.25, 0.5, 0.75):
        order = np.argsort(marginals[:, 0], kind="stable")
        changed = np.zeros(n, np.int64)
        chosen = order[: round(share * n)]
        if len(alphabet) > 1:
            changed[chosen] = 1 + marginals[chosen, 1:].argmax(axis=1)
        candidates.append(changed)
    distinct = {z.tobytes(): z.astype(np.int64) for z in candidates if problem.allows(z)}
    return list(distinct.values())


def _beam(problem: Problem, rest: Ints) -> list[Ints]:
    """The best prefixes, extended position by position; the rest is that of the given sequence.

    Only where many candidates can be valued at once: elsewhere each would cost a walk of its own.
    """
    size, n = len(problem.loss.alphabet), problem.n
    space = problem.loss.view(n, rest, weights=True).space
    if space is None or space > BEAM_STATES or n * BEAM_WIDTH * size > problem.budget:
        return []
    if sum(len(layer.weight) for layer in problem.model.layered().layers) > MAX_DENSE_ENTRIES:
        return []
    beam = [rest]
    for i in range(n):
        extended: dict[bytes, Ints] = {}
        for indices in beam:
            for label in range(size):
                changed = indices.copy()
                changed[i] = label
                if problem.allows(changed):
                    extended[changed.tobytes()] = changed
        candidates = list(extended.values()) or beam
        values = []
        for begin in range(0, len(candidates), BEAM_BLOCK):
            problem.clock.check()
            values.append(problem.values(candidates[begin : begin + BEAM_BLOCK]))
        order = np.argsort(-problem.sign * np.concatenate(values), kind="stable")
        beam = [candidates[k] for k in order[:BEAM_WIDTH]]
    return beam


def _climb(problem: Problem, changes: Changes, indices: Ints, best: _Best) -> None:
    """Takes the best allowed single-label change while there is one that improves."""
    current = indices
    for _ in range(CLIMB_STEPS):
        if current.tobytes() in best.seen:
            return
        best.seen.add(current.tobytes())
        table = problem.sign * changes.values(current)
        best.tried += max(1, table.size)
        if not table.size:
            return
        value = float(table[0, current[0]])
        best.take(current, value)
        order = np.argsort(-table, axis=None, kind="stable")
        step = _first_allowed(problem, current, table, order, value)
        if step is None:
            return
        current = step


def _first_allowed(
    problem: Problem, current: Ints, table: Floats, order: Ints, value: float
) -> Ints | None:
    for flat in order.tolist():
        position, label = divmod(flat, table.shape[1])
        if table[position, label] <= value + 1e-12 * max(1.0, abs(value)):
            return None
        changed: Ints = current.copy()
        changed[position] = label
        if problem.allows(changed):
            return changed
    return None


SEARCH = Method("search", _condition, _search)
