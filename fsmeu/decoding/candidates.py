"""Methods that need no algebra: they value candidates, or take the most probable labels."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from fsmeu.arrays import Floats, Ints
from fsmeu.decoding.precision import NO_BETTER, Changes, is_best_of_all, is_proven
from fsmeu.decoding.problem import Answer, Method, OutOfTimeError, Problem, allowed_sequences, each
from fsmeu.errors import FsmeuError
from fsmeu.fst.compose import max_states
from fsmeu.losses.protocol import Loss
from fsmeu.models.base import most_probable_many

ZERO_ONE_STATES = 20_000  # states walked to see whether only equality counts: such losses have few
ZERO_ONE_TRIAL = 3  # the length walked first: most losses show another value there already
LARGEST_BLOCK = 1024  # sequences that are valued between two looks at the clock
LIST_LENGTH = 100  # sequences of an n-best list
SEARCH_STARTS = 4  # most probable sequences that a search climbs from, beside other starts
CLIMB_STEPS = 100  # changes of one label in a climb, so that tiny gains come to an end


# -- the most probable sequence, or labels ---------------------------------------------------------


def _equality_alone(problem: Problem) -> str | None:
    """What must hold of the problem and does not; None where the most probable sequence is best."""
    what = ("zero_one", max_states())  # past the limit on states it is not known
    values = problem.kept(what, lambda: _zero_one_values(problem.loss, problem.n))
    if values is None or problem.sign * (values[0] - values[1]) < 0:
        return "the value must only tell whether the sequences are equal, equal being better"
    return None


def _zero_one_values(loss: Loss, n: int) -> tuple[float, float] | None:
    """The value of equal and of different pairs of length n; None if there are more, or unknown."""
    same = np.eye(len(loss.alphabet), dtype=bool)
    for length in sorted({min(n, ZERO_ONE_TRIAL), n}):
        try:
            machine = loss.compile(length, max_states=ZERO_ONE_STATES)
        except FsmeuError:
            return None
        reached = np.zeros((machine.states, 2), bool)  # by labels that are equal, or have differed
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


def _viterbi(problems: Sequence[Problem]) -> list[Answer]:
    """The most probable sequences; the best ones when the value only asks whether z equals y.

    Proven: all equal pairs have one value and all others one value that is no better, so that
    E[value] is v1 + (v0 - v1) P(z). Probabilities are products of n factors, so that the decision
    is off by n units of rounding of (v0 - v1) P(z) at most.
    """
    why = "the value only tells whether the sequences are equal, so the most probable one is best"
    best: Sequence[Ints | None] = [None] * len(problems)
    if len(problems) > 1 and problems[0].constraint is None:
        best = most_probable_many([problem.model for problem in problems])
    return [
        Answer(problem.some_sequence() if z is None else z, True, why, 1)
        for problem, z in zip(problems, best, strict=True)
    ]


def _marginal(problem: Problem) -> Answer | str:
    """The most probable label at each position, where the constraint allows these; not proven."""
    indices = problem.model.marginals().argmax(axis=1)
    if not problem.allows(indices):
        return "the most probable labels must satisfy the constraint"
    why = "the most probable label at each position; the loss was not asked"
    return Answer(indices.astype(np.int64), False, why, 1)


# -- lists -----------------------------------------------------------------------------------------


def _nbest(problem: Problem) -> Answer | str:
    """The best of the most probable sequences (minimum risk); proven where these are all."""
    candidates = problem.most_probable(min(LIST_LENGTH, problem.budget))
    if not candidates:
        return "a sequence of positive probability must satisfy the constraint"
    everything = len(candidates) == len(problem.model.labels) ** problem.n
    best, proven, valued = _best_listed(problem, candidates, everything)
    why = f"the best of the {valued} most probable sequences"
    return Answer(best, proven, _with_time(why, problem, valued, len(candidates)), valued)


def _few_sequences(problem: Problem) -> str | None:
    """What must hold of the problem and does not; None where all sequences may be compared."""
    labels = len(problem.model.labels)
    if problem.n * np.log(max(labels, 2)) > np.log(problem.budget) + 1e-9 and labels > 1:
        must = f"there may be at most {problem.budget:,} sequences, not {labels}^{problem.n}"
        return must + " (raise it with budget=...)"
    return None


def _exhaustive(problem: Problem) -> Answer:
    """The best of all sequences, or of those that were compared until the time was over."""
    labels = len(problem.model.labels)
    candidates = list(allowed_sequences(problem.constraint, labels, problem.n, problem.budget))
    best, proven, valued = _best_listed(problem, candidates, everything=True)
    every = valued == len(candidates)
    why = f"all {valued} sequences were compared" if every else f"the best of {valued} sequences"
    return Answer(best, proven, _with_time(why, problem, valued, len(candidates)), valued)


def _best_listed(
    problem: Problem, candidates: Sequence[Ints], everything: bool
) -> tuple[Ints, bool, int]:
    """The best of the candidates, whether it is proven best of all, how many there was time for."""
    blocks, done, clock = [problem.values(candidates[:1])], 1, problem.clock
    while done < len(candidates) and not clock.over():
        clock.tell(done / len(candidates))
        left = (clock.seconds - clock.elapsed) / max(clock.elapsed, 1e-9)
        size = max(1, min(done, LARGEST_BLOCK, int(min(left * done, LARGEST_BLOCK))))
        blocks.append(problem.values(candidates[done : done + size]))
        done = min(done + size, len(candidates))
    values, errors = np.concatenate(blocks, axis=1)
    signed = problem.sign * values
    best = int(signed.argmax())
    proven = everything and done == len(candidates) and problem.keep is None
    proven = proven and is_proven(problem, signed, errors, best, candidates[best])
    return candidates[best], proven, done


def _with_time(why: str, problem: Problem, valued: int, count: int) -> str:
    """The sentence, and that the time was over where not all candidates were valued."""
    late = f", of {count}: the {problem.clock.seconds:g} seconds were over"
    return why if valued == count else f"{why}{late} (give it more with seconds=...)"


# -- the search ------------------------------------------------------------------------------------


def _search(problem: Problem) -> Answer:
    """The best of several local optima; proven only if no pair of sequences has a better value."""
    some = problem.some_sequence()
    if is_best_of_all(problem, some):
        return Answer(some, True, NO_BETTER, 1)
    best, top, tried = some, -np.inf, 0
    try:
        starts = _starts(problem, some)
        for z, value, valued in _climbed(problem, starts):
            best, top = (z, value) if value > top else (best, top)
            tried += valued
        why = f"a local optimum: no single label change improves it, from {len(starts)} starts"
    except OutOfTimeError:
        over = f"the {problem.clock.seconds:g} seconds were over (give it more with seconds=...)"
        why = f"the best so far: {over} before no single label change improved it"
        if not tried:
            why = f"the most probable allowed sequence: {over} before any other was compared"
            why += " with it"
    return Answer(best, False, why, tried)


def _starts(problem: Problem, some: Ints) -> list[Ints]:
    """Distinct allowed sequences to climb from: probable ones, probable labels, ranked ones."""
    marginals = problem.model.marginals()
    candidates = [some, *problem.most_probable(SEARCH_STARTS), marginals.argmax(axis=1)]
    order = np.argsort(marginals[:, 0], kind="stable")
    for share in (0.25, 0.5, 0.75):
        changed = np.zeros(problem.n, np.int64)
        chosen = order[: round(share * problem.n)]
        if marginals.shape[1] > 1:
            changed[chosen] = 1 + marginals[chosen, 1:].argmax(axis=1)
        candidates.append(changed)
    distinct = {z.tobytes(): z.astype(np.int64) for z in candidates if problem.allows(z)}
    return list(distinct.values())


def _climbed(problem: Problem, starts: Sequence[Ints]) -> Iterator[tuple[Ints, float, int]]:
    """The sequences on the way up from each start, sign times value, and how many were valued."""
    changes, seen = Changes(problem), set[bytes]()
    for k, start in enumerate(starts):
        current: Ints | None = start
        for _ in range(CLIMB_STEPS):
            if current is None or current.tobytes() in seen:
                break
            seen.add(current.tobytes())
            table = problem.sign * changes.values(current)
            value = float(table[0, current[0]]) if table.size else 0.0
            yield current, value, max(1, table.size)
            current = _best_change(problem, current, table, value)
        problem.clock.tell((k + 1) / len(starts))


def _best_change(problem: Problem, current: Ints, table: Floats, value: float) -> Ints | None:
    """The sequence with the best change of one label that is allowed and improves the value."""
    for flat in np.argsort(-table, axis=None, kind="stable").tolist():
        place = divmod(flat, table.shape[1])
        if table[place] <= value + 1e-12 * max(1.0, abs(value)):
            return None
        changed: Ints = current.copy()
        changed[place[0]] = place[1]
        if problem.allows(changed):
            return changed
    return None


VITERBI = Method("viterbi", _equality_alone, _viterbi)
MARGINAL = Method("marginal", lambda problem: None, each(_marginal))
NBEST = Method("nbest", lambda problem: None, each(_nbest))
EXHAUSTIVE = Method("exhaustive", _few_sequences, each(_exhaustive))
SEARCH = Method("search", lambda problem: None, each(_search))
