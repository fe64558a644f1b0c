"""Vector values: the numbers that a file names beside its value (Jansche 2007, section 5).

An output is a function of the registers at the end, as the value is. So one machine, with the
registers that the value or an output reads, serves all of them: each of its final states has a
vector of values instead of one.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from fsmeu.arrays import Floats, Ints
from fsmeu.losses.algebra.rewrite import slope_in, starts_of
from fsmeu.losses.evaluate import encoded_pair, registers_of_pairs
from fsmeu.losses.language.dependencies import linear_registers, tapes
from fsmeu.losses.loss import SpecLoss
from fsmeu.losses.machine.view import SpecView
from fsmeu.losses.protocol import Loss
from fsmeu.losses.semantics.evaluator import BoundLoss
from fsmeu.losses.semantics.walk import at_end


def output_names(loss: Loss) -> tuple[str, ...]:
    """The names of a loss's outputs, in the order of its file; none for a loss in Python."""
    return tuple(o.name for o in loss.spec.outputs) if isinstance(loss, SpecLoss) else ()


def evaluate_outputs(loss: Loss, z: Any, y: Any) -> dict[str, float]:
    """The outputs of one pair of sequences, by name.

    >>> from fsmeu.losses.library import load
    >>> evaluate_outputs(load("fscore"), "0110", "0100")
    {'precision': 0.5, 'recall': 1.0}
    """
    loss, *pair = encoded_pair(loss, z, y, "evaluate_outputs")
    if not isinstance(loss, SpecLoss) or not loss.spec.outputs:
        return {}
    bound = output_loss(loss).bound
    values = output_values(bound, registers_of_pairs(bound, [(pair[0], pair[1])]), len(pair[0]))
    return dict(zip(output_names(loss), values[:, 0].tolist(), strict=True))


def output_loss(loss: SpecLoss) -> SpecLoss:
    """The same loss with the registers that only its outputs read as well."""
    return replace(loss, spec=replace(loss.spec, registers=loss.spec.output_registers))


def output_view(loss: SpecLoss, n: int, z: Ints | None) -> SpecView:
    """The view in which only registers ride in the weight in which every output is affine.

    States that the value cannot tell apart stay apart, for an output may.
    """
    spec = loss.spec
    among = None if z is None else [name for name, t in tapes(spec).items() if "y" in t]
    linear = linear_registers(spec, among, [o.value for o in spec.outputs])
    return SpecView(loss.bound, n, z, linear, merge=False)


def output_values(bound: BoundLoss, registers: dict[str, Any], n: int) -> Floats:
    """The outputs in each state at the end, shape (outputs, states).

    Args:
        bound: a loss that carries the registers of its outputs (``output_loss``).
        registers: the values of all registers there, arrays of shape (states,).
        n: the length of the sequences.
    """
    states = max((np.size(held) for held in registers.values()), default=1)
    return np.array([at_end(bound, o.value, registers, (states,), n) for o in bound.spec.outputs])


def expected_outputs(view: SpecView, codes: Ints, mass: Floats) -> Floats:
    """The expectations of the outputs, shape (outputs,).

    Args:
        view: what ``output_view`` returned.
        codes: states at the end, shape (states,).
        mass: probabilities and expected linear registers there, shape (1 + linear, states).
    """
    held = view.registers(codes)
    starts = starts_of(view.bound, view.linear_names, view.n)
    at_start = {**held, **{name: np.full(len(codes), s) for name, s in starts.items()}}
    expected: Floats = output_values(view.bound, at_start, view.n) @ mass[0]
    for k, output in enumerate(view.bound.spec.outputs):
        for row, name in zip(mass[1:], view.linear_names, strict=True):
            rise = slope_in(output.value, name)
            expected[k] += at_end(view.bound, rise, held, codes.shape, view.n) @ row
    return expected
