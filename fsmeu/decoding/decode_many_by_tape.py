"""Decisions for many sequences under a loss that splits by tape: one trellis serves them all."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from fsmeu.decoding.additive import additive_many
from fsmeu.decoding.constraint import as_constraint
from fsmeu.decoding.counting import counting_many
from fsmeu.decoding.decode import decision
from fsmeu.decoding.precision import checked
from fsmeu.decoding.problem import Answer, Decision, Problem, RefusalError
from fsmeu.errors import LossFileError, SizeLimitError
from fsmeu.expectation.by_tape import split_values
from fsmeu.expectation.query import bind_labels
from fsmeu.losses.loss import SpecLoss
from fsmeu.losses.protocol import Loss
from fsmeu.losses.semantics.declared_range import RangeError
from fsmeu.models import Model

__all__ = ["by_tape_together"]

_METHODS: dict[str, Callable[[Sequence[Problem]], list[Answer]]] = {
    "additive": additive_many,
    "counting": counting_many,
}
_AT_ONCE = 64
"""Decisions after which progress is told."""


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
    for rows in _alike(models):
        first = models[rows[0]]
        bound = bind_labels(loss, first.alphabet, "decode_many")
        name = _method(bound, first, method)
        if name is None or not isinstance(bound, SpecLoss):
            continue
        limits = as_constraint(constraint, first.alphabet, first.n)
        problems = {row: Problem(bound, models[row], limits) for row in rows}
        for begin in range(0, len(rows), _AT_ONCE):
            block = {row: problems[row] for row in rows[begin : begin + _AT_ONCE]}
            yield _decided(bound, block, name)


def _alike(models: Mapping[int, Model]) -> list[list[int]]:
    """The rows of models with the same labels, length and structure, several of each."""
    found: dict[Hashable, list[int]] = {}
    for row, model in models.items():
        if model.structure is not None:
            found.setdefault((model.labels, model.n, model.structure), []).append(row)
    return [rows for rows in found.values() if len(rows) > 1]


def _method(loss: Loss, model: Model, method: str) -> str | None:
    """The method by tape that ``decode`` would take first, None where it takes another."""
    form = loss.split if isinstance(loss, SpecLoss) else None
    ranks = len(model.labels) == 2 and max(model.layered().widths) == 1
    if form is None or not form.counted or (ranks and method == "auto"):
        return None
    fits = "additive" if form.additive else "counting"
    return fits if method in ("auto", fits) else None


def _decided(loss: SpecLoss, problems: Mapping[int, Problem], name: str) -> dict[int, Decision]:
    """The decisions of a block that are proven."""
    try:
        answers = _METHODS[name](list(problems.values()))
        z = np.stack([answer.indices for answer in answers])
        again = split_values(loss, z, [problem.model for problem in problems.values()])
        found = {}
        for k, (row, problem) in enumerate(problems.items()):
            value = None if again is None else float(again[0][k])
            answer = checked(problem, answers[k], value)
            if answer.exact:
                found[row] = decision(problem, name, answer)
    except RangeError:
        raise
    except (RefusalError, SizeLimitError, LossFileError):
        return {}
    return found
