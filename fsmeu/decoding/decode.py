"""``decode`` and ``decode_many``: the label sequence with the best expected value.

Which method decides is said in ``choice.py``, what comes after the best one in ``several.py``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from time import perf_counter
from typing import TYPE_CHECKING, Any, NamedTuple, TypedDict, overload

import numpy as np
from numpy.typing import NDArray

from fsmeu import limits
from fsmeu.arrays import Floats
from fsmeu.decoding.augmented import decide_augmented
from fsmeu.decoding.choice import (
    METHODS_BY_ENGINE,
    Options,
    are_decided_together,
    decide,
    first_method,
)
from fsmeu.decoding.decision import Decision
from fsmeu.decoding.problem import Problem, RefusalError
from fsmeu.decoding.ranked import (
    RATIOS,
    decide_rows,
    is_plain_matrix,
    rows_at_once,
    vectors_by_length,
)
from fsmeu.decoding.several import best_few
from fsmeu.errors import FsmeuError, InputError, SizeLimitError, leave_out
from fsmeu.expectation.query import batch_size, bind_labels, fitted, group_by_structure, model_at
from fsmeu.fst.alphabet import BINARY, listed
from fsmeu.fst.constraint import ConstraintLike, as_constraint
from fsmeu.losses.protocol import Loss, LossLike, as_loss, takes_loss
from fsmeu.losses.semantics.at_length import RangeError
from fsmeu.models import Bernoulli, HypothesisLike, Model, ModelLike, as_model
from fsmeu.parallel import checked_jobs, in_shares, threads, workers
from fsmeu.progress import Progress, check_progress

if TYPE_CHECKING:
    from typing_extensions import Unpack


class DecisionOptions(TypedDict, total=False):
    """The options that ``decode`` and ``decode_many`` have in common, but for ``k``."""

    method: str
    keep: int | None
    constraint: ConstraintLike | None
    budget: int
    seconds: float | None
    progress: Progress | None
    engine: str


class DecodeOptions(DecisionOptions, total=False):
    """The options of ``decode`` but for ``k``."""

    augment: HypothesisLike | None


class DecodeManyOptions(DecisionOptions, total=False):
    """The options of ``decode_many`` but for ``k``."""

    jobs: int
    scheduler: Any


@overload
def decode(loss: LossLike, model: ModelLike, **options: Unpack[DecodeOptions]) -> Decision: ...
@overload
def decode(
    loss: LossLike, model: ModelLike, *, k: int, **options: Unpack[DecodeOptions]
) -> list[Decision]: ...
@takes_loss
def decode(
    loss: LossLike,
    model: ModelLike,
    *,
    method: str = "auto",
    keep: int | None = None,
    constraint: ConstraintLike | None = None,
    budget: int = limits.CANDIDATES,
    seconds: float | None = None,
    progress: Progress | None = None,
    engine: str = "auto",
    augment: HypothesisLike | None = None,
    k: int | None = None,
) -> Decision | list[Decision]:
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
        budget: how much work methods that try many candidates may do, in candidates. What finds
            many together counts as several, by its size: the default takes ten seconds, about. When
            it is spent the best candidate so far is the decision, and ``why`` says so. The answer
            is the same on any machine.
        seconds: how long these methods may take besides, about; None for as long as the budget
            takes. The answer then depends on how fast the machine is.
        progress: called now and then by these methods with the share of the work that is done,
            from 0 to 1, and a note (``Progress``).
        engine: "auto" sweeps over positions; "openfst" composes explicit machines and searches
            them. It has the methods "additive", "counting", "viterbi", "ranking" and "exhaustive",
            which apply where those of the default engine do.
        augment: a reference y, for the loss-augmented argmax that margin methods learn by: the
            decision is the sequence z with the greatest log p(z) + loss(z, y), or log p(z) -
            utility(z, y), which is its ``value``. No expectation is taken. Beside it only
            ``constraint`` may be given.
        k: how many decisions are asked for: a list, best first, with bounds of the best expected
            value, of the second best, and so on; shorter where fewer sequences are allowed. Each
            after the first is the best of all others, by a method that takes constraints. One
            decision, and no list, unless given. For losses of chunks, give ``constraint=bio()``
            of ``fsmeu.constraints`` beside it: else tags that spell the same chunks otherwise (I-X
            for B-X at a begin) are decisions of their own.

    >>> from fsmeu.losses.loss import load
    >>> decode(load("fscore"), [0.9, 0.5, 0.3]).labels
    [1, 1, 0]
    >>> [one.labels for one in decode("fscore", [0.9, 0.5, 0.3], k=3)]
    [[1, 1, 0], [1, 1, 1], [1, 0, 0]]
    >>> decode("hamming", [0.9, 0.5, 0.3], augment=[1, 1, 0]).labels
    [1, 0, 0]
    """
    options = Options(method, keep, constraint, budget, seconds, engine, k).checked("decode")
    if augment is not None:
        return _decide_augmented(loss, model, options, augment)
    bound, model = fitted(loss, as_model(model), "decode")
    allowed = as_constraint(constraint, model.alphabet, model.n)
    problem = options.problem(bound, model, allowed, progress)
    if options.k is not None:
        return best_few(problem, options)
    return decide([problem], options)[0]


def _decide_augmented(
    loss: LossLike, model: ModelLike, options: Options, reference: HypothesisLike
) -> Decision:
    """The decision of ``decode`` with a reference to augment by."""
    where = "decode with augment"
    plain = Options("auto", None, options.constraint, limits.CANDIDATES, None, "auto")
    for name, default in plain._asdict().items():
        given = getattr(options, name)
        if given is not default and given != default:
            must = "one method finds the best path, in one sweep"
            raise InputError(where, must, given=f"{name}={given!r}", remedy=leave_out(name))
    y = listed(reference, f"{where}, reference")
    bound, model = fitted(loss, as_model(model), "decode", y)
    indices = bound.alphabet.encode(y, f"{where}, reference")
    if len(indices) != model.n:
        must = f"the reference must have the length of the model, {model.n}"
        raise InputError(where, must, given=f"length {len(indices)}")
    allowed = as_constraint(options.constraint, model.alphabet, model.n)
    return decide_augmented(Problem(bound, model, allowed), indices)


@overload
def decode_many(
    loss: LossLike, models: Iterable[ModelLike], **options: Unpack[DecodeManyOptions]
) -> list[Decision]: ...
@overload
def decode_many(
    loss: LossLike, models: Iterable[ModelLike], *, k: int, **options: Unpack[DecodeManyOptions]
) -> list[list[Decision]]: ...
@takes_loss
def decode_many(
    loss: LossLike,
    models: Iterable[ModelLike],
    *,
    method: str = "auto",
    keep: int | None = None,
    constraint: ConstraintLike | None = None,
    budget: int = limits.CANDIDATES,
    seconds: float | None = None,
    progress: Progress | None = None,
    jobs: int = 1,
    scheduler: Any = None,
    engine: str = "auto",
    k: int | None = None,
) -> list[Decision] | list[list[Decision]]:
    """The decision for each model, ``decode`` of every one of them.

    Args:
        loss: a loss or utility, or its name or path as ``load`` takes it.
        models: label models; vectors of probabilities stand for ``Bernoulli``.
        method: as for ``decode``, as are ``keep``, ``constraint`` and ``budget``; for all the same.
        keep: states per layer.
        constraint: on every sequence.
        budget: candidates of each decision.
        seconds: limit on the time of each decision, if any.
        progress: called with the share of decisions that are made, and a note (``Progress``).
        jobs: how many threads decide; processes, for methods that run as Python.
        scheduler: the address of a Dask scheduler, or a client of ``distributed``, whose workers
            decide.
        engine: as for ``decode``.
        k: as for ``decode``: a list of decisions for each model.
    """
    options = Options(method, keep, constraint, budget, seconds, engine, k).checked("decode_many")
    loss = as_loss(loss, "decode_many")
    rows: Any = models
    if not is_plain_matrix(models):
        rows = listed(models, "decode_many", "models must be a sequence of models", rows=True)
    decisions = _Decisions(check_progress("decode_many", progress), len(rows))
    count = checked_jobs("decode_many", jobs)
    fast = engine == "auto" and method in ("auto", RATIOS.name) and keep is None and k is None
    if scheduler is None and fast:
        for ranked in _ranked_together(loss, rows, options):
            decisions.add(ranked)
    left: dict[int, Model] = {}
    for row in decisions.missing():
        where = f"decode_many, models[{row}]"
        left[row] = fitted(loss, model_at(rows[row], where), where)[1]
    work = _divided(loss, left, options, count, scheduler)
    with threads(count) as each:
        for some in each(partial(_decided_block, options), work.blocks):
            decisions.add(some)
    if work.apart:
        batch = [left[row] for row in work.apart]
        sizes = [model.n for model in batch]
        with workers("decode_many", min(count, len(batch)), scheduler) as processes:
            shares = in_shares(
                processes, _decide_share, (loss, options), batch, sizes, decisions.tell
            )
        decisions.add(dict(zip(work.apart, shares, strict=True)))
    return [decisions.found[row] for row in range(len(rows))]


@dataclass(eq=False)
class _Decisions:
    """Decisions by row, of which there are to be so many; progress is told of them."""

    progress: Progress
    count: int
    found: dict[int, Any] = field(default_factory=dict)

    def add(self, some: Mapping[int, Any]) -> None:
        """Adds decisions by row."""
        self.found.update(some)
        self.tell(0)

    def tell(self, more: int) -> None:
        """Tells how many decisions are made, so many besides those that were added."""
        made = len(self.found) + more
        self.progress(made / max(1, self.count), f"{made:,} of {self.count:,} decisions")

    def missing(self) -> list[int]:
        """The rows without a decision."""
        return [row for row in range(self.count) if row not in self.found]


def _decided_block(options: Options, block: Mapping[int, Problem]) -> dict[int, Any]:
    """The decisions for problems that are decided together, by row."""
    if options.k is not None:
        return {row: best_few(problem, options) for row, problem in block.items()}
    return dict(zip(block, decide(list(block.values()), options), strict=True))


class _Work(NamedTuple):
    """Models that are left to be decided."""

    blocks: list[dict[int, Problem]]  # by row; those of a block are decided together
    apart: list[int]  # the rows of those that other processes decide


def _divided(
    loss: Loss, left: Mapping[int, Model], options: Options, jobs: int, scheduler: object
) -> _Work:
    """The models by row, divided among blocks and other processes."""
    work = _Work([], [])
    places = list(left)
    for group in group_by_structure([*left.values()]):
        rows = [places[k] for k in group]
        first = left[rows[0]]
        bound = bind_labels(loss, first.alphabet, "decode_many")
        allowed = as_constraint(options.constraint, first.alphabet, first.n)
        problems = {row: options.problem(bound, left[row], allowed) for row in rows}
        for pairs in _with_probabilities_apart(problems):
            size = 1
            if scheduler is None and are_decided_together(pairs[0][1], options):
                size = min(limits.DECISIONS_AT_ONCE, batch_size(first, len(left), jobs))
            elif scheduler is not None or jobs > 1:
                work.apart.extend(row for row, _ in pairs)
                continue
            starts = range(0, len(pairs), size)
            work.blocks.extend(dict(pairs[begin : begin + size]) for begin in starts)
    return work


def _with_probabilities_apart(problems: Mapping[int, Problem]) -> list[list[tuple[int, Problem]]]:
    """Problems whose labels are two and independent, and others; each by row, if there are any.

    Models of one structure may differ in that: probabilities of a position must add up to 1 but for
    what a declared range allows.
    """
    parts: list[list[tuple[int, Problem]]] = [[], []]
    for row, problem in problems.items():
        parts[problem.probabilities is None].append((row, problem))
    return [part for part in parts if part]


def _decide_share(question: tuple[Loss, Options], models: list[Any]) -> list[Any]:
    loss, options = question
    return list(decode_many(loss, models, **options._asdict()))


def _ranked_together(
    loss: Loss, models: Sequence[Any] | NDArray[Any], options: Options
) -> Iterator[dict[int, Decision]]:
    """Blocks of decisions by row that ``ratios`` proves for vectors of probabilities."""
    for vectors in vectors_by_length(models):
        size = rows_at_once(vectors.p.shape[1])
        for begin in range(0, len(vectors.p), size):
            p = vectors.p[begin : begin + size]
            plain = np.flatnonzero(((p >= 0.0) & (p <= 1.0)).all(axis=1))
            if not len(plain):
                continue
            problem = _ranked_problem(loss, p[plain[0]], options)
            if problem is None:  # left to ``decode``
                break
            rows = vectors.rows[begin + plain].tolist()
            yield dict(decide_rows(problem, p[plain], rows))


def _ranked_problem(loss: Loss, p: Floats, options: Options) -> Problem | None:
    """The problem of a vector, if short ones like it are decided together by ``ratios``."""
    try:
        bound = bind_labels(loss, BINARY, "decode_many")
        model = Bernoulli(p)
        allowed = as_constraint(options.constraint, model.alphabet, model.n)
        problem = Problem(bound, model, allowed)
        is_first = first_method(problem, options) == RATIOS.name
    except RangeError:
        raise
    except FsmeuError:
        return None
    return problem if is_first and problem.n <= limits.SHORT_RULE else None


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
    for name in methods or METHODS_BY_ENGINE[options.get("engine", "auto")].methods:
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
