"""A spec with its labels and parameters filled in: everything that expressions may refer to."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from fsmeu.arrays import Floats
from fsmeu.errors import InputError, message, nearest
from fsmeu.fst.alphabet import Alphabet, Label
from fsmeu.fst.tags import check_tags, tag_parts
from fsmeu.losses.language.syntax import Expr, Index, Name, Param, Spec, Text, walk
from fsmeu.losses.semantics.evaluator import NONE, BoundLoss, Scope, constant, number
from fsmeu.losses.semantics.typecheck import check_types

_MOST_WHOLE = 2**53  # doubles tell whole numbers apart up to there; greater labels are compared


def bind(spec: Spec, alphabet: Alphabet, given: Mapping[str, Any]) -> BoundLoss:
    """The loss with its labels and parameters filled in.

    Raises:
        InputError: a parameter is unknown, missing, of the wrong type or out of its range, or the
            labels do not suit the loss.
        LossFileError: with these labels, an expression takes one sort of thing for another.
    """
    where = f"{spec.kind} {spec.name}"
    if spec.scheme:
        remedy = 'Give types=["NP", ...] or labels=["O", "B-NP", "I-NP", ...]'
        check_tags(alphabet, spec.scheme, where, remedy)
    check_known(spec, given)
    params: dict[str, Any] = {}
    bound = _with_codes(spec, alphabet, params)
    for param in spec.params:
        params[param.name] = _param_value(bound, param, given, params)
    check_types(bound)
    return bound


def check_known(spec: Spec, given: Mapping[str, Any]) -> None:
    """Refuses parameters that the file does not have."""
    names = [param.name for param in spec.params]
    for name in given:
        if name not in names:
            must = f"{name!r} is not a parameter; there are: {', '.join(names) or 'none'}"
            hint = nearest(name, names)
            raise InputError(message(f"{spec.kind} {spec.name}", must, None, hint))


def _with_codes(spec: Spec, alphabet: Alphabet, params: Mapping[str, Any]) -> BoundLoss:
    labels = _labels_of_file(spec, alphabet)
    numeric = all(isinstance(label, int) and abs(label) <= _MOST_WHOLE for label in labels)
    names = [str(label) for label in labels]
    parts = [tag_parts(name) for name in names]
    exprs = [*_exprs(spec), *(p.default for p in spec.params if p.default is not None)]
    quoted = [node.value for expr in exprs for node in walk(expr) if isinstance(node, Text)]
    texts = [*names, *(kind for kind, _ in parts), *(t for _, t in parts if t), *quoted]
    codes = {text: float(k) for k, text in enumerate(dict.fromkeys(texts))}
    kinds, types = np.full((2, len(codes) + 1), NONE)
    kinds[-1] = types[-1] = np.nan
    for name, (kind, tag_type) in zip(names, parts, strict=True):
        kinds[int(codes[name])] = codes[kind]
        types[int(codes[name])] = codes[tag_type] if tag_type else NONE
    values = np.array([float(x) if numeric else codes[str(x)] for x in labels])
    return BoundLoss(spec, alphabet, params, numeric, values, codes, kinds, types)


def _labels_of_file(spec: Spec, alphabet: Alphabet) -> tuple[Label, ...]:
    """What the file calls the labels: where it names its own, others are new names for those."""
    if spec.labels is None:
        return alphabet.labels
    own = {str(label): label for label in spec.labels}
    if own.keys() == {str(label) for label in alphabet.labels}:
        return tuple(own[str(label)] for label in alphabet.labels)
    return spec.labels


def _exprs(spec: Spec) -> list[Expr]:
    """The values and updates of a file."""
    registers = spec.output_registers or spec.registers
    return [spec.value, *(o.value for o in spec.outputs), *(r.update for r in registers)]


def _param_value(
    bound: BoundLoss, param: Param, given: Mapping[str, Any], params: Mapping[str, Any]
) -> Any:
    """The value of a parameter, those before it being known."""
    spec, where = bound.spec, f"{bound.spec.kind} {bound.spec.name}"
    sides = table_sides(spec, param.name) if param.type == "table" else 0
    if param.name in given:
        value = given[param.name]
    elif param.default is not None and sides:
        value = _default_table(bound, param.default, sides)
    elif param.default is not None:
        value = constant(param.default, params, spec)
    else:
        must = f"the parameter {param.name!r} has no default"
        raise InputError(message(where, must, None, f"Give {param.name}=VALUE"))
    if sides:
        return _table(param, value, (len(bound.alphabet),) * sides, where)
    return _scalar(spec, param, value, params)


def _default_table(bound: BoundLoss, default: Expr, sides: int) -> Floats:
    """The default of a table, (L,) or (L, L): z is the label of its first side, y of its second.

    Raises:
        LossFileError: a table of one side is made of two labels.
    """
    z = bound.label_values[:, None] if sides == 2 else bound.label_values
    scope = Scope(bound, {**bound.params, "z": z, "y": bound.label_values}, {}, {})
    for part in walk(default) if sides == 1 else ():
        if isinstance(part, Name) and part.name == "y":
            message = "the table is read by one label, which is called z here"
            raise scope.fault(part, message)
    table: Floats = np.full((len(bound.alphabet),) * sides, number(default, scope))
    return table


def _scalar(spec: Spec, param: Param, value: Any, params: Mapping[str, Any]) -> float:
    at = f"{spec.kind} {spec.name}, parameter {param.name}"
    if isinstance(value, str | bytes | bytearray):
        raise InputError(message(at, "must be a number", value))
    try:
        number = float(value)
    except Exception as error:  # whatever the value raises
        raise InputError(message(at, "must be a number", value)) from error
    if not math.isfinite(number):
        raise InputError(message(at, "must be a finite number", value))
    if param.type == "int" and not number.is_integer():
        raise InputError(message(at, "must be a whole number", value))
    low = constant(param.low, params, spec) if param.low is not None else -math.inf
    high = constant(param.high, params, spec) if param.high is not None else math.inf
    if not low <= number <= high:
        raise InputError(message(at, f"must lie in {low:g}..{high:g}", value))
    return number


def table_sides(spec: Spec, name: str) -> int:
    """How many labels choose an entry of a table: 1 as in ``w[z]``, 2 as in ``cost[z, y]``."""
    used = [node for expr in _exprs(spec) for node in walk(expr) if isinstance(node, Index)]
    return max((len(node.arguments) for node in used if node.name == name), default=2)


def _table(param: Param, value: Any, shape: tuple[int, ...], where: str) -> Floats:
    at = f"{where}, parameter {param.name}"
    if isinstance(value, int | float) and not isinstance(value, bool):
        value = np.full(shape, value)
    try:
        given = np.asarray(value)
        table = given.astype(np.float64) if given.dtype.kind in "iufO" else None
    except Exception as error:  # whatever the value raises
        raise InputError(message(at, "must be a table of numbers", value)) from error
    if table is None:
        raise InputError(message(at, "must be a table of numbers", value))
    if np.ma.is_masked(value):
        raise InputError(message(at, "must have no masked entries", value))
    if table.shape != shape:
        rows = "one row and one column per label" if len(shape) == 2 else "one number per label"
        raise InputError(message(at, f"must have {rows}, shape {shape}", f"shape {table.shape}"))
    if not np.isfinite(table).all():
        raise InputError(message(at, "must hold finite numbers"))
    return table
