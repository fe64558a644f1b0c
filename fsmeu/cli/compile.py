"""`fsmeu compile`: a loss as an OpenFst machine in a file."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from fsmeu.cli.options import LabelList, LossName, ParamList, Summed, TypeList

__all__ = ["compile_loss"]

_Output = Annotated[
    str,
    typer.Option(
        "--output", "-o", metavar="FILE", help="Where to write it, - for standard output."
    ),
]
_Length = Annotated[
    int | None,
    typer.Option(
        "--n",
        "-n",
        metavar="N",
        min=0,
        help="The length of the sequences; that of Z if one is given.",
        show_default=False,
    ),
]
_Given = Annotated[
    str | None,
    typer.Option(
        "--z",
        metavar="Z",
        help="A hypothesis: then only what it can reach is built.",
        show_default=False,
    ),
]

_Minimize = Annotated[
    bool,
    typer.Option("--minimize", help="Merge states that no continuation can tell apart."),
]


def compile_loss(
    loss: LossName,
    output: _Output,
    n: _Length = None,
    z: _Given = None,
    summed: Summed = False,
    minimize: _Minimize = False,
    param: ParamList = None,
    labels: LabelList = None,
    types: TypeList = None,
) -> None:
    """Writes a loss as an OpenFst machine.

    The file is binary, with log64 arcs; the input tape is z, the output tape y. A final weight is
    -log(value + shift); the shift is said on stderr.
    """
    from fsmeu.cli.inputs import STDIN as STDOUT
    from fsmeu.cli.inputs import check_labels_known, load_loss, sequences
    from fsmeu.cli.output import note, write_output
    from fsmeu.errors import InputError, sentence
    from fsmeu.losses.sum_over_paths import compile_summed

    if output == STDOUT and sys.stdout.isatty():
        must = "a machine is not written to a terminal"
        raise InputError(sentence("compile", must, None, "Use -o FILE, or a pipe"))
    loaded = load_loss(loss, param, labels, types)
    given = None
    if z is not None:
        loaded, given, _ = sequences(loaded, z, "")
    check_labels_known(loaded)
    if n is None and given is None:
        must = "the length of the sequences must be given"
        raise InputError(sentence("compile", must, None, "Add --n N, or --z Z"))
    length = n if n is not None else len(given or ())
    if summed and minimize:
        must = "--summed and --minimize make different machines"
        raise InputError(sentence("compile", must, None, "Give one of them"))
    machine = (
        compile_summed(loaded, length, given)
        if summed
        else loaded.compile(length, given, minimize=minimize)
    )
    write_output(output, machine.fst.write_to_string())
    size = f"{machine.states:,} states, {machine.arcs:,} arcs"
    note(f"{machine.name}: {size}, shift {machine.shift!r}")
