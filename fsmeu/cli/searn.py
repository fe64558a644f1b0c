"""`fsmeu searn`: the experiments of Daumé, Langford and Marcu (2009)."""

from __future__ import annotations

import typer

from fsmeu.cli.options import unwrapped
from fsmeu.cli.searn_run import draw_curves, run_tasks
from fsmeu.cli.searn_table import show_table

__all__ = ["searn"]

searn = typer.Typer(
    help="Repeat the experiments of the SEARN paper (Daumé, Langford and Marcu 2009).",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="rich",
)
searn.command("run", help=unwrapped(run_tasks))(run_tasks)
searn.command("table", help=unwrapped(show_table))(show_table)
searn.command("curves", help=unwrapped(draw_curves))(draw_curves)
