"""Derivatives of an expectation with respect to the parameters of the model.

Forward distances say how much mass arrives at an arc of the composition, backward distances what
follows it is worth; their product is the derivative of the expectation with respect to the weight
of the arc, all arcs taken as free variables. The model pulls these back to its own parameters.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from fsmeu.arrays import Floats
from fsmeu.errors import InputError, message, one_of
from fsmeu.expectation.composition import explicit_gradient
from fsmeu.expectation.expect import ENGINES, by_structure
from fsmeu.expectation.query import Query, alike, query
from fsmeu.expectation.result import check_finite
from fsmeu.losses.loss import SpecLoss
from fsmeu.losses.protocol import Loss
from fsmeu.models import Gradient, Parametrized, as_model
from fsmeu.trellis.walk import walk_gradient


def gradient(loss: Loss, z: Any, model: Any, *, engine: str = "lattice") -> Gradient:
    """The derivatives of ``expect(loss, z, model).value`` with respect to the model's parameters.

    Args:
        loss: a loss or utility.
        z: a label sequence, or a model on the hypothesis tape.
        model: a model with parameters: ``Bernoulli`` gives dE/dp of shape (n,), ``Independent``
            dE/dp of shape (n, L), ``Markov`` and ``from_potentials`` a dictionary of arrays.
        engine: "lattice" or "openfst".

    >>> from fsmeu.losses.loss import load
    >>> gradient(load("hamming"), "10", [0.9, 0.5])
    array([-0.5,  0.5])
    """
    return value_and_gradient(loss, z, model, engine=engine)[1]


def value_and_gradient(
    loss: Loss, z: Any, model: Any, *, engine: str = "lattice"
) -> tuple[float, Gradient]:
    """The expected value and its derivatives, from one pass forward and one backward."""
    asked = _asked(loss, z, model)
    engine = one_of("gradient", "engine", engine, ENGINES)
    [found] = _derivatives([asked]) if engine == "lattice" else [explicit_gradient(asked)]
    return found[0], _pulled_back(asked, *found)


def value_and_gradient_many(
    loss: Loss, zs: Sequence[Any], models: Sequence[Any]
) -> tuple[Floats, list[Gradient]]:
    """The expected value of each hypothesis, (batch,), and the derivatives for each model.

    ``value_and_gradient`` of every pair; models of one length and structure are swept together.
    """
    asked = [_asked(loss, z, model) for z, model in zip(zs, models, strict=True)]
    distributions = {row for row, one in enumerate(asked) if one.z is None}
    values, slopes = np.empty(len(asked)), {}
    for rows in alike([one.model for one in asked], distributions):
        found = _derivatives([asked[row] for row in rows])
        for row, (value, per_arc) in zip(rows, found, strict=True):
            values[row], slopes[row] = value, _pulled_back(asked[row], value, per_arc)
    return values, [slopes[row] for row in range(len(asked))]


def _derivatives(asked: Sequence[Query]) -> list[tuple[float, list[Floats]]]:
    """Value and arcs' derivatives of queries that are alike, together where tapes split."""
    loss, zs = asked[0].loss, [one.z for one in asked if one.z is not None]
    if isinstance(loss, SpecLoss) and zs and asked[0].n:
        models = [one.model for one in asked]
        found = by_structure(loss, models, lambda one, weights: one.gradients(weights, zs))
        if found is not None:
            return list(zip(found[0].tolist(), found[1], strict=True))
    return [_streamed(one) for one in asked]


def _asked(loss: Loss, z: Any, model: Any) -> Query:
    """The query, checked to have a model with parameters."""
    asked = query(loss, z, model, "gradient")
    lacking = set(asked.model.labels) - set(as_model(model).labels)
    if lacking:
        must = "the model must have all labels of the loss and of z, so that each has a derivative"
        got = f"one without {', '.join(sorted(map(str, lacking)))}"
        raise InputError(message("gradient", must, got, "Give them the probability 0"))
    if not isinstance(asked.model, Parametrized):
        must = "the model must have parameters (Bernoulli, Independent, Markov, from_potentials)"
        raise InputError(message("gradient", must, type(asked.model).__name__))
    return asked


def _pulled_back(asked: Query, value: float, per_arc: Sequence[Floats]) -> Gradient:
    """Derivatives for the model's parameters, after a look that all are finite."""
    for numbers in (np.asarray(value), *per_arc):
        check_finite("gradient", numbers)
    assert isinstance(asked.model, Parametrized)
    return asked.model.pullback(per_arc, value)


@np.errstate(over="ignore", invalid="ignore")  # what comes of it is checked
def _streamed(asked: Query) -> tuple[float, list[Floats]]:
    """Value and arcs' derivatives by the general walk."""
    fixed = isinstance(asked.model, Parametrized) and asked.model.fixed_support
    value, per_arc = walk_gradient(asked.view(weights=True), asked.input(), fixed)
    if asked.z is None:  # arcs are paired with those of the hypothesis
        pairs = zip(asked.hypothesis.layers, per_arc, strict=True)
        per_arc = [left.weight @ arcs.reshape(len(left.weight), -1) for left, arcs in pairs]
    return value, per_arc
