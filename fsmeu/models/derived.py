"""Models made of models: given a constraint, over more labels, at another temperature.

Chains that look back one label at most stay chains; what is no such chain becomes an acceptor.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from fsmeu import limits
from fsmeu.arrays import Floats, Ints
from fsmeu.errors import EmptyError, InputError, check_bool
from fsmeu.fst.alphabet import Alphabet, listed
from fsmeu.fst.constraint import ConstraintLike, as_constraint, neighbours, restricted
from fsmeu.fst.layers import from_logs, in_logs, reordered
from fsmeu.models.base import Model, ModelLike, forget, prepare_many
from fsmeu.models.chains import Bernoulli, Independent, Markov, as_model
from fsmeu.models.checks import real_array, softmax
from fsmeu.models.lattices import Acceptor
from fsmeu.models.paths import log_probability, logarithm, normalize
from fsmeu.models.potentials import Potentials

_TEMPERATURES = 0.01, 100.0
"""The least and greatest that a calibration looks at: sure of one sequence, nearly indifferent."""


def _chain_scores(model: Model) -> tuple[Floats, Floats] | None:
    """Log-potentials (n, L) and (L, L) or (n - 1, L, L) of a chain of order up to 1, or None."""
    if isinstance(model, Potentials) and model.n:
        return model.unary, model.pairwise
    size = len(model.labels)
    if isinstance(model, Bernoulli | Independent) and model.n:
        return logarithm(model.marginals()), np.zeros((size, size))
    if isinstance(model, Markov) and model.order == 1 and model.n:
        unary = np.zeros((model.n, size))
        unary[0] = logarithm(model.initial)
        return unary, logarithm(model.transition)
    return None


def given(model: Model, constraint: ConstraintLike) -> Model:
    """The model of P(y | y is allowed): a chain where it can be one, else an acceptor.

    Where the constraint only looks at neighbouring labels, a label or a pair that is not allowed
    gets the log-potential -inf. An EmptyError if nothing that is allowed is possible.
    """
    allowed = as_constraint(constraint, model.alphabet, model.n)
    if allowed is None:
        must = "a regular expression over labels or an acceptor is needed"
        raise InputError("given", must, given=constraint)
    local = neighbours(allowed)
    scores = None if local is None else _chain_scores(model)
    try:
        if local is not None and scores is not None:
            unary, pairwise = scores
            first, pairs, last = local
            unary = unary.copy()
            unary[0, ~first] = -np.inf
            unary[-1, ~last] = -np.inf
            pairwise = np.where(pairs, pairwise, -np.inf)
            return Potentials(unary, pairwise, model.labels)
        return Acceptor(restricted(model.layered(), allowed, "given"))
    except EmptyError:
        must = "some sequence that the constraint allows must have positive probability"
        raise EmptyError("given", must) from None


def extended(model: Model, alphabet: Alphabet) -> Model:
    """The same distribution over an alphabet that begins with the model's labels.

    Further labels have probability zero. Independent labels stay independent.
    """
    more = len(alphabet) - len(model.labels)
    if not more:
        return model
    padding = [(0, 0), (0, more)]
    if isinstance(model, Bernoulli | Independent):
        return Independent(np.pad(model.marginals(), padding), alphabet.labels)
    scores = _chain_scores(model)
    if scores is None:
        return Acceptor(reordered(model.layered(), alphabet), normalize=False)
    unary = np.pad(scores[0], padding, constant_values=-np.inf)
    pairwise = np.pad(scores[1], [(0, 0)] * (scores[1].ndim - 2) + [(0, more)] * 2)
    return Potentials(unary, pairwise, alphabet.labels)


def tempered(model: Model, temperature: float) -> Model:
    """The model of P(y) ** (1 / temperature), normalised: above 1 less sure, below 1 surer.

    Raises:
        InputError: the temperature is not positive, or several paths of the model read the same
            sequence, so that a power of its probability is none of the weights.
    """
    t = real_array(temperature, "temperature")
    if t.ndim or not np.isfinite(t) or t <= 0:
        raise InputError("temperature", "must be a positive number", given=temperature)
    model = as_model(model)
    power = 1.0 / float(t)
    scores = _chain_scores(model)
    if scores is not None:
        unary, pairwise = (part * power for part in scores)
        if isinstance(model, Bernoulli):
            return Bernoulli(softmax(unary)[:, 1])
        if isinstance(model, Independent):
            return Independent(softmax(unary), model.labels)
        return Potentials(unary, pairwise, model.labels)
    layers = in_logs(normalize(model.layered()))
    if not model.is_unambiguous:
        must = "no two paths of the model may read the same labels, as those of mixtures do"
        raise InputError("temperature", must, given=type(model).__name__)
    steps = tuple(replace(layer, weight=layer.weight * power) for layer in layers.layers)
    scaled = replace(layers, start=layers.start * power, layers=steps)
    return Acceptor(from_logs(scaled))


@dataclass(frozen=True)
class Calibration:
    """A temperature that was chosen on held-out references; called with a model, it applies it.

    Attributes:
        temperature: above 1 where the models were too sure.
        log_likelihood: mean logarithm of the probability of a reference at this temperature.
        before: the same at temperature 1.
        skipped: the number of references that were left out, as no temperature makes them possible.
    """

    temperature: float
    log_likelihood: float
    before: float
    skipped: int = 0

    def __call__(self, model: ModelLike) -> Model:
        """The model at this temperature."""
        return tempered(as_model(model), self.temperature)


def calibrate(
    models: Iterable[ModelLike],
    references: Iterable[Iterable[object]],
    *,
    skip_impossible: bool = False,
) -> Calibration:
    """The temperature, the same for all models, at which held-out references are most probable.

    Guo, Pleiss, Sun and Weinberger (2017) choose it so for classifiers; here whole sequences take
    the place of classes.
    The logarithm of the likelihood is a concave function of 1 / temperature, so that the greatest
    is found; temperatures from 0.01 to 100 are looked at. Models must not have been trained with
    these references; without a held-out set, ``learning.cross_val_models`` makes such models.

    Args:
        models: a label model for each held-out sequence.
        references: the labels that each of them turned out to have.
        skip_impossible: whether references of probability zero, or with labels that their model
            does not have, are left out; they are refused unless it is set.

    >>> round(calibrate([[0.9, 0.9, 0.1, 0.9]], [[1, 0, 0, 1]]).temperature, 6)
    2.0
    """
    skip = check_bool("calibrate", "skip_impossible", skip_impossible)
    all_models = [as_model(model) for model in listed(models, "calibrate", "models must be a list")]
    sequences = listed(references, "calibrate", "references must be a list of label sequences")
    if len(all_models) != len(sequences) or not all_models:
        must = "there must be as many references as models, at least one"
        raise InputError("calibrate", must, given=f"{len(sequences)} and {len(all_models)}")
    held_out = _possible_pairs(all_models, sequences, skip)
    pairs = held_out.pairs
    if not pairs:
        must = "some reference must have positive probability under its model"
        raise InputError("calibrate", must, given="none")

    def worse(log_temperature: float) -> float:
        temperature = math.exp(log_temperature)
        batches = (
            pairs[k : k + limits.FITTED_AT_ONCE]
            for k in range(0, len(pairs), limits.FITTED_AT_ONCE)
        )
        return -math.fsum(_log_likelihood(batch, temperature) for batch in batches) / len(pairs)

    from scipy.optimize import minimize_scalar  # takes a while to load

    bounds = tuple(map(math.log, _TEMPERATURES))
    best = minimize_scalar(worse, bounds=bounds, method="bounded", options={"xatol": 1e-8})
    at_one = math.fsum(held_out.log_probabilities) / len(pairs)
    skipped = len(all_models) - len(pairs)
    return Calibration(math.exp(float(best.x)), -float(best.fun), at_one, skipped)


class _HeldOut(NamedTuple):
    """Models, each with the label indices of its reference, and log P(reference) of each."""

    pairs: list[tuple[Model, Ints]]
    log_probabilities: list[float]


def _possible_pairs(models: Sequence[Model], references: Sequence[Any], skip: bool) -> _HeldOut:
    """The models with their references; impossible ones are left out if ``skip``, else refused."""
    held_out = _HeldOut([], [])
    for row, (model, reference) in enumerate(zip(models, references, strict=True)):
        where = f"calibrate, references[{row}]"
        labels = listed(reference, where)
        if len(labels) != model.n:
            must = f"must have length {model.n}, as its model"
            raise InputError(where, must, given=f"length {len(labels)}")
        try:
            y = model.alphabet.encode(labels, where)
            held_out.log_probabilities.append(_possible_log_probability(model, y, where))
            held_out.pairs.append((model, y))
        except InputError:
            if not skip:
                raise
    return held_out


def _possible_log_probability(model: Model, y: Ints, where: str) -> float:
    """The logarithm of the probability of indices of labels; an InputError where it is -inf.

    What the model computes for it is not kept.
    """
    fresh = prepare_many([model])
    found = _log_probability(model, y)
    forget(fresh)
    if found == -math.inf:
        raise InputError(where, "must have positive probability under its model")
    return found


def _log_probability(model: Model, y: Ints) -> float:
    """The logarithm of the probability of indices of labels; of a field without its layers."""
    if not isinstance(model, Potentials) or not model.n:
        return log_probability(model.layered(), y)
    steps = model.pairwise[..., y[:-1], y[1:]]
    if model.pairwise.ndim == 3:
        steps = model.pairwise[np.arange(model.n - 1), y[:-1], y[1:]]
    return float(model.unary[np.arange(model.n), y].sum() + steps.sum()) - model.log_partition


def _log_likelihood(pairs: Sequence[tuple[Model, Ints]], temperature: float) -> float:
    """The sum of the logarithms of the probabilities of references at a temperature."""
    models = [tempered(model, temperature) for model, _ in pairs]
    prepare_many(models)
    return math.fsum(_log_probability(m, y) for m, (_, y) in zip(models, pairs, strict=True))
