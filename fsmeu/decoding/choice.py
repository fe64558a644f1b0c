"""The methods of deciding, which of them are taken, and the decision that comes of it.

"auto" takes the first method, in a fixed order, whose condition the problem satisfies. Problems
that differ in the numbers of their models alone are decided together, and one is a list of one.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import NamedTuple

from fsmeu import errors, limits
from fsmeu.decoding.candidates import EXHAUSTIVE, MARGINAL, NBEST, SEARCH, VITERBI, all_sequences
from fsmeu.decoding.decision import Bounds, Decision, ReachedValue, bounds_of_best
from fsmeu.decoding.documents import LANES
from fsmeu.decoding.explicit import EXPLICIT
from fsmeu.decoding.problem import (
    Answer,
    Clock,
    Method,
    Problem,
    is_near,
    looked_again,
)
from fsmeu.decoding.ranked import RANKING, RATIOS
from fsmeu.decoding.split import ADDITIVE, COUNTING
from fsmeu.errors import FsmeuError, InputError, LossFileError, SizeLimitError, leave_out, one_of
from fsmeu.expectation.composition import advising_default
from fsmeu.expectation.expect import ENGINES
from fsmeu.fst.alphabet import Label
from fsmeu.fst.constraint import Constraint, ConstraintLike
from fsmeu.losses.protocol import Loss
from fsmeu.losses.semantics.at_length import RangeError
from fsmeu.models import Model
from fsmeu.progress import Progress

_EXACT = (RATIOS, ADDITIVE, LANES, COUNTING, VITERBI, RANKING, EXHAUSTIVE)

METHODS: dict[str, Method] = {method.name: method for method in (*_EXACT, SEARCH, NBEST, MARGINAL)}
"""Every method by name, in the order in which "auto" takes those that it takes."""

EXACT = tuple(method.name for method in _EXACT)
"""The methods that prove their answers, in the order in which "auto" takes them."""

# The methods that value one candidate at a time, so that few states may be kept.
_WITH_KEEP = (RANKING.name, EXHAUSTIVE.name, NBEST.name)
# The methods that take no constraint, and so have no second best.
_BEST_ALONE = tuple(name for name, method in METHODS.items() if not method.limited)
# Those that answer where none proves its answer.
_UNPROVEN = (SEARCH.name, NBEST.name)


class Options(NamedTuple):
    """What is asked of every model: the options of ``decode`` but for ``progress``."""

    method: str
    keep: int | None
    constraint: ConstraintLike | None
    budget: int
    seconds: float | None
    engine: str
    k: int | None = None

    def checked(self, where: str) -> Options:
        """The same options, if they suit each other."""
        one_of(where, "method", self.method, ["auto", *METHODS])
        if one_of(where, "engine", self.engine, ENGINES) == "openfst":
            if self.method not in ("auto", *EXPLICIT):
                must = f"the engine openfst has the methods {', '.join(EXPLICIT)}"
                got = f"method={self.method!r}"
                raise InputError(where, must, given=got, remedy=leave_out("engine"))
            if self.keep is not None:
                must = "the engine openfst keeps every state when it decides"
                raise InputError(where, must, given=self.keep, remedy=leave_out("keep"))
        Clock(self.seconds, where=where)  # refuses what is no number of seconds
        k = None if self.k is None else errors.check_int(where, "k", self.k)
        if k is not None and k > 1 and self.method in _BEST_ALONE:
            must = f"the method {self.method} finds the best decision alone"
            several = ", ".join(name for name in METHODS if name not in _BEST_ALONE)
            raise InputError(where, must, given=f"k={k}", remedy=f"Use auto, or one of {several}")
        keep = None if self.keep is None else errors.check_int("decode", "keep", self.keep)
        budget = errors.check_int("decode", "budget", self.budget)
        return self._replace(keep=keep, budget=budget, k=k)

    def problem(
        self,
        loss: Loss,
        model: Model,
        allowed: Constraint | None,
        progress: Progress | None = None,
    ) -> Problem:
        """The problem of a model, with a clock of its own."""
        clock = Clock(self.seconds, progress)
        return Problem(loss, model, allowed, self.keep, self.budget, clock)


# -- which method ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class EngineMethods:
    """The methods of an engine."""

    methods: Mapping[str, Method]
    exact: tuple[str, ...]  # those that prove their answers, in the order of "auto"
    unproven: tuple[str, ...]  # those that answer where none proves its answer


METHODS_BY_ENGINE = {
    "auto": EngineMethods(METHODS, EXACT, _UNPROVEN),
    "openfst": EngineMethods(EXPLICIT, tuple(EXPLICIT), ()),
}


def _in_order(problem: Problem, options: Options) -> tuple[str, ...]:
    """The names of the methods to take, in order; of "auto", few sequences are all compared."""
    if options.method != "auto":
        return (options.method,)
    if problem.keep is not None:
        return _WITH_KEEP
    engine = METHODS_BY_ENGINE[options.engine]
    late = [name for name in engine.exact if engine.methods[name].after_counting(problem)]
    exact = [name for name in engine.exact if name not in late]
    if late:
        place = exact.index(COUNTING.name) + 1
        exact[place:place] = late
    names = (*exact, *engine.unproven)
    few = all_sequences(problem) <= min(problem.budget, limits.FEW_SEQUENCES)
    if few or names[-1] == EXHAUSTIVE.name:
        return names
    return tuple(name for name in names if name != EXHAUSTIVE.name)


def first_method(problem: Problem, options: Options) -> str | None:
    """The method that ``decode`` takes first, if one applies."""
    methods = METHODS_BY_ENGINE[options.engine].methods
    names = _in_order(problem, options)
    return next((name for name in names if methods[name].refusal(problem) is None), None)


def are_decided_together(problem: Problem, options: Options) -> bool:
    """Whether several problems like this are decided faster together than one by one."""
    first = first_method(problem, options)
    limited = problem.constraint is not None
    if first is None or problem.keep is not None or (first == VITERBI.name and limited):
        return False
    return METHODS_BY_ENGINE[options.engine].methods[first].together


@dataclass
class BestAnswer:
    """A problem, and the best of the answers to it so far."""

    problem: Problem
    method: str = ""  # of the best answer
    answer: Answer | None = None
    upper: float = math.inf  # no sequence has a greater value, signed, as methods found
    near: bool = False  # whether an answer is near the best that there is
    done: bool = False  # whether no further method is asked
    fault: FsmeuError | None = None  # why the last method that was tried has no answer
    limit: str = ""  # the limit that kept a method from proving an answer, and how to raise it

    def note_limit(self, method: str, fault: FsmeuError) -> None:
        """Takes note of a limit that a method which proves its answers met."""
        if isinstance(fault, SizeLimitError) and not self.limit:
            self.limit = f"{method} was too large ({fault.must}, {fault.given}). {fault.remedy}"

    def take(self, method: str, answer: Answer) -> None:
        """Takes the answer of a method, unless one that is as good is known."""
        signed = self._signed(answer)
        self.near |= is_near(self.problem, answer)
        self.upper = min(self.upper, signed + answer.gap)
        if self.answer is None or self._rank(answer) > self._rank(self.answer):
            self.method = method
            self.answer = replace(answer, gap=min(answer.gap, max(0.0, self.upper - signed)))

    def _signed(self, answer: Answer) -> float:
        assert answer.value is not None
        return self.problem.sign * answer.value

    def _rank(self, answer: Answer) -> tuple[bool, float]:
        """Proofs come first, then values."""
        return answer.exact, self._signed(answer)

    def decision(self) -> Decision:
        """The decision for the best answer, which has its value."""
        assert self.answer is not None
        labels = self.problem.loss.alphabet.decode(self.answer.indices)
        answer = self.answer
        if self.limit and not answer.exact:
            answer = replace(answer, why=f"{answer.reason}; {self.limit}", doubt="")
        return _decision(self.problem, labels, answer, self.method)


def decide(problems: Sequence[Problem], options: Options) -> list[Decision]:
    """The decisions for problems that differ in the numbers of their models only.

    They are those of the first method that applies and proves its answer; else the best answer of
    those that apply. A method that proves nothing, or may not, ends it, and is not asked where an
    answer is known to be near the best: it could gain nothing that is worth its time. Where none
    answers, the error is that of the last. The time of a problem begins here.
    """
    for problem in problems:
        problem.clock.over()
    first = problems[0]
    engine = METHODS_BY_ENGINE[options.engine]
    names = _in_order(first, options)
    if options.method != "auto":
        engine.methods[options.method].check(first)
    rows = [BestAnswer(problem) for problem in problems]
    proving = [name for name in names if name not in engine.unproven]
    _ask(rows, proving, names, engine)
    _ask([row for row in rows if not row.near], names[len(proving) :], names, engine)
    for row in rows:
        if row.answer is None:
            with advising_default() if options.engine == "openfst" else nullcontext():
                raise row.fault or _too_many(first)
    return [row.decision() for row in rows]


def _ask(
    rows: Sequence[BestAnswer], some: Sequence[str], names: Sequence[str], engine: EngineMethods
) -> None:
    """Takes the answers of some of the methods that are asked, in their order."""
    for name in some:
        left = [row for row in rows if not row.done]
        refusal = engine.methods[name].refusal(left[0].problem) if left else None
        for row in left:
            if refusal is not None and name in engine.exact:
                row.note_limit(name, refusal)
        if not left or refusal is not None:
            continue
        answers = _answers([row.problem for row in left], name, names, engine)
        for row, answer in zip(left, answers, strict=True):
            if isinstance(answer, FsmeuError):
                row.fault = answer
                row.note_limit(name, answer)
            else:
                row.take(name, answer)
                row.done = answer.exact or name in engine.unproven or row.problem.keep is not None


def _too_many(problem: Problem) -> SizeLimitError:
    """The error that no method of the explicit engine fits: there are too many sequences."""
    must = (
        f"no method's condition holds but that of listing all, and {EXHAUSTIVE.condition(problem)}"
    )
    return SizeLimitError("decode", must)


def _answers(
    problems: Sequence[Problem], name: str, names: Sequence[str], engine: EngineMethods
) -> list[Answer | FsmeuError]:
    """The answers of one of several methods, or why computing showed that it has none."""
    method = engine.methods[name]
    timed = problems
    if name == EXHAUSTIVE.name != names[-1]:  # half of the time: there is some for the search
        timed = [replace(problem, clock=problem.clock.half()) for problem in problems]
    try:
        answers = looked_again(problems, method.decide(timed))
        return [method.refused(a) if isinstance(a, str) else a for a in answers]
    except RangeError:
        raise
    except (SizeLimitError, LossFileError) as error:  # known once all is built and valued
        if len(problems) == 1:
            return [error]
        return [_answers([problem], name, names, engine)[0] for problem in problems]


def _decision(problem: Problem, labels: list[Label], answer: Answer, method: str) -> Decision:
    """The decision for an answer that has its value."""
    assert answer.value is not None
    value = float(answer.value)
    reached = ReachedValue(value, answer.reach, answer.gap, answer.exact)
    bounds = bounds_of_best(problem.loss, problem.n, reached)
    if problem.keep is not None:  # the value is only that of what was kept
        bounds = Bounds(*problem.loss.value_range(problem.n))
    return Decision(
        labels=labels,
        value=value,
        lower=bounds.lower,
        upper=bounds.upper,
        exact=answer.exact,
        method=method,
        why=answer.reason,
        candidates=answer.candidates,
    )
