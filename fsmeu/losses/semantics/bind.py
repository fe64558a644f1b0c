"""A spec with its labels and parameters filled in."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from fsmeu.arrays import Floats
from fsmeu.errors import Argument, InputError, Wording, nearest, wording
from fsmeu.fst.alphabet import Alphabet
from fsmeu.fst.tags import GIVE_TAGS, check_tags, tag_parts
from fsmeu.losses.language import syntax as ast
from fsmeu.losses.language.syntax import Param, Spec, subexpressions
from fsmeu.losses.semantics.evaluator import NONE, BoundLoss, Scope, constant, number
from fsmeu.losses.semantics.sorts import check_types

_MOST_WHOLE = 2**53  # doubles tell whole numbers apart up to there; greater labels are compared


def give_param(name: str) -> Wording:
    """The advice to give a parameter of a loss, which has no default."""
    return wording("Give ", Argument(name, "VALUE", of_loss=True))


def check_names(spec: Spec, values: Iterable[str]) -> None:
    """Refuses values for what is no parameter of the file."""
    names = [param.name for param in spec.params]
    for name in values:
        if name not in names:
            must = f"its parameters are {', '.join(names)}" if names else "it has no parameters"
            where = f"{spec.kind} {spec.name}"
            raise InputError(where, must, given=repr(name), remedy=nearest(name, names))


def bind(
    spec: Spec, alphabet: Alphabet, values: Mapping[str, Any], known: bool = True
) -> BoundLoss:
    """The loss with its labels and parameters filled in, which must suit the file.

    Unless labels are ``known``, others may take their place: the file may name others.
    """
    if spec.scheme:
        check_tags(alphabet, spec.scheme, f"{spec.kind} {spec.name}", GIVE_TAGS)
    params: dict[str, Any] = {}
    bound = _with_codes(spec, alphabet, params)
    for param in spec.params:
        params[param.name] = _param_value(bound, param, values)
    return replace(bound, named=check_types(bound, known))


def _with_codes(spec: Spec, alphabet: Alphabet, params: Mapping[str, Any]) -> BoundLoss:
    """The loss with the codes of its texts; labels of its own may have others as new names."""
    own = {str(label): label for label in spec.labels or alphabet.labels}
    new_names = [str(label) for label in alphabet.labels]
    labels = [own[name] for name in (new_names if own.keys() == set(new_names) else own)]
    numeric = all(isinstance(label, int) and abs(label) <= _MOST_WHOLE for label in labels)
    names = [str(label) for label in labels]
    parts = [tag_parts(name) for name in names]
    exprs = [spec.value, *(o.value for o in spec.outputs)]
    exprs += [register.update for register in spec.file_registers or spec.registers]
    exprs += [param.default for param in spec.params if param.default is not None]
    quoted = [
        node.value for expr in exprs for node in subexpressions(expr) if isinstance(node, ast.Text)
    ]
    texts = [*names, *(kind for kind, _ in parts), *(t for _, t in parts if t), *quoted]
    codes = {text: float(k) for k, text in enumerate(dict.fromkeys(texts))}
    kinds, types = np.full((2, len(codes) + 1), NONE)
    kinds[-1] = types[-1] = np.nan
    for name, (kind, tag_type) in zip(names, parts, strict=True):
        kinds[int(codes[name])] = codes[kind]
        types[int(codes[name])] = codes[tag_type] if tag_type else NONE
    values = np.array([float(x) if numeric else codes[str(x)] for x in labels])
    return BoundLoss(spec, alphabet, params, numeric, values, codes, kinds, types)


def _param_value(bound: BoundLoss, param: Param, values: Mapping[str, Any]) -> Any:
    """The value of a parameter, those before it being known."""
    spec = bound.spec
    where = f"{bound.spec.kind} {bound.spec.name}"
    sides = param.sides if param.type == "table" else ()
    if param.name in values:
        value = values[param.name]
    elif param.default is not None and sides:
        value = _default_table(bound, param, sides)
    elif param.default is not None:
        value = constant(param.default, bound.params, spec)
    else:
        must = f"the parameter {param.name!r} has no default"
        raise InputError(where, must, remedy=give_param(param.name))
    if sides:
        return _table(param, value, len(bound.alphabet), where)
    return _scalar(bound, param, value, where)


def _default_table(bound: BoundLoss, param: Param, sides: tuple[str, ...]) -> Floats:
    """The default of a table, (L,) or (L, L): z is the label of its first side, y of its second."""
    default: Any = param.default
    z = bound.label_values[:, None] if len(sides) == 2 else bound.label_values
    scope = Scope(bound, {**bound.params, "z": z, "y": bound.label_values}, {}, {})
    if set(sides) != {"label"}:
        said = f"the table {param.name} is read by a number, so that its size is not known"
        raise scope.fault(default, f"{said}: it has no default")
    for part in subexpressions(default) if len(sides) == 1 else ():
        if isinstance(part, ast.Name) and part.name == "y":
            raise scope.fault(part, "the table is read by one label, which is called z here")
    table: Floats = np.full((len(bound.alphabet),) * len(sides), number(default, scope))
    return table


def _scalar(bound: BoundLoss, param: Param, value: Any, where: str) -> float:
    at = f"{where}, parameter {param.name}"
    try:
        if isinstance(value, str | bytes | bytearray):
            raise TypeError(value)
        number = float(value)
    except Exception as error:  # whatever the value raises
        raise InputError(at, "must be a number", given=value) from error
    if not math.isfinite(number):
        raise InputError(at, "must be a finite number", given=value)
    if param.type == "int" and not number.is_integer():
        raise InputError(at, "must be a whole number", given=value)
    sides = (param.low, -math.inf), (param.high, math.inf)
    low, high = (
        free if side is None else constant(side, bound.params, bound.spec) for side, free in sides
    )
    if not low <= number <= high:
        raise InputError(at, f"must lie in {low:g}..{high:g}", given=value)
    return number


def _table(param: Param, value: Any, labels: int, where: str) -> Floats:
    """The entries of a table: one for each label on its sides by label, any number on others."""
    at = f"{where}, parameter {param.name}"
    by_label = set(param.sides) == {"label"}
    if isinstance(value, int | float) and not isinstance(value, bool) and by_label:
        value = np.full((labels,) * len(param.sides), value)
    try:
        array = np.asarray(value)
        if array.dtype.kind not in "iufO":
            raise TypeError(array.dtype)
        table = array.astype(np.float64)
    except Exception as error:  # whatever the value raises
        raise InputError(at, "must be a table of numbers", given=value) from error
    if np.ma.is_masked(value):
        raise InputError(at, "must have no masked entries", given=value)
    fits = len(table.shape) == len(param.sides) and all(
        size == labels if side == "label" else size > 0
        for side, size in zip(param.sides, table.shape, strict=True)
    )
    if not fits:
        raise InputError(at, _shape_needed(param, labels), given=f"shape {table.shape}")
    if not np.isfinite(table).all():
        raise InputError(at, "must hold finite numbers")
    return table


def _shape_needed(param: Param, labels: int) -> str:
    """The shape that a table must have, in words."""
    sides = param.sides
    if sides == ("label", "label"):
        return f"must have one row and one column per label, shape {(labels, labels)}"
    if len(sides) == 1:
        sized = f", shape {(labels,)}" if sides == ("label",) else ""
        return f"must have one number per {sides[0]}{sized}"
    return f"must have one row per {sides[0]} and one column per {sides[1]} ({labels} labels)"
