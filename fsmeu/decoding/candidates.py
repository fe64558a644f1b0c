"""Methods that need no algebra: they value candidates, or take the most probable labels."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress

import numpy as np

from fsmeu import limits
from fsmeu.arrays import Floats, Ints
from fsmeu.decoding.problem import (
    Answer,
    Method,
    Problem,
    looked_again,
    one_by_one,
)
from fsmeu.errors import Argument, FsmeuError, SizeLimitError, wording
from fsmeu.fst.compose import guard_size, max_states
from fsmeu.fst.constraint import Constraint, ConstraintLayers, constraint_layers
from fsmeu.losses.protocol import Loss
from fsmeu.models import Model
from fsmeu.models.base import most_probable_many
from fsmeu.trellis.layer_step import LayerStep, Steps, steps_of

WHY_EQUAL = "the value only tells whether the sequences are equal, so the most probable one is best"


# -- the most probable sequence, or labels ---------------------------------------------------------


def equality_values(problem: Problem) -> tuple[float, float] | None:
    """The value of equal and of different sequences, where it tells no more than that; or None."""
    what = ("zero_one", max_states())  # past the limit on states it is not known
    return problem.cached(what, lambda: _zero_one_values(problem.loss, problem.n))


def _equality_alone(problem: Problem) -> str | None:
    """The condition the problem does not meet; None where the most probable sequence is best."""
    values = equality_values(problem)
    if values is None or problem.sign * (values[0] - values[1]) < 0:
        return "the value must only tell whether the sequences are equal, equal being better"
    return None


def _zero_one_values(loss: Loss, n: int) -> tuple[float, float] | None:
    """The value of equal and of different pairs of length n; None if there are more, or unknown."""
    same = np.eye(len(loss.alphabet), dtype=bool)
    for length in sorted({min(n, limits.ZERO_ONE_TRIAL), n}):
        try:
            machine = loss.compile(length, max_states=limits.ZERO_ONE_STATES)
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
    E[value] is v1 + (v0 - v1) P(z).
    """
    best: Sequence[Ints | None] = [None] * len(problems)
    if len(problems) > 1 and problems[0].constraint is None:
        best = most_probable_many([problem.model for problem in problems])
    return [
        Answer(problem.likely_sequence() if z is None else z, WHY_EQUAL, 1, gap=0.0)
        for problem, z in zip(problems, best, strict=True)
    ]


def _marginal(problem: Problem) -> Answer | str:
    """The most probable label at each position, where the constraint allows these; not proven."""
    indices = problem.model.marginals().argmax(axis=1)
    if not problem.allows(indices):
        return "the most probable labels must satisfy the constraint"
    why = "the most probable label at each position; the loss was not asked"
    return Answer(indices.astype(np.int64), why, 1)


# -- lists -----------------------------------------------------------------------------------------


def allowed_sequences(model: Model, constraint: Constraint | None, budget: int) -> Ints:
    """All allowed sequences of label indices in order, (sequences, n), no more than the budget."""
    steps = constraint_layers(constraint, len(model.labels), model.n)
    if (count := _count(steps)) > budget:
        must = f"there may be at most {budget:,} allowed sequences"
        remedy = wording("Raise ", Argument("budget"))
        raise SizeLimitError("decode", must, given=f"{count:.6g}", remedy=remedy)
    prefixes = np.zeros((1, 0), np.int64)
    state = np.zeros(1, np.int64)
    for after in steps.next:
        row, label = np.nonzero(after[state] >= 0)
        prefixes = np.column_stack([prefixes[row], label])
        state = after[state[row], label]
    return prefixes


@np.errstate(over="ignore")
def _count(steps: ConstraintLayers) -> float:
    """The number of sequences that a constraint allows, inf where doubles do not hold it."""
    count = np.isin(np.arange(steps.widths[-1]), steps.ends).astype(np.float64)
    for after in reversed(steps.next):
        count = np.where(after >= 0, np.append(count, 0.0)[after], 0.0).sum(axis=1)
    return float(count.sum())


def all_sequences(problem: Problem) -> float:
    """The number of sequences, constraints aside, inf where doubles do not hold it."""
    return float(len(problem.model.labels)) ** min(problem.n, 64)


def _few_sequences(problem: Problem) -> str | None:
    """The condition that the problem does not meet; None where all sequences may be compared."""
    labels = len(problem.model.labels)
    if problem.n * np.log(max(labels, 2)) <= np.log(problem.budget) + 1e-9 or labels == 1:
        return None
    many = f"{labels}^{problem.n}"
    if problem.constraint is not None:
        count = _count(constraint_layers(problem.constraint, labels, problem.n))
        if count <= problem.budget:
            return None
        many = f"{count:.6g}"
    must = f"there may be at most {problem.budget:,} sequences, not {many}"
    return must + " (raise it with budget=...)"


def _exhaustive(problem: Problem) -> Answer:
    """The best of all sequences, or of those that were compared when the time was over."""
    candidates = list(allowed_sequences(problem.model, problem.constraint, problem.budget))
    why = f"all {len(candidates)} sequences were compared"
    return _best_listed(problem, candidates, why, everything=True)


def _nbest(problem: Problem) -> Answer | str:
    """The best of the most probable sequences (minimum risk); proven where these are all."""
    candidates = problem.most_probable(min(limits.LIST_LENGTH, problem.budget))
    if not candidates:
        return "a sequence of positive probability must satisfy the constraint"
    why = f"the best of the {len(candidates)} most probable sequences"
    everything = len(candidates) == len(problem.model.labels) ** problem.n
    return _best_listed(problem, candidates, why, everything)


def _best_listed(
    problem: Problem, candidates: Sequence[Ints], why: str, everything: bool
) -> Answer:
    """The best of the candidates that were valued; proven best of all where it is."""
    values = valued_candidates(problem, candidates)
    best = int((problem.sign * values).argmax())
    late = late_sentence(problem, len(values), len(candidates))
    is_all = everything and not late
    gap = 0.0 if is_all else np.inf
    return Answer(candidates[best], late or why, len(values), float(values[best]), gap)


def valued_candidates(problem: Problem, candidates: Sequence[Ints], engine: str = "auto") -> Floats:
    """The expected values, (k,), of the k >= 1 first candidates: all that may be valued.

    That are those of the budget; fewer, where the time is over before.
    """
    work = 1
    if engine == "openfst":
        work += problem.n**2 // limits.EXPLICIT_PER_CANDIDATE
    count = min(len(candidates), max(1, problem.budget // work))
    blocks = [problem.values(candidates[:1], engine)]
    done = 1
    clock = problem.clock
    while done < count and not clock.over(done / count):
        left = (clock.seconds - clock.elapsed) / max(clock.elapsed, 1e-9)
        size = max(1, min(done, limits.LARGEST_BLOCK, int(min(left * done, limits.LARGEST_BLOCK))))
        size = min(size, count - done)
        blocks.append(problem.values(candidates[done : done + size], engine))
        done += size
    return np.concatenate(blocks)


def late_sentence(problem: Problem, valued: int, count: int) -> str:
    """The sentence that says why not all candidates were valued; empty where they were."""
    if valued == count:
        return ""
    return f"the best of {valued:,} sequences, of {count:,}: {problem.stopped}"


# -- the search ------------------------------------------------------------------------------------


class Changes:
    """Expected values of single-label changes, for any number of sequences of one problem.

    One forward and one backward sweep over the machine with the hypothesis free give the mass
    before a position, and the backward value from there, for each label that could stand there.
    Where the loss is not defined for a sequence, its value here means nothing.
    """

    def __init__(self, problem: Problem) -> None:
        self._clock = problem.clock
        self._size = len(problem.loss.alphabet)
        self._view = problem.loss.defined.view(problem.n, None, weights=True)
        self._layer_step = LayerStep(problem.model.layered(), self._view.linear)
        self.steps = 0  # of all sweeps so far, for each state of the model

    def values(self, indices: Ints) -> Floats:
        """The expected value with the label at i replaced by a, (n, labels), if there is time."""
        layer_step = self._layer_step
        view = self._view
        size = self._size
        path = np.array([view.start], np.int64)  # states without a change
        layers = [path]
        masses = [layer_step.start]
        cached = dict[int, Steps]()
        cells = mass_cells = 0
        for i, label in enumerate(indices.tolist()):
            self._clock.check()
            codes = layers[-1]
            columns = slice(label * size, (label + 1) * size)
            mass_cells += len(codes) * layer_step.layered.widths[i]
            guard_size("search", mass_cells // limits.CELLS_PER_STATE)
            targets, gains = self._advance(i, codes)
            after = targets[np.isin(codes, path)]
            changed = np.union1d(after, targets[:, columns])
            layers.append(changed[changed >= 0])
            path = np.unique(after[:, columns])
            path = path[path >= 0]
            steps = _numbered(targets, gains, layers[-1])
            masses.append(layer_step.forward(i, masses[-1], steps, label * size))
            cells += targets.size * (1 + view.linear)
            self.steps += targets.size * layer_step.layered.widths[i]
            if cells <= limits.CACHED_STEPS:
                cached[i] = steps
        ending, slopes = view.values(layers[-1])
        ends = np.concatenate([ending[None], slopes])  # (quantities, states)
        beyond = ends[:, None, :] * layer_step.layered.final[:, None]
        table = np.empty((len(indices), size))
        for i in range(len(indices) - 1, -1, -1):
            self._clock.check()
            steps = cached.get(i) or _numbered(*self._advance(i, layers[i]), layers[i + 1])
            table[i] = layer_step.changed(i, mass := masses.pop(i), steps, beyond, size)
            beyond, _ = layer_step.backward(i, mass, steps, beyond, int(indices[i]) * size)
        return table

    def _advance(self, i: int, codes: Ints) -> tuple[Ints, Floats | None]:
        guard_size("search", len(codes) * self._view.symbols // limits.CELLS_PER_STATE)
        return self._view.advance(i + 1, codes)


def _numbered(targets: Ints, gains: Floats | None, after: Ints) -> Steps:
    """Steps whose targets are numbers of the states after them, -1 for all others."""
    place = np.minimum(np.searchsorted(after, targets), len(after) - 1)
    return steps_of(np.where(after[place] == targets, place, -1), gains, len(after))


def _search(problem: Problem) -> Answer:
    """The best of several local optima; proven only if no pair of sequences has a better value."""
    best = problem.likely_sequence()
    top = -np.inf
    tried = 0
    why = "the most probable allowed sequence"
    [answer] = looked_again([problem], [Answer(best, why, 1)])
    if isinstance(answer, Answer) and answer.exact:
        return answer
    ended = False
    changes = Changes(problem)
    starts = [best]
    with suppress(TimeoutError):
        starts = _starts(problem, best)
        for z, value, valued in _climbed(problem, changes, starts):
            if value > top:
                best = z
                top = value
            tried += valued
            if tried + changes.steps // limits.STEPS_PER_CANDIDATE >= problem.budget:
                break
        else:
            ended = True
    if ended:
        why = f"a local optimum: no single label change improves it, from {len(starts)} starts"
    elif tried:
        why = f"the best so far: {problem.stopped} before no single label change improved it"
    else:
        why = f"{why}: {problem.stopped} before any other was compared with it"
    return Answer(best, why, tried)


def _starts(problem: Problem, first: Ints) -> list[Ints]:
    """Distinct allowed sequences to climb from: probable ones, probable labels, ranked ones."""
    marginals = problem.model.marginals()
    candidates = [first, *problem.most_probable(limits.SEARCH_STARTS), marginals.argmax(axis=1)]
    order = np.argsort(marginals[:, 0], kind="stable")
    for share in (0.25, 0.5, 0.75):
        changed = np.zeros(problem.n, np.int64)
        positions = order[: round(share * problem.n)]
        if marginals.shape[1] > 1:
            changed[positions] = 1 + marginals[positions, 1:].argmax(axis=1)
        candidates.append(changed)
    distinct = {z.tobytes(): z.astype(np.int64) for z in candidates if problem.allows(z)}
    return list(distinct.values())


def _climbed(
    problem: Problem, changes: Changes, starts: Sequence[Ints]
) -> Iterator[tuple[Ints, float, int]]:
    """The sequences on the way up from each start, sign times value, and how many were valued."""
    visited = set[bytes]()
    for k, start in enumerate(starts):
        current: Ints | None = start
        for _ in range(limits.CLIMB_STEPS):
            if current is None or current.tobytes() in visited:
                break
            visited.add(current.tobytes())
            table = problem.sign * changes.values(current)
            value = float(table[0, current[0]]) if table.size else 0.0
            yield current, value, max(1, table.size)
            current = _best_change(problem, current, table, value)
        problem.clock.over((k + 1) / len(starts))


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


VITERBI = Method("viterbi", _equality_alone, _viterbi, together=True)
MARGINAL = Method(
    "marginal", lambda problem: None, one_by_one(_marginal), together=True, limited=False
)
NBEST = Method("nbest", lambda problem: None, one_by_one(_nbest))
EXHAUSTIVE = Method("exhaustive", _few_sequences, one_by_one(_exhaustive))
SEARCH = Method("search", lambda problem: None, one_by_one(_search))
