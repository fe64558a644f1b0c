"""A loss as plain data: its header as written, and a pair of sequences step by step."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from fsmeu.arrays import Floats
from fsmeu.errors import FsmeuError
from fsmeu.losses.algebra import confusion as tables
from fsmeu.losses.algebra.polynomial import NoFormError, Polynomial
from fsmeu.losses.algebra.split import split
from fsmeu.losses.algebra.value import Value, value_at_length
from fsmeu.losses.language.syntax import Expr, Register, Spec
from fsmeu.losses.language.write import expression_text
from fsmeu.losses.loss import SpecLoss
from fsmeu.losses.semantics.at_length import LossAtLength
from fsmeu.losses.semantics.bind import written_value
from fsmeu.losses.semantics.evaluator import BoundLoss
from fsmeu.losses.semantics.walk import register_values


def whole_or_float(value: float) -> int | float:
    """The number, as an int when it is whole and small enough to be exact."""
    return int(value) if float(value).is_integer() and abs(value) < 2**53 else float(value)


def steps_of(loss: SpecLoss, z: Sequence[Any], y: Sequence[Any]) -> list[dict[str, Any]]:
    """For each position from 0 (the start): "i", the labels "z" and "y", and "registers" by name.

    A register holds a number, the name of a state, or the entries of a memory, newest first.
    """
    zs, ys = (loss.alphabet.encode(sequence)[None, :] for sequence in (z, y))
    steps = []
    for i, state in enumerate(register_values(loss.bound, zs, ys, np.array([len(z)]))):
        contents = {
            r.name: _contents(loss.bound.at(len(z)), r, float(state[r.name][0]))
            for r in loss.spec.registers
        }
        read = {"z": z[i - 1], "y": y[i - 1]} if i else {"z": None, "y": None}
        steps.append({"i": i, **read, "registers": contents})
    return steps


def _contents(at: LossAtLength, register: Register, value: float) -> Any:
    """The content of a register: a number, a state's name, or entries, None before the start."""
    if register.sugar == "state":
        return register.states[int(value)]
    if register.sugar != "memory":
        return whole_or_float(value)
    memory = at.memories[register.name]
    texts = {code: text for text, code in at.bound.codes.items()}
    entries = [memory.entry(value, back) for back in range(memory.depth)]
    shown = [whole_or_float(x) if memory.numeric else texts.get(x) for x in entries]
    return [None if x != x else name for x, name in zip(entries, shown, strict=True)]


def signature(spec: Spec) -> str:
    """Kind, name and parameters, as the file writes them."""
    inside = ", ".join(param.text for param in spec.params)
    return f"{spec.kind} {spec.name}" + (f"({inside})" if inside else "")


def header_data(spec: Spec) -> dict[str, Any]:
    """The head of a loss file as plain data."""
    required = spec.requirement
    return {
        "name": spec.name,
        "kind": spec.kind,
        "summary": spec.summary,
        "parameters": [
            {
                "name": param.name,
                "type": param.type,
                **{k: _written(spec, getattr(param, k)) for k in ("default", "low", "high")},
                "text": param.text,
            }
            for param in spec.params
        ],
        "labels": list(spec.labels) if spec.labels is not None else None,
        "tags": bool(spec.scheme),
        "scheme": spec.scheme or None,
        "references": list(spec.references),
        "requirement": None if required is None else expression_text(required.condition),
    }


def _written(spec: Spec, expr: Expr | None) -> Any:
    """The number, label or table that the file writes; None where other parameters decide."""
    try:
        value = None if expr is None else written_value(expr, {}, spec)
    except FsmeuError:
        return None
    return whole_or_float(value) if isinstance(value, float) else value


_LINEAR = ((0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1))  # powers of tp, hyp and ref
_LENGTHS_TRIED = 12  # lengths at which a true positive is looked for that makes things worse


@dataclass(frozen=True)
class FractionalLinear:
    """(c0 n + c1 tp + c2 hyp + c3 ref) / (d0 n + d1 tp + d2 hyp + d3 ref), exceptions aside."""

    numerator: tuple[float, ...]  # c0, ..., c3
    denominator: tuple[float, ...]  # d0, ..., d3


def _fractional(form: tables.Confusion) -> FractionalLinear | None:
    """The value as a ratio of sums of counts, if it is the same one at several lengths."""
    ratios = [_fractional_at(form, n) for n in (_LENGTHS_TRIED, 2 * _LENGTHS_TRIED + 1)]
    if ratios[0] is None or ratios[1] is None or not np.allclose(ratios[0], ratios[1], 1e-12, 0.0):
        return None
    return FractionalLinear(tuple(ratios[0][0].tolist()), tuple(ratios[0][1].tolist()))


def _fractional_at(form: tables.Confusion, n: int) -> Floats | None:
    """Coefficients of numerator and denominator on n, tp, hyp and ref, (2, 4), at one length."""
    value = value_at_length(form, n)
    if value is None or len(value.quotients) != 1 or value.quotients[0].power == 0.5:
        return None
    sides = [_linear(side) for side in value.quotients[0][:2]]
    if sides[0] is None or sides[1] is None:
        return None
    ratio = np.stack([sides[0], sides[1]])
    if not ratio[1, 1:].any():  # divided by a number: by n, and the number is 1 / n of that
        ratio *= n / ratio[1, 0]
    ratio[:, 0] /= n
    return ratio


def _linear(of: Polynomial) -> Floats | None:
    """A polynomial as a sum of 1, tp, hyp and ref, (4,), if it is one."""
    if of.degree > 1:
        return None
    amounts = dict(of.terms)
    return np.array([amounts.get(powers, 0.0) for powers in _LINEAR])


def _is_affine(value: Value) -> bool:
    """Whether quotients are affine in tp and ref, the number of ones of z being given."""
    try:
        for quotient in value.quotients:
            quotient.top.rows()
            quotient.below.rows()
    except NoFormError:
        return False
    return True


@dataclass(frozen=True)
class Properties:
    """Properties of a loss that are derived from its text.

    It ``splits`` when what reads both tapes is only accumulated, the value being affine in it. It
    is ``tp_monotonic`` when one more true positive never makes the value worse, for all n up to
    ``tried``, else there is a ``counterexample``; None without a confusion table.
    """

    linear: tuple[str, ...]  # accumulators in which the value is jointly affine
    splits: bool
    ends: tuple[str, ...]  # the registers of one tape that the value looks at, if it splits
    additive: bool  # whether the value is a sum over positions
    confusion: bool  # whether it depends on the pair through (tp, hyp, ref, n) alone
    fractional: FractionalLinear | None  # it as a ratio of sums of counts, the same at all n tried
    ratios: int  # how many ratios of counts it is the sum of, 0 if it is no sum of such
    tp_monotonic: bool | None
    counterexample: tables.Counterexample | None
    tried: int = _LENGTHS_TRIED


def properties(bound: BoundLoss) -> Properties:
    """The derived properties of a loss with its labels and parameters."""
    parts = split(bound)
    form = tables.confusion(bound)
    ratio = None
    ratios = 0
    counterexample = None
    if form is not None:
        tried = (tables.tp_counterexample(form, n) for n in range(1, _LENGTHS_TRIED + 1))
        counterexample = next((case for case in tried if case is not None), None)
        ratio = _fractional(form)
        value = value_at_length(form, _LENGTHS_TRIED)
        ratios = len(value.quotients) if value is not None and _is_affine(value) else 0
    return Properties(
        linear=bound.spec.linear(),
        splits=parts is not None,
        ends=(*parts.z.ends, *parts.y.ends) if parts is not None else (),
        additive=parts is not None and parts.additive,
        confusion=form is not None,
        fractional=ratio,
        ratios=ratios,
        tp_monotonic=None if form is None else counterexample is None,
        counterexample=counterexample,
    )
