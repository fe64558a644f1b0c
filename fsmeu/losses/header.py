"""What the head of a loss file says: its signature as written, and everything as plain data."""

from __future__ import annotations

import re
from typing import Any

from fsmeu.errors import FsmeuError
from fsmeu.losses.language.syntax import Expr, Param, Spec
from fsmeu.losses.semantics.evaluator import constant
from fsmeu.losses.steps import whole_or_float

_COMMENT = re.compile(r"#[^\n]*")


def signature(spec: Spec) -> str:
    """Kind, name and parameters, as the file writes them."""
    inside = ", ".join(param_text(spec, param) for param in spec.params)
    return f"{spec.kind} {spec.name}" + (f"({inside})" if inside else "")


def header_data(spec: Spec) -> dict[str, Any]:
    """The head of a loss file as plain data."""
    return {
        "name": spec.name,
        "kind": spec.kind,
        "summary": spec.summary,
        "parameters": [
            {
                "name": param.name,
                "type": param.type,
                "default": _constant(spec, param.default),
                "low": _constant(spec, param.low),
                "high": _constant(spec, param.high),
                "text": param_text(spec, param),
            }
            for param in spec.params
        ],
        "labels": list(spec.labels) if spec.labels is not None else None,
        "tags": bool(spec.scheme),
        "scheme": spec.scheme or None,
        "references": list(spec.references),
    }


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


def _constant(spec: Spec, expr: Expr | None) -> int | float | None:
    """The number, if the expression is one without knowing the other parameters."""
    try:
        return None if expr is None else whole_or_float(constant(expr, {}, spec))
    except FsmeuError:
        return None
