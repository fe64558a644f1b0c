"""Derivatives of an expectation with respect to the parameters of the model.

Forward distances say how much mass arrives at an arc of the composition, backward distances what
follows it is worth; their product is the derivative of the expectation with respect to the weight
of the arc, all arcs taken as free variables. The model pulls these back to its own parameters.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np

from fsmeu.arrays import Floats
from fsmeu.errors import InputError, message, one_of
from fsmeu.expectation.by_tape import split_gradients
from fsmeu.expectation.composition import explicit_gradient
from fsmeu.expectation.expect import ENGINES
from fsmeu.expectation.query import Query, query
from fsmeu.expectation.result import check_finite
from fsmeu.losses.loss import SpecLoss
from fsmeu.losses.protocol import Loss
from fsmeu.models import Gradient, Parametrized, as_model
from fsmeu.trellis.walk import walk_gradient

__all__ = ["gradient", "value_and_gradient", "value_and_gradient_many"]


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
    if engine == "lattice":
        value, per_arc = _by_tape(asked) or _streamed(asked)
    else:
        value, per_arc = explicit_gradient(asked)
    return value, _pulled_back(asked, value, per_arc)


def value_and_gradient_many(
    loss: Loss, zs: Sequence[Any], models: Sequence[Any]
) -> tuple[Floats, list[Gradient]]:
    """The expected value of each hypothesis, (batch,), and the derivatives for each model.

    ``value_and_gradient`` of every pair. Sequences of one length whose loss splits by tape are
    swept together.

    Args:
        loss: a loss or utility.
        zs: label sequences.
        models: a model with parameters for each.
    """
    asked = [_asked(loss, z, model) for z, model in zip(zs, models, strict=True)]
    alike: dict[Hashable, list[int]] = {}
    for row, one in enumerate(asked):
        together = one.z is not None and one.model.structure is not None
        kind = (one.model.labels, one.n, one.model.structure)
        alike.setdefault(kind if together else (row,), []).append(row)
    values, slopes = np.empty(len(asked)), {}
    for rows in alike.values():
        found = _together([asked[row] for row in rows])
        for k, row in enumerate(rows):
            if found is None:
                values[row], slopes[row] = value_and_gradient(loss, zs[row], models[row])
                continue
            values[row] = found[0][k]
            slopes[row] = _pulled_back(asked[row], float(values[row]), found[1][k])
    return values, [slopes[row] for row in range(len(asked))]


def _together(asked: Sequence[Query]) -> tuple[Floats, list[list[Floats]]] | None:
    """Values and arcs' derivatives of queries alike, None where tapes do not split."""
    loss, given = asked[0].loss, [one.z for one in asked if one.z is not None]
    if not isinstance(loss, SpecLoss) or len(given) < len(asked) or not asked[0].n:
        return None
    return split_gradients(loss, given, [one.model for one in asked])


def _by_tape(asked: Query) -> tuple[float, list[Floats]] | None:
    """Value and arcs' derivatives where the loss splits by tape."""
    found = _together([asked])
    return None if found is None else (float(found[0][0]), found[1][0])


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
    check_finite("gradient", value)
    for products in per_arc:
        check_finite("gradient", products)
    assert isinstance(asked.model, Parametrized)
    return asked.model.pullback(per_arc, value)


@np.errstate(over="ignore", invalid="ignore")  # what comes of it is checked
def _streamed(asked: Query) -> tuple[float, list[Floats]]:
    """Value and arcs' derivatives by the general walk."""
    fixed = isinstance(asked.model, Parametrized) and asked.model.fixed_support
    value, per_arc = walk_gradient(asked.view(weights=True), asked.input(), fixed)
    return value, per_arc if asked.z is not None else _model_share(asked, per_arc)


def _model_share(asked: Query, per_arc: Sequence[Floats]) -> list[Floats]:
    """Derivatives for the arcs of the model, from those for arcs paired with the hypothesis."""
    pairs = zip(asked.hypothesis.layers, per_arc, strict=True)
    return [left.weight @ arcs.reshape(len(left.weight), -1) for left, arcs in pairs]
