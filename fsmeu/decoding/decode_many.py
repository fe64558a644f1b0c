"""Decisions for many sequences: those that rank by probability are made all at once."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from fsmeu.arrays import Bools, Floats, Ints
from fsmeu.decoding.decode import METHODS, decision, decode, first_among
from fsmeu.decoding.fast_ratio import in_best_order
from fsmeu.decoding.precision import PRECISION
from fsmeu.decoding.problem import Decision, Problem, checked_seconds
from fsmeu.decoding.ranking_fast import RANKING_FAST, WHY, fast_values
from fsmeu.decoding.split import ADDITIVE, COUNTING, split_together
from fsmeu.errors import FsmeuError, InputError, LossFileError, SizeLimitError, message, one_of
from fsmeu.expectation.query import bind_labels, fitted
from fsmeu.fst.alphabet import BINARY, listed
from fsmeu.fst.constraint import as_constraint
from fsmeu.limits import CANDIDATES, SECONDS
from fsmeu.losses.protocol import Loss, check_loss
from fsmeu.losses.semantics.domains import RangeError
from fsmeu.models import Bernoulli, Model, as_model
from fsmeu.models.checks import vector_of_numbers
from fsmeu.parallel import checked_jobs, in_shares

__all__ = ["decode_many"]

RANKED_CELLS = 8_000_000  # cells of the distributions of counts ranked at once: 64 MB
DECISIONS_AT_ONCE = 64  # decisions after which progress is told


def decode_many(
    loss: Loss,
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
) -> list[Decision]:
    """The decision for each model, ``decode`` of every one of them.

    Args:
        loss: a loss or utility.
        models: label models; vectors of probabilities stand for ``Bernoulli``.
        method: as for ``decode``.
        keep: as for ``decode``.
        constraint: as for ``decode``; the same for all.
        budget: as for ``decode``.
        seconds: as for ``decode``; for each decision.
        progress: called with the number of decisions made since the last call.
        jobs: how many threads decide; processes, for methods that run as Python.
        scheduler: the address of a Dask scheduler, or a client of ``distributed``, whose workers
            decide.
    """
    check_loss(loss, "decode_many")
    models = listed(models, "decode_many", "models must be a sequence of models", rows=True)
    method = one_of("decode_many", "method", method, ["auto", *METHODS])
    checked_seconds(seconds)
    if progress is not None and not callable(progress):
        must = "progress must be a function of the number of decisions made"
        raise InputError(message("decode_many", must, progress))
    tell = progress or (lambda made: None)
    options: dict[str, Any] = {
        "method": method,
        "keep": keep,
        "constraint": constraint,
        "budget": budget,
        "seconds": seconds,
    }
    threads = checked_jobs("decode_many", jobs)
    if scheduler is not None:
        made_models = [_model(loss, model, row) for row, model in enumerate(models)]
        return _in_processes((loss, options), made_models, jobs, scheduler, tell)
    found: dict[int, Decision] = {}
    if keep is None and method in ("auto", RANKING_FAST.name):
        for rows, p in _independent(models):
            made = _ranked_together(loss, rows, p, method, constraint)
            found.update(made)
            tell(len(made))
    left = {row: _model(loss, m, row) for row, m in enumerate(models) if row not in found}
    if keep is None:
        for made in _split_together(loss, left, method, constraint, threads):
            found.update(made)
            tell(len(made))
    left = {row: model for row, model in left.items() if row not in found}
    if threads > 1 and len(left) > 1:
        others = _in_processes((loss, options), list(left.values()), jobs, scheduler, tell)
        found.update(zip(left, others, strict=True))
        left = {}
    for row, model in left.items():
        found[row] = decode(loss, model, **options)
        tell(1)
    return [found[row] for row in range(len(models))]


def _in_processes(
    question: tuple[Loss, dict[str, Any]],
    models: list[Model],
    jobs: int,
    scheduler: Any,
    tell: Callable[[int], None],
) -> list[Decision]:
    """The decisions, made by other processes."""
    sizes = [model.n for model in models]
    return in_shares("decode_many", _decide_share, question, models, sizes, jobs, scheduler, tell)


def _split_together(
    loss: Loss, models: Mapping[int, Model], method: str, constraint: Any, threads: int
) -> Iterator[dict[int, Decision]]:
    """The decisions of blocks of models that share their structure, those that are proven.

    Args:
        loss: a loss or utility.
        models: label models by their row.
        method: "auto", or a method by name.
        constraint: as for ``decode``.
        threads: how many threads decide.
    """
    methods = {one.name: one for one in (ADDITIVE, COUNTING)}
    if method not in ("auto", *methods):
        return
    for rows in _alike(models):
        first = models[rows[0]]
        bound = bind_labels(loss, first.alphabet, "decode_many")
        limits = as_constraint(constraint, first.alphabet, first.n)
        name = first_among(Problem(bound, first, limits), method, methods)
        if name is None:
            continue
        problems = {row: Problem(bound, models[row], limits) for row in rows}
        size = DECISIONS_AT_ONCE * threads
        for begin in range(0, len(rows), size):
            block = {row: problems[row] for row in rows[begin : begin + size]}
            try:
                answers = split_together(methods[name], block, threads)
            except RangeError:
                raise
            except (SizeLimitError, LossFileError):
                continue
            yield {row: decision(block[row], name, answer) for row, answer in answers.items()}


def _alike(models: Mapping[int, Model]) -> list[list[int]]:
    """The rows of models with the same labels, length and structure; the longest first.

    The structure that serves the longest serves the shorter ones, too.
    """
    found: dict[Hashable, list[int]] = {}
    for row, model in models.items():
        if model.structure is not None:
            found.setdefault((model.labels, model.n, model.structure), []).append(row)
    return sorted(found.values(), key=lambda rows: -models[rows[0]].n)


def _decide_share(question: tuple[Loss, dict[str, Any]], models: list[Any]) -> list[Decision]:
    loss, options = question
    return decode_many(loss, models, **options)


def _model(loss: Loss, model: Any, row: int) -> Model:
    """The model over all labels of the loss."""
    try:
        return fitted(loss, as_model(model), "labels")[1]
    except FsmeuError as error:
        message = f"decode_many, models[{row}]: {error}"
        raise InputError(message) from None


def _independent(models: Sequence[Any]) -> list[tuple[list[int], Floats]]:
    """Sequences of independent binary labels in blocks of equal length, probabilities stacked.

    What is no vector of probabilities is left to ``decode``, which says so.
    """
    by_length: dict[int, list[int]] = {}
    vectors: dict[int, Floats] = {}
    for row, model in enumerate(models):
        given = model.p if isinstance(model, Bernoulli) else None
        if not isinstance(model, Model):
            given = vector_of_numbers(model)
        if given is not None:
            vectors[row] = given
            by_length.setdefault(len(given), []).append(row)
    blocks = []
    for n, rows in by_length.items():
        size = max(1, RANKED_CELLS // (n + 1) ** 2)
        for begin in range(0, len(rows), size):
            part = rows[begin : begin + size]
            p = np.stack([vectors[row] for row in part])
            plain = np.flatnonzero(((p >= 0.0) & (p <= 1.0)).all(axis=1))
            if len(plain):
                blocks.append(([part[k] for k in plain.tolist()], p[plain]))
    return blocks


def _ranked_together(
    loss: Loss, rows: list[int], p: Floats, method: str, constraint: Any
) -> dict[int, Decision]:
    """Decisions by ``ranking_fast`` for sequences of one length, those that it proves.

    None where it does not fit.
    """
    try:
        bound = bind_labels(loss, BINARY, "decode_many")
        problem = Problem(bound, Bernoulli(p[0]), as_constraint(constraint, BINARY, p.shape[1]))
        if first_among(problem, method, (RANKING_FAST.name,)) is None:
            return {}
        ordered = in_best_order(problem)
        ones = p if ordered is problem else 1.0 - p
        order = np.argsort(-ones, axis=1, kind="stable")
        values, errors = fast_values(ordered, np.take_along_axis(ones, order, axis=1))
    except RangeError:
        raise
    except FsmeuError:
        return {}
    n = p.shape[1]
    best, proven = _best_of_each(problem.sign * values, errors)
    chosen = np.zeros(p.shape, np.int64)
    np.put_along_axis(chosen, order, (np.arange(n) < best[:, None]).astype(np.int64), axis=1)
    labels = np.array(ordered.loss.alphabet.labels, dtype=object)[chosen].tolist()
    value = values[np.arange(len(rows)), best].tolist()
    return {
        row: Decision(labels[k], value[k], RANKING_FAST.name, True, n + 1, WHY)
        for k, row in enumerate(rows)
        if proven[k]
    }


def _best_of_each(values: Floats, errors: Floats) -> tuple[Ints, Bools]:
    """The best candidate of each sequence, and whether it is so beyond rounding.

    Where the expected absolute value would have to be known for that, it is not asked for.
    """
    best = values.argmax(axis=1)
    rows = np.arange(len(values))
    top = values[rows, best]
    with np.errstate(invalid="ignore"):
        reach = (values + errors).max(axis=1) - top + errors[rows, best]
        proven = (reach <= PRECISION * np.abs(top)) & np.isfinite(top)
    return best, proven
