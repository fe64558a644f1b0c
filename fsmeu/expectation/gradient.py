"""Derivatives of an expectation with respect to the parameters of the model.

Forward distances say how much mass arrives at an arc of the composition, backward distances what
follows it is worth; their product is the derivative of the expectation with respect to the weight
of the arc, all arcs taken as free variables. The model pulls these back to its own parameters.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fsmeu.errors import InputError, LossFileError, one_of, sentence
from fsmeu.expectation.by_tape import split_gradients
from fsmeu.expectation.composition import explicit_gradient
from fsmeu.expectation.expect import ENGINES
from fsmeu.expectation.lattice import merged_view, possible_steps
from fsmeu.expectation.query import Query, query
from fsmeu.expectation.result import check_finite
from fsmeu.fst.compose import guard_size
from fsmeu.fst.layers import Layer
from fsmeu.limits import KEPT_CELLS_PER_STATE
from fsmeu.losses.loss import SpecLoss
from fsmeu.losses.protocol import Loss
from fsmeu.models import Gradient, Parametrized, as_model
from fsmeu.trellis.source import Source
from fsmeu.trellis.transfer import Transfer, backward_step, forward_step
from fsmeu.trellis.view_layers import SparseWalker

__all__ = ["gradient", "value_and_gradient", "value_and_gradient_many"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def gradient(loss: Loss, z: Any, model: Any, *, engine: str = "lattice") -> Gradient:
    """The derivatives of ``expect(loss, z, model).value`` with respect to the model's parameters.

    Args:
        loss: a loss or utility.
        z: a label sequence, or a model on the hypothesis tape.
        model: a model with parameters: ``Bernoulli`` gives dE/dp of shape (n,), ``Independent``
            dE/dp of shape (n, L), ``Markov`` and ``from_potentials`` a dictionary of arrays.
        engine: "lattice" or "openfst".

    >>> from fsmeu.losses.library import load
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
        alike.setdefault((one.n, one.model.structure) if together else (row,), []).append(row)
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
        raise InputError(sentence("gradient", must, got, "Give them the probability 0"))
    if not isinstance(asked.model, Parametrized):
        must = "the model must have parameters (Bernoulli, Independent, Markov, from_potentials)"
        raise InputError(sentence("gradient", must, type(asked.model).__name__))
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
    view, source = asked.view(weights=True), asked.input()
    walker = SparseWalker(merged_view(view, source) or view)
    codes = walker.codes
    mass = np.zeros((1 + view.linear, len(source.start), 1))
    mass[0, :, 0] = source.start
    masses, transfers = [mass], []
    cells, models = 0, max(len(source.start), len(source.final))
    for i in range(1, asked.n + 1):
        codes, transfer = _step(walker, i, codes, asked, (source, masses[-1]))
        transfers.append(transfer)
        cells += (1 + view.linear) * transfer.width * models
        spread = (1 + view.linear) * transfer.targets.size * models
        guard_size("gradient", max(cells, spread) // KEPT_CELLS_PER_STATE)
        masses.append(forward_step(transfer, masses[-1], source.factors(i - 1)))
    held = masses[-1][0].any(axis=0) if _zeros_stay(asked) else np.ones(len(codes), bool)
    ending, slopes = view.values(codes[held])
    worth = np.zeros((1 + view.linear, len(source.final), len(codes)))
    worth[:, :, held] = np.concatenate([ending[None], slopes])[:, None, :] * source.final[:, None]
    value = float((masses[-1] * worth).sum())
    per_arc: list[Floats] = []
    layers = source.layered().layers
    for i in reversed(range(asked.n)):
        worth, step = backward_step(transfers[i], worth, source.factors(i))
        per_arc.append(_arc_products(masses[i], step, layers[i]))
    per_arc.reverse()
    return value, per_arc if asked.z is not None else _model_share(asked, per_arc)


def _arc_products(mass: Floats, step: Floats, layer: Layer) -> Floats:
    """The derivative for each arc of a layer: the mass before it times what follows it."""
    if step.ndim == 3:  # the next state is the symbol, and arcs are in the order (state, symbol)
        products: Floats = np.einsum("qms,qas->ma", mass, step, optimize=True).ravel()
    else:
        cube = np.einsum("qms,qnas->nam", mass, step, optimize=True)
        products = cube[layer.target, layer.label, layer.source]
    return products


def _zeros_stay(asked: Query) -> bool:
    """Whether what is impossible stays impossible, so that it may be undefined."""
    return isinstance(asked.model, Parametrized) and asked.model.zeros_stay


def _step(
    walker: SparseWalker, i: int, codes: Ints, asked: Query, arrived: tuple[Source, Floats]
) -> tuple[Ints, Transfer]:
    """The layer after position i; where a step is undefined, what is possible of it."""
    try:
        return walker.step(i, codes)
    except LossFileError:
        if not _zeros_stay(asked):
            raise
    source, mass = arrived
    layer = source.layered().layers[i - 1]
    return walker.step(i, codes, possible_steps(mass, layer, walker.view.symbols))


def _model_share(asked: Query, per_arc: Sequence[Floats]) -> list[Floats]:
    """Derivatives for the arcs of the model, from those for arcs paired with the hypothesis."""
    pairs = zip(asked.hypothesis.layers, per_arc, strict=True)
    return [left.weight @ arcs.reshape(len(left.weight), -1) for left, arcs in pairs]
