"""A decoding problem, the time that it may take, the methods that answer it, and their answers.

A method has a condition, which reads properties that are derived once and kept: of the loss (its
split by tape, its confusion form, what holds of them at a length) and of the problem (the model's
structure, the constraint, the sizes). Whoever chooses a method reads conditions, and tries none.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from numbers import Real
from typing import Any, TypeVar

import numpy as np

from fsmeu import errors
from fsmeu.arrays import Floats, Ints
from fsmeu.expectation.expect import expectation_of, values_and_errors
from fsmeu.expectation.query import Query, allowed_layers
from fsmeu.fst.alphabet import Label
from fsmeu.fst.constraint import Constraint, restricted, walk
from fsmeu.limits import CANDIDATES
from fsmeu.losses.algebra.confusion import Confusion
from fsmeu.losses.algebra.split import Split
from fsmeu.losses.loss import SpecLoss
from fsmeu.losses.protocol import Loss
from fsmeu.losses.semantics.domains import RangeError
from fsmeu.models import Model
from fsmeu.models.chains import binary_marginals
from fsmeu.models.paths import most_probable

_BETWEEN = 0.1


class OutOfTimeError(errors.FsmeuError):
    """The time of a decision is over; whoever tries candidates answers with the best so far."""


def allowed_sequences(constraint: Constraint | None, labels: int, n: int, budget: int) -> Ints:
    """All allowed sequences of label indices in order, (sequences, n), no more than the budget."""
    steps = walk(constraint, labels, n)
    count = np.isin(np.arange(steps.widths[-1]), steps.ends).astype(np.float64)
    for after in reversed(steps.next):
        count = np.where(after >= 0, np.append(count, 0.0)[after], 0.0).sum(axis=1)
    if count.sum() > budget:
        must = f"there may be at most {budget:,} allowed sequences, not {count.sum():.6g}"
        raise errors.SizeLimitError(errors.message("decode", must, None, "Raise the budget"))
    found, state = np.zeros((1, 0), np.int64), np.zeros(1, np.int64)
    for after in steps.next:
        row, label = np.nonzero(after[state] >= 0)
        found = np.column_stack([found[row], label])
        state = after[state[row], label]
    return found


class Clock:
    """The time since it was first asked, against a limit in seconds, None for no limit.

    ``progress`` is called with the share of the work that is done, 0 to 1, a few times a second.
    """

    def __init__(
        self,
        seconds: float | None = None,
        progress: Callable[[float], None] | None = None,
        where: str = "decode",
    ) -> None:
        given: Any = math.inf if seconds is None else seconds
        if isinstance(given, bool) or not isinstance(given, Real) or not float(given) > 0:
            must = "seconds must be a number above 0, or None for no limit"
            raise errors.InputError(errors.message(where, must, seconds))
        self.seconds, self._progress = float(given), progress
        self._begin: float | None = None
        self._told, self._done = -math.inf, 0.0

    @property
    def elapsed(self) -> float:
        """Seconds since the clock was first asked."""
        now = time.monotonic()
        if self._begin is None:
            self._begin = self._told = now
        return now - self._begin

    def over(self) -> bool:
        """True when there is no time left; tells how much of the work, or of the time, is done."""
        passed = self.elapsed
        now = time.monotonic()
        if self._progress is not None and now - self._told > _BETWEEN:
            self._told = now
            self._progress(min(1.0, max(self._done, passed / self.seconds)))
        return passed > self.seconds

    def check(self) -> None:
        """Raises an OutOfTimeError when there is no time left."""
        if self.over():
            raise OutOfTimeError(errors.message("decode", f"it may take {self.seconds:g} seconds"))

    def tell(self, done: float) -> None:
        """Takes note of the share of the work that is done."""
        self._done = max(self._done, done)

    def half(self) -> Clock:
        """A clock for a first attempt, which may take half of the time."""
        return Clock(self.seconds / 2, self._progress)


T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class Problem:
    """Which label sequence has the best expected value?"""

    loss: Loss  # over the model's labels
    model: Model
    constraint: Constraint | None = None  # the sequences that are allowed, if not all
    keep: int | None = None  # states kept per layer, where values are approximate
    budget: int = CANDIDATES  # how many candidates methods that try many may value
    clock: Clock = field(default_factory=Clock)  # the time that these may take
    jobs: int = 1  # threads that may decide this problem and others like it

    @property
    def n(self) -> int:
        """The length of the sequences."""
        return self.model.n

    @property
    def sign(self) -> float:
        """1 when greater is better, -1 when smaller is."""
        return 1.0 if self.loss.kind == "utility" else -1.0

    @property
    def split(self) -> Split | None:
        """The loss split by tape, if it splits."""
        return self.loss.split if isinstance(self.loss, SpecLoss) else None

    @property
    def confusion(self) -> Confusion | None:
        """The loss as a function of (tp, hyp, ref, n), if it is one."""
        return self.loss.confusion if isinstance(self.loss, SpecLoss) else None

    @property
    def probabilities(self) -> Floats | None:
        """P(y_i = second label) when labels are independent and there are two, else None."""
        return binary_marginals(self.model)

    def kept(self, what: Hashable, derive: Callable[[], T]) -> T:
        """A property of the loss at this length, derived once and kept on a loss of a file."""
        if not isinstance(self.loss, SpecLoss):
            return derive()
        memo: dict[Hashable, T] = self.loss.memo(("decoding", self.n))
        if what not in memo:
            memo[what] = derive()
        return memo[what]

    def query(self, indices: Ints) -> Query:
        """The query for the expected value of a sequence."""
        return Query(self.loss, indices, None, self.model, "expect")

    def values(self, candidates: Sequence[Ints]) -> Floats:
        """The expected values of sequences, and bounds on errors, (2, sequences).

        With ``keep``, values are those of the states that are kept, and errors are not bounded.
        """
        asked = list(map(self.query, candidates))
        if self.keep is None:
            return values_and_errors(asked)
        found = [expectation_of(one, None, self.keep).value for one in asked]
        return np.array([found, [np.inf] * len(found)])

    def most_probable(self, k: int) -> list[Ints]:
        """The most probable sequences that are allowed, best first; none of probability 0."""
        layered = self.model.layered()
        if self.constraint is not None:
            layered = restricted(layered, self.constraint)
        return [indices for indices, _ in most_probable(layered, k)]

    def some_sequence(self) -> Ints:
        """The most probable allowed sequence, or any that is allowed; there must be one."""
        found = self.most_probable(1)
        if not found:
            found = [most_probable(allowed_layers(self.model, self.constraint), 1)[0][0]]
        return found[0]

    def allows(self, indices: Ints) -> bool:
        """True when the constraint accepts the sequence."""
        return self.constraint is None or self.constraint.accepts(indices)


@dataclass(frozen=True, eq=False)
class Answer:
    """What a method found."""

    indices: Ints  # label indices of the sequence
    exact: bool  # whether no sequence is better
    why: str  # the property that makes it exact, or why it is not proven
    candidates: int = 0  # sequences that were compared, 0 where it was not found like that
    value: float | None = None  # its expected value, where the method knows it
    error: float = math.inf  # a bound on the error of the value


@dataclass(frozen=True, eq=False)
class Decision:
    """The label sequence that was decided on.

    Attributes:
        labels: the sequence.
        value: its exact expected value.
        method: the method that found it.
        exact: True when it is proven that no allowed sequence is better.
        candidates: how many sequences were compared, 0 when that is not how it was found.
        why: which property chose the method and makes it exact, in words.
    """

    labels: list[Label]
    value: float
    method: str
    exact: bool
    candidates: int
    why: str

    def __repr__(self) -> str:
        """Labels, value and method."""
        labels = errors.shorten(" ".join(map(str, self.labels)))
        proven = "proven best under the model" if self.exact else "not proven best"
        return f"<decision {labels}: {self.value:.6g}, by {self.method}, {proven}>"

    def _repr_html_(self) -> str:
        """A card of one screen; a notebook calls this."""
        from html import escape

        why = escape(errors.visible(self.why))
        return f"<div><code>{escape(repr(self))}</code><p>{why}</p></div>"


class RefusalError(errors.InputError):
    """A method's condition does not hold for a problem."""


@dataclass(frozen=True)
class Method:
    """A method by its name, its condition and its work.

    The condition says what must hold of a problem and does not, None where the method fits; it may
    raise what deriving a property raises. ``decide`` has the answers to problems alike, which
    satisfy it, or what was seen not to hold while computing.
    """

    name: str
    condition: Callable[[Problem], str | None]
    decide: Callable[[Sequence[Problem]], Sequence[Answer | str]]

    def fits(self, problem: Problem) -> bool:
        """Whether the condition holds; values outside of the declared range are errors."""
        try:
            return self.condition(problem) is None
        except RangeError:
            raise
        except (errors.LossFileError, errors.SizeLimitError):  # another method may do without
            return False

    def __call__(self, problem: Problem) -> Answer:
        """The answer to a problem."""
        return self.answers([problem])[0]

    def answers(self, problems: Sequence[Problem]) -> list[Answer]:
        """The answers to problems alike; a RefusalError where the method does not fit."""
        fault = self.condition(problems[0])
        found = self.decide(problems) if fault is None else [fault]
        told = [answer for answer in found if isinstance(answer, str)]
        if told:
            remedy = 'Use method="auto", or one that fits'
            raise RefusalError(errors.message(f"decode by {self.name}", told[0], None, remedy))
        return [answer for answer in found if not isinstance(answer, str)]


def each(
    decide: Callable[[Problem], Answer | str],
) -> Callable[[Sequence[Problem]], list[Answer | str]]:
    """A function of several problems that decides one after the other."""
    return lambda problems: [decide(problem) for problem in problems]
