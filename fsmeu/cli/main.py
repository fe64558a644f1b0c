"""The `fsmeu` command: puts the commands together, one file each beside this one."""

from __future__ import annotations

import sys
from contextlib import suppress
from typing import Annotated

import typer

from fsmeu.cli.check import check_loss
from fsmeu.cli.compile import compile_loss
from fsmeu.cli.decode import decode_labels
from fsmeu.cli.demo import demo
from fsmeu.cli.draw import draw_loss
from fsmeu.cli.expect import expect_value
from fsmeu.cli.explore import explore_loss
from fsmeu.cli.failures import INTERRUPTED, Guarded
from fsmeu.cli.gallery import write_gallery
from fsmeu.cli.info import inform
from fsmeu.cli.levels import show_levels
from fsmeu.cli.losses import list_losses
from fsmeu.cli.online import stream_examples
from fsmeu.cli.predict import predict_labels
from fsmeu.cli.score import score_corpus
from fsmeu.cli.searn import searn
from fsmeu.cli.segment_k import segment_k
from fsmeu.cli.show import show_loss
from fsmeu.cli.trace import trace_pair
from fsmeu.cli.train import train_classifier

app = typer.Typer(
    cls=Guarded,
    help="Finite-state maximum expected utility.",
    epilog="Exit codes: 0 done, 1 an example of a loss file does not hold, 2 bad input.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # plain help: boxes take longer to draw than most answers to compute
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("losses")(list_losses)
app.command("show")(show_loss)
app.command("check")(check_loss)
app.command("info")(inform)
app.command("trace")(trace_pair)
app.command("compile")(compile_loss)
app.command("expect")(expect_value)
app.command("levels")(show_levels)
app.command("decode")(decode_labels)
app.command("score")(score_corpus)
app.command("train")(train_classifier)
app.command("online")(stream_examples)
app.command("predict")(predict_labels)
app.add_typer(searn, name="searn")
app.command("draw")(draw_loss)
app.command("explore")(explore_loss)
app.command("gallery")(write_gallery)
app.command("segment-k")(segment_k)
app.command()(demo)


def _show_version(wanted: bool) -> None:
    if wanted:
        from fsmeu.cli.version import version_text

        typer.echo(version_text())
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Show versions."),
    ] = False,
    debug: Annotated[
        bool, typer.Option("--debug", help="Show where an error comes from; may stand anywhere.")
    ] = False,
) -> None:
    """Finite-state maximum expected utility."""


def main() -> None:
    """Runs the command line."""
    for stream in (sys.stdout, sys.stderr):
        with suppress(AttributeError, ValueError):
            stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    try:
        app(prog_name="fsmeu")
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)


if __name__ == "__main__":
    main()
