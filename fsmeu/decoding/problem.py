"""A decoding problem, the methods that answer it, and whether an answer is proven to be best.

A method has a condition, which reads properties that are derived once and kept: of the loss (its
split by tape, its confusion form, what holds of them at a length) and of the problem (the model's
structure, the constraint, the sizes). Whoever chooses a method reads conditions, and tries none.

An exact method compares numbers that doubles have rounded. It bounds the error of each, and claims
its best only if no other could be better by more than ``PRECISION``, as a part of its value or of
what changing one of its labels costs in the median, whichever is greater: a best loss may be next
to 0. Or if its value is the best that any pair of sequences has, whatever the method. The value of
a pair of sequences is what doubles make of the file's expression: digits that are lost there are
lost to every method, and no part of the claim.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, TypeVar

import numpy as np

from fsmeu import errors, limits
from fsmeu.arrays import Floats, Ints
from fsmeu.decoding.clock import Clock as Clock
from fsmeu.decoding.decision import PRECISION
from fsmeu.errors import FsmeuError, SizeLimitError
from fsmeu.expectation.expect import (
    ExpectOptions,
    expectation_of,
    swept_trellis,
    values_and_errors,
)
from fsmeu.expectation.query import BinaryLabels, Query, allowed_layers, binary_labels
from fsmeu.expectation.result import check_finite
from fsmeu.fst.constraint import Constraint, restricted
from fsmeu.fst.layers import pair_layers
from fsmeu.losses.algebra.confusion import Confusion
from fsmeu.losses.algebra.split import Split
from fsmeu.losses.protocol import Loss, allowed_by_loss
from fsmeu.losses.semantics.at_length import RangeError
from fsmeu.models import Model
from fsmeu.models.paths import most_probable
from fsmeu.trellis.engine import SplitTrellis
from fsmeu.trellis.roundings import LEAST, BoundedValue
from fsmeu.trellis.trellis_cache import Refused, trellis_of

NEAR = 1e-6  # nothing is searched for that can be better by no more than this part of the scale
UNSEEN = 1e-12  # nor by no more than this part of a finite range
FAR = 1e-6  # a value that is farther from the end of the range, as a part of it, is not at the end
HIDDEN = "rounding hides which is best"


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
    def cheap_states(self) -> int:
        """How many states may be built at once to value a sequence where that is to be cheap.

        Those of a sweep over a trellis, or of a layer where all layers are walked.
        """
        if swept_trellis(self.loss, self.model, limits.CHEAP_STATES) is not None:
            return limits.CHEAP_STATES
        return max(1, limits.CHEAP_STATES // max(1, self.n))

    @cached_property
    def trellis(self) -> SplitTrellis | Refused:
        """The trellis of a loss that splits, with the model and the sequences that are allowed."""
        allowed = None
        if self.constraint is not None:
            allowed = allowed_layers(self.model, self.constraint).layers
        return trellis_of(self.loss, self.model, allowed)

    @cached_property
    def binary(self) -> BinaryLabels | None:
        """The labels by the probability of the second, if two that are independent, else None."""
        return binary_labels(self.loss, self.model)

    @property
    def probabilities(self) -> Floats | None:
        """P(y_i = second label) when labels are independent and there are two, else None."""
        return None if self.binary is None else self.binary.p

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
        """The expected values of sequences, and bounds on errors, (2, sequences)."""
        queries = list(map(self.query, candidates))
        return values_and_errors(queries, ExpectOptions(engine, self.keep, max_states))

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
    """A sequence that a method decided on, and whether it is proven best."""

    indices: Ints  # label indices of the sequence
    exact: bool  # whether no sequence is better
    why: str  # the property that makes it exact, or why it is not proven
    candidates: int = 0  # sequences that were compared, 0 where it was not found like that
    value: float | None = None  # its expected value, where the method knows it
    error: float = math.inf  # a bound on the error of the value
    near: bool = False  # whether no sequence is better by more than ``NEAR``, or ``UNSEEN``
    gap: float = math.inf  # no sequence is better by more than this; infinite if nothing is known
    doubt: str = ""  # why its gap is no proof, where it is none

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
        answer = self.decide([problem])[0]
        if isinstance(answer, str):
            raise self.refused(answer)
        return certify_by_changes(problem, answer)


def one_by_one(
    decide: Callable[[Problem], Answer | str],
) -> Callable[[Sequence[Problem]], list[Answer | str]]:
    """A function of several problems that decides one after the other."""
    return lambda problems: [decide(problem) for problem in problems]


# -- whether an answer is proven -------------------------------------------------------------------


@np.errstate(invalid="ignore")
def optimality_gap(values: Floats, errors: Floats, best: Any) -> Any:
    """Bounds, (...), on how far others are above the best of (..., values), given their errors."""
    at = (*np.indices(np.shape(best)), best)
    return (values + errors).max(axis=-1) - values[at] + errors[at]


def certify(problem: Problem, answer: Answer, gap: float, doubt: str = HIDDEN) -> Answer:
    """The answer, exact where no other is better by more than ``PRECISION``, a part of its value.

    Where it is not exact, ``doubt`` says why.
    """
    scale = abs(answer.value or 0.0)
    exact = bool(gap <= PRECISION * scale)
    near = bool(gap <= NEAR * scale) or _is_unseen(problem, gap)
    return replace(answer, exact=exact, near=near, gap=float(gap), doubt=doubt)


def certify_by_changes(problem: Problem, answer: Answer) -> Answer:
    """The answer, exact where its gap is as small beside what changes of single labels cost.

    That takes as long as valuing some sequences: it is asked once no method has a proof.
    """
    share = PRECISION if answer.near else NEAR  # what a greater scale could show
    most = share * problem.loss.value_range(problem.n).width
    if answer.exact or answer.gap == math.inf or answer.gap > most:
        return answer
    scale = _step(problem, answer.indices)
    exact = bool(answer.gap <= PRECISION * scale)
    near = answer.near or bool(answer.gap <= NEAR * scale)
    return replace(answer, exact=exact, near=near)


def _is_unseen(problem: Problem, gap: float) -> bool:
    """Whether a gap is next to nothing beside what values may be."""
    width = problem.loss.value_range(problem.n).width
    return math.isfinite(width) and gap <= UNSEEN * width


def valued(problems: Sequence[Problem], answers: Sequence[Answer | str]) -> list[Answer | str]:
    """The answers, if any, with their values by ``expect``, where that is cheap or none is known.

    An answer is claimed to be exact no longer if the method had found another value. An InputError
    where a value is no number that doubles hold, a RangeError outside of the declared range.
    """
    by_row = {row: answer for row, answer in enumerate(answers) if isinstance(answer, Answer)}
    unknown = [row for row, answer in by_row.items() if answer.value is None]
    values = dict[int, BoundedValue]()
    if len(unknown) > 1:
        with suppress(FsmeuError):  # then one by one, and the error is that of one
            queries = [problems[row].query(by_row[row].indices) for row in unknown]
            pairs = values_and_errors(queries).T.tolist()
            values = {row: BoundedValue(*pair) for row, pair in zip(unknown, pairs, strict=True)}
    done = {
        row: _with_value(problems[row], answer, values.get(row)) for row, answer in by_row.items()
    }
    return [done.get(row, answer) for row, answer in enumerate(answers)]


def _with_value(problem: Problem, answer: Answer, again: BoundedValue | None) -> Answer:
    """The answer with the value ``again``; where that is None, with one that is computed now.

    No value is computed where the method knows one and either knows it well or claims no proof.
    """
    if again is None and answer.value is None:
        again = _value_of(problem, answer, None)
    elif again is None and answer.exact and not _is_valued_well(answer):
        with suppress(SizeLimitError):
            again = _value_of(problem, answer, problem.cheap_states)
    if again is None:
        return _in_range(problem, answer)
    if answer.exact and answer.value is not None:
        off = abs(answer.value - again.value)
        if off > PRECISION * abs(again.value) and off > PRECISION * _step(problem, answer.indices):
            answer = replace(answer, exact=False, doubt=HIDDEN, gap=math.inf)
    answer = replace(answer, value=again.value, error=again.error)
    return _in_range(problem, answer, known=True)


def _is_valued_well(answer: Answer) -> bool:
    """Whether the error of its value is a part of it that a proof allows."""
    return answer.value is not None and answer.error <= PRECISION * abs(answer.value)


def _value_of(problem: Problem, answer: Answer, max_states: int | None) -> BoundedValue:
    """The expected value of an answer by ``expect``."""
    found = expectation_of(problem.query(answer.indices), ExpectOptions(max_states=max_states))
    return BoundedValue(found.value, max(found.upper - found.value, found.value - found.lower))


def revalued(problem: Problem, answer: Answer) -> Answer:
    """The answer that no method proves, with its value by ``expect`` where it is not known well."""
    if answer.exact or _is_valued_well(answer):
        return answer
    try:
        again = _value_of(problem, answer, None)
    except RangeError:
        raise
    except (SizeLimitError, errors.LossFileError):
        return answer
    if again.error >= answer.error:
        return answer
    return replace(answer, value=again.value, error=again.error)


def in_range(problems: Sequence[Problem], answers: Sequence[Answer | str]) -> list[Answer | str]:
    """The answers, if any, whose values a method knows, as they are: errors are as of ``valued``.

    An answer is exact where its value is the best that a pair of sequences has.
    """
    pairs = zip(problems, answers, strict=True)
    return [a if isinstance(a, str) else _in_range(problem, a) for problem, a in pairs]


def _in_range(problem: Problem, answer: Answer, known: bool = False) -> Answer:
    """The answer with a finite value in the declared range, if that is not known already."""
    check_finite("decode", answer.value)  # type: ignore[arg-type]
    if not known:
        value = np.array([answer.value], np.float64)
        try:
            problem.loss.check_range(problem.n, value)
        except RangeError:  # the mass may be off 1
            mass = problem.model.total_mass() or 1.0
            problem.loss.check_range(problem.n, value / mass)
    return with_best_of_all(problem, answer)


def _step(problem: Problem, indices: Ints) -> float:
    """The median of |change of the value| over some changes of one label, 0 where it is not cheap.

    It is 0, too, where the loss is not defined for all sequences, as changes may leave these.
    """
    labels = len(problem.loss.alphabet)
    if problem.n == 0 or labels == 1 or problem.loss.allowed(problem.n) is not None:
        return 0.0
    rows = np.arange(limits.MEASURED_CHANGES)
    places = np.linspace(0, problem.n - 1, limits.MEASURED_CHANGES).astype(int)
    changed = np.repeat(indices[None], limits.MEASURED_CHANGES, axis=0)
    changed[rows, places] = (indices[places] + 1 + rows % (labels - 1)) % labels
    with suppress(FsmeuError, TimeoutError):
        values, _ = problem.values([indices, *changed], max_states=problem.cheap_states)
        step = float(np.median(np.abs(values[1:] - values[0])))
        return step if np.isfinite(step) else 0.0
    return 0.0


def with_best_of_all(problem: Problem, answer: Answer) -> Answer:
    """The answer, exact where its value, known or not, is the best that a pair of sequences has."""
    if answer.exact or problem.keep is not None:
        return answer
    with suppress(FsmeuError):
        sign = problem.sign
        value = answer.value
        ends = list(_ends(problem))
        if value is not None:
            ends = [end for end in ends if sign * (end - value) <= FAR * abs(value) + LEAST]
        if not ends:
            return answer
        cheap = ExpectOptions(max_states=problem.cheap_states)
        expectation = expectation_of(problem.query(answer.indices), cheap)
        worst, best = sorted((expectation.lower, expectation.upper), key=lambda x: sign * x)
        reach = PRECISION * abs(expectation.value) + 2 * LEAST
        if any(sign * (x - worst) <= reach and sign * (x - best) <= LEAST for x in ends):
            why = f"{answer.why}; no pair of sequences that is possible has a better value"
            return replace(answer, exact=True, why=why)
    return answer


def _ends(problem: Problem) -> Iterator[float]:
    """Bounds of the value on its better side: what the file declares; what one reference allows."""
    better = max if problem.sign > 0 else min
    end = better(problem.loss.value_range(problem.n))
    if math.isfinite(end):
        yield end
    is_cheap = problem.n * len(problem.loss.alphabet) ** 2 <= limits.LISTED_ARCS
    if is_cheap and np.isin(problem.model.marginals(), (0.0, 1.0)).all():
        hypotheses = allowed_layers(problem.model, problem.constraint)
        pairs = pair_layers(hypotheses, problem.model.layered())
        machine = problem.loss.compile(problem.n, None, limits.CHEAP_STATES, pairs=pairs)
        yield better(machine.values[~np.isnan(machine.values)].tolist())
