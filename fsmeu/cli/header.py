"""What the head of a loss file says, in words and as data."""

from __future__ import annotations

import re
from typing import Any

from fsmeu.cli.output import number
from fsmeu.errors import FsmeuError
from fsmeu.losses.language.syntax import Expr, Param, Spec
from fsmeu.losses.semantics.evaluator import constant

__all__ = ["header_data", "labels_text", "param_text", "signature"]

_TAGS = {
    "bio": "chunk tags (--types)",
    "iob1": "chunk tags in IOB1 (--types)",
    "iobes": "chunk tags in IOBES (--types)",
}
_COMMENT = re.compile(r"#[^\n]*")


def signature(spec: Spec) -> str:
    """Kind, name and parameters, as the file writes them."""
    inside = ", ".join(param_text(spec, param) for param in spec.params)
    return f"{spec.kind} {spec.name}" + (f"({inside})" if inside else "")


def param_text(spec: Spec, param: Param) -> str:
    """A parameter with its type, default and range, as the file writes it."""
    plain = _COMMENT.sub(lambda found: " " * len(found.group()), spec.source)
    lines = plain.split("\n")[param.place.line - 1 :]
    text = "\n".join([lines[0][param.place.column - 1 :], *lines[1:]])
    depth = 0
    for at, sign in enumerate(text):
        if depth == 0 and sign in ",)":
            return " ".join(text[:at].split())
        depth += (sign in "([") - (sign in ")]")
    return param.name


def labels_text(spec: Spec) -> str:
    """The labels of a loss, or how they are to be given."""
    if spec.labels is not None:
        return " ".join(map(str, spec.labels))
    return _TAGS[spec.scheme] if spec.scheme else "any (--labels)"


def header_data(spec: Spec) -> dict[str, Any]:
    """The head of a loss file as plain data."""
    return {
        "name": spec.name,
        "kind": spec.kind,
        "summary": spec.summary,
        "parameters": [_param_data(spec, param) for param in spec.params],
        "labels": list(spec.labels) if spec.labels is not None else None,
        "tags": bool(spec.scheme),
        "scheme": spec.scheme or None,
        "references": list(spec.references),
    }


def _param_data(spec: Spec, param: Param) -> dict[str, Any]:
    return {
        "name": param.name,
        "type": param.type,
        "default": _constant(spec, param.default),
        "low": _constant(spec, param.low),
        "high": _constant(spec, param.high),
        "text": param_text(spec, param),
    }


def _constant(spec: Spec, expr: Expr | None) -> int | float | None:
    """The number, if the expression is one without knowing the other parameters."""
    try:
        return None if expr is None else number(constant(expr, {}, spec))
    except FsmeuError:
        return None
