"""A loss and the label models of a corpus that fit together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from fsmeu.errors import InputError, message
from fsmeu.expectation.query import alike, fitted, further_tags, model_at
from fsmeu.fst.alphabet import listed
from fsmeu.fst.constraint import Constraint, as_constraint, walk
from fsmeu.losses.evaluate import check_totals
from fsmeu.losses.loss import SpecLoss
from fsmeu.losses.protocol import Loss, check_loss
from fsmeu.models import Independent, Model
from fsmeu.models.chains import binary_marginals
from fsmeu.trellis.engine import Structure
from fsmeu.trellis.kept import structure_of


@dataclass(frozen=True, eq=False)
class Corpus:
    """Sentences that are independent given the model.

    Attributes:
        loss: the loss, over the labels of the first model in their order.
        losses: the loss over the labels of each model in their order.
        models: the label model of each sentence.
        constraint: what hypotheses must satisfy, as ``decode`` takes it.
        structures: those with the constraint by sentence, as far as they were asked for.
    """

    loss: SpecLoss
    losses: list[SpecLoss]
    models: list[Model]
    constraint: Any = None
    structures: dict[int, Structure] = field(default_factory=dict, init=False)

    @property
    def n(self) -> int:
        """The total length."""
        return sum(model.n for model in self.models)

    def constraint_at(self, row: int) -> Constraint | None:
        """What the hypothesis of a sentence must satisfy."""
        model = self.models[row]
        return as_constraint(self.constraint, model.alphabet, model.n)

    def as_one(self) -> Model | None:
        """All sentences as one sequence, for values of a confusion table that sums over them.

        None where labels are not independent, or sentences must satisfy a constraint.
        """
        if self.loss.confusion is None or self.constraint is not None or not self.models:
            return None
        labels, rows = self.models[0].labels, []
        for model in self.models:
            p = binary_marginals(model)
            if p is None or model.labels != labels:
                return None
            rows.append(p)
        p = np.concatenate(rows)
        return Independent(np.stack([1.0 - p, p], axis=1), labels)

    def alike(self) -> list[list[int]]:
        """The sentences that can be swept together, the longest first."""
        return alike(self.models)


def corpus_of(loss: Loss, models: Any, where: str, zs: Sequence[Any] = ()) -> Corpus:
    """The loss and the models, checked against each other and over the same labels.

    Labels that the file leaves open are those of all models, and chunk tags those of zs too. The
    value must look at counts alone.
    """
    check_loss(loss, where)
    given = listed(models, where, "models must be a sequence of models", rows=True)
    found = [model_at(one, f"{where}, models[{row}]") for row, one in enumerate(given)]
    labels = dict.fromkeys(label for model in found for label in model.labels)
    labels |= dict.fromkeys(tag for z in zs for tag in further_tags(loss, z))
    bound: list[Loss] = []
    for row, model in enumerate(found):
        one, found[row] = fitted(loss, model, f"{where}, models[{row}]", labels)
        bound.append(one)
    first = bound[0] if bound else loss
    check_totals(first, where)
    assert isinstance(first, SpecLoss)
    return Corpus(first, [one for one in bound if isinstance(one, SpecLoss)], found)


def sentence_structure(corpus: Corpus, row: int) -> Structure:
    """The structure of both tapes and the model of a sentence, and of what is allowed."""
    loss, model = corpus.losses[row], corpus.models[row]
    if corpus.constraint is None:
        return structure_of(loss, model)  # kept on the loss where models share it
    if row not in corpus.structures:
        allowed = walk(corpus.constraint_at(row), len(loss.alphabet), model.n)
        if not len(allowed.ends):
            must = f"a sequence of length {model.n} must satisfy the constraint"
            raise InputError(message(f"decode_corpus, models[{row}]", must))
        corpus.structures[row] = structure_of(loss, model, allowed.layers())
    return corpus.structures[row]
