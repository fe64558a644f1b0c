"""A decoding problem, the methods that answer it, and whether an answer is proven to be best.

A method has a condition, which reads properties that are derived once and kept: of the loss (its
split by tape, its confusion form, what holds of them at a length) and of the problem (the model's
structure, the constraint, the sizes). Whoever chooses a method reads conditions, and tries none.

An answer is *exact* where its method finds the best by algebra, its search has closed, no sequence
being better by more than ``PROMISED`` of the scale, and it was *looked at again*: the expectation
of its labels, by a sweep for that one hypothesis, is the value that the method found. Or where its
value is the best that the file declares. What digits cannot tell is not exact, and says so.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TypeVar

import numpy as np

from fsmeu import errors, limits
from fsmeu.arrays import Floats, Ints
from fsmeu.decoding.clock import Clock as Clock
from fsmeu.decoding.decision import ReachedValue, second_look
from fsmeu.errors import FsmeuError, SizeLimitError
from fsmeu.expectation.expect import ExpectOptions, expectations_of, values_and_reaches
from fsmeu.expectation.query import Query, allowed_layers
from fsmeu.expectation.result import check_finite
from fsmeu.fst.constraint import Constraint, restricted
from fsmeu.losses.algebra.confusion import Confusion
from fsmeu.losses.algebra.split import Split
from fsmeu.losses.protocol import Loss, allowed_by_loss
from fsmeu.losses.semantics.at_length import RangeError
from fsmeu.models import Model
from fsmeu.models.chains import binary_marginals
from fsmeu.models.paths import most_probable
from fsmeu.trellis.engine import SplitTrellis
from fsmeu.trellis.estimate import PROMISED, scale_of
from fsmeu.trellis.trellis_cache import Refused, trellis_of

NEAR = 1e-6  # nothing is searched for that can be better by no more than this part of the scale
OPEN = "other sequences could be better by more than is promised"

T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class Problem:
    """Which label sequence has the best expected value?"""

    loss: Loss  # over the model's labels
    model: Model
    constraint: Constraint | None = None  # the sequences that are allowed, if not all
    keep: int | None = None  # states kept per layer, where values are approximate
    budget: int = limits.CANDIDATES  # the work of methods that try many candidates, in candidates
    clock: Clock = field(default_factory=Clock)  # the time that these may take, if limited

    def __post_init__(self) -> None:
        """Adds to the constraint that the loss is defined for the sequence."""
        allowed = allowed_by_loss(self.loss, self.constraint, self.n)
        object.__setattr__(self, "constraint", allowed)

    @property
    def n(self) -> int:
        """The length of the sequences."""
        return self.model.n

    @property
    def sign(self) -> float:
        """1 when greater is better, -1 when smaller is."""
        return 1.0 if self.loss.kind == "utility" else -1.0

    @property
    def stopped(self) -> str:
        """The sentence that says what ended a method early: the time, or else the budget."""
        if self.clock.over():
            return self.clock.ran_out
        return f"the budget of {self.budget:,} candidates was spent (raise it with budget=...)"

    @property
    def split(self) -> Split | None:
        """The loss split by tape, if it splits."""
        return self.loss.split

    @property
    def confusion(self) -> Confusion | None:
        """The loss as a function of (tp, hyp, ref, n), if it is one."""
        return self.loss.confusion

    @cached_property
    def trellis(self) -> SplitTrellis | Refused:
        """The trellis of a loss that splits, with the model and the sequences that are allowed."""
        allowed = None
        if self.constraint is not None:
            allowed = allowed_layers(self.model, self.constraint).layers
        return trellis_of(self.loss, self.model, allowed)

    @cached_property
    def probabilities(self) -> Floats | None:
        """P(y_i = second label) when labels are independent and there are two, else None."""
        return binary_marginals(self.model)

    def cached(self, what: Hashable, derive: Callable[[], T]) -> T:
        """A property of the loss at this length, derived once and cached on a loss of a file."""
        if self.loss.bound is None:
            return derive()
        return self.loss.bound.at(self.n).derived.get(("decoding", what), derive)

    def query(self, indices: Ints) -> Query:
        """The query for the expected value of a sequence."""
        return Query(self.loss, indices, None, self.model, "expect")

    def values(
        self, candidates: Sequence[Ints], engine: str = "auto", max_states: int | None = None
    ) -> Floats:
        """The expected values of sequences, (sequences,)."""
        queries = list(map(self.query, candidates))
        found: Floats = expectations_of(queries, ExpectOptions(engine, self.keep, max_states))[0]
        return found

    @cached_property
    def width(self) -> float:
        """The width of the range that the loss declares, infinite where it declares none."""
        return self.loss.value_range(self.n).width

    @cached_property
    def best_declared(self) -> float:
        """The best value that the loss declares, times the sign; infinite if it declares none."""
        return max(self.sign * end for end in self.loss.value_range(self.n))

    def most_probable(self, k: int) -> list[Ints]:
        """The most probable sequences that are allowed, best first; none of probability 0."""
        layered = self.model.layered()
        allowed = layered if self.constraint is None else restricted(layered, self.constraint)
        return [indices for indices, _ in most_probable(allowed, k)]

    def likely_sequence(self) -> Ints:
        """The most probable allowed sequence, or any that is allowed; there must be one."""
        if paths := self.most_probable(1):
            return paths[0]
        return most_probable(allowed_layers(self.model, self.constraint), 1)[0][0]

    def allows(self, indices: Ints) -> bool:
        """True when the constraint accepts the sequence."""
        return self.constraint is None or self.constraint.accepts(indices)


@dataclass(frozen=True, eq=False)
class Answer:
    """A sequence that a method decided on, and what is known of others."""

    indices: Ints  # label indices of the sequence
    why: str  # the property that makes it exact, or what was done
    candidates: int = 0  # sequences that were compared, 0 where it was not found like that
    value: float | None = None  # its expected value, where the method knows it
    gap: float = math.inf  # no sequence is better by more than this; infinite if nothing is known
    doubt: str = ""  # why the gap is not closed
    reach: float = 0.0  # how far the value may be off
    exact: bool = False  # whether it is proven, see ``looked_again``

    @property
    def reason(self) -> str:
        """Why it is exact; or what was done, and why that is no proof."""
        return f"{self.why}; but {self.doubt}" if self.doubt and not self.exact else self.why


class RefusalError(errors.InputError):
    """A method's condition does not hold for a problem; ``must`` says which."""


@dataclass(frozen=True)
class Method:
    """A method by its name, its condition and its work.

    The condition says what must hold of a problem and does not, None where it holds; it may raise
    what deriving a property raises. ``obstacle`` is the error that the work would meet where the
    condition holds, None where it meets none. ``decide`` has the answers to problems alike, to
    which the method applies, or what was seen not to hold while computing; ``together`` says that
    these are decided faster than one by one, ``limited`` that it decides among sequences that a
    constraint allows, so that it has the second best, too. ``claim`` is why the answer is exact,
    rounding aside, without deciding; without it, only an answer tells. ``after_counting`` says
    that exact counts decide a problem faster, so that they come first.
    """

    name: str
    condition: Callable[[Problem], str | None]
    decide: Callable[[Sequence[Problem]], Sequence[Answer | str]]
    together: bool = False
    limited: bool = True
    claim: Callable[[Problem], str] | None = None
    obstacle: Callable[[Problem], FsmeuError | None] = lambda problem: None
    after_counting: Callable[[Problem], bool] = lambda problem: False

    def refusal(self, problem: Problem) -> FsmeuError | None:
        """The error that says why the method does not apply; None where it does.

        A property that cannot be derived, as a value is undefined or there are too many of them,
        does not hold: another method may do without. Values that leave the declared range are an
        error for all methods: a RangeError is raised.
        """
        try:
            unmet = self.condition(problem)
        except RangeError:
            raise
        except (errors.LossFileError, SizeLimitError) as error:
            return error
        if unmet is not None:
            return self.refused(unmet)
        obstacle = self.obstacle(problem)
        if isinstance(obstacle, RangeError):
            raise obstacle.with_traceback(None)
        if obstacle is None or isinstance(obstacle, errors.LossFileError | SizeLimitError):
            return obstacle
        return self.refused(obstacle.must)

    def refused(self, must: str) -> RefusalError:
        """The error that says what must hold of a problem and does not."""
        remedy = errors.wording("Use ", errors.Argument("method", '"auto"'), ", or one that fits")
        return RefusalError(f"decode by {self.name}", must, remedy=remedy)

    def check(self, problem: Problem) -> None:
        """Refuses a problem to which the method does not apply, by the error that says why."""
        refusal = self.refusal(problem)
        if refusal is not None:
            raise refusal.with_traceback(None)

    def reason(self, problem: Problem) -> str | None:
        """Why the answer is exact, None where it is not; an error where it does not apply."""
        self.check(problem)
        if self.claim is not None:
            return self.claim(problem)
        answer = self(problem)
        return answer.reason if answer.exact else None

    def __call__(self, problem: Problem) -> Answer:
        """The answer to a problem; an error where the method does not apply."""
        self.check(problem)
        [answer] = looked_again([problem], self.decide([problem]))
        if isinstance(answer, str):
            raise self.refused(answer)
        return answer


def one_by_one(
    decide: Callable[[Problem], Answer | str],
) -> Callable[[Sequence[Problem]], list[Answer | str]]:
    """A function of several problems that decides one after the other."""
    return lambda problems: [decide(problem) for problem in problems]


# -- whether an answer is proven -------------------------------------------------------------------


def looked_again(
    problems: Sequence[Problem], answers: Sequence[Answer | str]
) -> list[Answer | str]:
    """The answers, if any, with the expectations of their labels as values, and what is proven.

    Every answer that claims a proof, or has no value of its own, is looked at: one sweep for each
    structure.

    Raises:
        RangeError: a value lies outside of the declared range.
        InputError: a value is no number that doubles hold.
    """
    by_row = {row: answer for row, answer in enumerate(answers) if isinstance(answer, Answer)}
    rows = [row for row, answer in by_row.items() if _is_asked(problems[row], answer)]
    queries = [problems[row].query(by_row[row].indices) for row in rows]
    found: list[list[float] | None]
    try:
        found = values_and_reaches(queries).T.tolist() if queries else []
    except SizeLimitError:  # then one by one: the answers without a value have none
        found = [_value_and_reach(problems[row], by_row[row]) for row in rows]
    again = dict(zip(rows, found, strict=True))
    results: list[Answer | str] = list(answers)
    for row, answer in by_row.items():
        results[row] = _looked_at(problems[row], answer, again.get(row))
    return results


def _is_asked(problem: Problem, answer: Answer) -> bool:
    """Whether an answer is looked at again."""
    return answer.value is None or problem.keep is not None or _is_closed(problem, answer)


def _is_closed(problem: Problem, answer: Answer) -> bool:
    """Whether no sequence is better by more than is promised, if the answer has its value."""
    return bool(answer.gap <= PROMISED * scale_of(answer.value or 0.0, problem.width))


def _value_and_reach(problem: Problem, answer: Answer) -> list[float] | None:
    """The expectation of an answer and how far it may be off; None where that is too large."""
    try:
        value, reach = values_and_reaches([problem.query(answer.indices)])[:, 0].tolist()
        return [value, reach]
    except SizeLimitError:
        if answer.value is None:
            raise
        return None


def _looked_at(problem: Problem, answer: Answer, again: Sequence[float] | None) -> Answer:
    """The answer with its expectation ``again``, (value, reach), if it was looked at."""
    if again is None:
        assert answer.value is not None
        check_finite("decode", answer.value)
        problem.loss.check_range(problem.n, np.array([answer.value / _mass(problem)]))
        return _at_declared_end(problem, answer)
    value, reach = again
    known = value if answer.value is None else answer.value
    look = second_look(known, ReachedValue(value, reach, answer.gap), problem.width)
    closed = problem.keep is None and look.is_closed
    doubt = answer.doubt or OPEN
    if closed and not look.has_digits:
        doubt = "terms of both signs cancel too many digits of its value"
    elif closed and not look.is_same:
        doubt = f"the expectation of its labels, {value!r}, is not the value found, {known!r}"
        answer = replace(answer, gap=math.inf)
    exact = problem.keep is None and look.exact
    answer = replace(answer, value=value, reach=reach, exact=exact, doubt=doubt)
    return _at_declared_end(problem, answer)


def _mass(problem: Problem) -> float:
    """The mass of the model, 1 but for rounding, or as much as a user gave it."""
    return problem.model.total_mass() or 1.0


def _at_declared_end(problem: Problem, answer: Answer) -> Answer:
    """The answer, exact where its value is the best that the loss declares."""
    assert answer.value is not None
    if answer.exact or problem.keep is not None or not math.isfinite(problem.best_declared):
        return answer
    left = problem.best_declared * _mass(problem) - problem.sign * answer.value
    gap = min(answer.gap, max(0.0, left) + answer.reach)
    if left > PROMISED * float(scale_of(answer.value, problem.width)):
        return replace(answer, gap=gap)
    why = f"{answer.why}; no pair of sequences has a better value"
    return replace(answer, exact=True, why=why, gap=gap)


def is_near(problem: Problem, answer: Answer) -> bool:
    """Whether nothing that is worth a search can be better than an answer, which has a value."""
    assert answer.value is not None
    return bool(answer.gap <= NEAR * scale_of(answer.value, problem.width))
