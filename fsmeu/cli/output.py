"""What commands print: tables for people, JSON for programs, numbers as both can read them."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NoReturn

import typer
from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from fsmeu.errors import InputError, sentence, visible
from fsmeu.files import write_file

__all__ = [
    "file_for",
    "line",
    "note",
    "number",
    "place_for",
    "print_json",
    "print_table",
    "screen",
    "table",
    "write_output",
]


class _Screen(Console):
    """A console that lets the caller decide what a broken pipe means."""

    def on_broken_pipe(self) -> NoReturn:
        raise BrokenPipeError


def screen() -> Console:
    """Where tables go: plain text unless it is a terminal that wants colours."""
    return _Screen(markup=False, highlight=False, emoji=False)


class _Table(Table):
    """A table whose texts show what does not print as escapes."""

    def add_row(self, *cells: Any, **options: Any) -> None:
        super().add_row(*(visible(x) if isinstance(x, str) else x for x in cells), **options)


def table(*headers: str, right: Iterable[str] = ()) -> Table:
    """An empty table; the columns named in ``right`` hold numbers."""
    made = _Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, header_style="bold")
    for header in headers:
        made.add_column(
            visible(header), justify="right" if header in right else "left", overflow="fold"
        )
    return made


def print_table(made: Table) -> None:
    """Prints a table, as wide as the terminal or 80 columns."""
    screen().print(made)


def line(text: str = "", style: str = "", wrap: bool = False) -> None:
    """Prints one line, however long unless it is to be wrapped."""
    screen().print(Text(visible(text, keep="\n"), style=style), soft_wrap=not wrap)


def note(text: str) -> None:
    """Says something beside the result, on stderr."""
    typer.echo(visible(text, keep="\n"), err=True)


def place_for(file: str | Path) -> Path:
    """The path of a file to write; folders on the way to it are made."""
    path = Path(file)
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


def file_for(option: str, name: str) -> Path:
    """The path of a file to write, checked before the work whose result it is to hold.

    Raises:
        InputError: it is a folder.
    """
    path = place_for(name)
    if path.is_dir():
        raise InputError(sentence(option, "it must be a file", f"the folder {name}"))
    return path


def write_output(name: str | Path, content: bytes | str) -> None:
    """Writes what a command has made: to a file, or to standard output where the name is -.

    Bytes and texts arrive as they are, except texts on a terminal: they move no cursor there.
    """
    if str(name) != "-":
        write_file(place_for(name), content)
    elif isinstance(content, str):
        sys.stdout.write(visible(content, keep="\n\t") if sys.stdout.isatty() else content)
    else:
        sys.stdout.flush()
        sys.stdout.buffer.write(content)
        sys.stdout.buffer.flush()


def number(value: float) -> int | float:
    """The number, as an int when it is whole and small enough to be exact."""
    return int(value) if float(value).is_integer() and abs(value) < 2**53 else float(value)


def print_json(data: object) -> None:
    """Prints one JSON document on one line."""
    json.dump(data, sys.stdout, allow_nan=False)
    sys.stdout.write("\n")
