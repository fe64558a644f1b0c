"""`fsmeu segment-k`: the usual window length of Pk and WindowDiff for reference segmentations."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Annotated

import typer

from fsmeu.cli.options import Json

__all__ = ["half_mean_segment", "segment_k"]

_File = Annotated[
    str,
    typer.Argument(
        metavar="FILE",
        help="One segmentation per line: 0 and 1 for each slot, 1 for a boundary; - for stdin.",
        show_default=False,
    ),
]


def segment_k(file: _File, as_json: Json = False) -> None:
    """Prints half the mean length of a segment, rounded: the usual k of pk and windowdiff.

    A line of n slots has n + 1 units, and one segment more than boundaries. A k of less than 1 is
    taken as 1. Lines may hold blanks or commas; empty lines and those after # are left out.
    """
    from fsmeu.cli.output import note, print_json
    from fsmeu.errors import EmptyError, sentence
    from fsmeu.fst.alphabet import BINARY
    from fsmeu.reading import read_text

    rows = []
    for number, text in enumerate(read_text(file, file).splitlines(), 1):
        held = text.partition("#")[0].strip()
        if held:
            rows.append(BINARY.parse(held, f"{file}, line {number}").tolist())
    if not rows:
        raise EmptyError(sentence(file, "must hold at least one segmentation"))
    mean, k = half_mean_segment(rows)
    if as_json:
        print_json({"k": k, "mean": float(mean), "sequences": len(rows)})
        return
    typer.echo(str(k))
    note(f"mean segment: {float(mean):.6g} units, {len(rows):,} segmentations")


def half_mean_segment(rows: Sequence[Sequence[int]]) -> tuple[Fraction, int]:
    """The mean number of units in a segment, and half of it as a whole number of at least 1.

    Halves are rounded up.

    >>> half_mean_segment([[0, 1, 0, 0, 1, 0, 0]])  # 8 units in 3 segments
    (Fraction(8, 3), 1)
    """
    units = sum(len(row) + 1 for row in rows)
    mean = Fraction(units, sum(sum(row) + 1 for row in rows))
    return mean, max(1, int(mean / 2 + Fraction(1, 2)))
