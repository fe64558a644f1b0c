"""The requirements of a package that apply on this machine, as its metadata has them (PEP 508)."""

from __future__ import annotations

import ast
import operator
import os
import platform
import re
import sys
from collections.abc import Callable, Iterable
from typing import Any

_NAME = re.compile(r"\s*([\w.-]+)\s*(?:\[[^]]*\])?\s*\(?([^)]*)\)?\s*")
_VERSION = re.compile(r"\d+(\.\d+)*")
_OPERATORS: dict[type[ast.cmpop], Callable[[Any, Any], bool]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.In: lambda left, right: left in right,
    ast.NotIn: lambda left, right: left not in right,
}


def environment() -> dict[str, str]:
    """The variables of markers with their values on this machine."""
    return {
        "implementation_name": sys.implementation.name,
        "implementation_version": platform.python_version(),
        "os_name": os.name,
        "platform_machine": platform.machine(),
        "platform_python_implementation": platform.python_implementation(),
        "platform_release": platform.release(),
        "platform_system": platform.system(),
        "platform_version": platform.version(),
        "python_full_version": platform.python_version(),
        "python_version": ".".join(platform.python_version_tuple()[:2]),
        "sys_platform": sys.platform,
    }


def requirements(texts: Iterable[str], extras: Iterable[str]) -> list[tuple[str, str, str]]:
    """The extra ("" for the base), name and versions of each requirement that applies here."""
    parts = ["", *extras]
    result = []
    for text in texts:
        wanted, _, marker = text.partition(";")
        needing = [extra for extra in parts if applies(marker, extra)]
        match = _NAME.fullmatch(wanted)
        if match is not None:
            name, versions = match.groups()
            base = needing[:1] == [""]  # what the base needs is no part of extras
            result += [(extra, name, versions.strip()) for extra in ([""] if base else needing)]
    return result


def applies(marker: str, extra: str) -> bool:
    """Whether a marker holds on this machine, with this extra; true of one that cannot be read."""
    if not marker.strip():
        return True
    values = {**environment(), "extra": extra}
    try:
        return _holds(ast.parse(marker.strip(), mode="eval").body, values)
    except (SyntaxError, KeyError, TypeError, ValueError):
        return True


def _holds(node: ast.expr, values: dict[str, str]) -> bool:
    """The truth of ``and``, ``or`` and comparisons of variables and texts."""
    if isinstance(node, ast.BoolOp):
        truths = [_holds(part, values) for part in node.values]
        return all(truths) if isinstance(node.op, ast.And) else any(truths)
    if not isinstance(node, ast.Compare) or len(node.ops) != 1:
        raise ValueError(ast.dump(node))
    sides = [_text(part, values) for part in (node.left, node.comparators[0])]
    compare = _OPERATORS[type(node.ops[0])]
    inside = isinstance(node.ops[0], ast.In | ast.NotIn)
    if not inside and all(_VERSION.fullmatch(side) for side in sides):
        return compare(*map(_version, sides))
    return compare(*sides)


def _text(node: ast.expr, values: dict[str, str]) -> str:
    """The value of a variable, or the text that is written there."""
    return values[node.id] if isinstance(node, ast.Name) else str(ast.literal_eval(node))


def _version(text: str) -> tuple[int, ...]:
    """The numbers of a version, without zeros at the end: 3.10.0 is 3.10."""
    numbers = [int(part) for part in text.split(".")]
    while numbers and not numbers[-1]:
        numbers.pop()
    return tuple(numbers)
