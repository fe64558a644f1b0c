"""A loss and the label models of a corpus that fit together, checked once."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fsmeu.errors import FsmeuError, InputError, message
from fsmeu.expectation.query import fitted, further_tags, refuse_exchanged
from fsmeu.fst.alphabet import listed
from fsmeu.fst.constraint import Constraint, as_constraint
from fsmeu.losses.evaluate import check_totals
from fsmeu.losses.loss import SpecLoss
from fsmeu.losses.protocol import Loss, check_loss
from fsmeu.models import Independent, Model, as_model
from fsmeu.models.chains import binary_marginals

__all__ = ["Corpus", "corpus_of", "encoded_corpus"]

Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Corpus:
    """Sentences that are independent given the model.

    Attributes:
        loss: the loss, over the labels of the first model in their order.
        losses: the loss over the labels of each model in their order.
        models: the label model of each sentence.
        constraint: what hypotheses must satisfy, as ``decode`` takes it.
    """

    loss: SpecLoss
    losses: list[SpecLoss]
    models: list[Model]
    constraint: Any = None

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
        """The sentences that can be swept together: of one length, structure and label order.

        Longer ones come first.
        """
        found: dict[Hashable, list[int]] = {}
        for row, model in enumerate(self.models):
            own = row if model.structure is None else None
            found.setdefault((model.n, model.labels, model.structure, own), []).append(row)
        return sorted(found.values(), key=lambda rows: -self.models[rows[0]].n)


def corpus_of(loss: Loss, models: Any, where: str, zs: Sequence[Any] = ()) -> Corpus:
    """The loss and the models, checked against each other and over the same labels.

    Labels that the file leaves open are those of all models, and chunk tags those of zs too.

    Raises:
        InputError: something is no model, labels differ, or the value looks at more than counts.
    """
    check_loss(loss, where)
    given = listed(models, where, "models must be a sequence of models", rows=True)
    found: list[Model] = []
    for row, one in enumerate(given):
        try:
            found.append(as_model(one))
        except FsmeuError as error:
            message = f"{where}, models[{row}]: {error}"
            raise InputError(message) from None
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


def encoded_corpus(
    loss: Loss, zs: Iterable[Any], models: Iterable[Any], where: str
) -> tuple[Corpus, list[Ints]]:
    """The corpus, and label indices of the hypotheses, each in the order of its model's labels.

    Raises:
        InputError: there are not as many as models, or one is not as long as its model.
    """
    must = "zs must be a sequence of label sequences"
    given = listed(zs, where, must, rows=True)
    models = listed(models, where, "models must be a sequence of models", rows=True)
    for row, (z, model) in enumerate(zip(given, models, strict=False)):
        refuse_exchanged(z, model, f"{where}, zs[{row}]")
        given[row] = listed(z, f"{where}, zs[{row}]")
    corpus = corpus_of(loss, models, where, given)
    if len(given) != len(corpus.models):
        must = "there must be as many hypotheses as models"
        raise InputError(message(where, must, f"{len(given)} and {len(corpus.models)}"))
    found = []
    for row, (z, model) in enumerate(zip(given, corpus.models, strict=True)):
        one = model.alphabet.encode(z, f"{where}, zs[{row}]")
        if len(one) != model.n:
            must = "hypothesis and model must have the same length"
            raise InputError(message(f"{where}, zs[{row}]", must, f"{len(one)} and {model.n}"))
        found.append(one)
    return corpus, found
