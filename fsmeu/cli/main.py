"""The `fsmeu` command: puts the commands together, one file each beside this one."""

from __future__ import annotations

from typing import Annotated

import typer

from fsmeu.cli.demo import demo
from fsmeu.cli.version import version_text

app = typer.Typer(
    help="Finite-state maximum expected utility.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
app.command()(demo)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(version_text())
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Show versions."),
    ] = False,
) -> None:
    """Finite-state maximum expected utility."""


def main() -> None:
    """Runs the command line."""
    app(prog_name="fsmeu")


if __name__ == "__main__":
    main()
