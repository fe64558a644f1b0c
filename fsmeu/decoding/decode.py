"""``decode``: the label sequence with the best expected value, by the method its algebra allows.

"auto" takes the first method, in a fixed order, whose condition the problem satisfies.

What several methods decide for one loss and model, and how long each takes.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any

from fsmeu.decoding.explicit import explicit_answer
from fsmeu.decoding.method import Method
from fsmeu.decoding.moments import MOMENTS
from fsmeu.decoding.precision import checked
from fsmeu.decoding.problem import Answer, Clock, Decision, Problem, RefusalError, checked_seconds
from fsmeu.decoding.ranking import RANKING
from fsmeu.decoding.ranking_fast import RANKING_FAST
from fsmeu.decoding.search import SEARCH
from fsmeu.decoding.simple import EXHAUSTIVE, MARGINAL, NBEST, VITERBI
from fsmeu.decoding.split import ADDITIVE, COUNTING
from fsmeu.errors import InputError, LossFileError, SizeLimitError, check_int, message, one_of
from fsmeu.expectation.expect import ENGINES
from fsmeu.expectation.query import fitted
from fsmeu.fst.constraint import as_constraint
from fsmeu.limits import CANDIDATES, SECONDS
from fsmeu.losses.protocol import Loss
from fsmeu.losses.semantics.domains import RangeError
from fsmeu.models import Model, as_model

__all__ = [
    "EXACT",
    "METHODS",
    "UNPROVEN",
    "WITH_KEEP",
    "Compared",
    "compare_methods",
    "decision",
    "decode",
    "decode_problem",
    "explain",
    "first_among",
]

FEW_SEQUENCES = 4096  # sequences of which "auto" compares all: slower than a search, but proven

_EXACT = (MOMENTS, RANKING_FAST, ADDITIVE, COUNTING, VITERBI, RANKING, EXHAUSTIVE)

METHODS: dict[str, Method] = {method.name: method for method in (*_EXACT, SEARCH, NBEST, MARGINAL)}
"""Every method by name, in the order in which "auto" takes those that it takes."""

EXACT = tuple(method.name for method in _EXACT)
"""The methods that prove their answers, in the order in which "auto" takes them."""

WITH_KEEP = (RANKING.name, EXHAUSTIVE.name, NBEST.name)
"""The methods that value one candidate at a time, so that few states may be kept."""

UNPROVEN = (SEARCH.name, NBEST.name)
"""The methods that answer where none proves its answer."""


def exact_in_order(problem: Problem) -> tuple[str, ...]:
    """The names of the methods that "auto" takes for a proven answer, in order.

    All sequences are compared only where they are few; where they are more, only when that is asked
    for by name.
    """
    most = min(problem.budget, FEW_SEQUENCES)
    if len(problem.model.labels) ** min(problem.n, 64) > most:
        return tuple(name for name in EXACT if name != EXHAUSTIVE.name)
    return EXACT


def fitting(problem: Problem, names: Iterable[str]) -> Iterator[str]:
    """The names of the methods that fit a problem; each condition is read when it is asked for."""
    return (name for name in names if METHODS[name].fits(problem) is None)


def first_among(problem: Problem, method: str, these: Collection[str]) -> str | None:
    """The method that ``decode`` takes first, if it is one of these; None where it is another.

    Args:
        problem: what is decided, with no states left out.
        method: "auto", or a method by name.
        these: names of methods.
    """
    names = exact_in_order(problem) if method == "auto" else (method,)
    last = max((k for k, name in enumerate(names) if name in these), default=-1)
    found = next(fitting(problem, names[: last + 1]), None)
    return found if found in these else None


def decode(
    loss: Loss,
    model: Any,
    *,
    method: str = "auto",
    keep: int | None = None,
    constraint: Any = None,
    budget: int = CANDIDATES,
    seconds: float | None = SECONDS,
    progress: Callable[[float], None] | None = None,
    engine: str = "lattice",
) -> Decision:
    """The label sequence with the highest expected utility, or the lowest expected loss.

    Args:
        loss: a loss or utility.
        model: a label model; a sequence of probabilities stands for ``Bernoulli``.
        method: "auto" takes the first exact method whose condition the loss and the model satisfy,
            and searches where there is none; or one of ``METHODS`` by name.
        keep: value candidates by this many states per layer (with "ranking", "nbest",
            "exhaustive"; Jansche 2007, section 4). Nothing is then proven.
        constraint: a regular expression over labels or an acceptor; the decision is the best among
            the sequences that satisfy it.
        budget: how many candidates methods that try many may value.
        seconds: how long methods that try many candidates may take, about; None for as long as they
            need. When the time is over the best candidate so far is the decision, and ``why`` says
            so.
        progress: called now and then by these methods with the share of the work that is done,
            from 0 to 1.
        engine: "lattice" decides by ``method``; "openfst" composes all allowed sequences with loss
            and model as one explicit machine and values every one of them, where there are few.

    >>> from fsmeu.losses.loss import load
    >>> decode(load("fscore"), [0.9, 0.5, 0.3]).labels
    [1, 1, 0]
    """
    if keep is not None:
        keep = check_int("decode", "keep", keep)
    budget = check_int("decode", "budget", budget)
    bound, made = fitted(loss, as_model(model), "decode")
    limits = as_constraint(constraint, made.alphabet, made.n)
    clock = Clock(checked_seconds(seconds), progress)
    problem = Problem(bound, made, limits, keep, budget, clock)
    if one_of("decode", "engine", engine, ENGINES) == "lattice":
        return decode_problem(problem, method)
    if method != "auto" or keep is not None:
        must = "the engine openfst has one method, which keeps every state"
        got = f"method={method!r}" if method != "auto" else f"keep={keep}"
        raise InputError(message("decode", must, got, "Leave method and keep out"))
    return decision(problem, "composition", explicit_answer(problem))


def decode_problem(problem: Problem, method: str) -> Decision:
    """The decision of one method, or of the first that fits."""
    method = one_of("decode", "method", method, ["auto", *METHODS])
    if method == "auto":
        return decision(problem, *_first_that_fits(problem))
    return decision(problem, method, checked(problem, METHODS[method](problem)))


def _first_that_fits(problem: Problem) -> tuple[str, Answer]:
    """The first method that fits and proves its answer; else the best answer of those that fit."""
    if problem.keep is not None:
        return _first_answer(problem, WITH_KEEP)
    unproven = []
    for name in fitting(problem, exact_in_order(problem)):
        answer = _answer(problem, name)
        if answer is not None and answer.exact:
            return name, answer
        if answer is not None:
            unproven.append((name, answer))
    found = [_first_answer(problem, UNPROVEN), *unproven]
    return max(found, key=lambda pair: problem.sign * (pair[1].value or 0.0))


def _first_answer(problem: Problem, names: Sequence[str]) -> tuple[str, Answer]:
    """The answer of the first of these methods that has one.

    Raises:
        FsmeuError: even the last method has none.
    """
    *others, last = names
    for name in fitting(problem, others):
        answer = _answer(problem, name)
        if answer is not None:
            return name, answer
    return last, checked(problem, METHODS[last](problem))


def _answer(problem: Problem, name: str) -> Answer | None:
    """The answer of a method that fits, None where it was seen while computing that it has none.

    How large a trellis grows is known once it is built, and whether the file gives a value to all
    labels and counts that a method looks at, possible or not, once they are valued: these two are
    told by errors, and another method may do without.
    """
    these = problem if name != "exhaustive" else _first_half(problem)
    try:
        answer = METHODS[name].decide(these)
        return None if isinstance(answer, str) else checked(problem, answer)
    except RangeError:
        raise
    except (SizeLimitError, LossFileError):
        return None


def _first_half(problem: Problem) -> Problem:
    """The problem with half of its time, so that there is some for the search."""
    return replace(problem, clock=problem.clock.half())


def decision(problem: Problem, method: str, answer: Answer) -> Decision:
    """The decision for an answer with its value."""
    labels = problem.loss.alphabet.decode(answer.indices)
    value = float(answer.value)  # type: ignore[arg-type]
    return Decision(labels, value, method, answer.exact, answer.candidates, answer.why)


def explain(decision: Decision) -> str:
    """A decision in words: which property chose which method, and what that proves.

    What is proven, is so under the model: whether the model is right is another question.
    """
    if not isinstance(decision, Decision):
        raise InputError(message("explain", "a decision is needed, as decode makes it", decision))
    proof = "This is not proven to be best"
    if decision.exact:
        proof = "Proven: under this model, no allowed sequence has a better expected value"
    tried = f" {decision.candidates:,} candidates were compared." if decision.candidates else ""
    return f"Decided by {decision.method}: {decision.why}.{tried} {proof}."


_QUICK = 0.5


@dataclass(frozen=True)
class Compared:
    """One method.

    Attributes:
        method: its name.
        decision: what it decides; None where it refuses.
        seconds: how long it takes.
        refused: why it does not decide; empty where it does.
    """

    method: str
    decision: Decision | None = None
    seconds: float = 0.0
    refused: str = ""


def compare_methods(
    loss: Loss, model: Model, methods: Sequence[str] | None, options: Mapping[str, Any]
) -> list[Compared]:
    """What each method decides and how long it takes, or why it does not.

    Args:
        loss: a loss or utility.
        model: the distribution of the reference.
        methods: their names; None for all.
        options: further options of ``decode``.
    """
    found = []
    for name in methods or METHODS:
        try:
            found.append(Compared(name, *_timed(loss, model, {**options, "method": name})))
        except (RefusalError, SizeLimitError) as error:
            found.append(Compared(name, refused=str(error)))
    return found


def _timed(loss: Loss, model: Model, options: Mapping[str, Any]) -> tuple[Decision, float]:
    """A decision and the seconds it takes; what is quick is timed again, once all is loaded."""
    begin = perf_counter()
    decision = decode(loss, model, **options)
    seconds = perf_counter() - begin
    if seconds < _QUICK:
        begin = perf_counter()
        decode(loss, model, **options)
        seconds = min(seconds, perf_counter() - begin)
    return decision, seconds
