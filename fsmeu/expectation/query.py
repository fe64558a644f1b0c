"""The parts of a query: a loss, a hypothesis and a label model that fit together."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NoReturn

from fsmeu import limits
from fsmeu.arrays import Ints
from fsmeu.errors import Argument, FsmeuError, InputError, shorten, wording
from fsmeu.fst.alphabet import Alphabet, Label, listed
from fsmeu.fst.constraint import Constraint, is_within, restricted
from fsmeu.fst.layers import Layered, any_layers, pair_layers, reordered, string_layers
from fsmeu.losses.machine.view import LossAutomaton
from fsmeu.losses.protocol import Loss, LossLike, as_loss, check_hypothesis
from fsmeu.models import HypothesisLike, Model, ModelLike, as_model
from fsmeu.models.derived import extended
from fsmeu.parallel import TASKS_PER_JOB


@dataclass(frozen=True, eq=False)
class Query:
    """A loss, a hypothesis and a model that fit together, checked once.

    The loss is over the model's labels, and the model over all labels of the loss. The hypothesis
    is label indices ``z``, or else a ``distribution``; ``where`` names the caller in messages.
    """

    loss: Loss
    z: Ints | None
    distribution: Model | None
    model: Model
    where: str

    @cached_property
    def hypothesis(self) -> Layered:
        """The hypothesis as a layered acceptor: one sequence, or a distribution."""
        if self.distribution is not None:
            return reordered(self.distribution.layered(), self.model.alphabet)
        assert self.z is not None
        return string_layers(self.loss.alphabet, self.z)

    @property
    def labels(self) -> list[Label] | None:
        """The labels of the hypothesis, or None when it is a distribution."""
        return None if self.z is None else self.loss.alphabet.decode(self.z)

    @property
    def n(self) -> int:
        """The length of the sequences."""
        return self.model.n

    def view(self, weights: bool) -> LossAutomaton:
        """The loss as the lattice engine walks it."""
        return self.loss.view(self.n, self.z, weights)

    def input(self) -> Layered:
        """The input of that view: the model, or both tapes side by side, symbol z * L + y."""
        if self.z is not None:
            return self.model.layered()
        return pair_layers(self.hypothesis, self.model.layered())


def query_of(loss: LossLike, z: HypothesisLike, model: ModelLike, where: str = "expect") -> Query:
    """The three parts of an expectation, checked against each other."""
    loss = as_loss(loss, where)
    name = f"{where}, hypothesis z"
    z = _hypothesis(z, model, name)
    return _query(*fitted(loss, as_model(model), where, further_tags(loss, z)), z, where, name)


def queries_of(
    loss: LossLike, zs: Iterable[HypothesisLike], models: Iterable[ModelLike], where: str
) -> list[Query]:
    """The query of each hypothesis and its model; equal model objects are fitted once."""
    loss = as_loss(loss, where)
    cached = dict[Hashable, tuple[Loss, Model]]()
    results = list[Query]()
    for row, (z, model) in enumerate(zip(*paired(zs, models, where), strict=True)):
        tags = tuple(further_tags(loss, z))
        key = (id(model), tags)
        if key not in cached:
            cached[key] = fitted(loss, model_at(model, f"{where}, models[{row}]"), where, tags)
        results.append(_query(*cached[key], z, where, f"{where}, zs[{row}]"))
    return results


def paired(
    zs: Iterable[HypothesisLike], models: Iterable[ModelLike], where: str
) -> tuple[list[Any], list[Any]]:
    """The hypotheses, each a list of labels or a model, and as many models or values for them."""
    hypotheses, references = (
        listed(items, where, f"{name} must be a sequence, one for each expectation", True)
        for name, items in (("zs", zs), ("models", models))
    )
    if len(hypotheses) != len(references):
        must = "there must be one model for each hypothesis"
        raise InputError(where, must, given=f"{len(hypotheses)} and {len(references)}")
    pairs = enumerate(zip(hypotheses, references, strict=True))
    return [_hypothesis(z, model, f"{where}, zs[{row}]") for row, (z, model) in pairs], references


def _hypothesis(z: Any, model: Any, name: str) -> Any:
    """The hypothesis as a model or a list, read once."""
    refuse_exchanged(z, model, name)
    return z if isinstance(z, Model) else listed(z, name, "z must be a label sequence or a model")


def _query(loss: Loss, model: Model, z: Any, where: str, name: str) -> Query:
    """The query, with the names of the caller and of the hypothesis in messages."""
    if not isinstance(z, Model):
        indices = encoded_hypothesis(z, model, name)
        check_hypothesis(loss, indices, name)
        return Query(loss, indices, None, model, where)
    if not set(z.labels) <= set(model.labels):
        _refuse_labels("hypothesis", z.labels, model.labels, where)
    _check_length(z.n, model, name)
    query = Query(loss, None, z, model, where)
    allowed = loss.allowed(model.n)
    if allowed is not None and not is_within(query.hypothesis, allowed):
        must = f"{loss.kind} {loss.name} is defined where {loss.requirement}"
        got = "a distribution that has other sequences"
        remedy = "Condition it: z.given(constraint)"
        raise InputError(name, must, given=got, remedy=remedy)
    return query


def encoded_hypothesis(z: Iterable[Any], model: Model, name: str) -> Ints:
    """The label indices of a hypothesis, which is as long as its model, (n,)."""
    indices = model.alphabet.encode(z, name)
    _check_length(len(indices), model, name)
    return indices


def _check_length(n: int, model: Model, name: str) -> None:
    if n != model.n:
        must = "the hypothesis and the model must have the same length"
        raise InputError(name, must, given=f"lengths {n} and {model.n}")


def model_at(value: ModelLike, where: str) -> Model:
    """The model that a value stands for; errors say where it was given."""
    try:
        return as_model(value)
    except FsmeuError as error:
        raise error.within(where) from None


def allowed_layers(model: Model, constraint: Constraint | None) -> Layered:
    """All sequences of a model's labels and length that a constraint allows, of weight one."""
    free = any_layers(model.alphabet, model.n)
    return free if constraint is None else restricted(free, constraint)


def group_by_structure(items: Sequence[Query | Model]) -> list[list[int]]:
    """Lists of rows, those with models of the same length, labels and structure in one list.

    A row whose hypothesis is a model is alone, and so is one of length 0, where chains of any order
    have one structure. The longest come first: their structure serves shorter ones, too.
    """
    groups: dict[Hashable, list[int]] = {}
    for row, item in enumerate(items):
        model = item.model if isinstance(item, Query) else item
        single = not model.n or (isinstance(item, Query) and item.z is None)
        key = row if single else (model.n, model.labels, model.structure)
        groups.setdefault(key, []).append(row)
    return sorted(groups.values(), key=lambda rows: -items[rows[0]].n)


def batch_size(model: Model, count: int, jobs: int) -> int:
    """The number of models like this one, 1 to ``count``, that a thread takes at a time."""
    arcs = model.arc_weights().arcs.size
    share = count if jobs == 1 else count // (TASKS_PER_JOB * jobs) + 1
    return max(1, min(share, limits.WEIGHTS_AT_ONCE // (jobs * max(1, arcs))))


def refuse_exchanged(z: Any, model: Any, where: str) -> None:
    """Refuses a label sequence as the model beside a model as the hypothesis.

    A sequence of 0 and 1 could also be read as probabilities; the answer would be another one.
    """
    if not isinstance(z, Model) or isinstance(model, Model):
        return
    try:
        labels = z.alphabet.encode(model)
    except InputError:
        return
    if len(labels):
        must = "the hypothesis z comes before the model"
        got = f"{shorten(repr(z))} as z and labels {shorten(repr(model))} as the model"
        remedy = "Exchange them, or write models.Bernoulli([0, 1, ...]) for a certain reference"
        raise InputError(where, must, given=got, remedy=remedy)


def fitted(
    loss: LossLike, model: Model, where: str, further: Iterable[Label] = ()
) -> tuple[Loss, Model]:
    """The loss and the model over the same labels: the model's, in its order, then others.

    A label that the loss has and the model lacks has probability zero; one that the loss lacks is
    refused. ``further`` are labels beside those of the model, where those of the loss are open.
    """
    loss = as_loss(loss, where)
    labels = further if loss.labels_open else loss.alphabet.labels
    more = dict.fromkeys(label for label in labels if label not in model.alphabet.index)
    if more and (loss.labels_open or set(model.labels) <= set(labels)):
        model = extended(model, Alphabet((*model.labels, *more)))
    return bind_labels(loss, model.alphabet, where), model


def bind_labels(loss: LossLike, alphabet: Alphabet, where: str) -> Loss:
    """The loss over these labels, in this order; an InputError if it has others."""
    loss = as_loss(loss, where)
    if not loss.labels_open:
        if loss.alphabet.labels == alphabet.labels:
            return loss
        if set(loss.alphabet.labels) != set(alphabet.labels):
            own = loss.alphabet.labels
            named = loss.bound is not None and loss.bound.spec.labels is not None
            remedy = ""
            if named and len(own) != len(alphabet):  # which new names cannot change
                remedy = f"The file is for {len(own)} labels: take one that says 'labels any'"
            _refuse_labels(f"{loss.kind} {loss.name}", own, alphabet.labels, where, remedy)
    return loss.with_labels(alphabet)


def further_tags(loss: Loss, z: Any) -> Sequence[Label]:
    """The labels of a hypothesis, where the loss is over chunk tags that are read from the data."""
    if not (loss.labels_open and loss.scheme):
        return ()
    return z.labels if isinstance(z, Model) else [tag for tag in z if isinstance(tag, str)]


def _refuse_labels(
    what: str, other: Sequence[Label], model: Sequence[Label], where: str, remedy: str = ""
) -> NoReturn:
    """Refuses two sets of labels, and names what is in one of them alone."""
    must = f"{what} and model must have the same labels"
    sides = ((what, other, model), ("model", model, other))
    extra = [(name, [x for x in left if x not in set(right)]) for name, left, right in sides]
    got = "; ".join(f"in the {name} alone: {shorten(labels)}" for name, labels in extra if labels)
    remedy = remedy or wording("Give ", Argument("labels"), " as the model has them")
    raise InputError(where, must, given=got, remedy=remedy)
