"""`fsmeu losses`: the built-in losses, and the text of one; heads of loss files as data."""

from __future__ import annotations

import re
from typing import Annotated, Any

from fsmeu.cli import options as opt
from fsmeu.cli.inputs import read_loss_file, whereabouts
from fsmeu.cli.output import emit, note, number, print_json, screen, write_output
from fsmeu.errors import FsmeuError, visible
from fsmeu.losses.language.messages import WORDS
from fsmeu.losses.language.syntax import Expr, Param, Spec
from fsmeu.losses.library import library, read_spec
from fsmeu.losses.semantics.evaluator import constant

__all__ = ["header_data", "labels_text", "losses", "signature"]

_TAGS = {
    "bio": "chunk tags (--types)",
    "iob1": "chunk tags in IOB1 (--types)",
    "iobes": "chunk tags in IOBES (--types)",
}
_COMMENT = re.compile(r"#[^\n]*")
_Name = Annotated[
    str | None,
    opt.argument("NAME", "Show this one: a built-in loss, the path of a file, or - for stdin."),
]


def losses(name: _Name = None, as_json: opt.Json = False) -> None:
    """List the built-in losses and utilities, or show the text of one and where it is."""
    if name is not None:
        _show(name, as_json)
        return
    specs = {name: read_spec(name) for name in library()}
    data = [{**header_data(spec), "name": name} for name, spec in specs.items()]
    rows = [
        (
            name,
            spec.kind,
            "\n".join(_param_text(spec, param) for param in spec.params),
            spec.summary,
        )
        for name, spec in specs.items()
    ]
    emit(rows, ("name", "kind", "parameters", "summary"), as_json=data if as_json else None)


def _show(name: str, as_json: bool) -> None:
    """Prints the text as it is; on a terminal, words, texts and comments are set apart."""
    from rich.text import Text

    spec = read_loss_file(name)
    if as_json:
        registers = [{"name": r.name, "kind": r.sugar} for r in spec.registers]
        more = {"registers": registers, "examples": len(spec.examples)}
        print_json({**header_data(spec), **more, "path": whereabouts(name)})
        return
    note(f"# {whereabouts(name)}")
    if not screen().is_terminal:
        write_output("-", spec.source if spec.source.endswith("\n") else f"{spec.source}\n")
        return
    text = Text(visible(spec.source.rstrip("\n"), keep="\n\t"))
    words = "|".join(WORDS)
    text.highlight_regex(rf'(?P<dim>#[^\n]*)|(?P<green>"[^"\n]*")|\b(?P<bold>{words})\b')
    screen().print(text, soft_wrap=True)


def signature(spec: Spec) -> str:
    """Kind, name and parameters, as the file writes them."""
    inside = ", ".join(_param_text(spec, param) for param in spec.params)
    return f"{spec.kind} {spec.name}" + (f"({inside})" if inside else "")


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
        "parameters": [
            {
                "name": param.name,
                "type": param.type,
                "default": _constant(spec, param.default),
                "low": _constant(spec, param.low),
                "high": _constant(spec, param.high),
                "text": _param_text(spec, param),
            }
            for param in spec.params
        ],
        "labels": list(spec.labels) if spec.labels is not None else None,
        "tags": bool(spec.scheme),
        "scheme": spec.scheme or None,
        "references": list(spec.references),
    }


def _param_text(spec: Spec, param: Param) -> str:
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
        return None if expr is None else number(constant(expr, {}, spec))
    except FsmeuError:
        return None
