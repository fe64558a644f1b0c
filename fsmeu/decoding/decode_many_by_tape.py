"""Decisions for many sequences under a loss that splits by tape: one trellis serves them all."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from typing import Any

from fsmeu.decoding.additive import additive_many
from fsmeu.decoding.choice import first_among
from fsmeu.decoding.counting import counting_many
from fsmeu.decoding.decode import decision
from fsmeu.decoding.precision import checked, is_precise
from fsmeu.decoding.problem import Answer, Decision, Problem
from fsmeu.errors import LossFileError, SizeLimitError
from fsmeu.expectation.by_tape import split_values
from fsmeu.expectation.query import bind_labels
from fsmeu.fst.constraint import as_constraint
from fsmeu.limits import DECISIONS_AT_ONCE
from fsmeu.losses.loss import SpecLoss
from fsmeu.losses.protocol import Loss
from fsmeu.losses.semantics.declared_range import RangeError
from fsmeu.models import Model

__all__ = ["by_tape_together"]

_METHODS: dict[str, Callable[[Sequence[Problem]], list[Answer | str]]] = {
    "additive": additive_many,
    "counting": counting_many,
}


def by_tape_together(
    loss: Loss, models: Mapping[int, Model], method: str, constraint: Any
) -> Iterator[dict[int, Decision]]:
    """The decisions of blocks of models that share their structure, those that are proven.

    Args:
        loss: a loss or utility.
        models: label models by their row.
        method: "auto", or a method by name.
        constraint: as for ``decode``.
    """
    if method not in ("auto", *_METHODS):
        return
    for rows in _alike(models):
        first = models[rows[0]]
        bound = bind_labels(loss, first.alphabet, "decode_many")
        limits = as_constraint(constraint, first.alphabet, first.n)
        name = first_among(Problem(bound, first, limits), method, _METHODS)
        if name is None or not isinstance(bound, SpecLoss):
            continue
        problems = {row: Problem(bound, models[row], limits) for row in rows}
        for begin in range(0, len(rows), DECISIONS_AT_ONCE):
            block = {row: problems[row] for row in rows[begin : begin + DECISIONS_AT_ONCE]}
            yield _decided(bound, block, name)


def _alike(models: Mapping[int, Model]) -> list[list[int]]:
    """The rows of models with the same labels, length and structure, several of each."""
    found: dict[Hashable, list[int]] = {}
    for row, model in models.items():
        if model.structure is not None:
            found.setdefault((model.labels, model.n, model.structure), []).append(row)
    alike = [rows for rows in found.values() if len(rows) > 1]
    return sorted(alike, key=lambda rows: -models[rows[0]].n)  # one structure serves the shorter


def _decided(loss: SpecLoss, problems: Mapping[int, Problem], name: str) -> dict[int, Decision]:
    """The decisions of a block that are proven; what is only seen by computing is left out."""
    try:
        told = zip(problems.items(), _METHODS[name](list(problems.values())), strict=True)
        answers = [(*pair, answer) for pair, answer in told if isinstance(answer, Answer)]
        again = _values_again(loss, answers)
        found = {}
        for row, problem, answer in answers:
            sure = checked(problem, answer, again.get(row))
            if sure.exact:
                found[row] = decision(problem, name, sure)
    except RangeError:
        raise
    except (SizeLimitError, LossFileError):
        return {}
    return found


def _values_again(
    loss: SpecLoss, answers: Sequence[tuple[int, Problem, Answer]]
) -> dict[int, float]:
    """The expected values by row, computed once more where they are not known to be precise."""
    doubtful = [one for one in answers if not is_precise(one[2])]
    if not doubtful:
        return {}
    zs = [answer.indices for _, _, answer in doubtful]
    again = split_values(loss, zs, [problem.model for _, problem, _ in doubtful])
    if again is None:
        return {}
    return {row: float(one.values[0]) for (row, _, _), one in zip(doubtful, again, strict=True)}
