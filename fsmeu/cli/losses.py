"""`fsmeu losses`: the built-in losses, and the text of one."""

from __future__ import annotations

from fsmeu.cli import options as opt
from fsmeu.cli.inputs import read_loss_file, whereabouts
from fsmeu.cli.output import emit, note, print_json, screen, write_output
from fsmeu.errors import visible
from fsmeu.losses.describe import header_data
from fsmeu.losses.language.expressions import WORDS
from fsmeu.losses.language.syntax import Spec
from fsmeu.losses.loss import library, read_spec

_TAGS = {
    "bio": "chunk tags (--types)",
    "iob1": "chunk tags in IOB1 (--types)",
    "iobes": "chunk tags in IOBES (--types)",
}


def losses(
    name: str | None = opt.argument(
        "NAME", "Show this one: a built-in loss, the path of a file, or - for stdin.", None
    ),
    as_json: bool = opt.JSON,
) -> None:
    """List the built-in losses and utilities, or show the text of one and where it is."""
    if name is not None:
        _show(name, as_json)
        return
    specs = {name: read_spec(name) for name in library()}
    data = [{**header_data(spec), "name": name} for name, spec in specs.items()]
    rows = [
        (name, spec.kind, "\n".join(param.text for param in spec.params), spec.summary)
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


def labels_text(spec: Spec) -> str:
    """The labels of a loss, or how they are to be given."""
    if spec.labels is not None:
        return " ".join(map(str, spec.labels))
    return _TAGS[spec.scheme] if spec.scheme else "any (--labels)"
