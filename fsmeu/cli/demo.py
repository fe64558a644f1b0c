"""`fsmeu demo`: a short tour on built-in data."""

from __future__ import annotations

import typer

from fsmeu.cli.version import version_text


def demo() -> None:
    """Shows what fsmeu does, on built-in data."""
    typer.echo(version_text())
