"""Distances in the real semiring over the layers of an acceptor, and pushing weights.

``forward`` and ``backward`` sum weights of partial paths, ``total`` those of whole paths.
``normalize`` divides by the total and moves the weights so that every step is a conditional
probability; it works with logarithms and so takes layers of any scale.
"""

from __future__ import annotations

import numpy as np

from fsmeu.errors import EmptyError, sentence
from fsmeu.fst.layers import Floats, Ints, Layer, Layered, check_layers, in_logs

__all__ = ["backward", "forward", "log_backward", "log_total", "normalize", "total"]


def forward(layered: Layered) -> tuple[Floats, ...]:
    """For layers 0, ..., n: the weight of all paths from the start to each state."""
    check_layers(layered)
    values = [layered.start]
    for layer in layered.layers:
        mass = values[-1][layer.source] * layer.weight
        values.append(group_sums(layer.target, mass, layer.width))
    return tuple(values)


def backward(layered: Layered) -> tuple[Floats, ...]:
    """For layers 0, ..., n: the weight of all paths from each state to the end."""
    check_layers(layered)
    values = [layered.final]
    for layer, width in zip(layered.layers[::-1], layered.widths[-2::-1], strict=True):
        mass = values[-1][layer.target] * layer.weight
        values.append(group_sums(layer.source, mass, width))
    return tuple(values[::-1])


def total(layered: Layered) -> float:
    """The weight of all paths."""
    check_layers(layered)
    mass = layered.start
    for layer in layered.layers:
        mass = group_sums(layer.target, mass[layer.source] * layer.weight, layer.width)
    return float(mass @ layered.final)


def log_backward(layered: Layered) -> tuple[list[Floats], float]:
    """Logarithms of the backward distances, each layer shifted so that its greatest is 0.

    Returns:
        The shifted logarithms for layers 0, ..., n, and the sum of all shifts.
    """
    check_layers(layered)
    logs = in_logs(layered)
    values, shift = _shifted(logs.final)
    result, shifts = [values], [shift]
    for layer, width in zip(logs.layers[::-1], logs.widths[-2::-1], strict=True):
        values = log_sums(layer.source, layer.weight + values[layer.target], width)
        values, shift = _shifted(values)
        result.append(values)
        shifts.append(shift)
    return result[::-1], float(np.sum(shifts))


def log_total(layered: Layered) -> float:
    """The logarithm of the weight of all paths, -inf when there is none."""
    check_layers(layered)
    logs = in_logs(layered)
    values, shift = log_backward(logs)
    ends = logs.start + values[0]
    return float(log_sums(np.zeros(len(ends), np.int64), ends, 1)[0]) + shift


def normalize(layered: Layered, where: str = "model") -> Layered:
    """The same acceptor with total weight 1 and the weights pushed towards the start.

    Afterwards the start weights sum to 1, the arcs that leave a state that can reach the end sum
    to 1, and such a state of the last layer has final weight 1. The arcs keep their order.

    Raises:
        EmptyError: no path has positive weight.
    """
    check_layers(layered)
    logs = in_logs(layered)
    values, _ = log_backward(logs)
    start = logs.start + values[0]
    if not np.isfinite(start).any():
        raise EmptyError(sentence(where, "at least one sequence must have positive weight"))
    layers = tuple(
        _pushed(layer, before, after)
        for layer, before, after in zip(logs.layers, values, values[1:], strict=False)
    )
    first = np.exp(start - start.max())
    final = np.isfinite(logs.final).astype(np.float64)
    return Layered(layered.alphabet, first / first.sum(), layers, final, layered.unambiguous)


def group_sums(group: Ints, values: Floats, groups: int) -> Floats:
    """The sums of the values within each group."""
    sums: Floats = np.bincount(group, values, groups)  # type: ignore[assignment]
    return sums


def logarithm(array: Floats) -> Floats:
    """The natural logarithm, -inf at 0 without a warning."""
    with np.errstate(divide="ignore"):
        return np.log(array)


def _pushed(layer: Layer, before: Floats, after: Floats) -> Layer:
    """The arcs of a layer as conditional probabilities, from the logarithms of their weights."""
    log_mass = layer.weight + after[layer.target]
    alive = np.isfinite(log_mass)
    mass = np.zeros(len(log_mass))
    top = _group_maxima(layer.source, log_mass, len(before))
    mass[alive] = np.exp(log_mass[alive] - top[layer.source[alive]])
    sums = group_sums(layer.source, mass, len(before))
    weight = mass / np.where(sums > 0, sums, 1.0)[layer.source]
    return Layer(layer.source, layer.label, layer.target, weight, layer.width)


def _shifted(values: Floats) -> tuple[Floats, float]:
    """The values minus their greatest, and that; nothing to shift if none is finite."""
    top = float(values.max(initial=-np.inf))
    return (values - top, top) if np.isfinite(top) else (values, top)


def _group_maxima(group: Ints, values: Floats, groups: int) -> Floats:
    maxima = np.full(groups, -np.inf)
    np.maximum.at(maxima, group, values)
    return maxima


def log_sums(group: Ints, values: Floats, groups: int) -> Floats:
    """Logarithms of the sums of exp(values) within each group."""
    maxima = _group_maxima(group, values, groups)
    alive = np.isfinite(values)
    scaled = np.exp(values[alive] - maxima[group[alive]])
    sums = group_sums(group[alive], scaled, groups)
    result = np.full(groups, -np.inf)
    some = sums > 0
    result[some] = maxima[some] + np.log(sums[some])
    return result
