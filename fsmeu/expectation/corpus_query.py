"""A loss and the label models of a corpus that fit together, and what sentences add to its counts.

Where the loss splits by tape, the value is linear in joint counts and otherwise looks at one count
of each tape. With the hypothesis given, all that the corpus needs of a sentence is the distribution
of its reference's count and, for each value of it, the expectation of the joint counts
(``trellis/windows.py``).
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from fsmeu.arrays import Floats, Ints
from fsmeu.errors import FsmeuError, InputError, message
from fsmeu.expectation.query import fitted, further_tags, refuse_exchanged
from fsmeu.fst.alphabet import listed
from fsmeu.fst.compose import guard_size, guard_work
from fsmeu.fst.constraint import Constraint, as_constraint, walk
from fsmeu.limits import CELLS_PER_STATE
from fsmeu.losses.evaluate import check_totals
from fsmeu.losses.loss import SpecLoss
from fsmeu.losses.protocol import Loss, check_loss
from fsmeu.models import Independent, Model, arc_weights_many, as_model
from fsmeu.models.chains import binary_marginals
from fsmeu.trellis.engine import Structure
from fsmeu.trellis.kept import structure_of
from fsmeu.trellis.windows import Window

__all__ = [
    "Corpus",
    "SentenceSums",
    "corpus_of",
    "encoded_corpus",
    "sentence_structure",
    "sentence_sums",
]


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


@dataclass(frozen=True, eq=False)
class SentenceSums:
    """What each sentence adds, its hypothesis given.

    Attributes:
        windows: masses and expectations of joint counts, by the count of the reference.
        hyp: the count of the hypothesis, (sentences,).
        cancelled: bounds on what joint counts gain, signs aside, (sentences, joint counts); 0 for
            those that nothing is taken from, whose expectations say so themselves.
    """

    windows: list[Window]
    hyp: Ints
    cancelled: Floats


@np.errstate(over="ignore", invalid="ignore")  # what comes of it is checked
def sentence_sums(corpus: Corpus, zs: Sequence[Ints]) -> SentenceSums:
    """What each sentence of a corpus adds.

    Requires a loss that splits by tape, its value looking at one counter of each at most.

    Args:
        corpus: the loss and the models.
        zs: label indices of the hypotheses.

    Raises:
        UncountableError: a counter does not grow by whole numbers.
        SizeLimitError: the sweeps would take too much room.
    """
    form = corpus.loss.split
    assert form is not None
    quantities = 1 + len(form.joint_counts)
    windows: list[Window] = [Window(0, np.zeros((quantities, 1)))] * len(zs)
    hyp = np.zeros(len(zs), np.int64)
    cancelled = np.zeros((len(zs), quantities - 1))
    for rows in sorted(corpus.alike(), key=lambda rows: -corpus.models[rows[0]].n):
        structure, n = sentence_structure(corpus, rows[0]), corpus.models[rows[0]].n
        cells = quantities * int(structure.r.columns[n] * structure.r.width[n])
        guard_size("expect_corpus", cells // CELLS_PER_STATE)
        guard_work("expect_corpus", n * cells)
        layered = arc_weights_many([corpus.models[row] for row in rows])
        ending, hyp[rows] = structure.sums(layered, [zs[row] for row in rows])
        takes = structure.amounts.signs(quantities - 1)[0]
        cancelled[rows] = np.where(takes, structure.greatest(n), 0.0)
        for row, tables in zip(rows, ending, strict=True):
            windows[row] = Window(0, tables, 0.0, structure.roundings(n))
    return SentenceSums(windows, hyp, cancelled)


def sentence_structure(corpus: Corpus, row: int) -> Structure:
    """The structure of both tapes and the model of a sentence, and of what is allowed.

    Raises:
        InputError: no sequence satisfies the constraint.
    """
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
