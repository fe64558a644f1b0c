"""``expect_many``: sequences of equal length, labels and model size are walked together."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from fsmeu.arrays import Floats, Ints
from fsmeu.errors import FsmeuError, InputError, message
from fsmeu.expectation.by_tape import split_values
from fsmeu.expectation.expect import expect
from fsmeu.expectation.query import (
    bind_labels,
    fitted,
    further_tags,
    labels_open,
    open_tags,
    refuse_exchanged,
)
from fsmeu.expectation.result import check_finite
from fsmeu.fst.alphabet import BINARY, Alphabet, Label, listed
from fsmeu.losses.loss import SpecLoss
from fsmeu.losses.protocol import Loss, check_loss
from fsmeu.losses.semantics.domains import check_range
from fsmeu.models import Model, as_model
from fsmeu.models.base import prepare_many
from fsmeu.parallel import checked_jobs, in_shares
from fsmeu.trellis.roundings import Sums
from fsmeu.trellis.walk import walk_many

__all__ = ["expect_many", "vector_of_numbers"]


def expect_many(
    loss: Loss,
    zs: Iterable[Any],
    models: Iterable[Any],
    *,
    jobs: int = 1,
    scheduler: Any = None,
) -> Floats:
    """The expected value of each hypothesis under its model, ``expect(...).value`` of every pair.

    Args:
        loss: a loss or utility.
        zs: hypotheses, label sequences of any lengths; or an array (sequences, n).
        models: a label model for each; vectors of probabilities stand for ``Bernoulli``.
        jobs: how many threads compute; processes, where the loss does not split by tape.
        scheduler: the address of a Dask scheduler, or a client of ``distributed``, whose workers
            compute.

    >>> from fsmeu.losses.loss import load
    >>> expect_many(load("hamming"), ["10", "111"], [[0.9, 0.5], [0.5, 0.5, 0.5]])
    array([0.3, 0.5])
    """
    check_loss(loss, "expect_many")
    hypotheses, given = (
        listed(items, "expect_many", f"{name} must be a sequence, one for each expectation", True)
        for name, items in (("zs", zs), ("models", models))
    )
    if len(hypotheses) != len(given):
        must = "there must be one model for each hypothesis"
        raise InputError(message("expect_many", must, f"{len(hypotheses)} and {len(given)}"))
    if open_tags(loss):
        hypotheses = [_listed(z, row) for row, z in enumerate(hypotheses)]
    references = _references(loss, hypotheses, given)
    threads = checked_jobs("expect_many", jobs)
    if scheduler is not None:
        return _expect_in_shares(loss, hypotheses, references, jobs, scheduler)
    values, left = np.empty(len(hypotheses)), []
    for rows in _alike(hypotheses, references):
        together = _together(loss, rows, hypotheses, references, threads)
        if together is None:
            left += rows
        else:
            values[rows] = together
    some = [(hypotheses[row], references[row]) for row in left]
    if threads > 1 and len(left) > 1:
        zs, models = zip(*some, strict=True)
        values[left] = _expect_in_shares(loss, zs, models, jobs, scheduler)
    else:
        values[left] = [expect(loss, z, reference.given).value for z, reference in some]
    return values


def _listed(z: Any, row: int) -> Any:
    """A hypothesis that can be read more than once."""
    return z if isinstance(z, Model) else listed(z, f"expect_many, zs[{row}]")


def _expect_in_shares(
    loss: Loss,
    hypotheses: Sequence[Any],
    references: Sequence[_Reference],
    jobs: int,
    scheduler: Any,
) -> Floats:
    """The values, computed by other processes once the hypotheses are checked."""
    pairs = []
    for row, (z, reference) in enumerate(zip(hypotheses, references, strict=True)):
        if not isinstance(z, Model):
            z = reference.alphabet.decode(_indices(z, row, reference))
        pairs.append((z, reference.given))
    sizes = [reference.n for reference in references]
    found = in_shares("expect_many", _expect_share, loss, pairs, sizes, jobs, scheduler)
    return np.array(found, np.float64)


def _expect_share(loss: Loss, pairs: list[tuple[Any, Any]]) -> list[float]:
    zs, models = zip(*pairs, strict=True)
    return [float(value) for value in expect_many(loss, zs, models)]


@dataclass(frozen=True, eq=False)
class _Reference:
    """A model as it enters a batch.

    Attributes:
        alphabet: its labels.
        n: the length of its sequences.
        model: the model itself; None where a vector of probabilities was given.
        vector: that vector.
    """

    alphabet: Alphabet
    n: int
    model: Model | None
    vector: Floats | None = None

    @property
    def given(self) -> Model | Floats:
        """The model or the vector."""
        return self.vector if self.model is None else self.model  # type: ignore[return-value]

    @property
    def kind(self) -> Hashable:
        """Models of the same kind have the same arcs."""
        arcs = None
        if self.model is not None:
            arcs = id(self.model) if self.model.structure is None else self.model.structure
        return self.alphabet.labels, self.n, arcs


def _references(loss: Loss, zs: list[Any], models: Sequence[Any]) -> list[_Reference]:
    """Each model as it enters a batch; the same for those that are one object."""
    known: dict[Hashable, _Reference] = {}
    found = []
    for row, (z, model) in enumerate(zip(zs, models, strict=True)):
        refuse_exchanged(z, model, f"expect_many, zs[{row}]")
        tags = tuple(further_tags(loss, z))
        if (id(model), tags) not in known:
            known[id(model), tags] = _reference(loss, model, row, tags)
        found.append(known[id(model), tags])
    return found


def _reference(loss: Loss, model: Any, row: int, tags: Sequence[Label]) -> _Reference:
    vector = None if isinstance(model, Model) else _probabilities(model)
    if vector is not None and (labels_open(loss) or set(loss.alphabet.labels) == {0, 1}):
        return _Reference(BINARY, len(vector), None, vector)
    try:
        made = as_model(model)
    except FsmeuError as error:
        message = f"expect_many, models[{row}]: {error}"
        raise InputError(message) from None
    made = fitted(loss, made, "expect_many", tags)[1]
    return _Reference(made.alphabet, made.n, made)


def vector_of_numbers(value: Any) -> Floats | None:
    """The value as a vector, None when it is not plainly one of numbers."""
    try:
        vector = np.asarray(value)
    except Exception:  # whatever it raises; as_model says what it must be
        return None
    if vector.ndim != 1 or vector.dtype.kind not in "fiu" or np.ma.is_masked(value):
        return None
    return vector.astype(np.float64, copy=False)


def _probabilities(value: Any) -> Floats | None:
    """The value as a vector of probabilities, None when it is not plainly one."""
    vector = vector_of_numbers(value)
    if vector is None or not len(vector):
        return vector
    return vector if vector.min() >= 0.0 and vector.max() <= 1.0 else None


def _alike(hypotheses: Sequence[Any], references: Sequence[_Reference]) -> list[list[int]]:
    """The rows of each bucket; distributions as hypotheses, and large models, are in one.

    The longest first: the structure that serves them serves the shorter ones, too.
    """
    buckets: dict[Hashable, list[int]] = {}
    for row, (z, reference) in enumerate(zip(hypotheses, references, strict=True)):
        kind = None if isinstance(z, Model) else reference.kind
        buckets.setdefault(kind, []).append(row)
    return sorted(buckets.values(), key=lambda rows: -references[rows[0]].n)


def _together(
    loss: Loss,
    rows: list[int],
    hypotheses: Sequence[Any],
    references: Sequence[_Reference],
    threads: int,
) -> Floats | None:
    """The values of a bucket, None when its sequences cannot be walked together.

    Args:
        loss: a loss or utility.
        rows: the rows of the bucket.
        hypotheses: all hypotheses.
        references: all models.
        threads: how many threads compute.
    """
    first = references[rows[0]]
    if isinstance(hypotheses[rows[0]], Model):
        return None
    bound = bind_labels(loss, first.alphabet, "expect_many")
    z = np.empty((len(rows), first.n), np.int64)
    for k, row in enumerate(rows):
        z[k] = _indices(hypotheses[row], row, first)
    if not isinstance(bound, SpecLoss):
        return None
    some = [references[row] for row in rows]
    together = _by_tape(bound, z, some, threads) or _walked(bound, z, some)
    if together is None:
        return None
    values, masses, *_ = together
    check_finite("expect_many", values)
    check_range(bound.bound, first.n, values[masses > 0] / masses[masses > 0])
    return values


@np.errstate(over="ignore", invalid="ignore")  # what comes of it is checked
def _walked(loss: SpecLoss, z: Ints, some: Sequence[_Reference]) -> Sums | None:
    """The sums by the general walk, where arrays span the states of the loss."""
    first = as_model(some[0].given)
    if all(one is some[0] for one in some):
        some = some[:1]

    def weights(rows: slice) -> Floats:
        ours = some if len(some) == 1 else some[rows]
        models = [as_model(one.given) for one in ours]
        prepare_many(models)
        return np.stack([model.all_weights() for model in models])

    return walk_many(loss, z, first.layered(), weights)


def _by_tape(
    loss: SpecLoss, z: Ints, references: Sequence[_Reference], threads: int
) -> Sums | None:
    """The sums where the loss splits by tape."""
    models = [as_model(one.given) for one in references]
    if models[0].structure is None:
        return None
    return split_values(loss, list(z), models, jobs=threads)


def _indices(z: Any, row: int, reference: _Reference) -> Ints:
    where = f"expect_many, zs[{row}]"
    indices = reference.alphabet.encode(z, where)
    if len(indices) != reference.n:
        must = "the hypothesis and its model must have the same length"
        raise InputError(message(where, must, f"lengths {len(indices)} and {reference.n}"))
    return indices
