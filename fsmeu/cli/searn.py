"""`fsmeu searn`: search-based structured prediction, one file for each of its commands."""

from __future__ import annotations

import typer

from fsmeu.cli.searn_predict import evaluate_tags, predict_tags
from fsmeu.cli.searn_run import draw_curves, run_tasks
from fsmeu.cli.searn_table import show_table
from fsmeu.cli.searn_train import train_tagger

__all__ = ["searn"]

searn = typer.Typer(
    help="Search-based structured prediction (SEARN): experiments, and taggers of your own.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
searn.command("run")(run_tasks)
searn.command("table")(show_table)
searn.command("curves")(draw_curves)
searn.command("train")(train_tagger)
searn.command("predict")(predict_tags)
searn.command("eval")(evaluate_tags)
