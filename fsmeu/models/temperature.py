"""Models at a temperature, and the temperature that suits held-out references best.

At temperature t a sequence has a probability proportional to P(y) ** (1 / t): above 1 a model is
less sure than it was, below 1 surer. Guo, Pleiss, Sun and Weinberger (2017) choose it by maximum
likelihood for classifiers; here whole sequences take the place of classes.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from fsmeu.errors import InputError, sentence
from fsmeu.fst.layers import Floats, Ints, from_logs, in_logs
from fsmeu.fst.sequences import listed
from fsmeu.limits import COLDEST, HOTTEST
from fsmeu.models.acceptor import Acceptor
from fsmeu.models.base import Model, prepare_many
from fsmeu.models.chain_scores import chain_scores
from fsmeu.models.checks import real_array
from fsmeu.models.coerce import as_model
from fsmeu.models.distances import normalize
from fsmeu.models.independent import Bernoulli, Independent
from fsmeu.models.marginals import log_probability
from fsmeu.models.potentials import Potentials

__all__ = ["Calibration", "calibrate", "tempered"]


def tempered(model: Model, temperature: float) -> Model:
    """The model of P(y) ** (1 / temperature), normalised.

    Raises:
        InputError: the temperature is not positive, or several paths of the model read the same
            sequence, so that a power of its probability is none of the weights.
    """
    t = real_array(temperature, "temperature")
    if t.ndim or not np.isfinite(t) or t <= 0:
        raise InputError(sentence("temperature", "must be a positive number", temperature))
    power = 1.0 / float(t)
    scores = chain_scores(model) if model.n else None
    if scores is not None:
        return _tempered_chain(model, *(part * power for part in scores))
    layers = in_logs(normalize(model.layered()))
    if not layers.unambiguous:
        must = "each sequence must have one path in the model, as in no mixture"
        raise InputError(sentence("temperature", must, type(model).__name__))
    steps = tuple(replace(layer, weight=layer.weight * power) for layer in layers.layers)
    return Acceptor(from_logs(replace(layers, start=layers.start * power, layers=steps)))


def _tempered_chain(model: Model, unary: Floats, pairwise: Floats) -> Model:
    """The chain of these scores; independent labels stay independent."""
    if not isinstance(model, Bernoulli | Independent):
        return Potentials(unary, pairwise, model.labels)
    weights = np.exp(unary - unary.max(axis=1, keepdims=True))
    rows = weights / weights.sum(axis=1, keepdims=True)
    return (
        Bernoulli(rows[:, 1]) if isinstance(model, Bernoulli) else Independent(rows, model.labels)
    )


@dataclass(frozen=True)
class Calibration:
    """A temperature that was chosen on held-out references; called with a model, it applies it.

    Attributes:
        temperature: above 1 where the models were too sure.
        log_likelihood: mean logarithm of the probability of a reference at this temperature.
        before: the same at temperature 1.
    """

    temperature: float
    log_likelihood: float
    before: float

    def __call__(self, model: object) -> Model:
        """The model at this temperature."""
        return tempered(as_model(model), self.temperature)


def calibrate(models: Iterable[object], references: Iterable[Iterable[object]]) -> Calibration:
    """The temperature, the same for all models, at which held-out references are most probable.

    The logarithm of the likelihood is a concave function of 1 / temperature, so that the greatest
    is found; temperatures from 0.01 to 100 are looked at.

    Args:
        models: a label model for each held-out sequence.
        references: the labels that each of them turned out to have.

    >>> round(calibrate([[0.9, 0.9, 0.1, 0.9]], [[1, 0, 0, 1]]).temperature, 6)
    2.0
    """
    made = [as_model(one) for one in listed(models, "calibrate", "models must be a list")]
    given = listed(references, "calibrate", "references must be a list of label sequences")
    if len(made) != len(given) or not made:
        must = "there must be as many references as models, at least one"
        raise InputError(sentence("calibrate", must, f"{len(given)} and {len(made)}"))
    seen = [_encoded(one, y, row) for row, (one, y) in enumerate(zip(made, given, strict=True))]
    before = _likelihood(made, seen)
    from scipy.optimize import minimize_scalar  # takes a while to load

    def worse(log_temperature: float) -> float:
        return -_likelihood([tempered(one, math.exp(log_temperature)) for one in made], seen)

    bounds = (math.log(COLDEST), math.log(HOTTEST))
    best = minimize_scalar(worse, bounds=bounds, method="bounded", options={"xatol": 1e-9})
    return Calibration(math.exp(float(best.x)), -float(best.fun), before)


def _encoded(model: Model, reference: Iterable[object], row: int) -> Ints:
    where = f"calibrate, references[{row}]"
    indices = model.alphabet.encode(reference, where)
    if len(indices) != model.n:
        must = f"must have length {model.n}, as its model"
        raise InputError(sentence(where, must, f"length {len(indices)}"))
    if log_probability(model.layered(), indices) == -math.inf:
        raise InputError(sentence(where, "must have positive probability under its model"))
    return indices


def _likelihood(models: Sequence[Model], seen: Sequence[Ints]) -> float:
    """The mean logarithm of the probability of the sequences that were seen."""
    prepare_many(models)
    pairs = zip(models, seen, strict=True)
    return math.fsum(log_probability(one.layered(), y) for one, y in pairs) / len(models)
