"""``decode`` and ``decode_many``: the label sequence with the best expected value.

"auto" takes the first method, in a fixed order, whose condition the problem satisfies. Problems
that differ in the numbers of their models alone are decided together, and one is a list of one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fsmeu import errors
from fsmeu.decoding.candidates import EXHAUSTIVE, MARGINAL, NBEST, SEARCH, VITERBI, all_sequences
from fsmeu.decoding.chain_ratios import CHAIN_RATIOS
from fsmeu.decoding.decision import PRECISION, Bounds, Decision, bounds_of_best
from fsmeu.decoding.explicit import EXPLICIT
from fsmeu.decoding.lanes import LANES
from fsmeu.decoding.problem import (
    Answer,
    Clock,
    Method,
    Problem,
    RefusalError,
    in_range,
    revalued,
)
from fsmeu.decoding.ranking import RANKING
from fsmeu.decoding.ratios import (
    RATIOS,
    WHY,
    decide_rows,
    is_plain_matrix,
    ranking_of,
    rows_at_once,
    vectors_by_length,
)
from fsmeu.decoding.split import ADDITIVE, COUNTING
from fsmeu.errors import FsmeuError, InputError, LossFileError, SizeLimitError, leave_out, one_of
from fsmeu.expectation.composition import advising_default
from fsmeu.expectation.expect import ENGINES
from fsmeu.expectation.query import batch_size, bind_labels, fitted, group_by_structure, model_at
from fsmeu.fst.alphabet import BINARY, Label, listed
from fsmeu.fst.constraint import Constraint, as_constraint
from fsmeu.limits import CANDIDATES, SECONDS
from fsmeu.losses.protocol import Loss, LossLike, as_loss
from fsmeu.losses.semantics.at_length import RangeError
from fsmeu.models import Bernoulli, Model, as_model
from fsmeu.parallel import checked_jobs, in_shares
from fsmeu.trellis.count_tables import RowValues

FEW_SEQUENCES = 4096  # sequences of which "auto" compares all: slower than a search, but proven
DECISIONS_AT_ONCE = 64  # decisions after which progress is told

_EXACT = (RATIOS, CHAIN_RATIOS, ADDITIVE, LANES, COUNTING, VITERBI, RANKING, EXHAUSTIVE)

METHODS: dict[str, Method] = {method.name: method for method in (*_EXACT, SEARCH, NBEST, MARGINAL)}
"""Every method by name, in the order in which "auto" takes those that it takes."""

EXACT = tuple(method.name for method in _EXACT)
"""The methods that prove their answers, in the order in which "auto" takes them."""

# The methods that value one candidate at a time, so that few states may be kept.
_WITH_KEEP = (RANKING.name, EXHAUSTIVE.name, NBEST.name)
# Those that answer where none proves its answer.
_UNPROVEN = (SEARCH.name, NBEST.name)


def decode(
    loss: LossLike,
    model: Any,
    *,
    method: str = "auto",
    keep: int | None = None,
    constraint: Any = None,
    budget: int = CANDIDATES,
    seconds: float | None = SECONDS,
    progress: Callable[[float], None] | None = None,
    engine: str = "auto",
) -> Decision:
    """The label sequence with the highest expected utility, or the lowest expected loss.

    Args:
        loss: a loss or utility, or its name or path as ``load`` takes it.
        model: a label model; a sequence of probabilities stands for ``Bernoulli``.
        method: "auto" takes the first exact method whose condition the loss and the model satisfy,
            and searches where there is none; or one of ``METHODS`` by name.
        keep: value candidates by this many states per layer (with "ranking", "nbest",
            "exhaustive"; Jansche 2007, section 4). Nothing is then proven.
        constraint: a regular expression over labels or an acceptor; the decision is the best among
            the sequences that satisfy it. It says which answers are allowed, and the expectation is
            that of the model as it is. What is known of the reference is ``model.given``.
        budget: how many candidates methods that try many may value.
        seconds: how long methods that try many candidates may take, about; None for as long as they
            need. When the time is over the best candidate so far is the decision, and ``why`` says
            so.
        progress: called now and then by these methods with the share of the work that is done,
            from 0 to 1.
        engine: "auto" sweeps over positions; "openfst" composes explicit machines and searches
            them. It has the methods "additive", "counting", "viterbi", "ranking" and "exhaustive",
            which apply where those of the default engine do.

    >>> from fsmeu.losses.loss import load
    >>> decode(load("fscore"), [0.9, 0.5, 0.3]).labels
    [1, 1, 0]
    """
    options = _Options(method, keep, constraint, budget, seconds, engine).checked("decode")
    bound, model = fitted(loss, as_model(model), "decode")
    allowed = as_constraint(constraint, model.alphabet, model.n)
    return _decide([options.problem(bound, model, allowed, progress)], options)[0]


def decode_many(
    loss: LossLike,
    models: Sequence[Any],
    *,
    method: str = "auto",
    keep: int | None = None,
    constraint: Any = None,
    budget: int = CANDIDATES,
    seconds: float | None = SECONDS,
    progress: Callable[[int], None] | None = None,
    jobs: int = 1,
    scheduler: Any = None,
    engine: str = "auto",
) -> list[Decision]:
    """The decision for each model, ``decode`` of every one of them.

    Args:
        loss: a loss or utility, or its name or path as ``load`` takes it.
        models: label models; vectors of probabilities stand for ``Bernoulli``.
        method: as for ``decode``, as are ``keep``, ``constraint`` and ``budget``; for all the same.
        keep: states per layer.
        constraint: on every sequence.
        budget: candidates of each decision.
        seconds: time of each decision.
        progress: called with the number of decisions made since the last call.
        jobs: how many threads decide; processes, for methods that run as Python.
        scheduler: the address of a Dask scheduler, or a client of ``distributed``, whose workers
            decide.
        engine: as for ``decode``.
    """
    options = _Options(method, keep, constraint, budget, seconds, engine).checked("decode_many")
    loss = as_loss(loss, "decode_many")
    if not is_plain_matrix(models):
        models = listed(models, "decode_many", "models must be a sequence of models", rows=True)
    if progress is not None and not callable(progress):
        must = "progress must be a function of the number of decisions made"
        raise InputError("decode_many", must, given=progress)
    tell = progress or (lambda count: None)
    threads = checked_jobs("decode_many", jobs)
    decisions: dict[int, Decision] = {}
    fast = engine == "auto" and method in ("auto", RATIOS.name)
    if scheduler is None and keep is None and fast:
        for ranked in _ranked_together(loss, models, options):
            decisions.update(ranked)
            tell(len(ranked))
    left: dict[int, Model] = {}
    for row, model in enumerate(models) if len(decisions) < len(models) else ():
        if row not in decisions:
            where = f"decode_many, models[{row}]"
            left[row] = fitted(loss, model_at(model, where), where)[1]
    work = _divided(loss, left, options, threads, scheduler)

    def decide(block: dict[int, Problem]) -> dict[int, Decision]:
        return dict(zip(block, _decide(list(block.values()), options), strict=True))

    with ThreadPoolExecutor(threads) as pool:  # kernels work side by side
        for some in map(decide, work.blocks) if threads == 1 else pool.map(decide, work.blocks):
            decisions.update(some)
            tell(len(some))
    if work.apart:
        batch = [left[row] for row in work.apart]
        sizes = [model.n for model in batch]
        few = min(threads, len(batch))
        question = (loss, options)
        decided = in_shares(
            "decode_many", _decide_share, question, batch, sizes, few, scheduler, tell
        )
        decisions.update(zip(work.apart, decided, strict=True))
    return [decisions[row] for row in range(len(models))]


class _Options(NamedTuple):
    """What is asked of every model: the options of ``decode`` but for ``progress``."""

    method: str
    keep: int | None
    constraint: Any
    budget: int
    seconds: float | None
    engine: str

    def checked(self, where: str) -> _Options:
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
        keep = None if self.keep is None else errors.check_int("decode", "keep", self.keep)
        return self._replace(keep=keep, budget=errors.check_int("decode", "budget", self.budget))

    def problem(
        self,
        loss: Loss,
        model: Model,
        allowed: Constraint | None,
        progress: Callable[[float], None] | None = None,
    ) -> Problem:
        """The problem of a model, with a clock of its own."""
        clock = Clock(self.seconds, progress)
        return Problem(loss, model, allowed, self.keep, self.budget, clock)


class _Work(NamedTuple):
    """Models that are left to be decided."""

    blocks: list[dict[int, Problem]]  # by row; those of a block are decided together
    apart: list[int]  # the rows of those that other processes decide


def _divided(
    loss: Loss, left: Mapping[int, Model], options: _Options, threads: int, scheduler: object
) -> _Work:
    """The models by row, divided among blocks and other processes."""
    work = _Work([], [])
    places = list(left)
    for group in group_by_structure([*left.values()]):
        rows = [places[k] for k in group]
        first = left[rows[0]]
        bound = bind_labels(loss, first.alphabet, "decode_many")
        allowed = as_constraint(options.constraint, first.alphabet, first.n)
        pairs = [(row, options.problem(bound, left[row], allowed)) for row in rows]
        size = 1
        if scheduler is None and _are_decided_together(pairs[0][1], options):
            size = min(DECISIONS_AT_ONCE, batch_size(first, len(left), threads))
        elif scheduler is not None or threads > 1:
            work.apart.extend(rows)
            continue
        starts = range(0, len(rows), size)
        work.blocks.extend(dict(pairs[begin : begin + size]) for begin in starts)
    return work


def _decide_share(question: tuple[Loss, _Options], models: list[Any]) -> list[Decision]:
    loss, options = question
    return decode_many(loss, models, **options._asdict())


def _ranked_together(
    loss: Loss, models: Sequence[Any] | NDArray[Any], options: _Options
) -> Iterator[dict[int, Decision]]:
    """Blocks of decisions by row that ``ratios`` proves for vectors of probabilities."""
    for vectors in vectors_by_length(models):
        n = vectors.p.shape[1]
        size = rows_at_once(n)
        for begin in range(0, len(vectors.p), size):
            rows = vectors.rows[begin : begin + size]
            p = vectors.p[begin : begin + size]
            plain = np.flatnonzero(((p >= 0.0) & (p <= 1.0)).all(axis=1))
            if not len(plain):
                continue
            try:
                bound = bind_labels(loss, BINARY, "decode_many")
                model = Bernoulli(p[plain[0]])
                allowed = as_constraint(options.constraint, model.alphabet, model.n)
                problem = Problem(bound, model, allowed)
                if _first(problem, options) != RATIOS.name:
                    break
                ranking = ranking_of(problem)
            except RangeError:
                raise
            except FsmeuError:  # left to ``decode``
                break
            if not isinstance(ranking, RowValues):  # long ones are decided one by one
                break
            decided = decide_rows(ranking, p[plain], problem.sign, 0.0)
            sure = decided.gaps <= PRECISION * np.abs(decided.values)
            sure &= np.isfinite(decided.values)
            surely = plain[sure]  # all others by ``certify``
            reach = PRECISION * np.abs(decided.values)
            answers = zip(
                rows[surely].tolist(),
                decided.indices[sure].tolist(),  # labels are their own indices
                decided.values[sure].tolist(),
                (decided.values - reach)[sure].tolist(),
                (decided.values + reach)[sure].tolist(),
                strict=True,
            )
            proof = {"exact": True, "method": RATIOS.name, "why": WHY, "candidates": n + 1}
            yield {
                row: Decision(labels=z, value=value, lower=low, upper=high, **proof)
                for row, z, value, low, high in answers
            }


def _decision(problem: Problem, labels: list[Label], answer: Answer, method: str) -> Decision:
    """The decision for an answer that has its value."""
    value = float(answer.value)  # type: ignore[arg-type]
    bounds = bounds_of_best(problem.loss, problem.n, value, answer.exact, answer.gap)
    if problem.keep is not None:  # the value is only that of what was kept
        bounds = Bounds(*problem.loss.value_range(problem.n))
    return Decision(
        labels=labels,
        value=value,
        lower=bounds.lower,
        upper=bounds.upper,
        exact=answer.exact,
        method=method,
        why=answer.why,
        candidates=answer.candidates,
    )


# -- which method ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Engine:
    """The methods of an engine, and what is done with their answers."""

    methods: Mapping[str, Method]
    exact: tuple[str, ...]  # those that prove their answers, in the order of "auto"
    unproven: tuple[str, ...]  # those that answer where none proves its answer
    finish: Callable[[Sequence[Problem], Sequence[Answer | str]], list[Answer | str]]


_ENGINES = {
    "auto": _Engine(METHODS, EXACT, _UNPROVEN, revalued),
    "openfst": _Engine(EXPLICIT, tuple(EXPLICIT), (), in_range),
}


def _in_order(problem: Problem, options: _Options) -> tuple[str, ...]:
    """The names of the methods to take, in order; of "auto", few sequences are all compared."""
    if options.method != "auto":
        return (options.method,)
    if problem.keep is not None:
        return _WITH_KEEP
    engine = _ENGINES[options.engine]
    names = (*engine.exact, *engine.unproven)
    few = all_sequences(problem) <= min(problem.budget, FEW_SEQUENCES)
    if few or names[-1] == EXHAUSTIVE.name:
        return names
    return tuple(name for name in names if name != EXHAUSTIVE.name)


def _first(problem: Problem, options: _Options) -> str | None:
    """The method that ``decode`` takes first, if one applies."""
    methods = _ENGINES[options.engine].methods
    names = _in_order(problem, options)
    return next((name for name in names if methods[name].refusal(problem) is None), None)


def _are_decided_together(problem: Problem, options: _Options) -> bool:
    """Whether several problems like this are decided faster together than one by one."""
    first = _first(problem, options)
    limited = problem.constraint is not None
    if first is None or problem.keep is not None or (first == VITERBI.name and limited):
        return False
    return _ENGINES[options.engine].methods[first].together


@dataclass
class _Row:
    """A problem, and the best of the answers to it so far."""

    problem: Problem
    method: str = ""  # of the best answer
    answer: Answer | None = None
    near: bool = False  # whether an answer is near the best that there is
    done: bool = False  # whether no further method is asked
    fault: FsmeuError | None = None  # why the last method that was tried has no answer

    def take(self, method: str, answer: Answer) -> None:
        """Takes the answer of a method, unless a better one is known."""
        self.near |= answer.near
        if self.answer is None or self._rank(answer) >= self._rank(self.answer):
            self.method = method
            self.answer = answer

    def _rank(self, answer: Answer) -> tuple[bool, float]:
        return answer.exact, self.problem.sign * (answer.value or 0.0)

    def decision(self) -> Decision:
        """The decision for the best answer, which has its value."""
        assert self.answer is not None
        labels = self.problem.loss.alphabet.decode(self.answer.indices)
        return _decision(self.problem, labels, self.answer, self.method)


def _decide(problems: Sequence[Problem], options: _Options) -> list[Decision]:
    """The decisions for problems that differ in the numbers of their models only.

    They are those of the first method that applies and proves its answer; else the best answer of
    those that apply. A method that proves nothing, or may not, ends it, and is not asked where an
    answer is known to be near the best: it could gain nothing that is worth its time. Where none
    answers, the error is that of the last. The time of a problem begins here.
    """
    for problem in problems:
        problem.clock.over()
    first = problems[0]
    engine = _ENGINES[options.engine]
    names = _in_order(first, options)
    if options.method != "auto":
        engine.methods[options.method].check(first)
    rows = [_Row(problem) for problem in problems]
    for name in names:
        is_unproven = name in engine.unproven
        left = [row for row in rows if not (row.done or (is_unproven and row.near))]
        if not left or engine.methods[name].refusal(first) is not None:
            continue
        answers = _answers([row.problem for row in left], name, names, engine)
        for row, answer in zip(left, answers, strict=True):
            if isinstance(answer, FsmeuError):
                row.fault = answer
            else:
                row.take(name, answer)
                row.done = answer.exact or is_unproven or first.keep is not None
    for row in rows:
        if row.answer is None:
            with advising_default() if options.engine == "openfst" else nullcontext():
                raise row.fault or _too_many(first)
    return [row.decision() for row in rows]


def _too_many(problem: Problem) -> SizeLimitError:
    """The error that no method of the explicit engine fits: there are too many sequences."""
    must = (
        f"no method's condition holds but that of listing all, and {EXHAUSTIVE.condition(problem)}"
    )
    return SizeLimitError("decode", must)


def _answers(
    problems: Sequence[Problem], name: str, names: Sequence[str], engine: _Engine
) -> list[Answer | FsmeuError]:
    """The answers of one of several methods, or why computing showed that it has none."""
    method = engine.methods[name]
    timed = problems
    if name == EXHAUSTIVE.name != names[-1]:  # half of the time: there is some for the search
        timed = [replace(problem, clock=problem.clock.half()) for problem in problems]
    try:
        answers = engine.finish(problems, method.decide(timed))
        return [method.refused(a) if isinstance(a, str) else a for a in answers]
    except RangeError:
        raise
    except (SizeLimitError, LossFileError) as error:  # known once all is built and valued
        if len(problems) == 1:
            return [error]
        return [_answers([problem], name, names, engine)[0] for problem in problems]


_QUICK = 0.5  # seconds of what is timed once more, when all is loaded


@dataclass(frozen=True)
class Compared:
    """The decision of a method and the seconds it takes, or why it refuses."""

    method: str
    decision: Decision | None = None
    seconds: float = 0.0
    refused: str = ""


def compare_methods(
    loss: Loss, model: Model, methods: Sequence[str] | None, options: Mapping[str, Any]
) -> list[Compared]:
    """Each method's decision and the seconds it takes, or why it refuses, in the order given.

    Methods are given by name, or None for all, and further options of ``decode``.
    """
    results = []
    for name in methods or _ENGINES[options.get("engine", "auto")].methods:
        times = [perf_counter()]
        try:
            while len(times) < 2 or (len(times) < 3 and times[1] - times[0] < _QUICK):
                decision = decode(loss, model, **{**options, "method": name})
                times.append(perf_counter())
            results.append(Compared(name, decision, min(np.diff(times).tolist())))
        except (RefusalError, SizeLimitError) as error:
            shown = error.but(remedy="") if isinstance(error, RefusalError) else error
            results.append(Compared(name, refused=str(shown)))
    return results
