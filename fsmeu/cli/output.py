"""What commands print and write: tables for people, JSON for programs, files."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NoReturn

import typer
from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from fsmeu.cli.failures import refuse
from fsmeu.errors import shorten, visible
from fsmeu.files import write_file


class _Screen(Console):
    """A console that lets the caller decide what a broken pipe means."""

    def on_broken_pipe(self) -> NoReturn:
        raise BrokenPipeError


def screen() -> Console:
    """The console for tables: plain text unless it is a terminal that wants colours."""
    return _Screen(markup=False, highlight=False, emoji=False)


def emit(
    rows: Sequence[Sequence[Any]],
    headers: Sequence[str] = (),
    right: Iterable[str] = (),
    as_json: object = None,
) -> None:
    """Prints a table as wide as the terminal or 80 columns, or the data as one JSON document.

    Args:
        rows: cells of each row, texts or what rich can draw; an empty row begins a section.
        headers: names of the columns; where there are none, each row is a heading and a text.
        right: those of them that hold numbers.
        as_json: the same as data; None for a table.
    """
    if as_json is not None:
        print_json(as_json)
        return
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, header_style="bold")
    for header in headers or ("", ""):
        side: Any = "right" if header in right else "left"
        table.add_column(visible(header), justify=side, overflow="fold")
    if not headers:
        table.box = None
        table.show_header = False
        table.columns[0].style = "bold"
        table.columns[0].no_wrap = True
        table.padding = (0, 2, 0, 0)
    for row in rows:
        cells = [visible(x) if isinstance(x, str) else x for x in row]
        table.add_row(*cells) if row else table.add_section()
    screen().print(table)


def print_json(data: object) -> None:
    """Prints one JSON document on one line."""
    json.dump(data, sys.stdout, allow_nan=False)
    sys.stdout.write("\n")


def line(text: str = "", style: str = "", wrap: bool = False) -> None:
    """Prints one line, however long unless it is to be wrapped."""
    screen().print(Text(visible(text, keep="\n"), style=style), soft_wrap=not wrap)


def note(text: str) -> None:
    """Says something beside the result, on stderr."""
    typer.echo(visible(text, keep="\n"), err=True)


def file_for(option: str, name: str | Path) -> Path:
    """The path of a file to write, checked before the work whose result it is to hold."""
    path = _in_folder(option, Path(name))
    if path.is_dir():
        refuse(option, "it must be a file", f"the folder {name}")
    return path


def _in_folder(option: str, path: Path) -> Path:
    """The path; an InputError if its folder does not exist, so that a typo makes no folder."""
    folder = path.parent
    if not folder.is_dir():
        must = f"the folder {shorten(str(folder))} must exist"
        refuse(option, must, str(path), f"Make it with: mkdir -p {shlex.quote(str(folder))}")
    return path


def checked_picture(name: str | None, instead: str = "") -> Path | None:
    """The path of a plot, checked before the work; ``instead`` is what can be had without it."""
    from fsmeu.drawing.plots import checked_plot

    return None if name is None else file_for("--plot", str(checked_plot(name, instead)[0]))


def write_output(name: str | Path, content: bytes | str) -> None:
    """Writes what a command has made: to a file, or to standard output where the name is -.

    Bytes and texts arrive as they are, except texts on a terminal: they move no cursor there.
    """
    if str(name) != "-":
        write_file(name, content)
    elif isinstance(content, str):
        sys.stdout.write(visible(content, keep="\n\t") if sys.stdout.isatty() else content)
    else:
        sys.stdout.flush()
        sys.stdout.buffer.write(content)
        sys.stdout.buffer.flush()
