"""`fsmeu draw`: a loss, a model or a composition as a picture, in the terminal or in a file."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fsmeu.cli.options import (
    LabelList,
    ModelFile,
    ParamList,
    Probabilities,
    Summed,
    TypeList,
)

if TYPE_CHECKING:
    from fsmeu.drawing.draw import Drawing

__all__ = ["draw_loss"]

_STYLES = {"title": "bold", "quiet": "dim", "value": "green", "route": "bold red", "plain": ""}
_STDOUT = "-"

_MODEL_FILE = ".json"

_Thing = Annotated[
    str | None,
    typer.Argument(
        metavar="[LOSS]",
        help="A name on the shelf, the path of a loss file, - for standard input; or a model file "
        "that ends in .json. Left out, the model of --model or --probs is drawn.",
        show_default=False,
    ),
]
_Length = Annotated[
    int | None,
    typer.Option(
        "--n",
        "-n",
        metavar="N",
        min=0,
        help="The length of the sequences; that of Z, Y or the model if they are given.",
        show_default=False,
    ),
]
_Hypothesis = Annotated[
    str | None,
    typer.Option(
        "--z",
        metavar="Z",
        help="A hypothesis: the machine given Z, or with Y the path of the pair.",
        show_default=False,
    ),
]
_Reference = Annotated[
    str | None,
    typer.Option("--y", metavar="Y", help="A reference, of the same length.", show_default=False),
]
_Output = Annotated[
    str | None,
    typer.Option(
        "--output",
        "-o",
        metavar="FILE",
        help="A file that ends in .svg, .png, .pdf, .dot, .html, .tex or .txt; - for stdout.",
        show_default=False,
    ),
]
_Format = Annotated[
    str | None,
    typer.Option(
        "--format",
        "-f",
        metavar="NAME",
        help="svg, png, pdf, dot (for Graphviz), html, tex or txt, if no file name says it.",
        show_default=False,
    ),
]
_GivenZ = Annotated[
    bool, typer.Option("--given-z", help="Leave out registers that only follow z; z stays open.")
]
_Depth = Annotated[
    int | None,
    typer.Option("--depth", metavar="D", min=0, help="Only the first D steps.", show_default=False),
]
_Merged = Annotated[
    bool, typer.Option("--merged", help="Merge states that no continuation can tell apart.")
]
_Short = Annotated[bool, typer.Option("--short", help="States as 1,2 instead of tp=1 ref=2.")]
_Limit = Annotated[
    int,
    typer.Option("--limit", metavar="N", min=1, help="Draw up to N states, of more a summary."),
]


def draw_loss(
    loss: _Thing = None,
    n: _Length = None,
    z: _Hypothesis = None,
    y: _Reference = None,
    probs: Probabilities = None,
    model: ModelFile = None,
    output: _Output = None,
    form: _Format = None,
    given_z: _GivenZ = False,
    depth: _Depth = None,
    merged: _Merged = False,
    short: _Short = False,
    summed: Summed = False,
    limit: _Limit = 100,
    param: ParamList = None,
    labels: LabelList = None,
    types: TypeList = None,
) -> None:
    """Draws the machine of a loss, a model, or both composed, in the terminal or into a file.

    With a loss, Z and a model, their composition is drawn: states are shaded and arcs are as wide
    as they are probable. With Z and Y, their path is coloured. A model alone is drawn without a
    loss.
    """
    from fsmeu.drawing.draw import draw

    view: dict[str, Any] = {"depth": depth, "short": short, "limit": limit}
    if loss is None or loss.lower().endswith(_MODEL_FILE):
        others = {
            "--n": n, "--z": z, "--given-z": given_z, "--merged": merged, "--summed": summed,
            "--param": param, "--labels": labels, "--types": types,
        }  # fmt: skip
        subject = _model_subject(loss, (probs, model), y, others)
    elif summed:
        with_others = given_z or merged or any(x is not None for x in (z, y, probs, model))
        subject = _summed_subject(loss, n, with_others, (param, labels, types))
    else:
        subject = _loss_subject(loss, n, (z, y), (probs, model), (param, labels, types))
        view |= {"given_z": given_z, "merged": merged}
    drawing = draw(subject.pop("thing"), **subject, **view)
    if output is None and form is None:
        _print(drawing)
        return
    _write(drawing, output or _STDOUT, form)


_Choices = tuple[list[str] | None, str | None, str | None]


def _model_subject(
    file: str | None,
    source: tuple[str | None, str | None],
    y: str | None,
    others: dict[str, Any],
) -> dict[str, Any]:
    """A model alone, with the path of y if that is given."""
    from fsmeu.cli.inputs import read_model, sequence
    from fsmeu.errors import InputError, sentence

    if file is None and source == (None, None):
        must = "a loss or a model must be given"
        remedy = "Name a loss, or add --model FILE or --probs P1,P2"
        raise InputError(sentence("draw", must, None, remedy))
    for option, given in others.items():
        if given not in (None, False):
            must = f"{option} goes with a loss, and there is none"
            raise InputError(sentence("draw", must, None, "Name a loss, or leave it out"))
    if file is not None and source != (None, None):
        must = "a model file is drawn by itself"
        remedy = "Name a loss, or leave --model and --probs out"
        raise InputError(sentence(file, must, "two models", remedy))
    model = read_model(source[0], file or source[1], loss_name="")
    labels = None if y is None else sequence(model.alphabet, y, "reference y")
    return {"thing": model, "y": labels}


def _summed_subject(loss: str, n: int | None, others: bool, choices: _Choices) -> dict[str, Any]:
    """The machine whose paths add up."""
    from fsmeu.cli.inputs import check_labels_known, load_loss
    from fsmeu.errors import InputError, sentence
    from fsmeu.losses.sum_over_paths import compile_summed

    loaded = load_loss(loss, *choices)
    if n is None or others:
        must = "--summed goes with --n alone"
        raise InputError(sentence("draw", must, None, "Leave sequences and models out"))
    check_labels_known(loaded)
    return {"thing": compile_summed(loaded, n)}


def _loss_subject(
    name: str,
    n: int | None,
    pair: tuple[str | None, str | None],
    source: tuple[str | None, str | None],
    choices: _Choices,
) -> dict[str, Any]:
    """The loss, sequences and model as they go together; open labels are those that are used."""
    from fsmeu.cli.inputs import load_loss, read_model, sequence, sequences
    from fsmeu.errors import InputError, sentence

    loss = load_loss(name, *choices)
    if n is None and not any(given is not None for given in (*pair, *source)):
        must = "the length of the sequences must be given"
        raise InputError(sentence("draw", must, None, "Add --n N, or --z Z and --y Y"))
    label_model = (
        read_model(*source, loss_name=name) if any(s is not None for s in source) else None
    )
    given = [text for text in pair if text is not None]
    if label_model is not None and loss.labels_open:
        loss = loss.with_labels(label_model.alphabet)
    elif given:
        loss, *_ = sequences(loss, given[0], given[-1])
    z, y = (
        None if text is None else sequence(loss.alphabet, text, where)
        for text, where in zip(pair, ("hypothesis z", "reference y"), strict=True)
    )
    return {"thing": loss, "n": n, "z": z, "y": y, "model": label_model}


def _write(drawing: Drawing, output: str, form: str | None) -> None:
    from fsmeu.cli.output import note, place_for, write_output
    from fsmeu.errors import InputError, sentence

    if output != _STDOUT:
        drawing.save(place_for(output), form)
        note(f"{drawing.automaton.name}: {Path(output)}")
        _note_summary(drawing)
        return
    if form is None:
        raise InputError(sentence("draw", "on standard output, the format must be given: --format"))
    if form in ("png", "pdf") and sys.stdout.isatty():
        must = f"a {form} file is not written to a terminal"
        raise InputError(sentence("draw", must, None, "Use -o FILE, or a pipe"))
    content = drawing.render(form)
    _note_summary(drawing)
    write_output(output, content)


def _note_summary(drawing: Drawing) -> None:
    """Says that a picture shows how many states there are at each depth, and not the machine."""
    from fsmeu.cli.output import note

    if drawing.summary is not None:
        states, limit = drawing.automaton.states, drawing.limit
        why = f"it has {states:,} states, and --limit is {limit:,}"
        if states <= limit:
            why = f"it has too many arcs for --limit {limit:,}"
        note(f"The picture is a bar chart of its layers, not the machine: {why}.")
        note("Raise --limit, or draw the part near the start with --depth D.")


def _print(drawing: Drawing) -> None:
    """Prints the machine: drawn if that fits into the terminal, else listed layer by layer."""
    from rich.text import Text

    from fsmeu.cli.output import line, screen

    console = screen()
    plain = not (sys.stdout.encoding or "ascii").lower().replace("-", "").startswith("utf")
    cells = None if plain else drawing.cells(console.width)
    if cells is None:
        for row in drawing.rows(plain):
            line(row.text, _STYLES[row.style])
        return
    line(drawing.frame.title, _STYLES["title"])
    line()
    for drawn in cells:
        text = Text()
        for character, style in drawn:
            text.append(character, _STYLES[style])
        console.print(text, soft_wrap=True)
