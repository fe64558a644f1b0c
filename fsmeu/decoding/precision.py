"""How far rounding reaches, and whether a best value is still the best beyond it.

An exact method compares numbers that doubles have rounded. It bounds the error of each, and claims
its best only if no other could be better by more than ``PRECISION``, as a part of its value or of
what changing one of its labels costs in the median, whichever is greater: a best loss may be next
to 0. Or if its value is the best that any pair of sequences has, whatever the method. The value of
a pair of sequences is what doubles make of the file's expression: digits that are lost there are
lost to every method, and no part of the claim.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace

import numpy as np

from fsmeu.arrays import Floats, Ints
from fsmeu.decoding.problem import Answer, Problem
from fsmeu.errors import FsmeuError, SizeLimitError
from fsmeu.expectation.expect import expectation_of, values_and_errors
from fsmeu.expectation.result import check_finite
from fsmeu.fst.compose import guard_size
from fsmeu.fst.layers import any_layers, pair_layers
from fsmeu.limits import CELLS_PER_STATE, CHEAP_STATES
from fsmeu.losses.loss import SpecLoss
from fsmeu.losses.semantics.domains import RangeError, check_range, declared_range
from fsmeu.trellis.roundings import LEAST
from fsmeu.trellis.walk import Mover, Steps, steps_of

PRECISION = 1e-9  # what is claimed to be best is so up to this part of its scale
VALUE_PRECISION = 1e-10  # a value with an error of at most this part is not computed again
FAR = 1e-6  # a value that is farther from the end of the range, as a part of it, is not at the end
NO_BETTER = "no pair of sequences that is possible has a better value"
HELD_STEPS = 1 << 24  # cells of steps held between two passes over single changes: 128 MB


class Changes:
    """Expected values of single-label changes, for any number of sequences of one problem.

    One forward and one backward sweep over the machine with the hypothesis free give the mass
    before a position, and the value of the rest from there, for each label that could stand there.
    """

    def __init__(self, problem: Problem) -> None:
        self._clock, self._size = problem.clock, len(problem.loss.alphabet)
        self._view = problem.loss.view(problem.n, None, weights=True)
        self._mover = Mover(problem.model.layered(), self._view.linear)

    def values(self, indices: Ints) -> Floats:
        """The expected value with the label at i replaced by a, (n, labels), if there is time."""
        mover, view, size = self._mover, self._view, self._size
        path = np.array([view.start], np.int64)  # states without a change
        layers, masses, held = [path], [mover.start], dict[int, Steps]()
        cells = mass_cells = 0
        for i, label in enumerate(indices.tolist()):
            self._clock.check()
            codes, columns = layers[-1], slice(label * size, (label + 1) * size)
            mass_cells += len(codes) * mover.layered.widths[i]
            guard_size("search", mass_cells // CELLS_PER_STATE)
            targets, gains = self._advance(i, codes)
            after = targets[np.isin(codes, path)]
            changed = np.union1d(after, targets[:, columns])
            layers.append(changed[changed >= 0])
            path = np.unique(after[:, columns])
            path = path[path >= 0]
            steps = _numbered(targets, gains, layers[-1])
            masses.append(mover.forward(i, masses[-1], steps, label * size))
            cells += targets.size * (1 + view.linear)
            if cells <= HELD_STEPS:
                held[i] = steps
        ending, slopes = view.values(layers[-1])
        ends = np.concatenate([ending[None], slopes])  # (quantities, states)
        beyond = ends[:, None, :] * mover.layered.final[:, None]
        table = np.empty((len(indices), size))
        for i in range(len(indices) - 1, -1, -1):
            self._clock.check()
            steps = held.get(i) or _numbered(*self._advance(i, layers[i]), layers[i + 1])
            table[i] = mover.changed(i, mass := masses.pop(i), steps, beyond, size)
            beyond, _ = mover.backward(i, mass, steps, beyond, int(indices[i]) * size)
        return table

    def _advance(self, i: int, codes: Ints) -> tuple[Ints, Floats | None]:
        guard_size("search", len(codes) * self._view.symbols // CELLS_PER_STATE)
        return self._view.advance(i + 1, codes)


def _numbered(targets: Ints, gains: Floats | None, after: Ints) -> Steps:
    """Steps whose targets are numbers of the states after them, -1 for all others."""
    place = np.minimum(np.searchsorted(after, targets), len(after) - 1)
    return steps_of(np.where(after[place] == targets, place, -1), gains, len(after))


def is_proven(
    problem: Problem, values: Floats, errors: Floats, best: int, chosen: Ints, thorough: bool = True
) -> bool:
    """True when no candidate can be better than the best by more than ``PRECISION``.

    Values, greater being better, have bounds on their errors. The best one is that of ``chosen``,
    whose changes of single labels are valued where its value is a small measure, if ``thorough``.
    """
    with np.errstate(invalid="ignore"):
        reach = float((values + errors).max() - values[best] + errors[best])
    return is_within(problem, reach, float(values[best]), chosen, thorough)


def is_within(
    problem: Problem, reach: float, value: float, chosen: Ints, thorough: bool = True
) -> bool:
    """True when a reach beyond the value of a sequence is at most ``PRECISION``."""
    if reach <= PRECISION * abs(value):
        return True
    return thorough and bool(np.isfinite(reach)) and reach <= PRECISION * _step(problem, chosen)


def checked(problems: Sequence[Problem], answers: Sequence[Answer]) -> list[Answer]:
    """The answers with their values by ``expect``, where that is cheap or no other is known.

    An answer is claimed to be exact no longer if the method had found another value. An InputError
    where a value is no number that doubles hold, a RangeError outside of the declared range.
    """
    unknown = [row for row, one in enumerate(answers) if not one.exact or one.value is None]
    values = dict[int, float]()
    if len(unknown) > 1:
        with suppress(FsmeuError):  # then one by one, and the error is that of one
            asked = [problems[row].query(answers[row].indices) for row in unknown]
            values = dict(zip(unknown, values_and_errors(asked)[0].tolist(), strict=True))
    pairs = zip(problems, answers, strict=True)
    return [_checked(one, answer, values.get(row)) for row, (one, answer) in enumerate(pairs)]


def _checked(problem: Problem, answer: Answer, again: float | None) -> Answer:
    """The answer with the value that was computed again, or is computed now."""
    known = answer.exact and answer.value is not None
    if again is None and not (known and answer.error <= VALUE_PRECISION * abs(answer.value or 0.0)):
        limit = _cheap_states(problem) if known else None
        try:
            again = expectation_of(problem.query(answer.indices), limit).value
        except SizeLimitError:
            if not known:
                raise
    if again is not None:
        off = abs((answer.value or 0.0) - again) if known else 0.0
        if off > PRECISION * abs(again) and off > PRECISION * _step(problem, answer.indices):
            why = f"{answer.why}; but rounding hides which is best"
            answer = replace(answer, exact=False, why=why)
        answer = replace(answer, value=again)
    check_finite("decode", answer.value)  # type: ignore[arg-type]
    if again is None and isinstance(problem.loss, SpecLoss):
        value, bound = np.array([answer.value], np.float64), problem.loss.bound
        try:
            check_range(bound, problem.n, value)
        except RangeError:  # the mass may be off 1
            check_range(bound, problem.n, value / (problem.model.total_mass() or 1.0))
    return with_best_of_all(problem, answer)


def with_best_of_all(problem: Problem, answer: Answer) -> Answer:
    """The answer, exact where its value is the best that a pair of sequences has."""
    if answer.exact or problem.keep is not None:
        return answer
    if is_best_of_all(problem, answer.indices, answer.value):
        return replace(answer, exact=True, why=f"{answer.why}; {NO_BETTER}")
    return answer


def _cheap_states(problem: Problem) -> int:
    """The number of states of a layer up to which walking all layers is cheap."""
    return max(1, CHEAP_STATES // max(1, problem.n))


def _step(problem: Problem, indices: Ints) -> float:
    """The median of what changing one label does to the value, 0 where it is not cheap to know."""
    with suppress(FsmeuError):
        changed = Changes(problem).values(indices)
        others = np.arange(changed.shape[1]) != indices[:, None]
        if others.any():
            own = changed[~others].mean()
            step = float(np.median(np.abs(changed[others] - own)))
            return step if np.isfinite(step) else 0.0
    return 0.0


def is_best_of_all(problem: Problem, indices: Ints, value: float | None = None) -> bool:
    """True when the expected value of a sequence, known or not, is at the end of the range."""
    with suppress(FsmeuError):
        ends = list(_ends(problem))
        if value is not None:
            ends = [end for end in ends if problem.sign * (end - value) <= FAR * abs(value) + LEAST]
        if not ends:
            return False
        found = expectation_of(problem.query(indices), _cheap_states(problem))
        worst, best = sorted((found.lower, found.upper), key=lambda x: problem.sign * x)
        reach = PRECISION * abs(found.value) + 2 * LEAST
        off = [(problem.sign * (end - worst), problem.sign * (end - best)) for end in ends]
        return any(far <= reach and near <= LEAST for far, near in off)
    return False


def _ends(problem: Problem) -> Iterator[float]:
    """Bounds of the value on its better side: what the file declares; what one reference allows."""
    better = max if problem.sign > 0 else min
    if isinstance(problem.loss, SpecLoss):
        yield better(declared_range(problem.loss.bound, problem.n))
    if np.isin(problem.model.marginals(), (0.0, 1.0)).all():
        pairs = pair_layers(any_layers(problem.loss.alphabet, problem.n), problem.model.layered())
        machine = problem.loss.compile(problem.n, None, CHEAP_STATES, pairs=pairs)
        yield better(machine.values[~np.isnan(machine.values)].tolist())
