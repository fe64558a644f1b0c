"""`fsmeu draw`: losses, models and compositions as pictures, machine files, pages."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from rich.text import Text

from fsmeu.cli import inputs
from fsmeu.cli import options as opt
from fsmeu.cli import output as out
from fsmeu.cli.completion import loss_names, one_word_of
from fsmeu.cli.failures import refuse
from fsmeu.cli.options import argument, option
from fsmeu.drawing.draw import Drawing, draw
from fsmeu.drawing.pages import Page
from fsmeu.drawing.pages import explore as explore_page
from fsmeu.endings import MACHINE, MODEL_JSON, PICTURES, ending_of
from fsmeu.losses.loss import SpecLoss
from fsmeu.losses.sum_over_paths import compile_summed

_STYLES = {"title": "bold", "quiet": "dim", "value": "green", "route": "bold red", "plain": ""}
_STDOUT = "-"
_PAGE_N = 4  # the length of sequences of a page, unless given
_PAGE_LIMIT = 150  # states that a page draws, unless given
_LIMIT = 100  # states that a picture has, unless given


@dataclass(frozen=True)
class _Drawn:
    """What is drawn of a loss or model."""

    n: int | None = option(
        "--n -n N", "Length of the sequences, if no Z, Y or model gives it.", min=0
    )
    z: str | None = option("--z Z", "A hypothesis; the machine given Z, or the path of Z and Y.")
    y: str | None = option("--y Y", "A reference, of the same length.")
    given_z: bool = option("--given-z", "Leave out registers that read z alone; z stays free.")
    depth: int | None = option("--depth D", "Only the first D steps.", min=0)
    minimize: bool = option("--minimize", "Merge states that no continuation can tell apart.")
    short: bool = option("--short", "States as 1,2 instead of tp=1 ref=2.")
    summed: bool = option(
        "--summed",
        "Linear counts in weights: fewer states, several paths per pair, whose weights add up to "
        "the value.",
    )
    limit: int | None = option(
        "--limit N",
        "Draw up to N states, of more a summary.",
        unset=f"{_LIMIT}, of a page {_PAGE_LIMIT}",
        min=1,
    )

    def options_of_loss(self) -> dict[str, Any]:
        """The options that need a loss, by name."""
        return {
            "n": self.n,
            "z": self.z,
            "given-z": self.given_z,
            "minimize": self.minimize,
            "summed": self.summed,
        }

    def needs_picture(self) -> bool:
        """Whether an option is given that a page to explore a loss in does not have."""
        flags = (self.given_z, self.minimize, self.summed, self.short)
        return any((self.z, self.y, *flags)) or self.depth is not None


def draw_thing(
    source: opt.ModelSource,
    binding: opt.Binding,
    drawn: _Drawn,
    loss: str | None = argument(
        "LOSS",
        "A built-in loss, the path of a loss file, - for standard input; or a model file that ends "
        "in .json. Left out, the model of --model or --probs is drawn.",
        None,
        loss_names,
    ),
    output: str | None = option(
        "--output -o FILE",
        "A picture (.svg, .png, .pdf, .dot, .tex, .txt), an OpenFst machine (.fst), or a page to "
        "explore the loss in (.html); - for standard output.",
    ),
    form: str | None = option(
        "--format -f NAME",
        f"{', '.join(PICTURES)} or {MACHINE}.",
        unset="by the ending of -o",
        autocompletion=one_word_of(*PICTURES, MACHINE),
    ),
) -> None:
    """Draw the machine of a loss, a model, or both composed, in the terminal or into a file.

    With a loss, Z and a model, their composition is drawn: states are shaded and arcs are as wide
    as they are probable. With Z and Y, their path is coloured. A model alone is drawn without a
    loss.

    A machine file is binary, with log64 arcs; the input tape is z, the output tape y. A final
    weight is -log(value + shift); the shift is said on stderr. A page needs no network: machines to
    move and zoom in, pairs step by step, probabilities to slide with expectation and decision.
    """
    kind = form or (ending_of(output) if output else "")
    if output not in (None, _STDOUT):
        out.file_for("--output", str(output))
    is_model = loss is None or ending_of(loss) == MODEL_JSON
    if is_model and kind == MACHINE:
        must = "a machine file (fst) is made of a loss"
        refuse("draw", must, "a model", "Name a loss, or draw the model as a picture")
    if loss is not None and kind == MACHINE:
        _write_machine(inputs.load_loss(loss, binding), drawn, output)
        return
    is_page = kind == "html" and not drawn.needs_picture() and source.model is None
    if loss is not None and not is_model and is_page:
        page = _explore_page(inputs.load_loss(loss, binding), drawn, source.probs)
        _write_page(page, output or _STDOUT)
        return
    if loss is None or is_model:
        subject = _model_subject(loss, source, drawn, binding)
    else:
        subject = _loss_subject(inputs.load_loss(loss, binding), loss, source, drawn)
    limit = drawn.limit or _LIMIT
    drawing = draw(**subject, depth=drawn.depth, short=drawn.short, limit=limit)
    if output is None and form is None:
        _print(drawing)
    else:
        _write(drawing, output or _STDOUT, form)


def _refuse_terminal(what: str) -> NoReturn:
    """Refuses to write bytes to a terminal."""
    remedy = "Use -o FILE, or -o - and a pipe"
    refuse("draw", f"a {what} is not written to a terminal", None, remedy)


def _write_machine(loss: SpecLoss, drawn: _Drawn, output: str | None) -> None:
    """Writes a loss as an OpenFst machine: summed, minimized or as it is."""
    if output is None or (output == _STDOUT and sys.stdout.isatty()):
        _refuse_terminal("machine")
    if drawn.summed and drawn.minimize:
        refuse("draw", "--summed and --minimize make different machines", None, "Give one of them")
    hypothesis = None
    if drawn.z is not None:
        loss, hypothesis, _ = inputs.sequences(loss, drawn.z, "")
    if drawn.n is None and hypothesis is None:
        refuse("draw", "the length of the sequences must be given", None, "Add --n N, or --z Z")
    length = drawn.n if drawn.n is not None else len(hypothesis or ())
    loss = inputs.with_known_labels(loss)
    machine: Any = (
        compile_summed(loss, length, hypothesis)
        if drawn.summed
        else loss.compile(length, hypothesis, minimize=drawn.minimize)
    )
    out.write_output(output, machine.fst.write_to_string())
    size = f"{machine.unrolled.states:,} states, {machine.unrolled.arcs:,} arcs"
    out.note(f"{machine.name}: {size}, shift {machine.shift!r}")


def _explore_page(loss: SpecLoss, drawn: _Drawn, typed: str | None) -> Page:
    """The page to explore a loss in; it begins with the probabilities of 1 that were typed."""
    probs = None
    if typed is not None:
        independent = inputs.read_model(opt.ModelSource(typed, None), "")
        probs = [float(p) for p in independent.marginals()[:, 1]]
    length = drawn.n if drawn.n is not None else len(probs or ()) or _PAGE_N
    return explore_page(loss, length, probs=probs, limit=drawn.limit or _PAGE_LIMIT)


def _write_page(page: Page, output: str) -> None:
    """Writes a page, and says on stderr where."""
    if output == _STDOUT:
        out.write_output(_STDOUT, page.html.encode())
        return
    where = page.save(output)
    out.note(f"{page.name}: {where}")


def _is_given(source: opt.ModelSource) -> bool:
    """Whether there is a model of --probs or --model."""
    return source.probs is not None or source.model is not None


def _model_subject(
    file: str | None, source: opt.ModelSource, drawn: _Drawn, binding: opt.Binding
) -> dict[str, Any]:
    """The arguments of ``draw`` for a model alone, with the path of y if that is given."""
    if file is None and not _is_given(source):
        remedy = "Name a loss, or add --model FILE or --probs P1,P2"
        refuse("draw", "a loss or a model must be given", None, remedy)
    for name, value in {**drawn.options_of_loss(), **vars(binding)}.items():
        if value not in (None, False):
            must = f"--{name} goes with a loss, and there is none"
            refuse("draw", must, None, "Name a loss, or leave it out")
    if file is not None and _is_given(source):
        must = "a model file is drawn by itself"
        refuse(file, must, "two models", "Name a loss, or leave --model and --probs out")
    model = inputs.read_model(source if file is None else opt.ModelSource(None, file), "")
    y = drawn.y and inputs.sequence(model.alphabet, drawn.y, "reference y")
    return {"thing": model, "y": y}


def _loss_subject(
    loss: SpecLoss, name: str, source: opt.ModelSource, drawn: _Drawn
) -> dict[str, Any]:
    """The arguments of ``draw`` for a loss, with the sequences and the model that were given.

    Labels that the loss leaves open are those of the model, or of the sequences.
    """
    texts = {"z": drawn.z, "y": drawn.y}
    given = [text for text in texts.values() if text is not None]
    if drawn.summed:
        if drawn.n is None or drawn.given_z or drawn.minimize or _is_given(source) or given:
            refuse("draw", "--summed goes with --n alone", None, "Leave sequences and models out")
        return {"thing": compile_summed(inputs.with_known_labels(loss), drawn.n)}
    model = inputs.read_model(source, name) if _is_given(source) else None
    if model is not None and loss.labels_open:
        loss = loss.with_labels(model.alphabet)
    elif given:
        loss, *_ = inputs.sequences(loss, given[0], given[-1])
    roles = {"z": "hypothesis z", "y": "reference y"}
    pair = {
        tape: None if text is None else inputs.sequence(loss.alphabet, text, roles[tape])
        for tape, text in texts.items()
    }
    plain = {"n": drawn.n, "given_z": drawn.given_z, "minimize": drawn.minimize}
    return {"thing": loss, "model": model, **pair, **plain}


def _write(drawing: Drawing, output: str, form: str | None) -> None:
    """Writes a picture, and says on stderr if it is a summary of a machine with many states."""
    if output != _STDOUT:
        drawing.save(output, form)
        out.note(f"{drawing.automaton.name}: {Path(output)}")
    elif form is None:
        refuse("draw", "on standard output, the format must be given: --format")
    elif form in ("png", "pdf") and sys.stdout.isatty():
        _refuse_terminal(f"{form} file")
    else:
        out.write_output(output, drawing.render(form))
    if drawing.summary is not None:
        states = drawing.automaton.states
        limit = drawing.limit
        why = f"it has {states:,} states, and --limit is {limit:,}"
        if states <= limit:
            why = f"it has too many arcs for --limit {limit:,}"
        out.note(f"The picture is a bar chart of its layers, not the machine: {why}.")
        out.note("Raise --limit, or draw the part near the start with --depth D.")


def _print(drawing: Drawing) -> None:
    """Prints the machine: drawn if that fits into the terminal, else listed layer by layer."""
    console = out.screen()
    plain = not (sys.stdout.encoding or "ascii").lower().replace("-", "").startswith("utf")
    cells = None if plain else drawing.cells(console.width)
    if cells is None:
        for row in drawing.rows(plain):
            out.line(row.text, _STYLES[row.style])
        return
    out.line(f"{drawing.frame.title}\n", _STYLES["title"])
    for drawn in cells:
        text = Text.assemble(*((character, _STYLES[style]) for character, style in drawn))
        console.print(text, soft_wrap=True)
