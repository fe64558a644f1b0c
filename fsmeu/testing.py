"""Checks of label models and losses that somebody writes, against enumeration.

They are for tests of one's own classes, as ``check_estimator`` is for scikit-learn's: each says by
an InputError what does not hold, and returns nothing where all does.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Mapping
from itertools import product
from typing import Any

import numpy as np

from fsmeu import limits
from fsmeu.decoding.decode import decode
from fsmeu.errors import FsmeuError, InputError, check_int, shorten
from fsmeu.expectation.expect import expect
from fsmeu.fst.alphabet import as_alphabet
from fsmeu.fst.layers import Layered
from fsmeu.losses.function import FunctionLoss, SimpleFunction, function_loss
from fsmeu.losses.protocol import Loss, LossLike, as_loss
from fsmeu.models.adapters import from_json
from fsmeu.models.base import Model, check_promises
from fsmeu.models.chains import Independent

__all__ = ["check_loss", "check_model"]

_TOLERANCE = 1e-9

# -- models ----------------------------------------------------------------------------------------


def check_model(
    model: Model, probability: Callable[[tuple[Any, ...]], float] | None = None
) -> None:
    """Compares what a label model answers with the enumeration of its paths and sequences.

    Layers must be what ``fsmeu.fst.layers.Layered`` promises, and every query must say what they
    say: probabilities, marginals, the most probable sequences, ambiguity, samples, JSON, and an
    expected and a best value.

    Args:
        model: a short one, such that its sequences and paths can be listed.
        probability: the probability of a tuple of labels by the definition of the model, if that is
            to be compared, too.

    Raises:
        InputError: the first that does not hold.
    """
    where = f"check_model of {type(model).__name__}"
    if not isinstance(model, Model):
        raise InputError(where, "a label model is needed, derived from fsmeu.Model")
    layered = check_promises(model, model.layered())
    if len(model.labels) ** (2 * model.n) > limits.MOST_LISTED:
        must = f"there must be at most {limits.MOST_LISTED:,} pairs of sequences, which are listed"
        given = f"{len(model.labels)} labels and length {model.n}"
        raise InputError(where, must, given=given, remedy="Give a shorter one")
    sequences = list(product(model.labels, repeat=model.n))
    weights, paths = _listed_paths(layered, where)
    for y in sequences:
        text = shorten(list(y))
        if probability is not None:
            _agree(where, f"P({text}) by layers", weights[y], probability(y), "by definition")
        _agree(where, f"probability({text})", model.probability(y), weights[y])
        _agree(where, f"log_probability({text})", math.exp(model.log_probability(y)), weights[y])
    _check_queries(where, model, weights)
    single = max(paths.values(), default=0) <= 1
    _same(where, "is_unambiguous", model.is_unambiguous, single)
    _same(where, "structure, asked again,", model.structure, model.structure)
    again = from_json(model.to_json())
    for y in sequences:
        _agree(
            where, f"probability({shorten(list(y))}) from JSON", again.probability(y), weights[y]
        )
    _check_values(where, function_loss(_Mistakes(), model.labels), model, weights)


def _check_queries(where: str, model: Model, weights: Mapping[tuple[Any, ...], float]) -> None:
    """Compares sums over sequences, the best of them, and samples with the weights of sequences."""
    mass = math.fsum(weights.values())
    _agree(where, "total_mass()", model.total_mass(), mass)
    marginals = np.asarray(model.marginals())
    _same(where, "the shape of marginals()", marginals.shape, (model.n, len(model.labels)))
    for i, k in np.ndindex(marginals.shape):
        truth = math.fsum(w for y, w in weights.items() if y[i] == model.labels[k]) / mass
        _agree(where, f"marginals()[{i}, {k}]", float(marginals[i, k]), truth)
    best = [p for _, p in model.most_probable(3)]
    truths = sorted((w for w in weights.values() if w > 0), reverse=True)[:3]
    _same(where, "the length of most_probable(3)", len(best), len(truths))
    for k, (found, truth) in enumerate(zip(best, truths, strict=True)):
        _agree(where, f"the probability of most_probable(3)[{k}]", found, truth)
    for row in np.array(model.sample(8, seed=0), dtype=object).reshape(8, model.n):
        _same(where, f"probability({list(row)}) > 0, of a sample,", weights[tuple(row)] > 0, True)


class _Mistakes:
    """A loss of which enumeration and every method of deciding know the value."""

    def start(self) -> int:
        return 0

    def step(self, state: int, z: object, y: object) -> int:
        return state + (z != y)

    def value(self, state: int) -> float:
        return float(state)


def _listed_paths(
    layered: Layered, where: str
) -> tuple[defaultdict[tuple[Any, ...], float], Counter[tuple[Any, ...]]]:
    """The weight of each sequence, and how many paths of positive weight read it."""
    ways: list[tuple[tuple[Any, ...], int, float]] = [
        ((), int(state), float(layered.start[state])) for state in np.flatnonzero(layered.start)
    ]
    for layer in layered.layers:
        leaving = defaultdict[int, list[tuple[Any, int, float]]](list)
        columns = (layer.source, layer.label, layer.target, layer.weight)
        for source, label, target, weight in zip(*(c.tolist() for c in columns), strict=True):
            if weight > 0:
                leaving[source].append((layered.alphabet.labels[label], target, weight))
        if sum(len(leaving[state]) for _, state, _ in ways) > limits.MOST_LISTED:
            must = f"the model must have at most {limits.MOST_LISTED:,} paths, which are listed"
            raise InputError(where, must, remedy="Give a shorter one")
        ways = [
            ((*y, label), target, weight * factor)
            for y, state, weight in ways
            for label, target, factor in leaving[state]
        ]
    weights = defaultdict[tuple[Any, ...], float](float)
    paths = Counter[tuple[Any, ...]]()
    for y, state, weight in ways:
        weights[y] += weight * float(layered.final[state])
        paths[y] += bool(layered.final[state] > 0)
    return weights, paths


# -- losses ----------------------------------------------------------------------------------------


def check_loss(loss: LossLike | SimpleFunction, labels: Any = None, n: int = 3) -> None:
    """Compares what a loss answers with its value for every pair of short sequences.

    Of a loss in Python: ``start``, ``step`` and ``value`` return the same when they are called
    again, states can be hashed, equal states have equal steps and values, and values are finite.
    Of every loss: values are within the range that is declared, ``swapped`` exchanges the tapes,
    and ``expect`` and ``decode`` under a model of independent labels are right.

    Args:
        loss: a loss, its name or path, or an object with ``start``, ``step`` and ``value``.
        labels: the labels of such an object or of a file that leaves them open; 0 and 1 unless
            given.
        n: the length up to which all pairs of sequences are looked at.

    Raises:
        InputError: the first that does not hold.
    """
    n = check_int("check_loss", "n", n, 0)
    known = _loss_of(loss, labels)
    where = f"check_loss of {known.kind} {known.name}"
    if len(known.labels) ** (2 * n) > limits.MOST_LISTED:
        must = f"there must be at most {limits.MOST_LISTED:,} pairs of sequences"
        given = f"{len(known.labels)} labels and length {n}"
        raise InputError(where, must, given=given, remedy="Give a smaller n, or fewer labels")
    if isinstance(known, FunctionLoss):
        _check_function(where, known, n)
    rng = np.random.default_rng(0)
    for length in range(n + 1):
        rows = rng.random((length, len(known.labels))) + 0.1
        model = Independent(rows / rows.sum(axis=1, keepdims=True), known.labels)
        weights = {y: model.probability(y) for y in product(known.labels, repeat=length)}
        _check_values(where, known, model, weights)


def _loss_of(loss: Any, labels: Any) -> Loss:
    if not isinstance(loss, Loss) and callable(getattr(loss, "step", None)):
        return function_loss(loss, (0, 1) if labels is None else labels)
    known = as_loss(loss, "check_loss")
    if known.labels_open or labels is not None:
        known = known.with_labels(as_alphabet((0, 1) if labels is None else labels))
    return known


def _check_function(where: str, loss: FunctionLoss, n: int) -> None:
    """Follows all pairs of sequences through the states of a loss in Python."""
    function = loss.function
    reached = {_state(where, "start()", function.start, ())}
    for _ in range(n + 1):
        ahead = set[Hashable]()
        for state in reached:
            _check_number(where, function, state)
            before = hash(state)
            for pair in product(loss.labels, repeat=2):
                arguments = state, *pair
                name = f"step{shorten(arguments)}"
                ahead.add(_state(where, name, function.step, arguments))
            _same(where, f"the hash of state {shorten(state)} after step", hash(state), before)
        reached = ahead


def _state(where: str, name: str, method: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
    """The state that a method returns: it can be hashed, and is the same when asked again."""
    state = method(*arguments)
    again = method(*arguments)
    try:
        hash(state)
    except TypeError:
        must = f"{name} must return a state that can be hashed"
        remedy = "Return tuples in place of lists, and frozensets in place of sets"
        raise InputError(where, must, given=state, remedy=remedy) from None
    if state != again or hash(state) != hash(again):
        raise InputError(where, f"{name} must return equal states each time", given=(state, again))
    return state


def _check_number(where: str, function: SimpleFunction, state: Any) -> None:
    """Refuses a value that is no finite number, or another one when asked again."""
    name = f"value({shorten(state)})"
    values = function.value(state), function.value(state)
    for value in values:
        try:
            good = math.isfinite(value)
        except (TypeError, OverflowError):
            good = False
        if not good:
            raise InputError(where, f"{name} must be a finite number", given=value)
    _same(where, f"{name}, asked again,", values[1], values[0])


# -- both ------------------------------------------------------------------------------------------


def _check_values(where: str, loss: Loss, model: Model, weights: dict[Any, float]) -> None:
    """Compares expected values and the best one with sums over all pairs of sequences."""
    n = model.n
    sequences = list(product(loss.labels, repeat=n))
    allowed = loss.allowed(n)
    encoded = [loss.alphabet.encode(y) for y in sequences]
    means = list[float]()
    for z, indices in zip(sequences, encoded, strict=True):
        if allowed is not None and not allowed.accepts(indices):
            continue
        every = [indices] * len(encoded)
        values = loss.pair_values(every, encoded)
        try:
            loss.check_range(n, values)
        except FsmeuError as error:
            raise error.within(where) from None
        others = values if loss.requirement else loss.swapped.pair_values(encoded, every)
        for y, value, other in zip(sequences, values, others, strict=True):
            pair = f"{shorten(list(z))} and {shorten(list(y))}"
            _agree(where, f"swapped, for {pair},", other, value, "by the loss itself")
        products = (weights[y] * value for y, value in zip(sequences, values, strict=True))
        means.append(math.fsum(products))
        found = expect(loss, z, model).value
        _agree(where, f"expect of {shorten(list(z))}", found, means[-1])
    if means:
        best = max(means) if loss.kind == "utility" else min(means)
        _agree(where, f"the value of decode at length {n}", decode(loss, model).value, best)


def _agree(
    where: str, what: str, found: float, truth: float, source: str = "by enumeration"
) -> None:
    """Refuses a number that is off another by more than rounding."""
    if not math.isclose(found, truth, rel_tol=_TOLERANCE, abs_tol=_TOLERANCE):
        raise InputError(where, f"{what} must be {truth:.10g}, {source}", given=f"{found:.10g}")


def _same(where: str, what: str, found: object, truth: object) -> None:
    """Refuses what is not equal to what enumeration or another call says."""
    if found != truth:
        raise InputError(where, f"{what} must be {shorten(truth)}", given=found)
