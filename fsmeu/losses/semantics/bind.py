"""A spec with its labels and parameters filled in."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from fsmeu.arrays import Floats
from fsmeu.errors import Argument, InputError, Wording, nearest, shorten, wording
from fsmeu.fst.alphabet import Alphabet, label_text, plain_label
from fsmeu.fst.tags import GIVE_TAGS, check_tags, tag_parts
from fsmeu.losses.language import syntax as ast
from fsmeu.losses.language.syntax import Expr, Param, Spec, fault, subexpressions
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
    named: dict[str, None] = {}
    for param in spec.params:
        params[param.name] = _param_value(bound, param, values, known, named)
    return replace(bound, named=tuple(named | dict.fromkeys(check_types(bound, known))))


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


def written_value(expr: Expr, params: Mapping[str, Any], spec: Spec) -> Any:
    """The value that a file gives a parameter, as Python gives it: a number, a label, a table."""
    match expr:
        case ast.Text():
            return expr.value
        case ast.Table():
            entries = [written_value(entry, params, spec) for entry in expr.entries]
            return dict(zip(expr.keys, entries, strict=True)) if expr.keys else entries
    return constant(expr, params, spec)


def is_keyed(table: Any) -> bool:
    """Whether a table that was given has entries by label, on one of its sides."""
    if isinstance(table, list | tuple):
        return any(isinstance(row, Mapping) for row in table)
    return isinstance(table, Mapping)


def _param_value(
    bound: BoundLoss,
    param: Param,
    values: Mapping[str, Any],
    known: bool,
    named: dict[str, None],
) -> Any:
    """The value of a parameter, those before it being known; ``named`` collects labels in it."""
    spec = bound.spec
    where = f"{bound.spec.kind} {bound.spec.name}"
    at = f"{where}, parameter {param.name}"
    given = param.name in values
    default = param.default
    if not given and default is None:
        must = f"the parameter {param.name!r} has no default"
        raise InputError(where, must, remedy=give_param(param.name))
    find = _Labels(bound, at, known, named, own=not given)
    if param.type == "table":
        value = values.get(param.name)
        if given and not is_keyed(value):
            return _table(param, value, len(bound.alphabet), where)
        rest = None if default is None else _default_table(bound, param, find)
        if not given:
            return rest
        rows = find.rows(value, param.sides, None if rest is None else rest.tolist())
        return _table(param, rows, len(bound.alphabet), where)
    value = (
        values.get(param.name)
        if default is None or given
        else written_value(default, bound.params, spec)
    )
    if param.type == "label":
        place = find(value)
        return NONE - 1.0 if place is None else float(bound.label_values[place])
    return _scalar(bound, param, value, where)


@dataclass(frozen=True)
class _Labels:
    """The labels of a loss, as a parameter names them: ``own`` for names of the file itself."""

    bound: BoundLoss
    at: str
    known: bool
    named: dict[str, None]
    own: bool

    def __call__(self, label: Any) -> int | None:
        """The index of a label; None where labels are not known and it is none of these."""
        label = plain_label(label)
        if type(label) not in (int, str):
            raise InputError(self.at, "must be a label", given=label)
        name = label_text(label)
        self.named[name] = None
        own = dict(zip(self.bound.codes, range(len(self.bound.label_values)), strict=False))
        new = self.bound.alphabet.index
        first, second = (own, new) if self.own else (new, own)
        place = first.get(name, second.get(name))
        if place is None and self.known:
            names = list(map(str, self.bound.alphabet.labels))
            must = f"the labels are {shorten(', '.join(names))}"
            raise InputError(self.at, must, given=name, remedy=nearest(name, names))
        return place

    def rows(self, table: Any, sides: tuple[str, ...], rest: Any) -> Any:
        """A table by label as nested lists in the order of labels; ``rest`` has other entries."""
        size = len(self.bound.label_values)
        if not sides or not is_keyed(table):
            full = isinstance(table, int | float) and set(sides) == {"label"}
            return np.full((size,) * len(sides), table).tolist() if full else table
        if not isinstance(table, Mapping):
            if sides[0] == "label":
                must = "must have entries by label on each side that a label chooses"
                raise InputError(self.at, must, given="a list")
            return [self.rows(row, sides[1:], None) for row in table]
        if sides[0] != "label" or not table:
            must = f"must have one entry per {sides[0]}"
            raise InputError(self.at, must, given=table)
        found = {self(label): row for label, row in table.items()}
        missing = [k for k in range(size) if k not in found]
        if missing and rest is None and self.known:
            must = "must have an entry for each label"
            names = ", ".join(str(self.bound.alphabet.labels[k]) for k in missing)
            raise InputError(self.at, must, given=f"none for {shorten(names)}")
        some = next(iter(table.values()))  # for labels that stand for those that are not known
        others = [None] * size if rest is None else rest
        filled = [some if other is None else other for other in others]
        return [self.rows(found.get(k, filled[k]), sides[1:], others[k]) for k in range(size)]


def _default_table(bound: BoundLoss, param: Param, find: _Labels) -> Floats:
    """The default of a table, (L,) or (L, L): z is the label of its first side, y of its second."""
    sides = param.sides
    default: Any = param.default
    if isinstance(default, ast.Table):
        spec = bound.spec
        value = _by_own_labels(written_value(default, bound.params, spec), sides, default, spec)
        rows = replace(find, own=True).rows(value, sides, None)
        return _table(param, rows, len(bound.alphabet), f"{spec.kind} {spec.name}")
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


def _by_own_labels(table: Any, sides: tuple[str, ...], expr: Expr, spec: Spec) -> Any:
    """A table that a file writes out, with the file's labels for rows that are in their order."""
    if not sides or not isinstance(table, dict | list):
        return table
    rows = table if isinstance(table, list) else table.values()
    inner = [_by_own_labels(row, sides[1:], expr, spec) for row in rows]
    if isinstance(table, dict):
        return dict(zip(table, inner, strict=True))
    if sides[0] != "label":
        return inner
    if spec.labels is None or len(spec.labels) != len(inner):
        has = "open" if spec.labels is None else f"{len(spec.labels)}"
        said = f"entries in order need labels in order, and those of the file are {has}"
        raise fault(spec.origin, spec.source, expr.place, said, 'Write {"A": 1, "B": 2}')
    return dict(zip(map(str, spec.labels), inner, strict=True))


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
