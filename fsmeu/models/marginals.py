"""Probabilities of label sequences and of single labels."""

from __future__ import annotations

import math

import numpy as np

from fsmeu.errors import EmptyError, InputError, sentence
from fsmeu.fst.layers import Floats, Ints, Layered
from fsmeu.models.distances import backward, forward, group_sums

__all__ = ["log_probability", "marginals", "probability", "scaled_probability"]


def scaled_probability(layered: Layered, indices: Ints) -> tuple[float, int]:
    """The weight of a label sequence as (mantissa, exponent): mantissa * 2**exponent.

    The powers of two keep long sequences from underflow without rounding.
    """
    if len(indices) != layered.n:
        must = f"must have {layered.n} labels, as the model has"
        raise InputError(sentence("sequence", must, f"{len(indices)} labels"))
    mass, exponent = layered.start, 0
    for layer, label in zip(layered.layers, indices, strict=True):
        on = layer.label == label
        mass = group_sums(layer.target[on], mass[layer.source[on]] * layer.weight[on], layer.width)
        power = math.frexp(float(mass.max(initial=0.0)))[1]
        mass, exponent = np.ldexp(mass, -power), exponent + power
    return float(mass @ layered.final), exponent


def probability(layered: Layered, indices: Ints) -> float:
    """The weight of a label sequence, summed over its paths."""
    mantissa, exponent = scaled_probability(layered, indices)
    return math.ldexp(mantissa, exponent)


def log_probability(layered: Layered, indices: Ints) -> float:
    """The natural logarithm of the weight of a label sequence, -inf when it is 0."""
    mantissa, exponent = scaled_probability(layered, indices)
    return math.log(mantissa) + exponent * math.log(2.0) if mantissa > 0 else -math.inf


def marginals(layered: Layered) -> Floats:
    """P(y_i = l) as an array of shape (n, L), relative to the weight of all paths."""
    before, after = forward(layered), backward(layered)
    whole = float(before[-1] @ layered.final)
    if not whole > 0:
        raise EmptyError(sentence("model", "at least one sequence must have positive weight"))
    rows = np.zeros((layered.n, len(layered.alphabet)))
    for k, layer in enumerate(layered.layers):
        mass = before[k][layer.source] * layer.weight * after[k + 1][layer.target]
        rows[k] = group_sums(layer.label, mass, rows.shape[1])
    return rows / whole
