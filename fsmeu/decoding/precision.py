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
from fsmeu.expectation.expect import expect, expect_many
from fsmeu.expectation.result import check_finite
from fsmeu.fst.compose import guard_size
from fsmeu.fst.layers import any_layers, pair_layers
from fsmeu.limits import CELLS_PER_STATE, CHEAP_STATES
from fsmeu.losses.loss import SpecLoss
from fsmeu.losses.semantics.domains import RangeError, check_range, declared_range
from fsmeu.losses.semantics.evaluator import BoundLoss
from fsmeu.models import Model
from fsmeu.trellis.mover import Mover, Steps, steps_of
from fsmeu.trellis.roundings import LEAST

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
        layers, held = self._layers(indices)
        mover, size = self._mover, self._size
        masses = [mover.start]
        for i, label in enumerate(indices.tolist()):
            self._clock.check()
            masses.append(mover.forward(i, masses[-1], self._steps(i, layers, held), label * size))
        ending, slopes = self._view.values(layers[-1])
        ends = np.concatenate([ending[None], slopes])  # (quantities, states)
        beyond = ends[:, None, :] * mover.layered.final[:, None]
        table = np.empty((len(indices), size))
        for i in range(len(indices) - 1, -1, -1):
            self._clock.check()
            steps, mass = self._steps(i, layers, held), masses.pop(i)
            table[i] = mover.changed(i, mass, steps, beyond, size)
            beyond, _ = mover.backward(i, mass, steps, beyond, int(indices[i]) * size)
        return table

    def _layers(self, indices: Ints) -> tuple[list[Ints], dict[int, Steps]]:
        """States that one change can reach, layer by layer, and as many steps as memory takes."""
        size = self._size
        kept = np.array([self._view.start], np.int64)
        layers, held = [kept], {}
        cells = masses = 0
        for i, label in enumerate(indices.tolist()):
            self._clock.check()
            codes = layers[-1]
            targets, gains = self._advance(i, codes)
            columns = slice(label * size, (label + 1) * size)
            on_path = targets[np.isin(codes, kept)]
            kept = np.unique(on_path[:, columns])
            changed = np.union1d(on_path, targets[:, columns])
            layers.append(changed[changed >= 0])
            kept = kept[kept >= 0]
            masses += len(codes) * self._mover.layered.widths[i]
            guard_size("search", masses // CELLS_PER_STATE)
            cells += targets.size * (1 + self._view.linear)
            if cells <= HELD_STEPS:
                held[i] = _numbered(targets, gains, layers[-1])
        return layers, held

    def _steps(self, i: int, layers: list[Ints], held: dict[int, Steps]) -> Steps:
        """The steps at position i, numbered by the states that one change can reach."""
        if i in held:
            return held[i]
        return _numbered(*self._advance(i, layers[i]), layers[i + 1])

    def _advance(self, i: int, codes: Ints) -> tuple[Ints, Floats | None]:
        guard_size("search", len(codes) * self._view.symbols // CELLS_PER_STATE)
        return self._view.advance(i + 1, codes)


def _numbered(targets: Ints, gains: Floats | None, after: Ints) -> Steps:
    """Steps whose targets are numbers of the states after them, -1 for all others."""
    place = np.minimum(np.searchsorted(after, targets), len(after) - 1)
    return steps_of(np.where(after[place] == targets, place, -1), gains, len(after))


PRECISION = 1e-9
"""What is claimed to be best is so up to this part of its scale."""

NO_BETTER = "no pair of sequences that is possible has a better value"

FAR = 1e-6
"""A value that is farther from the end of the range, as a part of it, is not looked at again."""

VALUE_PRECISION = 1e-10
"""A value whose error is proven to be at most this part of it is not computed again."""


def is_proven(
    problem: Problem,
    values: Floats,
    errors: Floats,
    best: int,
    chosen: Ints,
    *,
    thorough: bool = True,
) -> bool:
    """True when no candidate can be better than the best by more than ``PRECISION``.

    Args:
        problem: what is decided.
        values: the value of each candidate, greater being better.
        errors: bounds on the error of each.
        best: the candidate of greatest value.
        chosen: label indices of its sequence.
        thorough: whether changes of single labels are valued where the value is a small measure.
    """
    with np.errstate(invalid="ignore"):
        reach = float((values + errors).max() - values[best] + errors[best])
    if reach <= PRECISION * abs(float(values[best])):
        return True
    if not thorough or not np.isfinite(reach):
        return False
    return reach <= PRECISION * _step(problem, chosen)


def checked(problems: Sequence[Problem], answers: Sequence[Answer]) -> list[Answer]:
    """The answers with their values by ``expect``, where that is cheap or no other is known.

    An answer is claimed to be exact no longer if the method had found another value. What was
    found is kept where its error is bounded by ``VALUE_PRECISION``. An answer whose value is the
    best that a pair of sequences has is exact, whatever the method.

    Args:
        problems: problems that differ in the numbers of their models only.
        answers: an answer to each.

    Raises:
        InputError: a value is no number that doubles can hold.
        RangeError: a value lies outside the range that the file declares.
    """
    unknown = [row for row, one in enumerate(answers) if not one.exact or one.value is None]
    values = dict[int, float]()
    if len(unknown) > 1:
        with suppress(FsmeuError):  # then one by one, and the error is that of one
            loss, models = problems[0].loss, [problems[row].model for row in unknown]
            zs = [loss.alphabet.decode(answers[row].indices) for row in unknown]
            values = dict(zip(unknown, expect_many(loss, zs, models).tolist(), strict=True))
    pairs = zip(problems, answers, strict=True)
    return [_checked(one, answer, values.get(row)) for row, (one, answer) in enumerate(pairs)]


def _checked(problem: Problem, answer: Answer, again: float | None) -> Answer:
    """The answer with the value that was computed again, or is computed now."""
    if again is None and not _is_precise(answer):
        known = answer.exact and answer.value is not None
        again = _value(problem, answer.indices, _cheap_states(problem) if known else None)
    if again is not None:
        answer = replace(_compared(problem, answer, again), value=again)
    check_finite("decode", answer.value)  # type: ignore[arg-type]
    if again is None and isinstance(problem.loss, SpecLoss):
        _check_range(problem.loss.bound, problem.n, answer.value, problem.model)
    return with_best_of_all(problem, answer)


def with_best_of_all(problem: Problem, answer: Answer) -> Answer:
    """The answer, exact where its value is the best that a pair of sequences has."""
    if answer.exact or problem.keep is not None:
        return answer
    if is_best_of_all(problem, answer.indices, answer.value):
        return replace(answer, exact=True, why=f"{answer.why}; {NO_BETTER}")
    return answer


def _check_range(bound: BoundLoss, n: int, value: float | None, model: Model) -> None:
    """Refuses an expected value outside the declared range, by more than the mass is off 1."""
    try:
        check_range(bound, n, np.array([value], np.float64))
    except RangeError:
        check_range(bound, n, np.array([value], np.float64) / (model.total_mass() or 1.0))


def _is_precise(answer: Answer) -> bool:
    """True when an exact answer has a value whose error is bounded by ``VALUE_PRECISION``."""
    known = answer.exact and answer.value is not None
    return known and answer.error <= VALUE_PRECISION * abs(answer.value or 0.0)


def _compared(problem: Problem, answer: Answer, again: float) -> Answer:
    """The answer, not exact if its value is another one than was found again."""
    off = 0.0 if answer.value is None else abs(answer.value - again)
    if not answer.exact or off <= PRECISION * abs(again):
        return answer
    if off <= PRECISION * _step(problem, answer.indices):
        return answer
    return replace(answer, exact=False, why=f"{answer.why}; but rounding hides which is best")


def _cheap_states(problem: Problem) -> int:
    """The number of states of a layer up to which walking all layers is cheap."""
    return max(1, CHEAP_STATES // max(1, problem.n))


def _value(problem: Problem, indices: Ints, limit: int | None) -> float | None:
    """The expected value of a sequence; None where it takes more states than the limit."""
    labels = problem.loss.alphabet.decode(indices)
    try:
        return expect(problem.loss, labels, problem.model, max_states=limit).value
    except SizeLimitError:
        if limit is None:
            raise
        return None


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
    labels = problem.loss.alphabet.decode(indices)
    with suppress(FsmeuError):
        ends = list(_ends(problem))
        if value is not None:
            ends = [end for end in ends if problem.sign * (end - value) <= FAR * abs(value) + LEAST]
        if not ends:
            return False
        found = expect(problem.loss, labels, problem.model, max_states=_cheap_states(problem))
        worst = found.lower if problem.sign > 0 else found.upper
        reach = PRECISION * abs(found.value) + 2 * LEAST
        return any(problem.sign * (end - worst) <= reach for end in ends)
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
